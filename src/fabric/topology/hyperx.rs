//! HyperX: a lattice of switches with a full mesh along every line of every dimension (Ahn et al.: HyperX: topology,
//! routing, and packaging of efficient large-scale networks, 2009). With NICs and switches in equal numbers on a
//! line it is the flattened butterfly (Kim, Dally, Abts 2007).

use super::{
    ClosedForm, Destination, Family, Place, Ports, Shape, SwitchOrder, TOO_LARGE, Topology,
    host_count, invalid, port_of,
};
use crate::ids::{PortId, SwitchId};
use crate::spec::{RingTie, SpecError};
use flitwise_formats::quote::cut;
use serde_json::{Value, json};

/// Parameters of a HyperX. Dimension 0 varies fastest in switch ids. The ports of a switch: first the NICs, then
/// for each dimension a trunk to each other switch of the line, in the order of their coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HyperX {
    dimensions: Vec<u32>,
    concentration: u32,
    trunk: u32,
}

impl HyperX {
    pub(super) fn build(
        dimensions: &[u32],
        concentration: u32,
        trunk: u32,
        hosts: Option<u32>,
    ) -> Result<Topology, SpecError> {
        let list = cut(&format!("{dimensions:?}")).to_string();
        if dimensions.is_empty() || dimensions.iter().any(|&k| k < 2) {
            return Err(invalid(format!(
                "dimensions {list}: at least one, each of 2 or more switches"
            )));
        }
        if concentration == 0 || trunk == 0 {
            return Err(invalid("concentration and trunk must be at least 1".into()));
        }
        let switches = dimensions
            .iter()
            .try_fold(1u64, |n, &k| n.checked_mul(k.into()))
            .filter(|&n| n <= u64::from(u32::MAX))
            .ok_or_else(|| {
                invalid(format!(
                    "dimensions {list} make 2^32 switches or more; {TOO_LARGE}"
                ))
            })?;
        let nics = host_count(switches.saturating_mul(concentration.into()), hosts)?;
        let others: u64 = dimensions.iter().map(|&k| u64::from(k) - 1).sum();
        let ports = others
            .saturating_mul(trunk.into())
            .saturating_add(concentration.into());
        let lattice = Self {
            dimensions: dimensions.to_vec(),
            concentration,
            trunk,
        };
        let shape = Shape::HyperX(lattice.clone());
        let mut topology = Topology::unconnected(shape, switches, ports, nics)?;
        topology.attach_in_order(nics, concentration);
        for switch in 0..switches as u32 {
            lattice.connect_upwards(switch, &mut topology);
        }
        Ok(topology)
    }

    /// Connects `switch` with the switches of its lines that have higher coordinates.
    fn connect_upwards(&self, switch: u32, topology: &mut Topology) {
        let mut below = 1;
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let here = switch / below % size;
            for there in here + 1..size {
                let other = switch + (there - here) * below;
                for link in 0..self.trunk {
                    topology.connect(
                        port_of(switch, self.port(dimension, here, there) + link),
                        port_of(other, self.port(dimension, there, here) + link),
                    );
                }
            }
            below *= size;
        }
    }

    /// Switches along each dimension.
    #[must_use]
    pub fn dimensions(&self) -> &[u32] {
        &self.dimensions
    }

    /// NIC ports per switch.
    #[must_use]
    pub fn concentration(&self) -> u32 {
        self.concentration
    }

    /// Parallel links between neighbours.
    #[must_use]
    pub fn trunk(&self) -> u32 {
        self.trunk
    }

    /// Coordinate of `switch` in `dimension`.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn coordinate(&self, switch: SwitchId, dimension: usize) -> u32 {
        let below: u32 = self.dimensions[..dimension].iter().product();
        switch.get() / below % self.dimensions[dimension]
    }

    /// First port of the trunk from coordinate `here` of `dimension` to another one, `there`.
    fn port(&self, dimension: usize, here: u32, there: u32) -> u32 {
        let before: u32 = self.dimensions[..dimension].iter().map(|&k| k - 1).sum();
        self.concentration + self.trunk * (before + there - u32::from(there > here))
    }
}

/// Routed in dimension order: lowest dimension first, a hop for each in which the coordinates differ.
impl Family for HyperX {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let (at, home) = (switch.get(), to.switch.get());
        let mut below = 1;
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let (here, there) = (at / below % size, home / below % size);
            below *= size;
            if here != there {
                let first = PortId::new(self.port(dimension, here, there));
                return Ports::range(first, self.trunk);
            }
        }
        Ports::NONE
    }

    fn name(&self) -> String {
        let sizes: Vec<String> = self.dimensions.iter().map(u32::to_string).collect();
        format!(
            "hyperx {}, concentration {}, trunk {}",
            sizes.join("x"),
            self.concentration,
            self.trunk
        )
    }

    fn parameters(&self, _: &Topology) -> Value {
        let Self {
            dimensions,
            concentration,
            trunk,
        } = self;
        json!({
            "kind": "hyperx",
            "dimensions": dimensions,
            "concentration": concentration,
            "trunk": trunk,
        })
    }

    fn place(&self, switch: SwitchId) -> Place {
        let dimensions = 0..self.dimensions.len();
        Place::Coordinates(dimensions.map(|d| self.coordinate(switch, d)).collect())
    }

    /// The planes, or lines, that follow one another in the last dimension.
    fn group(&self, switch: SwitchId) -> Option<u32> {
        let last = self.dimensions.len().checked_sub(1)?;
        Some(self.coordinate(switch, last))
    }

    fn trunk(&self) -> u32 {
        self.trunk
    }

    fn dimension(&self, _: SwitchId, port: PortId) -> Option<u8> {
        let link = port.get().checked_sub(self.concentration)? / self.trunk;
        let mut end = 0;
        let ends = self.dimensions.iter().map(|&k| {
            end += k - 1;
            end
        });
        let mut ends = ends.enumerate();
        let found = ends.find(|&(_, end)| link < end);
        found.map(|(dimension, _)| dimension as u8)
    }

    /// Across the smallest dimension, if it is even and no NIC is missing: the sets of switches with the fewest links
    /// to others fill lines of the largest dimensions first (Lindsey, Assignment of numbers to vertices, 1964).
    fn bisection(&self, topology: &Topology) -> Option<ClosedForm> {
        let (nics, switches) = (topology.nics(), u64::from(topology.switches()));
        let smallest = u64::from(self.dimensions.iter().copied().min()?);
        if smallest % 2 == 1 || u64::from(nics) != switches * u64::from(self.concentration) {
            return None;
        }
        Some(ClosedForm {
            links: u64::from(self.trunk) * smallest * switches / 4,
            formula: "t k S / 4: across the smallest dimension k of a HyperX",
        })
    }

    /// By the coordinate in each dimension.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        let along = |dimension| {
            let mut order: Vec<SwitchId> = SwitchId::all(switches).collect();
            order.sort_by_key(|&s| (self.coordinate(s, dimension), s));
            SwitchOrder {
                name: format!("along dimension {dimension}"),
                switches: order,
            }
        };
        (0..self.dimensions.len()).map(along).collect()
    }
}
