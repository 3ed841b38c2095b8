//! What a static analysis left in its directory (`docs/congestion.md`).

use super::table::{Row, rows};
use super::{ReportError, command, name_of, typed_document};
use crate::oblivious::{CONGESTION_SCHEMA, Distributions, Spreads};
use crate::run::{Completion, OverRuns, Prediction};
use crate::wiring::{End, WiredLink};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// An analysis: its document, and its cables.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CongestionSource {
    /// What figures call it.
    pub label: String,
    /// Its directory.
    pub dir: PathBuf,
    /// The command that made it.
    pub command: Option<String>,
    /// `congestion.json`.
    pub document: CongestionDocument,
    /// Both directions of all cables of all networks, the fullest of each network first; from `cables.csv`.
    pub cables: Vec<CableRow>,
}

/// `congestion.json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(expecting = "an analysis")]
#[non_exhaustive]
pub struct CongestionDocument {
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
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a network")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
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
    pub check: Option<CheckSummary>,
}

/// What `--fail` did.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "what failed")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
pub struct Failed {
    pub cables: u64,
    pub hosts: u64,
    pub routes_changed: Option<u64>,
}

/// What `--vls` found.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "VLs")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
pub struct VirtualLanes {
    pub cycle_on_one: Option<Vec<String>>,
    pub enough: Option<u64>,
}

/// Connections of a congestion.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(expecting = "a congestion with its connections")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
pub struct Congested {
    pub congestion: u64,
    pub connections: u64,
}

/// Runs of a delay.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(expecting = "a delay with its runs")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
pub struct Delayed {
    pub delay: u64,
    pub runs: u64,
}

/// What `--worst` found.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a permutation")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
pub struct WorstPermutation {
    pub congestion: u64,
    pub bound: u64,
    pub at: Option<String>,
}

/// A cable, and who crosses it.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a cable")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
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
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a connection")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion.md describes the fields")]
pub struct Flow {
    pub from: String,
    pub to: String,
}

/// What `--check` found.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a check")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion-check.md describes the fields")]
pub struct CheckSummary {
    pub runs: u64,
    pub lengths: CheckLengths,
    pub payload_efficiency: f64,
    pub levels: Vec<CheckedLevel>,
    pub by_congestion: Prediction,
    pub by_fair_share: Prediction,
    pub over_runs: OverRuns,
}

/// Messages of `--check`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(expecting = "lengths of messages")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion-check.md describes the fields")]
pub struct CheckLengths {
    pub message_bytes: u64,
}

/// A level of `--check`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(expecting = "a level")]
#[non_exhaustive]
#[allow(missing_docs, reason = "docs/congestion-check.md describes the fields")]
pub struct CheckedLevel {
    pub completion: Completion,
}

/// A direction of a cable.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CableRow {
    /// Label of its network.
    pub network: String,
    /// Sending end.
    pub from: End,
    /// Receiving end.
    pub to: End,
    /// What its operators call the ends.
    pub names: [String; 2],
    /// Mean load of a level.
    pub mean: f64,
}

impl CongestionSource {
    /// Reads a directory.
    ///
    /// # Errors
    /// If a file is damaged or of another version.
    pub(super) fn read(dir: &Path) -> Result<Self, ReportError> {
        Ok(Self {
            label: name_of(dir),
            dir: dir.to_owned(),
            command: command(dir),
            document: typed_document(&dir.join("congestion.json"), CONGESTION_SCHEMA)?,
            cables: cables(&dir.join("cables.csv"))?,
        })
    }

    /// What figures call a network: by its own name, and the name of the analysis where there are several.
    pub(crate) fn series_name(&self, network: &AnalysedNetwork, alone: bool) -> String {
        match (alone, self.document.networks.len()) {
            (true, _) => network.label.clone(),
            (false, 1) => self.label.clone(),
            (false, _) => format!("{}: {}", self.label, network.label),
        }
    }

    /// The cables of a network.
    pub(crate) fn cables_of(&self, network: &AnalysedNetwork) -> Vec<WiredLink<'_>> {
        let own = self.cables.iter();
        let own = own.filter(|row| row.network == network.label);
        own.map(|row| WiredLink {
            from: row.from,
            to: row.to,
            names: [&row.names[0], &row.names[1]],
            value: row.mean,
        })
        .collect()
    }
}

impl AnalysedNetwork {
    /// What its figures show, under the name `label`.
    pub(crate) fn distributions<'a>(&self, label: &'a str) -> Distributions<'a> {
        Distributions {
            label,
            bandwidth_bins: self.bandwidth_bins.clone(),
            congestions: (self.connections.iter())
                .map(|one| (one.congestion, one.connections))
                .collect(),
            delays: (self.delays.iter())
                .map(|one| (one.delay, one.runs))
                .collect(),
        }
    }
}

fn cables(path: &Path) -> Result<Vec<CableRow>, ReportError> {
    let columns = [
        "network",
        "from",
        "from_port",
        "from_host",
        "from_switch",
        "to",
        "to_port",
        "to_host",
        "to_switch",
        "mean",
    ];
    let mut cables = Vec::new();
    rows(path, &columns, |row| {
        let (Some((from, from_name)), Some((to, to_name))) = (end(row, 1), end(row, 5)) else {
            return;
        };
        cables.push(CableRow {
            network: row.text(0).to_owned(),
            from,
            to,
            names: [from_name, to_name],
            mean: row.real(9).max(0.0),
        });
    })?;
    Ok(cables)
}

/// An end and its name, from four columns: name, port, host, switch.
fn end(row: &Row<'_>, first: usize) -> Option<(End, String)> {
    let number = |at| row.integer(at).and_then(|n| u32::try_from(n).ok());
    let name = row.text(first);
    match number(first + 2) {
        Some(host) => Some((End::Nic(host), name.to_owned())),
        None => {
            let port = number(first + 1)?;
            let end = End::Switch(number(first + 3)?, port);
            Some((end, format!("{name} port {port}")))
        }
    }
}
