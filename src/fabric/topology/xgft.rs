//! Extended generalised fat trees with parallel links (XGFT and PGFT): trees
//! of switches of one size, tapered or not (Öhring et al., On generalized
//! fat trees, 1995; Zahavi, D-Mod-K routing providing non-blocking traffic for shift
//! permutations on real life fat trees, 2010).

use super::{
    Advice, Cabling, ClosedForm, Destination, Drawing, Family, FamilyInfo, FamilyParameters,
    LaidOut, Place, Ports, RingTie, RoutingName, TOO_LARGE, host_count, invalid, port_of,
};
use crate::error::SpecError;
use crate::ids::{PortId, SwitchId};
use flitwise_base::quote::cut;
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::Range;

/// The keys of a generalised fat tree.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["down", "up"]))]
#[schemars(description = "")]
pub struct XgftKeys {
    /// Children of a switch of each level, the level next to the NICs first.
    pub down: Option<Vec<u32>>,
    /// Parents of a node below each level; begins with 1.
    pub up: Option<Vec<u32>>,
    /// Parallel links to each parent; begins with 1.
    #[schemars(extend("x-default" = "1 everywhere"))]
    pub parallel: Option<Vec<u32>>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

/// FamilyParameters of an XGFT. Levels count from 1 at the hosts' switches; a switch of level
/// l has `down[l-1]` children and `up[l]` parents, `parallel[l-1]` and `parallel[l]`
/// links to each. Within a level switch `subtree · W(l) + b` is the b-th of the W(l)
/// tops of a subtree with M(l) hosts. Down ports come first: child c by its i-th link is
/// port c + children · i; parent r by its i-th link is r + parents · i after those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xgft {
    down: Vec<u32>,
    up: Vec<u32>,
    parallel: Vec<u32>,
    /// M(l): hosts below a switch of level l; M(0) = 1.
    hosts_below: Vec<u32>,
    /// W(l): tops of a subtree of level l; W(0) = 1.
    tops: Vec<u32>,
    /// First switch of every level from 1 on, and the number of switches.
    first: Vec<u32>,
}

/// Checks the numbers of each list on their own, under the key of the list that is wrong.
fn check_lists(down: &[u32], up: &[u32], parallel: &[u32]) -> Result<(), SpecError> {
    const UP: &str = "fabric.topology.up";
    const PARALLEL: &str = "fabric.topology.parallel";
    let lists = [
        ("fabric.topology.down", down),
        (UP, up),
        (PARALLEL, parallel),
    ];
    for (key, list) in lists {
        let problem = match list.len() {
            0 => "is empty; there is a number for each level, and at least one".to_owned(),
            n if n != down.len() => format!(
                "has {n} numbers, but down has {}: each has one for each level",
                down.len()
            ),
            _ if list.contains(&0) => {
                let list = format!("{list:?}");
                format!("{}: every number must be at least 1", cut(&list))
            }
            _ => continue,
        };
        return Err(SpecError { key, problem });
    }
    for (key, list) in [(UP, up), (PARALLEL, parallel)] {
        if list[0] != 1 {
            let problem = format!("begins with 1, not {}: a NIC has one port", list[0]);
            return Err(SpecError { key, problem });
        }
    }
    Ok(())
}

impl XgftKeys {
    /// The topology.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn laid_out(&self) -> LaidOut<Xgft> {
        let (Some(down), Some(up)) = (&self.down, &self.up) else {
            let keys = [
                ("down", "children per level", self.down.is_none()),
                ("up", "parents per level", self.up.is_none()),
            ];
            return Err(Xgft::INFO.missing("xgft", &keys));
        };
        let single = vec![1; down.len()];
        let parallel = self.parallel.as_ref().unwrap_or(&single);
        Xgft::laid_out(down, up, parallel, self.hosts)
    }
}

impl Xgft {
    /// As [`Topology::xgft`](super::Topology::xgft).
    pub(super) fn laid_out(
        down: &[u32],
        up: &[u32],
        parallel: &[u32],
        hosts: Option<u32>,
    ) -> LaidOut<Self> {
        let levels = down.len();
        check_lists(down, up, parallel)?;
        let tree = Xgft::new(down, up, parallel).ok_or_else(|| {
            invalid(format!(
                "down = {}, up = {} make 2^32 hosts or switches, or more; {TOO_LARGE}",
                cut(&format!("{down:?}")),
                cut(&format!("{up:?}"))
            ))
        })?;
        let switches = tree.first[levels];
        let nics = host_count(tree.hosts_below[levels].into(), hosts)?;
        let ports = (1..=levels).map(|l| tree.down_ports(l) + tree.up_ports_of(l));
        let ports = ports.max().unwrap_or(0);
        let mut cabling = Cabling::unconnected(switches.into(), ports, nics)?;
        cabling.attach_in_order(nics, down[0]);
        for level in 1..levels {
            let own_down = down[level - 1] * parallel[level - 1];
            for at in 0..tree.first[level] - tree.first[level - 1] {
                let (subtree, b) = (at / tree.tops[level], at % tree.tops[level]);
                let child = subtree % down[level];
                for link in 0..up[level] * parallel[level] {
                    let (parent, i) = (link % up[level], link / up[level]);
                    let above = subtree / down[level] * tree.tops[level + 1]
                        + b
                        + tree.tops[level] * parent;
                    cabling.connect(
                        port_of(tree.first[level - 1] + at, own_down + link),
                        port_of(tree.first[level] + above, child + down[level] * i),
                    );
                }
            }
        }
        Ok((tree, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::{DModK, Destro};
        FamilyInfo {
            advice: Advice::Elsewhere,
            ..FamilyInfo::new(
                &["xgft"],
                "a tree",
                &["trees"],
                &[DModK, Destro],
                &[
                    ("xgft", "down=[4,4],up=[1,4]"),
                    ("fat-tree", "levels=2,radix=8"),
                ],
            )
        }
    };

    /// `None` if a product needs more than 32 bits.
    fn new(down: &[u32], up: &[u32], parallel: &[u32]) -> Option<Self> {
        let products = |list: &[u32]| {
            let mut all = vec![1u32];
            for &n in list {
                all.push(all.last()?.checked_mul(n)?);
            }
            Some(all)
        };
        let (hosts_below, tops) = (products(down)?, products(up)?);
        let hosts = *hosts_below.last()?;
        let mut first = vec![0u32];
        for level in 1..=down.len() {
            let here = (hosts / hosts_below[level]).checked_mul(tops[level])?;
            first.push(first.last()?.checked_add(here)?);
            down[level - 1].checked_mul(parallel[level - 1])?;
            up[level - 1].checked_mul(parallel[level - 1])?;
        }
        Some(Self {
            down: down.to_vec(),
            up: up.to_vec(),
            parallel: parallel.to_vec(),
            hosts_below,
            tops,
            first,
        })
    }

    /// Children of a switch, level by level from the hosts on.
    #[must_use]
    pub fn down(&self) -> &[u32] {
        &self.down
    }

    /// Parents of a node, from the hosts on; the first is 1.
    #[must_use]
    pub fn up(&self) -> &[u32] {
        &self.up
    }

    /// Links to each parent, from the hosts on; the first is 1.
    #[must_use]
    pub fn parallel(&self) -> &[u32] {
        &self.parallel
    }

    /// Levels of switches.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.down.len()
    }

    /// Hosts below a switch of `level`.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn hosts_below(&self, level: usize) -> u32 {
        self.hosts_below[level]
    }

    /// Top switches of a subtree of `level`.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn tops(&self, level: usize) -> u32 {
        self.tops[level]
    }

    /// Switches of `level`, from 1 on.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn switches_of(&self, level: usize) -> Range<SwitchId> {
        SwitchId::new(self.first[level - 1])..SwitchId::new(self.first[level])
    }

    /// The position of a switch.
    fn position(&self, switch: SwitchId) -> Position {
        let level = self.first.partition_point(|&first| first <= switch.get());
        Position {
            level,
            at: switch.get() - self.first[level - 1],
        }
    }

    fn down_ports(&self, level: usize) -> u64 {
        u64::from(self.down[level - 1]) * u64::from(self.parallel[level - 1])
    }

    fn up_ports_of(&self, level: usize) -> u64 {
        let parents = self.up.get(level).copied().unwrap_or(0);
        let links = self.parallel.get(level).copied().unwrap_or(0);
        u64::from(parents) * u64::from(links)
    }
}

/// The position of a switch in its tree.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// Level, from 1 on.
    level: usize,
    /// Position in the level.
    at: u32,
}

/// Routed by D-mod-k on generalised fat trees (Zahavi, 2010): the destination decides the path
/// up and with it the top switch, so that every top serves its own set of destinations.
impl Family for Xgft {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let Position { level, at } = self.position(switch);
        let (dst, children) = (to.nic.get(), self.down[level - 1]);
        let links = self.parallel[level - 1];
        if at / self.tops[level] == dst / self.hosts_below[level] {
            let child = dst / self.hosts_below[level - 1] % children;
            // Down by the link that leads up for this destination.
            let up = self.up[level - 1];
            let link = dst / self.tops[level - 1] % (up * links) / up;
            return Ports::one(PortId::new(child + children * link));
        }
        let links_up = self.up[level] * self.parallel[level];
        Ports::one(PortId::new(
            children * links + dst / self.tops[level] % links_up,
        ))
    }

    fn up_ports(&self, switch: SwitchId) -> Ports {
        let Position { level, .. } = self.position(switch);
        Ports::range(
            PortId::new(self.down_ports(level) as u32),
            self.up_ports_of(level) as u32,
        )
    }

    fn has_up_ports(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!(
            "fat tree, down {:?}, up {:?}, parallel {:?}",
            self.down, self.up, self.parallel
        )
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        let Self {
            down,
            up,
            parallel,
            // These follow from the others.
            hosts_below: _,
            tops: _,
            first: _,
        } = self.clone();
        FamilyParameters::Xgft { down, up, parallel }
    }

    fn place(&self, switch: SwitchId) -> Place {
        let Position { level, at } = self.position(switch);
        Place::Within {
            part: "level",
            // As in other trees, and unlike in the formulas of XGFTs, levels count from 0 here.
            number: level as u32 - 1,
            position: at,
        }
    }

    /// The subtrees below the roots.
    fn group(&self, switch: SwitchId) -> Option<u32> {
        let largest = self.levels().checked_sub(1).filter(|&level| level > 0)?;
        let switches = self.hosts_below(largest) / self.hosts_below(1);
        Some(self.position(switch).at / switches)
    }

    fn drawing(&self) -> Drawing {
        let levels = (1..=self.levels()).rev();
        Drawing::Levels(levels.map(|level| self.switches_of(level)).collect())
    }

    /// Full, for complete trees with as many links up as down at every level.
    fn bisection(&self, cabling: &Cabling) -> Option<ClosedForm> {
        let (levels, nics) = (self.levels(), cabling.nics());
        let even_width = (1..levels).all(|l| self.up_ports_of(l) == self.down_ports(l));
        let complete = nics == self.hosts_below[levels];
        let even = self.down[levels - 1].is_multiple_of(2);
        (complete && levels > 1 && even_width && even).then_some(ClosedForm {
            links: u64::from(nics) / 2,
            formula: "N / 2: as many links up as down at every level",
        })
    }
}
