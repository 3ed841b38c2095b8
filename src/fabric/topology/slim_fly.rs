//! Slim flies: the graphs of McKay, Miller and Širáň, in which any two switches are at most two hops apart (Besta,
//! Hoefler: Slim Fly: a cost effective low-diameter network topology, 2014).

use super::galois::Field;
use super::{
    Cabling, Destination, Drawing, Family, FamilyInfo, FamilyParameters, LaidOut, Place, Ports,
    RingTie, RoutingName, SwitchOrder, host_count, port_of,
};
use crate::error::SpecError;
use crate::ids::{PortId, SwitchId};
use schemars::JsonSchema;
use serde::Deserialize;

/// The keys of a slim fly.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["q"]))]
#[schemars(description = "")]
pub struct SlimFlyKeys {
    /// A power of a prime from 3 to 49.
    pub q: Option<u32>,
    /// NICs per switch.
    #[schemars(extend("x-default" = "half of the links to switches, rounded up"))]
    pub p: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

/// FamilyParameters of a slim fly. Switch (0, x, y) is `x q + y`, switch (1, m, c) is `q^2 + m q + c`. Its ports: first
/// the NICs, then one to each neighbour in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlimFly {
    q: u32,
    p: u32,
    /// Neighbours of each switch, ascending.
    neighbours: Vec<Vec<u32>>,
}

/// The largest q: switches then have 73 links, and with as many NICs as usual 110 of at most 120 ports.
const LARGEST: u32 = 49;

impl SlimFlyKeys {
    /// The topology.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn laid_out(&self) -> LaidOut<SlimFly> {
        let Some(q) = self.q else {
            let keys = [("q", "a power of a prime", self.q.is_none())];
            return Err(SlimFly::INFO.missing("slim-fly", &keys));
        };
        SlimFly::laid_out(q, self.p, self.hosts)
    }
}

impl SlimFly {
    /// As [`Topology::slim_fly`](super::Topology::slim_fly).
    pub(super) fn laid_out(q: u32, p: Option<u32>, hosts: Option<u32>) -> LaidOut<Self> {
        let field = Field::new(if q <= LARGEST { q } else { 0 }).filter(|_| q > 2);
        let Some(field) = field else {
            return Err(SpecError {
                key: "fabric.topology.q",
                problem: format!(
                    "{q}; a slim fly needs a power of a prime from 3 to {LARGEST}, such as 5, 7, 8, 9, 11 or 13"
                ),
            });
        };
        let neighbours = neighbours(q, &field);
        let degree = neighbours[0].len() as u32;
        let p = p.unwrap_or(degree.div_ceil(2));
        if p == 0 {
            return Err(SpecError {
                key: "fabric.topology.p",
                problem: "0; every switch needs at least one NIC".to_owned(),
            });
        }
        let switches = 2 * u64::from(q) * u64::from(q);
        let nics = host_count(switches.saturating_mul(p.into()), hosts)?;
        let ports = u64::from(p) + u64::from(degree);
        let fly = SlimFly { q, p, neighbours };
        let mut cabling = Cabling::unconnected(switches, ports, nics)?;
        cabling.attach_in_order(nics, p);
        for (switch, neighbours) in fly.neighbours.iter().enumerate() {
            let switch = switch as u32;
            for &other in neighbours.iter().filter(|&&other| other > switch) {
                if let (Some(near), Some(far)) = (fly.port(switch, other), fly.port(other, switch))
                {
                    cabling.connect(port_of(switch, near), port_of(other, far));
                }
            }
        }
        Ok((fly, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::Minimal;
        FamilyInfo::new(
            &["slim-fly"],
            "a slim fly or megafly",
            &["slim flies"],
            &[Minimal],
            &[("slim-fly", "q=5")],
        )
    };

    /// The q of GF(q).
    #[must_use]
    pub fn q(&self) -> u32 {
        self.q
    }

    /// NICs per switch.
    #[must_use]
    pub fn p(&self) -> u32 {
        self.p
    }

    /// Links of each switch to others.
    #[must_use]
    pub fn degree(&self) -> u32 {
        self.neighbours.first().map_or(0, |all| all.len() as u32)
    }

    /// Port of `switch` to `other`, if they are neighbours.
    fn port(&self, switch: u32, other: u32) -> Option<u32> {
        let at = self.neighbours[switch as usize].binary_search(&other);
        at.ok().map(|at| self.p + at as u32)
    }

    fn is_link(&self, port: PortId) -> bool {
        (self.p..self.p + self.degree()).contains(&port.get())
    }
}

/// The exponents of the sets X and X', whose members are the differences of linked switches in a group.
fn exponents(q: u32) -> [Vec<u32>; 2] {
    let w = q.div_ceil(4);
    match q % 4 {
        3 => [
            (0..=2 * w - 2)
                .step_by(2)
                .chain((2 * w - 1..=4 * w - 3).step_by(2))
                .collect(),
            (1..=2 * w - 1)
                .step_by(2)
                .chain((2 * w..=4 * w - 2).step_by(2))
                .collect(),
        ],
        _ => [(0..q - 1).step_by(2).collect(), (1..q).step_by(2).collect()],
    }
}

fn neighbours(q: u32, field: &Field) -> Vec<Vec<u32>> {
    let sets = exponents(q).map(|set| -> Vec<u32> {
        set.into_iter()
            .map(|exponent| field.power(exponent))
            .collect()
    });
    let mut all = vec![Vec::new(); 2 * (q * q) as usize];
    for (side, set) in sets.iter().enumerate() {
        for (group, at) in (0..q).flat_map(|group| (0..q).map(move |at| (group, at))) {
            let first = side as u32 * q * q + group * q;
            let own = &mut all[(first + at) as usize];
            own.extend(set.iter().map(|&step| first + field.sum(at, step)));
        }
    }
    for (m, x) in (0..q).flat_map(|m| (0..q).map(move |x| (m, x))) {
        for c in 0..q {
            let (low, high) = (x * q + field.sum(field.product(m, x), c), q * q + m * q + c);
            all[low as usize].push(high);
            all[high as usize].push(low);
        }
    }
    for own in &mut all {
        own.sort_unstable();
        own.dedup();
    }
    all
}

/// Routed minimally: straight to the destination's switch, else over a common neighbour.
impl Family for SlimFly {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let (at, home) = (switch.get(), to.switch.get());
        let port = |other| {
            let port = self.port(at, other);
            port.map_or(Ports::NONE, |port| Ports::one(PortId::new(port)))
        };
        if self.port(at, home).is_some() {
            return port(home);
        }
        let own = self.neighbours[at as usize].iter().copied();
        let common = || {
            own.clone()
                .filter(|&other| self.port(other, home).is_some())
        };
        let chosen = to.nic.index() % common().count().max(1);
        common().nth(chosen).map_or(Ports::NONE, port)
    }

    fn name(&self) -> String {
        format!(
            "slim fly, q {}, p {}, degree {}",
            self.q,
            self.p,
            self.degree()
        )
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        let &Self {
            q,
            p,
            // They follow from q.
            neighbours: _,
        } = self;
        FamilyParameters::SlimFly { q, p }
    }

    /// The switches with the same first two coordinates.
    fn group(&self, switch: SwitchId) -> Option<u32> {
        Some(switch.get() / self.q)
    }

    fn place(&self, switch: SwitchId) -> Place {
        Place::in_group(switch, self.q)
    }

    fn drawing(&self) -> Drawing {
        Drawing::equal_groups(2 * self.q, self.q)
    }

    /// Two: one for each hop.
    fn vl_classes(&self) -> u8 {
        2
    }

    /// One domain: packets keep their class to the NIC.
    fn class_domain(&self, _: PortId) -> Option<u8> {
        Some(0)
    }

    fn least_class_between(&self, in_port: PortId, out_port: PortId) -> u8 {
        u8::from(self.is_link(in_port) && self.is_link(out_port))
    }

    /// By the position in the group.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        SwitchOrder::through_groups(switches, |s| s.get() % self.q)
    }
}
