//! Static congestion analysis of oblivious routes: which cables the routes of a traffic pattern share, before any
//! simulation (`docs/congestion.md`; Schneider, Hoefler and Lumsdaine, ORCS, 2009).
//!
//! Nothing here has a time: a [`Network`] is a graph with a next edge for every (switch, destination), a pattern
//! is pairs of ranks in levels, and the congestion of a cable is the number of pairs of a level that cross it.

mod export;
mod from_dot;
mod graph;
mod network;
mod pattern;
mod survey;
mod tables;

pub use from_dot::{FromDot, Note};
pub use graph::{Edge, EdgeId, Graph, GraphBuilder, HostId, NetworkError, Node, NodeId, NodeKind};
pub use network::{Lost, Network};
pub use pattern::{Given, GivenError, Level, Pair, Pattern, Versus};
pub use survey::{LostPair, RoutingLoop, Survey};
pub use tables::Tables;
