//! KNS, hybrids of direct and indirect networks: routers at the points of a lattice, and along every line of every
//! dimension a switch that joins its routers (Peñaranda et al.: The k-ary n-direct s-indirect family of topologies for
//! large-scale interconnection networks, 2016). We could not read the publication. The lines have one stage (s = 1).

use super::{
    Destination, Drawing, Family, Place, Ports, Shape, SwitchOrder, TOO_LARGE, Topology,
    host_count, invalid, port_of,
};
use crate::fabric::ids::{PortId, SwitchId};
use crate::fabric::spec::{RingTie, SpecError};
use serde_json::{Value, json};

/// Parameters of a k-ary n-direct 1-indirect topology. Routers come first; dimension 0 varies fastest in their ids. Then
/// come the switches of the lines, dimension by dimension: a line is numbered by the coordinates of its routers in the
/// other dimensions. Ports of a router: first the NICs, then one for each dimension. Port c of a line's switch
/// leads to the router with coordinate c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kns {
    k: u32,
    n: u32,
    concentration: u32,
    /// `k^(n-1)`.
    lines: u32,
}

impl Kns {
    pub(super) fn build(
        k: u32,
        n: u32,
        concentration: u32,
        hosts: Option<u32>,
    ) -> Result<Topology, SpecError> {
        if k < 2 || n == 0 || concentration == 0 {
            return Err(invalid(format!(
                "k = {k}, n = {n}, concentration = {concentration}: at least 2 routers on a line, one dimension and \
                 one NIC per router"
            )));
        }
        let sizes = k.checked_pow(n - 1).and_then(|lines| {
            let routers = lines.checked_mul(k)?;
            Some((lines, routers, lines.checked_mul(n)?.checked_add(routers)?))
        });
        let Some((lines, routers, switches)) = sizes else {
            let problem = format!("k = {k}, n = {n} make 2^32 switches or more; {TOO_LARGE}");
            return Err(invalid(problem));
        };
        let nics = host_count(u64::from(routers) * u64::from(concentration), hosts)?;
        let ports = u64::from(k).max(u64::from(concentration) + u64::from(n));
        let lattice = Self {
            k,
            n,
            concentration,
            lines,
        };
        let shape = Shape::Kns(lattice);
        let mut topology = Topology::unconnected(shape, switches.into(), ports, nics)?;
        topology.attach_in_order(nics, concentration);
        for router in 0..routers {
            for dimension in 0..n {
                topology.connect(
                    port_of(router, concentration + dimension),
                    port_of(
                        lattice.line(router, dimension),
                        lattice.coordinate(router, dimension),
                    ),
                );
            }
        }
        Ok(topology)
    }

    /// Routers on a line.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Dimensions.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// NICs per router.
    #[must_use]
    pub fn concentration(&self) -> u32 {
        self.concentration
    }

    /// Number of routers: `k^n`.
    #[must_use]
    pub fn routers(&self) -> u32 {
        self.lines * self.k
    }

    /// Coordinate of a router.
    fn coordinate(&self, router: u32, dimension: u32) -> u32 {
        router / self.k.pow(dimension) % self.k
    }

    /// The switch of the line of `router` in `dimension`.
    fn line(&self, router: u32, dimension: u32) -> u32 {
        let below = self.k.pow(dimension);
        let others = router / below / self.k * below + router % below;
        self.routers() + dimension * self.lines + others
    }

    /// The dimension of the line of `switch`; `None` for routers.
    fn dimension_of_line(&self, switch: u32) -> Option<u32> {
        Some(switch.checked_sub(self.routers())? / self.lines)
    }
}

/// Routed in dimension order: lowest dimension first, over the switch of a line for each in which the coordinates differ.
impl Family for Kns {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let (at, home) = (switch.get(), to.switch.get());
        let differ = |&d: &u32| self.coordinate(at, d) != self.coordinate(home, d);
        let port = match self.dimension_of_line(at) {
            Some(dimension) => Some(self.coordinate(home, dimension)),
            None => (0..self.n).find(differ).map(|d| self.concentration + d),
        };
        port.map_or(Ports::NONE, |port| Ports::one(PortId::new(port)))
    }

    fn name(&self) -> String {
        let Self {
            k,
            n,
            concentration,
            ..
        } = self;
        format!("{k}-ary {n}-direct 1-indirect, concentration {concentration}")
    }

    fn parameters(&self, _: &Topology) -> Value {
        let Self {
            k,
            n,
            concentration,
            // Follows from k and n.
            lines: _,
        } = self;
        json!({ "kind": "kns", "k": k, "n": n, "s": 1, "concentration": concentration })
    }

    fn place(&self, switch: SwitchId) -> Place {
        match self.dimension_of_line(switch.get()) {
            Some(dimension) => Place::Within {
                part: "dimension",
                number: dimension,
                position: (switch.get() - self.routers()) % self.lines,
            },
            None => Place::Coordinates(
                (0..self.n)
                    .map(|d| self.coordinate(switch.get(), d))
                    .collect(),
            ),
        }
    }

    /// The planes, or lines, that follow one another in the last dimension.
    fn group(&self, switch: SwitchId) -> Option<u32> {
        let last = self.n.checked_sub(1)?;
        (switch.get() < self.routers()).then(|| self.coordinate(switch.get(), last))
    }

    /// Above the routers the switches of the lines, a level for each dimension.
    fn drawing(&self) -> Drawing {
        let first = |d: u32| SwitchId::new(self.routers() + d * self.lines);
        let lines = (0..self.n).rev().map(|d| first(d)..first(d + 1));
        let routers = SwitchId::new(0)..first(0);
        Drawing::Levels(lines.chain([routers]).collect())
    }

    fn dimension(&self, switch: SwitchId, port: PortId) -> Option<u8> {
        let dimension = match self.dimension_of_line(switch.get()) {
            Some(dimension) => dimension,
            None => port.get().checked_sub(self.concentration)?,
        };
        (dimension < self.n).then_some(dimension as u8)
    }

    /// By the coordinate in each dimension; the switches of lines along it come last.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        let along = |dimension| {
            let mut order: Vec<SwitchId> = SwitchId::all(switches).collect();
            order.sort_by_key(|&s| (self.position_along(s.get(), dimension), s));
            SwitchOrder {
                name: format!("along dimension {dimension}"),
                switches: order,
            }
        };
        (0..self.n).map(along).collect()
    }
}

impl Kns {
    /// The coordinate of a router, or of all routers of a line, in `dimension`; k for lines along it.
    fn position_along(&self, switch: u32, dimension: u32) -> u32 {
        let Some(own) = self.dimension_of_line(switch) else {
            return self.coordinate(switch, dimension);
        };
        let others = (switch - self.routers()) % self.lines;
        match own.cmp(&dimension) {
            std::cmp::Ordering::Equal => self.k,
            std::cmp::Ordering::Greater => others / self.k.pow(dimension) % self.k,
            std::cmp::Ordering::Less => others / self.k.pow(dimension - 1) % self.k,
        }
    }
}
