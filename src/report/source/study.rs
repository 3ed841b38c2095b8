//! The files of a study, read from its directory.

use super::run::RunSource;
use super::table::read_rows;
use super::{command, document};
use crate::report::error::ReportError;
use crate::results::RESULT_FILE;
use crate::study::{SLOWEST_RUN, STUDY_RESULT_FILE, change_columns};
use flitwise_formats::source::read_regular_text;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The name of the axis of loads.
pub const LOAD: &str = "load";

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
    /// How its differences change, where `interactions.csv` says it.
    pub changes: Vec<Change>,
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

/// The change of the differences of one axis over another, at a point.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Change {
    /// The settings of the point on the axes that vary, and its load.
    pub labels: Vec<String>,
    /// The compared axis and its reference.
    pub axis: [String; 2],
    /// The axis over which the difference changes, and its reference.
    pub over: [String; 2],
    /// The seeds that all four runs have.
    pub seeds: String,
    /// The mean change and its 95 % interval, for each of the [`change_columns`].
    pub means: Vec<[Option<f64>; 2]>,
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
        let mut rows = rows(&dir.join("runs.jsonl"), &columns)?;
        leave_out_zero_savings(&mut rows);
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
            changes: changes(&dir.join("interactions.csv"), &columns)?,
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

    /// Keeps the rows that have one of the chosen settings of each of its axes that is named, with loads as one more axis.
    pub(in crate::report) fn keep(&mut self, chosen: &[(&str, &str)]) {
        let axes = &self.axes;
        let has_loads = self.has_loads() && !axes.iter().any(|axis| axis == LOAD);
        let names = axes.iter().map(String::as_str).chain([LOAD]);
        self.rows.retain(|row| {
            let load = has_loads.then(|| row.load.as_deref().unwrap_or_default());
            let labels = row.labels.iter().map(String::as_str).chain(load);
            names.clone().zip(labels).all(|(axis, label)| {
                let is_named = chosen.iter().any(|(named, _)| *named == axis);
                !is_named || chosen.contains(&(axis, label))
            })
        });
    }

    /// The settings of an axis in the order of the study, some of which may have no rows.
    pub(in crate::report) fn settings(&self, axis: usize) -> impl Iterator<Item = &str> {
        let settings = self.study["axes"][axis]["settings"].as_array();
        let settings = settings.map_or(&[][..], Vec::as_slice).iter();
        settings.filter_map(|setting| setting["label"].as_str())
    }

    /// The place of a setting on its axis.
    pub(in crate::report) fn place(&self, axis: usize, label: &str) -> Option<usize> {
        self.settings(axis).position(|setting| setting == label)
    }

    /// The number of runs that did not complete, and of all.
    pub(in crate::report) fn incomplete_and_all(&self) -> (usize, usize) {
        let numbers = |of: &dyn Fn(&&StudyRow) -> bool| {
            let rows = self.rows.iter().filter(of);
            rows.map(|row| row.run).collect::<BTreeSet<u64>>().len()
        };
        let complete = |row: &&StudyRow| row.cells["status"] == "complete";
        (numbers(&|row| !complete(row)), numbers(&|_| true))
    }

    /// Whether its runs have loads.
    #[must_use]
    pub fn has_loads(&self) -> bool {
        self.rows.iter().any(|row| row.load.is_some())
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

/// Removes what power states of links save if it is 0 in all runs: links that are always on save nothing.
fn leave_out_zero_savings(rows: &mut [StudyRow]) {
    const SAVED: &str = "link_energy_saved";
    let is_zero = |row: &StudyRow| row.number(SAVED).is_none_or(|saved| saved == 0.0);
    if rows.iter().all(is_zero) {
        let cells = rows.iter_mut().filter_map(|row| row.cells.as_object_mut());
        cells.for_each(|cells| drop(cells.remove(SAVED)));
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

/// The changes of differences; none if the table is missing or of another format.
fn changes(path: &Path, axes: &[String]) -> Result<Vec<Change>, ReportError> {
    const NAMES: [&str; 6] = [
        "load",
        "axis",
        "reference",
        "over_axis",
        "over_reference",
        "seeds_count",
    ];
    let means: Vec<[String; 2]> = change_columns()
        .map(|(column, _)| ["mean", "ci95"].map(|part| format!("{column}_{part}")))
        .collect();
    let columns = axes.iter().map(String::as_str).chain(NAMES);
    let columns = columns.chain(means.iter().flatten().map(String::as_str));
    let columns: Vec<&str> = columns.collect();
    let (named, first_mean) = (axes.len(), axes.len() + NAMES.len());
    read_rows(path, &columns, |row| {
        let text = |column: usize| row.text(column).to_owned();
        let labels = (0..=named).map(text).filter(|label| !label.is_empty());
        let mean = |at: usize| [0, 1].map(|part| row.number(first_mean + 2 * at + part));
        Some(Change {
            labels: labels.collect(),
            axis: [named + 1, named + 2].map(text),
            over: [named + 3, named + 4].map(text),
            seeds: text(named + 5),
            means: (0..means.len()).map(mean).collect(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn savings_are_left_out_if_no_run_saves() {
        let row = |saved: f64| StudyRow {
            run: 1,
            point: 1,
            labels: Vec::new(),
            load: None,
            cells: json!({ "link_energy_saved": saved }),
        };
        let saved = |mut rows: [StudyRow; 2]| {
            leave_out_zero_savings(&mut rows);
            rows.map(|row| row.number("link_energy_saved"))
        };
        assert_eq!(saved([row(0.0), row(0.0)]), [None, None]);
        assert_eq!(saved([row(0.0), row(0.5)]), [Some(0.0), Some(0.5)]);
    }
}
