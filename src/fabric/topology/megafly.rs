//! Megaflies, also called Dragonfly+: dragonflies whose groups are complete bipartite graphs of leaf and spine
//! switches (Shpiner et al.: Dragonfly+: low cost topology for scaling datacenters, 2017; Flajslik, Borch, Parker:
//! Megafly: a topology for exascale systems, 2018).

use super::text::groups_text;
use super::{
    Arrangement, Destination, Drawing, Family, Place, Ports, Shape, SwitchOrder, Topology,
    host_count, invalid, port_of,
};
use crate::ids::{PortId, SwitchId, SwitchPort};
use crate::spec::{RingTie, SpecError};
use serde_json::{Value, json};

/// Sizes of a megafly as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MegaflySize {
    /// NICs per leaf switch.
    pub p: u32,
    /// Leaf switches, and spine switches, per group.
    pub s: u32,
    /// Global ports per spine switch.
    pub h: u32,
    /// Groups; `s h + 1`, which is the most, if not given.
    pub groups: Option<u32>,
}

/// Parameters of a megafly. Leaf j of group i is switch `2 s i + j`, its spine j is `2 s i + s + j`. Ports of a
/// leaf: first the NICs, then one to each spine of the group. Ports of a spine: one to each leaf of the group, then the
/// global ports. Global port j of spine k is number `k h + j` of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Megafly {
    p: u32,
    s: u32,
    h: u32,
    groups: u32,
    arrangement: Arrangement,
}

impl Megafly {
    pub(super) fn build(
        size: MegaflySize,
        arrangement: Arrangement,
        hosts: Option<u32>,
    ) -> Result<Topology, SpecError> {
        let MegaflySize { p, s, h, groups } = size;
        if p == 0 || s == 0 || h == 0 {
            return Err(invalid(format!(
                "p = {p}, s = {s}, h = {h}: a megafly needs at least one NIC per leaf switch, one leaf and one spine \
                 switch per group, and one global port per spine switch"
            )));
        }
        let most = u64::from(s) * u64::from(h) + 1;
        let groups = groups.map_or(most, u64::from);
        if groups == 0 || groups > most {
            return Err(SpecError {
                key: "fabric.topology.groups",
                problem: format!(
                    "{groups} groups; with s = {s} and h = {h} there can be 1 to {most} (s h + 1); \
                     take fewer, or raise s or h"
                ),
            });
        }
        let leaves = groups.saturating_mul(s.into());
        let nics = host_count(leaves.saturating_mul(p.into()), hosts)?;
        let ports = u64::from(s) + u64::from(p.max(h));
        let fly = Self {
            p,
            s,
            h,
            // With more, a switch has too many ports, and the fabric is refused.
            groups: u32::try_from(groups).unwrap_or(u32::MAX),
            arrangement,
        };
        let shape = Shape::Megafly(fly);
        let mut topology = Topology::unconnected(shape, leaves.saturating_mul(2), ports, nics)?;
        for nic in 0..nics as u32 {
            let leaf = nic / p;
            topology.attach_next(port_of(leaf / s * 2 * s + leaf % s, nic % p));
        }
        fly.connect(&mut topology);
        Ok(topology)
    }

    fn connect(&self, topology: &mut Topology) {
        let s = self.s;
        for group in 0..self.groups {
            for (leaf, spine) in (0..s).flat_map(|leaf| (0..s).map(move |spine| (leaf, spine))) {
                topology.connect(
                    port_of(group * 2 * s + leaf, self.p + spine),
                    port_of(group * 2 * s + s + spine, leaf),
                );
            }
        }
        for low in 0..self.groups {
            for high in low + 1..self.groups {
                for link in 0..self.links() {
                    topology.connect(self.end(low, high, link), self.end(high, low, link));
                }
            }
        }
    }

    /// NICs per leaf switch.
    #[must_use]
    pub fn p(&self) -> u32 {
        self.p
    }

    /// Leaf switches, and spine switches, per group.
    #[must_use]
    pub fn s(&self) -> u32 {
        self.s
    }

    /// Global ports per spine switch.
    #[must_use]
    pub fn h(&self) -> u32 {
        self.h
    }

    /// Number of groups.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Which group a global port leads to.
    #[must_use]
    pub fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Links between every two groups; the global ports that are left over stay free.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn links(&self) -> u32 {
        (self.s * self.h).checked_div(self.groups - 1).unwrap_or(0)
    }

    /// True if `switch` is a spine.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn is_spine(&self, switch: SwitchId) -> bool {
        switch.get() % (2 * self.s) >= self.s
    }

    /// The port of `group` at which its link number `link` to the group `to` begins.
    fn end(&self, group: u32, to: u32, link: u32) -> SwitchPort {
        let turn = self.arrangement.turn(group, to, self.groups);
        let number = link * (self.groups - 1) + turn;
        let (spine, port) = (number / self.h, number % self.h);
        port_of(group * 2 * self.s + self.s + spine, self.s + port)
    }
}

/// Routed minimally: up to a spine, over a global link if the destination is in another group, and down.
impl Family for Megafly {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let (at, home, s) = (switch.get(), to.switch.get(), self.s);
        let (group, home_group) = (at / (2 * s), home / (2 * s));
        let port = if group == home_group {
            match self.is_spine(switch) {
                true => home % (2 * s),
                false => self.p + to.nic.get() % s,
            }
        } else {
            let link = self.end(group, home_group, to.nic.get() % self.links().max(1));
            let spine = link.switch.get() % (2 * s) - s;
            match (self.is_spine(switch), link.switch == switch) {
                (false, _) => self.p + spine,
                (true, true) => link.port.get(),
                // No minimal route leads here; down, and up again to the right spine.
                (true, false) => to.nic.get() % s,
            }
        };
        Ports::one(PortId::new(port))
    }

    fn group(&self, switch: SwitchId) -> Option<u32> {
        Some(switch.get() / (2 * self.s))
    }

    fn name(&self) -> String {
        format!(
            "megafly, p {}, s {}, h {}, {}, {}",
            self.p,
            self.s,
            self.h,
            groups_text(self.groups),
            self.arrangement.name()
        )
    }

    fn parameters(&self, _: &Topology) -> Value {
        let Self {
            p,
            s,
            h,
            groups,
            arrangement,
        } = self;
        json!({
            "kind": "megafly",
            "p": p,
            "s": s,
            "h": h,
            "groups": groups,
            "arrangement": arrangement.name(),
        })
    }

    fn place(&self, switch: SwitchId) -> Place {
        Place::Within {
            part: "group",
            number: switch.get() / (2 * self.s),
            position: switch.get() % (2 * self.s),
        }
    }

    fn drawing(&self) -> Drawing {
        let first = |group| SwitchId::new(group * 2 * self.s);
        let group = |group| first(group)..first(group + 1);
        Drawing::Groups((0..self.groups).map(group).collect())
    }

    /// Through all groups: by the position among the leaves or spines of the group.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        let mut order: Vec<SwitchId> = SwitchId::all(switches).collect();
        order.sort_by_key(|&switch| (switch.get() % self.s, switch));
        vec![SwitchOrder {
            name: "by position in the group".to_owned(),
            switches: order,
        }]
    }
}
