//! Routings of our own for any graph of hosts and switches (`docs/reference/routing-engines.md`). Each gives every switch one edge
//! per destination; pairs that cannot be connected get none.

mod dfsssp;
mod fat_tree;
mod hops;
mod min_hop;
mod up_down;

use super::graph::{Graph, NetworkError};
use super::named::unknown;
use super::tables::Tables;
use std::fmt;
use std::str::FromStr;

/// A routing algorithm, by the name that opensm has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoutingEngine {
    /// Shortest routes, balanced over ports by the number of destinations.
    MinHop,
    /// Up*/down*: no route goes up after it went down, so one VL has no deadlock.
    UpDown,
    /// Fat trees: destinations spread over the up-ports by their digits (d-mod-k).
    FatTree,
    /// Shortest routes, balanced over edges by the number of routes so far; may need several VLs.
    Dfsssp,
}

impl RoutingEngine {
    /// All engines.
    pub const ALL: [Self; 4] = [Self::MinHop, Self::UpDown, Self::FatTree, Self::Dfsssp];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinHop => "min-hop",
            Self::UpDown => "updn",
            Self::FatTree => "ftree",
            Self::Dfsssp => "dfsssp",
        }
    }

    /// The forwarding tables of `graph`.
    ///
    /// ```
    /// use flitwise_fabric::{spec::FabricSpec, topology::Topology};
    /// use flitwise_oblivious::{Network, RoutingEngine};
    ///
    /// let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
    /// let graph = Network::of_fabric(&spec)?.graph;
    /// let tables = RoutingEngine::FatTree.route(&graph)?;
    /// let survey = Network { graph, tables }.survey();
    /// assert_eq!(survey.connected(), 16 * 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the tables are too large, or `FatTree` finds that the graph is no tree.
    pub fn route(self, graph: &Graph) -> Result<Tables, NetworkError> {
        match self {
            Self::MinHop => min_hop::route(graph),
            Self::UpDown => up_down::route(graph),
            Self::FatTree => fat_tree::route(graph),
            Self::Dfsssp => dfsssp::route(graph),
        }
    }
}

impl fmt::Display for RoutingEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RoutingEngine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|engine| engine.name() == text);
        known.ok_or_else(|| unknown("routing", text, &Self::ALL.map(Self::name)))
    }
}
