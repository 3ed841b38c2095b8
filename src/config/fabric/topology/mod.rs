//! `[fabric.topology]` as written. Its `kind` decides which keys it has: see `tagged`. Each family declares its keys in
//! its own file in `fabric/topology/`, but for those whose keys have several forms.

pub(super) mod graphs;

use crate::config::document::ConfigError;
use crate::config::fabric::topology::graphs::{RawDiscovery, RawGraph, RawSingle};
use crate::config::import::Imported;
use crate::fabric::topology::{
    DragonflyKeys, FatTreeKeys, KnsKeys, LatticeKeys, MegaflyKeys, SlimFlyKeys, Topology, TreeKeys,
    XgftKeys,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub(crate) enum RawTopology {
    /// One switch.
    Single(RawSingle),
    /// A torus of `dimensions`.
    Torus(LatticeKeys),
    /// A mesh of `dimensions`.
    Mesh(LatticeKeys),
    /// A k-ary n-tree.
    KAryNTree(TreeKeys),
    /// A generalised fat tree (Öhring et al. 1995; with parallel links Zahavi 2010).
    ///
    /// The lists have a number per level, the level next to the NICs first. A switch of the first level has `down[0]`
    /// NICs; a switch of level l has `down[l-1]` children, each of which has `up[l-1]` parents and `parallel[l-1]`
    /// links to each of them. A NIC has one link, so `up` and `parallel` begin with 1. `{ kind = "xgft", down = [18,
    /// 18, 6], up = [1, 18, 3], parallel = [1, 1, 6] }` is a tree of 1,944 NICs; fewer parents make a tapered tree.
    /// Ports: child c by its i-th link is c + children · i, then parent r by its i-th link r + parents · i.
    Xgft(XgftKeys),
    /// Groups of switches with a link to every other switch of the group (Kim, Dally, Scott, Abts 2008).
    ///
    /// A group has `a` switches, each with `p` NICs and `h` global ports. There are at most a h + 1 groups. With a h +
    /// 1 there is one link between every two groups; with fewer there are ⌊a h / (groups − 1)⌋, and the ports left over
    /// remain free. `arrangement` tells which global port leads to which group: `"palm-tree"`, `"consecutive"` (also
    /// `"absolute"`) or `"relative"` (Camarero, Vallejo, Beivide 2014; Hastings et al. 2015; the palm tree as CAMINOS
    /// builds it). Routing is minimal: a local, a global, a local link. A dragonfly needs two SCs per service level,
    /// one for links within the source's group and one from the global link on.
    Dragonfly(DragonflyKeys),
    /// A lattice whose lines are fully connected.
    ///
    /// `{ kind = "hyperx", dimensions = [8, 8], concentration = 8 }` is the 8-ary 3-flat, a flattened butterfly of 512
    /// NICs.
    Hyperx(LatticeKeys),
    /// A slim fly; q is a power of a prime from 3 to 49.
    ///
    /// `{ kind = "slim-fly", q = 5 }` has 50 switches of degree 7 and 200 NICs.
    SlimFly(SlimFlyKeys),
    /// A megafly, also called Dragonfly+.
    Megafly(MegaflyKeys),
    /// An `xgft` of switches with `radix` ports.
    ///
    /// It has `levels` levels, of which the lowest has `oversubscription` times as many NICs as up-ports, and the
    /// topmost only down-ports. `{ kind = "fat-tree", levels = 3, radix = 8 }` has 128 NICs. `nodes` is a multiple of
    /// the NICs of a subtree below the top.
    FatTree(FatTreeKeys),
    /// A lattice of routers whose lines are joined by trees of switches.
    ///
    /// The `k` routers of every line are joined by a tree of `s` levels of switches, each with the s-th root of `k` as
    /// its number of ports down: k is 4, 8, 9, 16, …. `{ kind = "kns", k = 16, n = 2, s = 2 }` has 256
    /// routers, and on each of 32 lines a 4-ary 2-tree of 8 switches.
    Kns(KnsKeys),
    /// A graph that lists its links, or is in a file of another tool.
    ///
    /// [Files](../reference/congestion-input.md#graphs) are in DOT, GraphML, node-link JSON, or lists of edges. They have no other
    /// keys; what they say of rates, lengths and routes counts unless a key says otherwise: `link_speed`,
    /// `host_link_speed` and `link_speeds` of rates, `link_latency` and `host_link_latency` of lengths, `routing` and
    /// `forwarding` of routes.
    ///
    /// Its own routing, `"minimal"`: for one NIC after the other, each switch takes, of the ports that lead one hop
    /// nearer, the port with the fewest NICs so far, and of several the lowest (`"min-hop"` lets them take turns). A graph with loops may be able to
    /// deadlock; `fabric check` tells.
    Graph(RawGraph),
    /// The graph that the InfiniBand tool of this name found.
    ///
    /// Switches and NICs (ports of adapters) are numbered in the order of their GUIDs, ports from 0: port p of a device
    /// is p − 1. On `voq` switches each link has the speed in the file (`4xQDR`: SDR to XDR, width 1 to 12), unless a
    /// key sets it: `link_speed` all links between switches, `host_link_speed` all links to NICs, `link_speeds` single
    /// links. Links without a speed in the file have the most frequent speed of their kind; if no link has one, the
    /// preset decides. Hierarchical switches have one rate, `link_rate`. Routing is as in a graph, or by `forwarding`;
    /// tables that do not fit the cables are refused, with a cure. A node that claims to have 0 ports (`Switch 0`), or
    /// fewer than are listed, is refused with its line: the file was edited, or the device is broken; leave it out. A
    /// switch of which no port is listed is refused as well.
    Ibnetdiscover(RawDiscovery),
}

impl RawTopology {
    /// Builds the graph. If a file in `dir` describes it, also returns what else the file says.
    pub(crate) fn resolve(&self, dir: &Path) -> Result<(Topology, Option<Imported>), ConfigError> {
        let built = match self {
            Self::Single(keys) => return Ok((keys.resolve()?, None)),
            Self::Torus(keys) => keys.torus().map(Topology::of),
            Self::Mesh(keys) => keys.mesh().map(Topology::of),
            Self::KAryNTree(keys) => keys.laid_out().map(Topology::of),
            Self::Xgft(keys) => keys.laid_out().map(Topology::of),
            Self::Dragonfly(keys) => keys.laid_out().map(Topology::of),
            Self::Hyperx(keys) => keys.hyperx().map(Topology::of),
            Self::SlimFly(keys) => keys.laid_out().map(Topology::of),
            Self::Megafly(keys) => keys.laid_out().map(Topology::of),
            Self::FatTree(keys) => keys.laid_out().map(Topology::of),
            Self::Kns(keys) => keys.laid_out().map(Topology::of),
            Self::Graph(keys) => return keys.resolve(dir),
            Self::Ibnetdiscover(keys) => {
                let imported = keys.resolve(dir)?;
                return Ok((imported.topology.clone(), Some(imported)));
            }
        };
        Ok((built?, None))
    }
}
