//! Static congestion analysis of oblivious routes: which cables the routes of a traffic pattern share, before any
//! simulation (`docs/reference/congestion.md`; Schneider, Hoefler and Lumsdaine, ORCS, 2009).
//!
//! Nothing here has a time: a [`Network`] is a graph with a next edge for every (switch, destination), a pattern
//! is pairs of ranks in levels, and the congestion of a cable is the number of pairs of a level that cross it.
//! An [`Analysis`] gathers the figures of many runs with hosts drawn at random; a [`RoutingEngine`] computes forwarding tables
//! around a [`Failure`].
//!
//! # Examples
//! ```
//! use flitwise_fabric::{spec::FabricSpec, topology::Topology};
//! use flitwise_oblivious::{Network, NetworkError};
//!
//! let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None).expect("a small tree")).expect("a preset");
//! let survey = Network::of_fabric(&spec)?.survey();
//! assert!(survey.examples.is_empty()); // Every host reaches every other.
//! # Ok::<(), NetworkError>(())
//! ```

mod analysis;
mod cable_attributes;
mod cables;
mod charts;
mod deadlock;
mod delay;
mod drawing;
mod export;
mod failure;
mod fair;
mod flows;
mod from_file;
mod graph;
mod histogram;
mod hosts;
mod mapping;
mod named;
mod network;
mod outcome;
mod pattern;
mod request;
mod reroute;
mod routing;
mod spread;
mod survey;
mod tables;
mod walker;
mod worst;
mod write_tables;

pub use analysis::{Analysis, Fair, RunFigures, Settings};
pub use cable_attributes::CableAttributes;
pub use cables::{CableCounts, CableLoad, Cables};
pub use charts::{
    BANDWIDTH_BINS, Distributions, bandwidth_figure, congestion_figure, delay_figure,
};
pub use deadlock::{Dependencies, Layers};
pub use delay::{DelayPaths, Delays};
pub use drawing::{cables_figure, drawn_cables, plan_of};
pub use failure::{Damaged, Failure};
pub use fair::FairShares;
pub use from_file::{FromFile, Note};
pub use graph::{Edge, EdgeId, Graph, GraphBuilder, HostId, NetworkError, Node, NodeId, NodeKind};
pub use histogram::Histogram;
pub use hosts::HostNames;
pub use mapping::{Mapping, Subset};
pub use network::{Lost, Network};
pub use outcome::{CONGESTION_SCHEMA, HotCable, Outcome};
pub use pattern::{Given, GivenError, Level, Pair, Pattern, Versus};
pub use request::{HostList, MeanFigures, Request};
pub use reroute::Rerouted;
pub use routing::RoutingEngine;
pub use spread::{Spread, SpreadRow, Spreads};
pub use survey::{LostPair, RoutingLoop, Survey};
pub use tables::Tables;
pub use walker::{Experience, PathChoice, Walker};
pub use worst::WorstCase;
pub use write_tables::{TABLES, check_format, write_tables};
