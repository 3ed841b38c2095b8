//! n-dimensional torus and mesh with concentration and trunks.

use super::lattice::{Lattice, LatticeKeys};
use super::{
    Advice, Cabling, ClosedForm, Destination, Family, FamilyInfo, FamilyParameters, LaidOut, Ports,
    RingTie, RoutingName, host_count,
};
use crate::ids::{PortId, SwitchId, SwitchPort};
use std::cmp::Ordering;

/// FamilyParameters of a torus or mesh. Dimension 0 varies fastest in switch ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cube {
    /// The lattice of the switches.
    pub lattice: Lattice,
    wrap: bool,
}

/// The neighbour to which a link port of a cube's switch leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CubeLink {
    /// Dimension along which the link leads.
    pub dimension: usize,
    /// Its direction.
    pub direction: Direction,
    /// Its number within the trunk.
    pub index: u32,
}

/// Direction of a link within its dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the higher coordinate.
    Plus,
    /// Towards the lower coordinate.
    Minus,
}

impl LatticeKeys {
    /// The torus of these keys.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn torus(&self) -> LaidOut<Cube> {
        self.lay_out(("torus", &Cube::INFO), |d, c, t, hosts| {
            Cube::laid_out(d, true, c, t, hosts)
        })
    }

    /// The mesh of these keys.
    ///
    /// # Errors
    /// As [`torus`](Self::torus).
    pub fn mesh(&self) -> LaidOut<Cube> {
        self.lay_out(("mesh", &Cube::INFO), |d, c, t, hosts| {
            Cube::laid_out(d, false, c, t, hosts)
        })
    }
}

impl Cube {
    /// As [`Topology::cube`](super::Topology::cube).
    pub(super) fn laid_out(
        dimensions: &[u32],
        wrap: bool,
        concentration: u32,
        trunk: u32,
        hosts: Option<u32>,
    ) -> LaidOut<Self> {
        let (lattice, switches) = Lattice::new(dimensions, concentration, trunk)?;
        let cube = Cube { lattice, wrap };
        let slots = switches.saturating_mul(concentration.into());
        let nics = host_count(slots, hosts)?;
        let ports = u64::from(concentration) + 2 * dimensions.len() as u64 * u64::from(trunk);
        let mut cabling = Cabling::unconnected(switches, ports, nics)?;
        cabling.attach_in_order(nics, concentration);
        for switch in SwitchId::all(switches as u32) {
            for (dimension, &size) in dimensions.iter().enumerate() {
                if !wrap && cube.lattice.coordinate(switch, dimension) + 1 == size {
                    continue;
                }
                let next = cube.neighbour_plus(switch, dimension);
                for i in 0..trunk {
                    cabling.connect(
                        SwitchPort::new(switch, cube.port(dimension, Direction::Plus, i)),
                        SwitchPort::new(next, cube.port(dimension, Direction::Minus, i)),
                    );
                }
            }
        }
        Ok((cube, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::Dor;
        FamilyInfo {
            trunks: true,
            advice: Advice::Elsewhere,
            ..FamilyInfo::new(
                &["torus", "mesh"],
                "a torus or mesh",
                &["tori", "meshes"],
                &[Dor],
                &[("torus", "dimensions=[4,4]"), ("mesh", "dimensions=[4,4]")],
            )
        }
    };

    /// True for a torus.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wrap
    }

    /// Port of trunk link `index` in `direction` of `dimension`.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn port(&self, dimension: usize, direction: Direction, index: u32) -> PortId {
        let side = 2 * dimension as u32 + u32::from(direction == Direction::Minus);
        PortId::new(self.lattice.concentration + side * self.lattice.trunk + index)
    }

    /// The neighbour to which a link port leads; `None` for NIC ports and surplus ports.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn link_of(&self, port: PortId) -> Option<CubeLink> {
        let link = port.get().checked_sub(self.lattice.concentration)?;
        let (side, index) = (link / self.lattice.trunk, link % self.lattice.trunk);
        let direction = if side % 2 == 0 {
            Direction::Plus
        } else {
            Direction::Minus
        };
        let dimension = (side / 2) as usize;
        (dimension < self.lattice.dimensions.len()).then_some(CubeLink {
            dimension,
            direction,
            index,
        })
    }

    fn neighbour_plus(&self, switch: SwitchId, dimension: usize) -> SwitchId {
        let below: u32 = self.lattice.dimensions[..dimension].iter().product();
        let size = self.lattice.dimensions[dimension];
        SwitchId::new(if self.lattice.coordinate(switch, dimension) + 1 == size {
            switch.get() - below * (size - 1)
        } else {
            switch.get() + below
        })
    }

    /// The direction from coordinate `here` to another one, `there`: the shorter one round a ring.
    fn direction(&self, tie: RingTie, size: u32, here: u32, there: u32) -> Direction {
        let plus = if self.wrap {
            let ahead = (there + size - here) % size;
            match (2 * ahead).cmp(&size) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => tie == RingTie::Positive || here.is_multiple_of(2),
            }
        } else {
            there > here
        };
        if plus {
            Direction::Plus
        } else {
            Direction::Minus
        }
    }
}

/// Routed in dimension order: lowest dimension first, in the shorter direction.
impl Family for Cube {
    fn candidates(&self, tie: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let difference = (self.lattice).first_difference(switch.get(), to.switch.get());
        difference.map_or(Ports::NONE, |(dimension, here, there)| {
            let size = self.lattice.dimensions[dimension];
            let direction = self.direction(tie, size, here, there);
            Ports::range(self.port(dimension, direction, 0), self.lattice.trunk)
        })
    }

    fn lattice(&self) -> Option<&Lattice> {
        Some(&self.lattice)
    }

    fn has_rings(&self) -> bool {
        self.wrap
    }

    fn name(&self) -> String {
        self.lattice.name(if self.wrap { "torus" } else { "mesh" })
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        let of = if self.wrap {
            FamilyParameters::Torus
        } else {
            FamilyParameters::Mesh
        };
        of(self.lattice.clone())
    }

    /// On a torus two: before and behind the dateline of a ring.
    fn vl_classes(&self) -> u8 {
        1 + u8::from(self.wrap)
    }

    fn dimension(&self, _: SwitchId, port: PortId) -> Option<u8> {
        self.class_domain(port)
    }

    fn class_domain(&self, port: PortId) -> Option<u8> {
        Some(self.link_of(port)?.dimension as u8)
    }

    fn least_class(&self, switch: SwitchId, port: PortId) -> u8 {
        u8::from(self.is_wrap_link(switch, port))
    }

    fn is_wrap_link(&self, switch: SwitchId, port: PortId) -> bool {
        let Some(link) = self.link_of(port) else {
            return false;
        };
        let coordinate = self.lattice.coordinate(switch, link.dimension);
        self.wrap
            && match link.direction {
                Direction::Plus => coordinate + 1 == self.lattice.dimensions[link.dimension],
                Direction::Minus => coordinate == 0,
            }
    }

    /// Across the largest dimension, if it is even and no NIC is missing.
    fn bisection(&self, cabling: &Cabling) -> Option<ClosedForm> {
        let largest = u64::from(self.lattice.dimensions.iter().copied().max()?);
        if largest % 2 == 1 || !self.lattice.is_full(cabling) {
            return None;
        }
        let rings = 1 + u64::from(self.wrap);
        let links = rings * u64::from(self.lattice.trunk) * u64::from(cabling.switches()) / largest;
        let formula = if self.wrap {
            "2 t S / k: across the largest dimension k of a torus"
        } else {
            "t S / k: across the largest dimension k of a mesh"
        };
        Some(ClosedForm { links, formula })
    }

    fn tornado(&self, switch: SwitchId) -> Option<SwitchId> {
        let (mut there, mut below) = (0, 1);
        for (dimension, &k) in self.lattice.dimensions.iter().enumerate() {
            let at = self.lattice.coordinate(switch, dimension) + k.div_ceil(2) - 1;
            there += at % k * below;
            below *= k;
        }
        Some(SwitchId::new(there))
    }
}
