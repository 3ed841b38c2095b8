//! The files of a study, read from its directory.

use super::run::RunSource;
use super::table::read_rows;
use super::{Source, command, document};
use crate::report::error::ReportError;
use crate::results::RESULT_FILE;
use crate::study::{SLOWEST_RUN, STUDY_RESULT_FILE, change_columns};
use flitwise_base::quote::cut;
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

    /// The settings of the axis with this name, in the order of the rows; `None` if there is no such axis.
    fn settings(&self, axis: &str) -> Option<Vec<&str>> {
        let at = self.axes.iter().position(|name| name == axis)?;
        let mut settings = Vec::new();
        for row in &self.rows {
            if !settings.contains(&row.labels[at].as_str()) {
                settings.push(&row.labels[at]);
            }
        }
        Some(settings)
    }

    /// Keeps the rows that have one of these settings on each axis that they name.
    fn keep(&mut self, chosen: &[(&str, &str)]) {
        let axes = &self.axes;
        self.rows.retain(|row| {
            let mut named = axes.iter().zip(&row.labels);
            named.all(|(axis, label)| {
                let mut of_axis = chosen.iter().filter(|(name, _)| name == axis).peekable();
                of_axis.peek().is_none() || of_axis.any(|(_, setting)| setting == label)
            })
        });
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

/// Keeps the rows of studies with these settings, each given as `AXIS=SETTING`. Several settings of one axis are all kept.
///
/// # Errors
/// If no study has such an axis or setting; the message begins with the option `--only`.
pub fn keep_only(sources: &mut [Source], chosen: &[String]) -> Result<(), ReportError> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for text in chosen {
        let studies = sources.iter().filter_map(Source::study);
        pairs.push(setting(text, &studies.collect::<Vec<_>>())?);
    }
    sources
        .iter_mut()
        .filter_map(Source::study_mut)
        .for_each(|study| study.keep(&pairs));
    Ok(())
}

/// The axis and the setting of `AXIS=SETTING`. Both may have a `=` in them.
fn setting<'a>(text: &'a str, studies: &[&StudySource]) -> Result<(&'a str, &'a str), ReportError> {
    let splits = text
        .match_indices('=')
        .map(|(at, _)| (&text[..at], &text[at + 1..]));
    let settings = |axis: &str| {
        let known = studies.iter().filter_map(|study| study.settings(axis));
        known.flatten().collect::<Vec<&str>>()
    };
    let mut of_axes = splits
        .filter(|(axis, _)| !settings(axis).is_empty())
        .peekable();
    if studies.is_empty() {
        let text = "--only: there is no study among the directories; leave the option out";
        return Err(ReportError(text.to_owned()));
    }
    let Some(&(axis, _)) = of_axes.peek() else {
        let mut axes: Vec<&str> = studies
            .iter()
            .flat_map(|study| &study.axes)
            .map(String::as_str)
            .collect();
        axes.dedup();
        return Err(ReportError(format!(
            "--only: `{}` names no axis of a study; write AXIS=SETTING, with one of the axes {}",
            cut(text),
            axes.join(", ")
        )));
    };
    of_axes
        .find(|(axis, setting)| settings(axis).contains(setting))
        .ok_or_else(|| {
            ReportError(format!(
                "--only: axis {axis} has no setting `{}`; its settings are {}",
                cut(&text[axis.len() + 1..]),
                settings(axis).join(", ")
            ))
        })
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

    fn row(labels: &[&str], cells: Value) -> StudyRow {
        StudyRow {
            run: 1,
            point: 1,
            labels: labels.iter().map(ToString::to_string).collect(),
            load: None,
            cells,
        }
    }

    #[test]
    fn settings_are_kept_by_axis() {
        let study = StudySource {
            label: String::new(),
            dir: PathBuf::new(),
            study: Value::Null,
            command: None,
            axes: ["fabric", "a=b"].map(str::to_owned).to_vec(),
            rows: [["tree", "1"], ["torus", "1"], ["tree", "2"], ["ring", "2"]]
                .map(|labels| row(&labels, Value::Null))
                .to_vec(),
            changes: Vec::new(),
            detail: None,
        };
        let kept = |chosen: &[&str]| {
            let mut sources = [Source::Study(Box::new(study.clone()))];
            let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            let done = keep_only(&mut sources, &chosen).map_err(|e| e.0);
            let rows = &sources[0].study().expect("a study").rows;
            done.map(|()| {
                rows.iter()
                    .map(|row| row.labels.concat())
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(kept(&[]).map(|rows| rows.len()), Ok(4));
        let of_axis = kept(&["fabric=tree", "fabric=ring"]);
        assert_eq!(
            of_axis,
            Ok(["tree1", "tree2", "ring2"].map(str::to_owned).to_vec())
        );
        let of_two = kept(&["fabric=tree", "a=b=2"]);
        assert_eq!(of_two, Ok(vec!["tree2".to_owned()]));
        for (wrong, message) in [
            (
                "tree",
                "--only: `tree` names no axis of a study; write AXIS=SETTING, with one of the axes fabric, a=b",
            ),
            (
                "fabric=star",
                "--only: axis fabric has no setting `star`; its settings are tree, torus, ring",
            ),
        ] {
            assert_eq!(kept(&[wrong]), Err(message.to_owned()));
        }
    }

    #[test]
    fn savings_are_left_out_if_no_run_saves() {
        let row = |saved: f64| row(&[], json!({ "link_energy_saved": saved }));
        let saved = |mut rows: [StudyRow; 2]| {
            leave_out_zero_savings(&mut rows);
            rows.map(|row| row.number("link_energy_saved"))
        };
        assert_eq!(saved([row(0.0), row(0.0)]), [None, None]);
        assert_eq!(saved([row(0.0), row(0.5)]), [Some(0.0), Some(0.5)]);
    }
}
