//! `congestion.json`: a static analysis, as `flitwise congestion` writes and reports read it (`docs/reference/congestion.md`).

#![allow(
    missing_docs,
    reason = "docs/reference/congestion.md describes the fields"
)]

use crate::oblivious::Spreads;
use crate::run::Check;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `congestion.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(expecting = "an analysis")]
pub struct CongestionDocument {
    /// [`CONGESTION_SCHEMA`](crate::oblivious::CONGESTION_SCHEMA).
    pub schema: String,
    /// The pattern of the first network.
    pub pattern: Option<String>,
    /// Number of ranks.
    pub ranks: Option<u64>,
    /// Levels of the pattern.
    pub levels: Option<u64>,
    /// The only level that counts.
    pub level: Option<u64>,
    /// Number of runs.
    pub runs: Option<u64>,
    /// Seed of all draws.
    pub seed: Option<u64>,
    /// The candidates.
    pub networks: Vec<AnalysedNetwork>,
}

/// A candidate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(expecting = "a network")]
pub struct AnalysedNetwork {
    pub label: String,
    pub pattern: String,
    pub topology: Value,
    pub hosts: u64,
    pub switches: u64,
    pub cables: u64,
    pub pairs: u64,
    pub pairs_without_route: u64,
    pub least_routes_between_switches: Option<u64>,
    pub most_routes_between_switches: Option<u64>,
    pub longest_route_cables: u64,
    pub failed: Option<Failed>,
    pub vls: Option<VirtualLanes>,
    pub figures: Spreads,
    pub lost: u64,
    pub loads_in_bytes: bool,
    pub connections: Vec<Congested>,
    pub bandwidth_bins: Vec<u64>,
    pub delays: Vec<Delayed>,
    pub worst_permutation: Option<WorstPermutation>,
    pub cables_ranked: Vec<RankedCable>,
    pub check: Option<Check>,
}

/// The effect of `--fail`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(expecting = "what failed")]
pub struct Failed {
    pub cables: usize,
    #[serde(default)]
    pub cable_names: Vec<String>,
    pub hosts: usize,
    pub routes_changed: Option<u64>,
}

/// The result of `--vls`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(expecting = "VLs")]
pub struct VirtualLanes {
    pub cycle_on_one: Option<Vec<String>>,
    pub enough: Option<usize>,
    #[serde(default)]
    pub routes_by_vl: Option<Vec<u64>>,
}

/// Connections of a congestion.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(expecting = "a congestion with its connections")]
pub struct Congested {
    pub congestion: u64,
    pub connections: u64,
}

/// Runs of a delay.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(expecting = "a delay with its runs")]
pub struct Delayed {
    pub delay: u64,
    pub runs: u64,
}

/// The result of `--worst`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(expecting = "a permutation")]
pub struct WorstPermutation {
    pub congestion: u64,
    pub bound: u64,
    pub at: Option<String>,
}

/// A cable and the connections that cross it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(expecting = "a cable")]
pub struct RankedCable {
    pub from: String,
    pub to: String,
    pub mean: f64,
    pub most: u64,
    pub most_in_run: u64,
    pub most_in_level: u64,
    pub crossed_by: u64,
    pub flows: Vec<Flow>,
}

/// A connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(expecting = "a connection")]
pub struct Flow {
    pub from: String,
    pub to: String,
}
