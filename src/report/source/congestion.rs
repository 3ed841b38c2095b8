//! The files of a static analysis, read from its directory (`docs/reference/congestion.md`).

use super::table::{Row, read_rows};
use super::{command, name_of, typed_document};
use crate::oblivious::{CONGESTION_SCHEMA, Distributions};
use crate::report::error::ReportError;
use crate::results::ANALYSIS_FILE;
use crate::results::document::{AnalysedNetwork, CongestionDocument};
use crate::wiring::{End, WiredLink};
use std::path::{Path, PathBuf};

/// An analysis: its document, and its cables.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CongestionSource {
    /// Its name in figures.
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
    /// The operators' names of the ends.
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
            document: typed_document(&dir.join(ANALYSIS_FILE), CONGESTION_SCHEMA)?,
            cables: cables(&dir.join("cables.csv"))?,
        })
    }

    /// The name of a network in figures. `alone`: it is the only analysis, so the network's own name is enough; else
    /// the name of the analysis, followed by the network's own if the analysis has several.
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
    /// The distributions in its figures, under the name `label`.
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
    read_rows(path, &columns, |row| {
        let ((from, from_name), (to, to_name)) = (end(row, 1)?, end(row, 5)?);
        Some(CableRow {
            network: row.text(0).to_owned(),
            from,
            to,
            names: [from_name, to_name],
            mean: row.real(9).max(0.0),
        })
    })
}

/// An end and its name, from four columns: name, port, host, switch.
fn end(row: &Row<'_>, first: usize) -> Option<(End, String)> {
    let name = row.text(first);
    match row.number(first + 2) {
        Some(host) => Some((End::Nic(host), name.to_owned())),
        None => {
            let port = row.number(first + 1)?;
            let end = End::Switch(row.number(first + 3)?, port);
            Some((end, format!("{name} port {port}")))
        }
    }
}
