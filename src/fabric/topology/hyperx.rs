//! HyperX: a lattice of switches with a full mesh along every line of every dimension (Ahn et al.: HyperX: topology,
//! routing, and packaging of efficient large-scale networks, 2009). With NICs and switches in equal numbers on a
//! line it is the flattened butterfly (Kim, Dally, Abts 2007).

use super::lattice::{Lattice, LatticeKeys};
use super::{
    Cabling, ClosedForm, Destination, Family, FamilyInfo, FamilyParameters, LaidOut, Ports,
    RingTie, RoutingName, host_count, port_of,
};
use crate::ids::{PortId, SwitchId};

/// FamilyParameters of a HyperX. Dimension 0 varies fastest in switch ids. The ports of a switch: first the NICs, then
/// for each dimension a trunk to each other switch of the line, in the order of their coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HyperX {
    /// The lattice of the switches.
    pub lattice: Lattice,
}

impl LatticeKeys {
    /// The HyperX of these keys.
    ///
    /// # Errors
    /// As [`torus`](Self::torus).
    pub fn hyperx(&self) -> LaidOut<HyperX> {
        self.lay_out(("hyperx", &HyperX::INFO), HyperX::laid_out)
    }
}

impl HyperX {
    /// As [`Topology::hyperx`](super::Topology::hyperx).
    pub(super) fn laid_out(
        dimensions: &[u32],
        concentration: u32,
        trunk: u32,
        hosts: Option<u32>,
    ) -> LaidOut<Self> {
        let (lattice, switches) = Lattice::new(dimensions, concentration, trunk)?;
        let nics = host_count(switches.saturating_mul(concentration.into()), hosts)?;
        let others: u64 = dimensions.iter().map(|&k| u64::from(k) - 1).sum();
        let ports = others
            .saturating_mul(trunk.into())
            .saturating_add(concentration.into());
        let hyperx = HyperX { lattice };
        let mut cabling = Cabling::unconnected(switches, ports, nics)?;
        cabling.attach_in_order(nics, concentration);
        for switch in 0..switches as u32 {
            hyperx.connect_upwards(switch, &mut cabling);
        }
        Ok((hyperx, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::Dor;
        FamilyInfo {
            trunks: true,
            ..FamilyInfo::new(
                &["hyperx"],
                "a hyperx",
                &[],
                &[Dor],
                &[("hyperx", "dimensions=[4,4]")],
            )
        }
    };

    /// Connects `switch` with the switches of its lines that have higher coordinates.
    fn connect_upwards(&self, switch: u32, cabling: &mut Cabling) {
        let mut below = 1;
        for (dimension, &size) in self.lattice.dimensions.iter().enumerate() {
            let here = switch / below % size;
            for there in here + 1..size {
                let other = switch + (there - here) * below;
                for link in 0..self.lattice.trunk {
                    cabling.connect(
                        port_of(switch, self.port(dimension, here, there) + link),
                        port_of(other, self.port(dimension, there, here) + link),
                    );
                }
            }
            below *= size;
        }
    }

    /// First port of the trunk from coordinate `here` of `dimension` to another one, `there`.
    fn port(&self, dimension: usize, here: u32, there: u32) -> u32 {
        let before: u32 = self.lattice.dimensions[..dimension]
            .iter()
            .map(|&k| k - 1)
            .sum();
        self.lattice.concentration + self.lattice.trunk * (before + there - u32::from(there > here))
    }
}

/// Routed in dimension order: lowest dimension first, a hop for each in which the coordinates differ.
impl Family for HyperX {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let difference = (self.lattice).first_difference(switch.get(), to.switch.get());
        difference.map_or(Ports::NONE, |(dimension, here, there)| {
            let first = PortId::new(self.port(dimension, here, there));
            Ports::range(first, self.lattice.trunk)
        })
    }

    fn lattice(&self) -> Option<&Lattice> {
        Some(&self.lattice)
    }

    fn name(&self) -> String {
        self.lattice.name("hyperx")
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        FamilyParameters::Hyperx(self.lattice.clone())
    }

    fn dimension(&self, _: SwitchId, port: PortId) -> Option<u8> {
        let link = port.get().checked_sub(self.lattice.concentration)? / self.lattice.trunk;
        let mut end = 0;
        let ends = self.lattice.dimensions.iter().map(|&k| {
            end += k - 1;
            end
        });
        let mut ends = ends.enumerate();
        let found = ends.find(|&(_, end)| link < end);
        found.map(|(dimension, _)| dimension as u8)
    }

    /// Across the smallest dimension, if it is even and no NIC is missing: the sets of switches with the fewest links
    /// to others fill lines of the largest dimensions first (Lindsey, Assignment of numbers to vertices, 1964).
    fn bisection(&self, cabling: &Cabling) -> Option<ClosedForm> {
        let smallest = u64::from(self.lattice.dimensions.iter().copied().min()?);
        if smallest % 2 == 1 || !self.lattice.is_full(cabling) {
            return None;
        }
        Some(ClosedForm {
            links: u64::from(self.lattice.trunk) * smallest * u64::from(cabling.switches()) / 4,
            formula: "t k S / 4: across the smallest dimension k of a HyperX",
        })
    }
}
