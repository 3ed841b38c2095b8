//! The files of a study, read from its directory.

use super::run::RunSource;
use super::{command, document};
use crate::report::error::ReportError;
use crate::results::RESULT_FILE;
use crate::study::{SLOWEST_RUN, STUDY_RESULT_FILE};
use flitwise_formats::source::read_regular_text;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A study: its axes and rows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StudySource {
    /// Its name in figures.
    pub label: String,
    /// Its directory.
    pub dir: PathBuf,
    /// `study.json`.
    pub study: Value,
    /// The command that made it.
    pub command: Option<String>,
    /// Names of the axes.
    pub axes: Vec<String>,
    /// A row for each run, or for each of its loads.
    pub rows: Vec<StudyRow>,
    /// Its slowest run; only this run has links, latencies and messages.
    pub detail: Option<RunSource>,
}

/// A run, or one of its loads.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StudyRow {
    /// Number of the run.
    pub run: u64,
    /// Number of the point.
    pub point: u64,
    /// Its settings, by axis.
    pub labels: Vec<String>,
    /// Its load, without a job.
    pub load: Option<String>,
    /// All its cells.
    pub cells: Value,
}

impl StudyRow {
    /// The number in a column, if there is one.
    #[must_use]
    pub fn number(&self, column: &str) -> Option<f64> {
        self.cells[column].as_f64()
    }
}

impl StudySource {
    /// Reads a directory.
    ///
    /// # Errors
    /// If a file is damaged or of another version.
    pub(super) fn read(dir: &Path) -> Result<Self, ReportError> {
        let study = document(&dir.join(STUDY_RESULT_FILE), crate::study::SCHEMA)?;
        let axes = study["axes"].as_array().map_or(&[][..], Vec::as_slice);
        let text = |axis: &Value, key: &str| axis[key].as_str().unwrap_or_default().to_owned();
        let names = axes.iter().map(|axis| text(axis, "name")).collect();
        let columns: Vec<String> = axes.iter().map(|axis| text(axis, "column")).collect();
        let rows = rows(&dir.join("runs.jsonl"), &columns)?;
        let slowest = dir.join(SLOWEST_RUN);
        let detail = if slowest.join(RESULT_FILE).is_file() {
            Some(RunSource::read(&slowest)?)
        } else {
            None
        };
        Ok(Self {
            label: text(&study, "name"),
            dir: dir.to_owned(),
            command: command(dir),
            axes: names,
            rows,
            detail,
            study,
        })
    }

    /// Gives it and its slowest run another name.
    pub(super) fn set_label(&mut self, label: String) {
        if let Some(detail) = &mut self.detail {
            let rest = match detail.label.strip_prefix(&self.label) {
                Some(rest) => rest.to_owned(),
                None => format!(", {}", detail.label),
            };
            detail.label = format!("{label}{rest}");
        }
        self.label = label;
    }

    /// Its runs have no job, and all the same load: there is nothing over which to draw a curve.
    #[must_use]
    pub fn has_one_load(&self) -> bool {
        let first = self.rows.first().and_then(|row| row.load.as_ref());
        first.is_some() && self.rows.iter().all(|row| row.load.as_ref() == first)
    }

    /// Whether there is a point whose runs have several loads, which are no seeds.
    #[must_use]
    pub fn has_points_of_several_loads(&self) -> bool {
        let mut loads = BTreeMap::new();
        let mut rows = self.rows.iter();
        rows.any(|row| *loads.entry(row.point).or_insert(&row.load) != &row.load)
    }

    /// `HPL, rr, 0.1`, or the name of the study if nothing varies.
    #[must_use]
    pub fn point_name(&self, row: &StudyRow) -> String {
        if row.labels.is_empty() {
            self.label.clone()
        } else {
            row.labels.join(", ")
        }
    }
}

fn rows(path: &Path, columns: &[String]) -> Result<Vec<StudyRow>, ReportError> {
    let shown = path.display();
    let text = read_regular_text(path).map_err(|e| {
        ReportError(format!(
            "cannot read `{shown}`: {e}; the same `flitwise study` command writes it again"
        ))
    })?;
    let one = |(line, text): (usize, &str)| {
        let cells: Value = serde_json::from_str(text).map_err(|e| {
            ReportError(format!(
                "{shown}:{line}: damaged ({e}); the same `flitwise study` command writes it again"
            ))
        })?;
        let label = |column: &String| cells[column].as_str().unwrap_or_default().to_owned();
        Ok(StudyRow {
            run: cells["run"].as_u64().unwrap_or(0),
            point: cells["point"].as_u64().unwrap_or(0),
            labels: columns.iter().map(label).collect(),
            load: cells["load"].as_str().map(str::to_owned),
            cells,
        })
    };
    (1..).zip(text.lines()).map(one).collect()
}
