//! `[node]`: its keys as written, and their meaning.

use crate::config::document::{ConfigError, refused};
use crate::fabric::spec::FabricSpec;
use crate::replay::{NicChoice, NodeGraph, NodeSpec};
use crate::units::{Bytes, Picoseconds, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latency inside a node where none is given: 100 ns, without MPI's own work, as on the fabric
/// (docs/model/replay.md has the sources).
const LATENCY_PS: u64 = 100_000;

/// The default of the bandwidth within a node: 20 GB/s, which shared memory gives a pair of ranks.
const BANDWIDTH: u64 = 20_000_000_000;

/// Largest message that is not striped: the default of MVAPICH2 (`MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD`, user guide).
const STRIPE_THRESHOLD: u64 = 16_384;

/// Most NICs of a node, and ranks of a NIC that have places of their own.
const MOST: u32 = 64;

#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNode {
    /// NICs of a node: consecutive NICs, which divide the fabric's.
    #[schemars(extend("x-default" = "`rails`"))]
    pub nics: Option<u32>,
    /// Planes: copies of `fabric`; NIC x is on plane x mod `rails`.
    ///
    /// They have no links among them, and divide `nics`. `flitwise fabric` shows one of them.
    #[schemars(extend("default" = 1))]
    pub rails: Option<u32>,
    /// Ranks (or GPUs) per NIC of jobs that say nothing, each in a place of its own.
    #[schemars(extend("default" = 1))]
    pub ranks_per_nic: Option<u32>,
    /// NIC of messages to other nodes: the rank's; by `"hash"` of the message; `"stripe"`: all.
    #[schemars(extend("default" = "by-rank"))]
    pub nic_choice: Option<RawNicChoice>,
    /// Largest message that `"stripe"` does not divide.
    #[schemars(extend("x-default" = "`\"16KiB\"`"))]
    pub stripe_threshold: Option<Bytes>,
    /// Links inside a node: of every pair of ranks its own; or `"all-to-all"`, `"pcie-tree"`, `"dgx-1"`.
    ///
    /// Only `"pairs"` knows no contention. `"pcie-tree"` has a switch above every two places and a host above the
    /// switches, `"dgx-1"` two full meshes of four places with a link from each place to its partner.
    #[schemars(extend("default" = "pairs"))]
    pub fabric: Option<RawNodeFabric>,
    /// Links in place of `fabric`, by their ends: places from 0, then switches, `[[0, 2], [1, 2]]`.
    pub links: Option<Vec<[u32; 2]>>,
    /// Latency of each link; of pairs unless a job has `intra_node_latency`.
    #[schemars(extend("default" = "100ns"))]
    pub latency: Option<Picoseconds>,
    /// Bandwidth of each link and direction; of pairs unless a job has `intra_node_bandwidth`.
    #[schemars(extend("default" = "20GB/s"))]
    pub bandwidth: Option<Rate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawNicChoice {
    /// The NICs of the two ranks.
    ByRank,
    /// By a hash of the ranks and the number of the message.
    Hash,
    /// All NICs of both nodes for a long message.
    Stripe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawNodeFabric {
    /// A link of their own for every two ranks, without contention.
    Pairs,
    /// A link between every two places.
    AllToAll,
    /// A switch above every two places, and a host above the switches.
    PcieTree,
    /// The cube mesh of a DGX-1 with eight places.
    #[serde(rename = "dgx-1")]
    Dgx1,
}

/// The meaning of `[node]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub spec: NodeSpec,
    /// Of pairs of ranks, for jobs that say nothing.
    pub latency_ps: u64,
    pub bandwidth: Ratio,
}

/// The node of an experiment, for a fabric of one plane.
pub(crate) fn node(raw: Option<&RawNode>) -> Result<Node, ConfigError> {
    let usual = RawNode::default();
    let raw = raw.unwrap_or(&usual);
    let rails = number(raw.rails, 1, "node.rails")?;
    let nics = number(raw.nics, rails, "node.nics")?;
    let places_per_nic = number(raw.ranks_per_nic, 1, "node.ranks_per_nic")?;
    let latency_ps = raw.latency.map_or(LATENCY_PS, |time| time.0);
    let bandwidth = raw.bandwidth.map_or(Ratio::whole(BANDWIDTH), |rate| rate.0);
    if bandwidth.is_zero() {
        return refused(
            "node.bandwidth",
            "is 0; messages inside a node would never arrive",
        );
    }
    let graph = match links(raw, nics * places_per_nic)? {
        None => None,
        Some(links) => {
            let graph = NodeGraph::new(nics * places_per_nic, links, latency_ps, bandwidth);
            Some(graph.map_err(|e| ConfigError::new(links_key(raw), e.to_string()))?)
        }
    };
    let spec = NodeSpec {
        nics,
        places_per_nic,
        planes: rails,
        choice: choice(raw, nics)?,
        graph,
    };
    Ok(Node {
        spec,
        latency_ps,
        bandwidth,
    })
}

fn number(given: Option<u32>, usual: u32, key: &str) -> Result<u32, ConfigError> {
    match given.unwrap_or(usual) {
        n if (1..=MOST).contains(&n) => Ok(n),
        n => refused(key, format!("is {n}; it must be 1 to {MOST}")),
    }
}

/// The key that gives the links inside a node.
fn links_key(raw: &RawNode) -> &'static str {
    match raw.links {
        Some(_) => "node.links",
        None => "node.fabric",
    }
}

/// The links inside a node of `places` places; `None` for pairs.
fn links(raw: &RawNode, places: u32) -> Result<Option<Vec<[u32; 2]>>, ConfigError> {
    let key = links_key(raw);
    let links = match (&raw.links, raw.fabric.unwrap_or(RawNodeFabric::Pairs)) {
        (Some(_), _) if raw.fabric.is_some() => {
            return refused(
                key,
                "these links take the place of node.fabric; remove one of the two",
            );
        }
        (Some(links), _) => links.clone(),
        (None, RawNodeFabric::Pairs) => return Ok(None),
        (None, RawNodeFabric::AllToAll) => NodeGraph::all_to_all(places),
        (None, RawNodeFabric::PcieTree) => NodeGraph::pcie_tree(places),
        (None, RawNodeFabric::Dgx1) if places == 8 => NodeGraph::dgx_1(),
        (None, RawNodeFabric::Dgx1) => {
            let problem = format!(
                "\"dgx-1\" has 8 places, and this node {places}; take nics × ranks_per_nic = 8"
            );
            return refused(key, problem);
        }
    };
    if places == 1 {
        return refused(
            key,
            "a node with one rank has no links; raise node.nics or node.ranks_per_nic",
        );
    }
    Ok(Some(links))
}

fn choice(raw: &RawNode, nics: u32) -> Result<NicChoice, ConfigError> {
    let choice = raw.nic_choice.unwrap_or(RawNicChoice::ByRank);
    if choice != RawNicChoice::ByRank && nics == 1 {
        return refused(
            "node.nic_choice",
            "a node has one NIC, which leaves no choice; raise node.nics",
        );
    }
    match (choice, raw.stripe_threshold) {
        (RawNicChoice::Stripe, threshold) => Ok(NicChoice::Stripe {
            above_bytes: threshold.map_or(STRIPE_THRESHOLD, |bytes| bytes.0),
        }),
        (_, Some(_)) => refused(
            "node.stripe_threshold",
            "is used only with nic_choice = \"stripe\"; remove it",
        ),
        (RawNicChoice::Hash, None) => Ok(NicChoice::Hash),
        (RawNicChoice::ByRank, None) => Ok(NicChoice::ByRank),
    }
}

/// The fabric of all planes, whose NICs the nodes share.
pub(crate) fn in_planes(fabric: FabricSpec, node: &Node) -> Result<FabricSpec, ConfigError> {
    let fabric = fabric.in_planes(node.spec.planes)?;
    let fits = node.spec.check(fabric.topology.nics());
    fits.map_err(|e| ConfigError::new("node.nics", e.to_string()))?;
    Ok(fabric)
}

/// `[node]` in results.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NodeForm<'a> {
    /// NICs of a node.
    nics: u32,
    /// Planes.
    rails: u32,
    /// Places for ranks at each NIC.
    ranks_per_nic: u32,
    /// `by-rank`, `hash` or `stripe`.
    #[schemars(extend("enum" = ["by-rank", "hash", "stripe"]))]
    nic_choice: &'static str,
    /// Largest message that is not divided; only for `stripe`.
    stripe_threshold_bytes: Option<u64>,
    /// The links inside a node, null: of every two ranks their own.
    links: Option<NodeLinks<'a>>,
}

/// The links inside a node, all alike.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NodeLinks<'a> {
    /// The ends of each: places of ranks, then switches.
    ends: &'a [[u32; 2]],
    /// The latency of a link.
    latency_ps: u64,
    /// The bandwidth of a link, in each direction.
    #[schemars(extend("unit" = "B/s"))]
    bandwidth_bytes_per_s: Ratio,
}

impl<'a> NodeForm<'a> {
    /// The form of `node`.
    pub fn of(node: &'a NodeSpec) -> Self {
        let (nic_choice, stripe_threshold_bytes) = match node.choice {
            NicChoice::ByRank => ("by-rank", None),
            NicChoice::Hash => ("hash", None),
            NicChoice::Stripe { above_bytes } => ("stripe", Some(above_bytes)),
        };
        Self {
            nics: node.nics,
            rails: node.planes,
            ranks_per_nic: node.places_per_nic,
            nic_choice,
            stripe_threshold_bytes,
            links: node.graph.as_ref().map(|graph| NodeLinks {
                ends: graph.links(),
                latency_ps: graph.latency_ps,
                bandwidth_bytes_per_s: graph.bytes_per_s,
            }),
        }
    }
}
