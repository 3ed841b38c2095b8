//! Dragonflies: groups of switches with a full mesh in every group, and global links between
//! the groups (Kim, Dally, Scott, Abts: Technology-driven, highly-scalable dragonfly topology,
//! 2008).

use super::global_links::GlobalLinks;
use super::{
    Arrangement, Cabling, ClosedForm, Destination, Drawing, Family, FamilyInfo, FamilyParameters,
    LaidOut, Place, Ports, RingTie, RoutingName, SwitchOrder, host_count, invalid, port_of,
};
use crate::ids::{PortId, SwitchId, SwitchPort};
use schemars::JsonSchema;
use serde::Deserialize;

/// The keys of a dragonfly.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["p", "a", "h"]))]
#[schemars(description = "")]
pub struct DragonflyKeys {
    /// NICs per switch.
    pub p: Option<u32>,
    /// Switches per group.
    pub a: Option<u32>,
    /// Global ports per switch.
    pub h: Option<u32>,
    /// Number of groups.
    #[schemars(extend("x-default" = "a h + 1"))]
    pub groups: Option<u32>,
    /// Which global port leads to which group.
    #[schemars(extend("default" = "palm-tree"))]
    pub arrangement: Option<Arrangement>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

/// Sizes of a dragonfly as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DragonflySize {
    /// NICs per switch.
    pub p: u32,
    /// Switches per group.
    pub a: u32,
    /// Global ports per switch.
    pub h: u32,
    /// Groups; `a h + 1`, which is the most, if not given.
    pub groups: Option<u32>,
}

/// FamilyParameters of a dragonfly. Switch s of group i is `i a + s`. Its ports: first the NICs, then
/// one to each other switch of the group in their order, then the global ports. Global port j
/// of switch s is number `k = s h + j` of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dragonfly {
    p: u32,
    a: u32,
    /// The global links.
    pub global: GlobalLinks,
}

impl DragonflyKeys {
    /// The topology.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn laid_out(&self) -> LaidOut<Dragonfly> {
        let (Some(p), Some(a), Some(h)) = (self.p, self.a, self.h) else {
            let keys = [
                ("p", "NICs per switch", self.p.is_none()),
                ("a", "switches per group", self.a.is_none()),
                ("h", "global ports per switch", self.h.is_none()),
            ];
            return Err(Dragonfly::INFO.missing("dragonfly", &keys));
        };
        let size = DragonflySize {
            p,
            a,
            h,
            groups: self.groups,
        };
        let arrangement = self.arrangement.unwrap_or_default();
        Dragonfly::laid_out(size, arrangement, self.hosts)
    }
}

impl Dragonfly {
    /// As [`Topology::dragonfly`](super::Topology::dragonfly).
    pub(super) fn laid_out(
        size: DragonflySize,
        arrangement: Arrangement,
        hosts: Option<u32>,
    ) -> LaidOut<Self> {
        let DragonflySize { p, a, h, groups } = size;
        if p == 0 || a == 0 || h == 0 {
            return Err(invalid(format!(
                "p = {p}, a = {a}, h = {h}: a dragonfly needs at least one NIC and one global port \
                 per switch, and one switch per group"
            )));
        }
        let (global, groups) = GlobalLinks::new(("a", a), h, groups, arrangement)?;
        let switches = groups.saturating_mul(a.into());
        let nics = host_count(switches.saturating_mul(p.into()), hosts)?;
        let ports = u64::from(p) + u64::from(a) - 1 + u64::from(h);
        let fly = Dragonfly { p, a, global };
        let mut cabling = Cabling::unconnected(switches, ports, nics)?;
        cabling.attach_in_order(nics, p);
        for switch in 0..switches as u32 {
            let (first, at) = (switch - switch % a, switch % a);
            for other in at + 1..a {
                let back = port_of(first + other, fly.local_port(other, at));
                cabling.connect(port_of(switch, fly.local_port(at, other)), back);
            }
        }
        global.connect(&mut cabling, |group, to, link| fly.end(group, to, link));
        Ok((fly, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::Minimal;
        FamilyInfo::new(
            &["dragonfly"],
            "a dragonfly",
            &["dragonflies"],
            &[Minimal],
            &[("dragonfly", "p=2,a=4,h=2")],
        )
    };

    /// NICs per switch.
    #[must_use]
    pub fn p(&self) -> u32 {
        self.p
    }

    /// Switches per group.
    #[must_use]
    pub fn a(&self) -> u32 {
        self.a
    }

    /// Whether `port` is a global one.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn is_global(&self, port: PortId) -> bool {
        (self.p + self.a - 1..self.p + self.a - 1 + self.global.ports).contains(&port.get())
    }

    /// Port of the switch at position `at` of a group to the one at position `other`.
    fn local_port(&self, at: u32, other: u32) -> u32 {
        self.p + other - u32::from(other > at)
    }

    /// The port of `group` at which its link number `link` to the group `to` begins.
    fn end(&self, group: u32, to: u32, link: u32) -> SwitchPort {
        let (at, port) = self.global.end(group, to, link);
        port_of(group * self.a + at, self.p + self.a - 1 + port)
    }

    /// The port at which the global link begins that a packet for `to` takes from
    /// `switch`: of the links that make the fewest hops, the destination chooses one.
    fn global_link(&self, switch: SwitchId, to: Destination) -> SwitchPort {
        let (group, home) = (switch.get() / self.a, to.switch.get() / self.a);
        let local_hops = |link: &u32| {
            let (near, far) = (self.end(group, home, *link), self.end(home, group, *link));
            u32::from(near.switch != switch) + u32::from(far.switch != to.switch)
        };
        let fewest = (0..self.global.per_pair())
            .map(|link| local_hops(&link))
            .min();
        let shortest =
            || (0..self.global.per_pair()).filter(|link| Some(local_hops(link)) == fewest);
        let chosen = to.nic.index() % shortest().count().max(1);
        self.end(group, home, shortest().nth(chosen).unwrap_or(0))
    }
}

/// Routed minimally: to the switch of a global link, over it, and to the destination.
impl Family for Dragonfly {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let (at, home) = (switch.get(), to.switch.get());
        let next = if at / self.a == home / self.a {
            home
        } else {
            let link = self.global_link(switch, to);
            if link.switch == switch {
                return Ports::one(link.port);
            }
            link.switch.get()
        };
        Ports::one(PortId::new(self.local_port(at % self.a, next % self.a)))
    }

    fn group(&self, switch: SwitchId) -> Option<u32> {
        Some(switch.get() / self.a)
    }

    fn global_group(&self, switch: SwitchId) -> Option<u32> {
        self.group(switch)
    }

    fn name(&self) -> String {
        self.global.name("dragonfly", self.p, "a")
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        let global = &self.global;
        FamilyParameters::Dragonfly {
            p: self.p,
            a: self.a,
            h: global.ports,
            groups: global.groups,
            arrangement: global.arrangement,
        }
    }

    fn place(&self, switch: SwitchId) -> Place {
        Place::in_group(switch, self.a)
    }

    fn drawing(&self) -> Drawing {
        Drawing::equal_groups(self.global.groups, self.a)
    }

    /// Two: up to the source's group, and from the global link on. Without local or without
    /// global links nothing can wait in a cycle.
    fn vl_classes(&self) -> u8 {
        1 + u8::from(self.a > 1 && self.global.groups > 1)
    }

    /// One domain: packets keep their class until a global link.
    fn class_domain(&self, _: PortId) -> Option<u8> {
        Some(0)
    }

    fn least_class(&self, _: SwitchId, port: PortId) -> u8 {
        u8::from(self.vl_classes() > 1 && self.is_global(port))
    }

    /// The bisection of a full mesh, if it is one and no NIC is missing.
    fn bisection(&self, cabling: &Cabling) -> Option<ClosedForm> {
        let (switches, links) = match (self.a, self.global.groups) {
            (a, 1) => (u64::from(a), 1),
            (1, groups) => (u64::from(groups), u64::from(self.global.per_pair())),
            _ => return None,
        };
        let complete = u64::from(cabling.nics()) == switches * u64::from(self.p);
        (complete && switches.is_multiple_of(2)).then_some(ClosedForm {
            links: links * switches * switches / 4,
            formula: "t S^2 / 4: a full mesh of S switches with t links between any two",
        })
    }

    /// Through all groups: by the position in the group.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        SwitchOrder::through_groups(switches, |s| s.get() % self.a)
    }
}
