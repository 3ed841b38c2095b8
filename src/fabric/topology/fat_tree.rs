//! Fat trees of switches with a given radix, described by what a buyer knows: the number of nodes, levels and ports, and how much the
//! leaf switches are oversubscribed. They are generalised fat trees: see [`Xgft`](super::Xgft).

use super::{LaidOut, Xgft};
use crate::error::SpecError;
use schemars::JsonSchema;
use serde::Deserialize;

/// The keys of a fat tree of switches of one radix.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["levels", "radix"]))]
#[schemars(description = "")]
pub struct FatTreeKeys {
    /// Number of NICs: a multiple of what one subtree below the top holds.
    #[schemars(extend("x-default" = "as many as fit"))]
    pub nodes: Option<u32>,
    /// Levels of switches.
    pub levels: Option<u32>,
    /// Ports of a switch.
    pub radix: Option<u32>,
    /// NICs of a switch of the lowest level over its up-ports.
    #[schemars(extend("default" = 1))]
    pub oversubscription: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

/// Sizes of a fat tree as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatTreeSize {
    /// NICs; as many as fit if not given.
    pub nodes: Option<u32>,
    /// Levels of switches.
    pub levels: u32,
    /// Ports of a switch.
    pub radix: u32,
    /// Ports down for each port up of a leaf switch.
    pub oversubscription: u32,
}

impl FatTreeKeys {
    /// The topology.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn laid_out(&self) -> LaidOut<Xgft> {
        let (Some(levels), Some(radix)) = (self.levels, self.radix) else {
            let keys = [
                ("levels", "levels of switches", self.levels.is_none()),
                ("radix", "ports of a switch", self.radix.is_none()),
            ];
            return Err(Xgft::INFO.missing("fat-tree", &keys));
        };
        let size = FatTreeSize {
            nodes: self.nodes,
            levels,
            radix,
            oversubscription: self.oversubscription.unwrap_or(1),
        };
        Xgft::fat_tree(size, self.hosts)
    }
}

fn misfit<T>(key: &'static str, problem: String) -> Result<T, SpecError> {
    Err(SpecError { key, problem })
}

impl Xgft {
    /// As [`Topology::fat_tree`](super::Topology::fat_tree).
    pub(super) fn fat_tree(size: FatTreeSize, hosts: Option<u32>) -> LaidOut<Self> {
        check_sizes(size)?;
        if size.levels == 1 {
            return one_switch(size, hosts);
        }
        let (leaf_up, half) = (leaf_ports_up(size)?, size.radix / 2);
        let leaf_down = leaf_up * size.oversubscription;
        let mut down = vec![leaf_down];
        let mut up = vec![1, leaf_up];
        down.extend((2..size.levels).map(|_| half));
        up.extend((2..size.levels).map(|_| half));
        let tops = subtrees(size, &down)?;
        // As many links to each top switch as it has ports for, if they come out even.
        let last = up.len() - 1;
        let links = (1..=size.radix / tops)
            .rev()
            .find(|n| up[last].is_multiple_of(*n))
            .unwrap_or(1);
        let mut parallel = vec![1; up.len()];
        up[last] /= links;
        parallel[last] = links;
        down.push(tops);
        Self::laid_out(&down, &up, &parallel, hosts)
    }
}

/// Checks the number of levels, that a switch between two levels can have half of its ports up, and that leaf switches have
/// ports down.
fn check_sizes(size: FatTreeSize) -> Result<(), SpecError> {
    let FatTreeSize {
        levels,
        radix,
        oversubscription,
        ..
    } = size;
    if !(1..=8).contains(&levels) {
        return misfit(
            "fabric.topology.levels",
            format!("{levels}; a fat tree has 1 to 8 levels of switches"),
        );
    }
    if radix < 2 || (levels > 2 && radix % 2 == 1) {
        let problem = format!(
            "{radix} ports; from three levels on it must be even, for a switch in between has half of its ports up"
        );
        return misfit("fabric.topology.radix", problem);
    }
    if oversubscription == 0 {
        return misfit(
            "fabric.topology.oversubscription",
            "0; it must be at least 1, which is a port down for each one up".into(),
        );
    }
    Ok(())
}

/// Builds a tree of one level: a switch with a NIC at each port in use.
fn one_switch(size: FatTreeSize, hosts: Option<u32>) -> LaidOut<Xgft> {
    let FatTreeSize {
        nodes,
        radix,
        oversubscription: over,
        ..
    } = size;
    if over != 1 {
        let problem = format!("{over}; a fat tree of one level has no links up: remove it");
        return misfit("fabric.topology.oversubscription", problem);
    }
    let nodes = nodes.unwrap_or(radix);
    if nodes == 0 || nodes > radix {
        return misfit(
            "fabric.topology.nodes",
            format!("{nodes}; one switch of {radix} ports has 1 to {radix}: take more levels"),
        );
    }
    Xgft::laid_out(&[nodes], &[1], &[1], hosts)
}

/// The ports up of a leaf switch, if its ports divide by the oversubscription.
fn leaf_ports_up(size: FatTreeSize) -> Result<u32, SpecError> {
    let FatTreeSize {
        radix,
        oversubscription: over,
        ..
    } = size;
    let parts = over
        .checked_add(1)
        .filter(|parts| radix.is_multiple_of(*parts));
    let Some(parts) = parts else {
        let problem = format!(
            "{over}; the {radix} ports of a leaf switch do not divide into {over} down for each one up: \
             oversubscription + 1 must divide the radix"
        );
        return misfit("fabric.topology.oversubscription", problem);
    };
    Ok(radix / parts)
}

/// The number of subtrees below the top that hold the nodes; `down`: ports down of their switches, from the leaf switches up.
fn subtrees(size: FatTreeSize, down: &[u32]) -> Result<u32, SpecError> {
    let FatTreeSize {
        nodes,
        levels,
        radix,
        ..
    } = size;
    let below = down.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
    let most = below.and_then(|below| below.checked_mul(radix));
    let (Some(below), Some(most)) = (below, most) else {
        return misfit(
            "fabric.topology.levels",
            format!("{levels}; these are 2^32 nodes or more: take fewer"),
        );
    };
    let nodes = nodes.unwrap_or(most);
    if nodes == 0 || nodes > most || !nodes.is_multiple_of(below) {
        let fits = nodes.div_ceil(below).clamp(1, radix) * below;
        let problem = format!(
            "{nodes}; {levels} levels of switches with {radix} ports take a multiple of {below} (a whole subtree below \
             the top) up to {most}: take {fits}, with `hosts` for fewer NICs"
        );
        return misfit("fabric.topology.nodes", problem);
    }
    Ok(nodes / below)
}
