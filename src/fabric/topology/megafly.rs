//! Megaflies, also called Dragonfly+: dragonflies whose groups are complete bipartite graphs of leaf and spine
//! switches (Shpiner et al.: Dragonfly+: low cost topology for scaling datacenters, 2017; Flajslik, Borch, Parker:
//! Megafly: a topology for exascale systems, 2018).

use super::global_links::GlobalLinks;
use super::{
    Arrangement, Cabling, Destination, Drawing, Family, FamilyInfo, FamilyParameters, LaidOut,
    Place, Ports, RingTie, RoutingName, SwitchOrder, host_count, invalid, port_of,
};
use crate::ids::{PortId, SwitchId, SwitchPort};
use schemars::JsonSchema;
use serde::Deserialize;

/// The keys of a megafly.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["p", "s", "h"]))]
#[schemars(description = "")]
pub struct MegaflyKeys {
    /// NICs per leaf switch.
    pub p: Option<u32>,
    /// Leaf and spine switches per group.
    pub s: Option<u32>,
    /// Global ports per spine switch.
    pub h: Option<u32>,
    /// Number of groups.
    #[schemars(extend("x-default" = "s h + 1"))]
    pub groups: Option<u32>,
    /// Which global port leads to which group.
    #[schemars(extend("default" = "palm-tree"))]
    pub arrangement: Option<Arrangement>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

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

/// FamilyParameters of a megafly. Leaf j of group i is switch `2 s i + j`, its spine j is `2 s i + s + j`. Ports of a
/// leaf: first the NICs, then one to each spine of the group. Ports of a spine: one to each leaf of the group, then the
/// global ports. Global port j of spine k is number `k h + j` of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Megafly {
    p: u32,
    s: u32,
    /// The global links.
    pub global: GlobalLinks,
}

impl MegaflyKeys {
    /// The topology.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn laid_out(&self) -> LaidOut<Megafly> {
        let (Some(p), Some(s), Some(h)) = (self.p, self.s, self.h) else {
            let keys = [
                ("p", "NICs per leaf switch", self.p.is_none()),
                ("s", "leaf and spine switches per group", self.s.is_none()),
                ("h", "global ports per spine switch", self.h.is_none()),
            ];
            return Err(Megafly::INFO.missing("megafly", &keys));
        };
        let size = MegaflySize {
            p,
            s,
            h,
            groups: self.groups,
        };
        let arrangement = self.arrangement.unwrap_or_default();
        Megafly::laid_out(size, arrangement, self.hosts)
    }
}

impl Megafly {
    /// As [`Topology::megafly`](super::Topology::megafly).
    pub(super) fn laid_out(
        size: MegaflySize,
        arrangement: Arrangement,
        hosts: Option<u32>,
    ) -> LaidOut<Self> {
        let MegaflySize { p, s, h, groups } = size;
        if p == 0 || s == 0 || h == 0 {
            return Err(invalid(format!(
                "p = {p}, s = {s}, h = {h}: a megafly needs at least one NIC per leaf switch, one leaf and one spine \
                 switch per group, and one global port per spine switch"
            )));
        }
        let (global, groups) = GlobalLinks::new(("s", s), h, groups, arrangement)?;
        let leaves = groups.saturating_mul(s.into());
        let nics = host_count(leaves.saturating_mul(p.into()), hosts)?;
        let ports = u64::from(s) + u64::from(p.max(h));
        let fly = Megafly { p, s, global };
        let mut cabling = Cabling::unconnected(leaves.saturating_mul(2), ports, nics)?;
        for nic in 0..nics as u32 {
            let leaf = nic / p;
            cabling.attach_next(port_of(leaf / s * 2 * s + leaf % s, nic % p));
        }
        fly.connect(&mut cabling);
        Ok((fly, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::Minimal;
        FamilyInfo::new(
            &["megafly"],
            "a slim fly or megafly",
            &["megaflies"],
            &[Minimal],
            &[("megafly", "p=2,s=2,h=2")],
        )
    };

    fn connect(&self, cabling: &mut Cabling) {
        let s = self.s;
        for group in 0..self.global.groups {
            for (leaf, spine) in (0..s).flat_map(|leaf| (0..s).map(move |spine| (leaf, spine))) {
                cabling.connect(
                    port_of(group * 2 * s + leaf, self.p + spine),
                    port_of(group * 2 * s + s + spine, leaf),
                );
            }
        }
        (self.global).connect(cabling, |group, to, link| self.end(group, to, link));
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

    /// Whether `switch` is a spine.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn is_spine(&self, switch: SwitchId) -> bool {
        switch.get() % (2 * self.s) >= self.s
    }

    /// The port of `group` at which its link number `link` to the group `to` begins.
    fn end(&self, group: u32, to: u32, link: u32) -> SwitchPort {
        let (spine, port) = self.global.end(group, to, link);
        port_of(group * 2 * self.s + self.s + spine, self.s + port)
    }
}

/// Routed minimally: up to a spine, over a global link if the destination is in another group, and down.
impl Family for Megafly {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let (at, home, s) = (switch.get(), to.switch.get(), self.s);
        let (group, home_group) = (at / (2 * s), home / (2 * s));
        let port = if group == home_group {
            if self.is_spine(switch) {
                home % (2 * s)
            } else {
                self.p + to.nic.get() % s
            }
        } else {
            let link = self.end(
                group,
                home_group,
                to.nic.get() % self.global.per_pair().max(1),
            );
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

    fn can_turn_back(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        self.global.name("megafly", self.p, "s")
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        let global = &self.global;
        FamilyParameters::Megafly {
            p: self.p,
            s: self.s,
            h: global.ports,
            groups: global.groups,
            arrangement: global.arrangement,
        }
    }

    fn place(&self, switch: SwitchId) -> Place {
        Place::in_group(switch, 2 * self.s)
    }

    fn drawing(&self) -> Drawing {
        Drawing::equal_groups(self.global.groups, 2 * self.s)
    }

    /// Through all groups: by the position among the leaves or spines of the group.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        SwitchOrder::through_groups(switches, |s| s.get() % self.s)
    }
}
