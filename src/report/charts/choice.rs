//! The choices that a user makes about a figure: its axes, its points and its metric.

use crate::report::ReportError;
use crate::report::source::{LOAD, Source, StudySource};
use flitwise_base::quote::cut;
use std::borrow::Cow;

/// The choices about a figure; `None` leaves one to the figure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The axis from left to right.
    pub x: Option<String>,
    /// The axis with a colour for each setting.
    pub series: Option<String>,
    /// The settings to draw, each as `AXIS=SETTING`: all settings of axes that none of them names.
    pub only: Vec<String>,
    /// The metric of differences.
    pub metric: Option<String>,
}

impl Choice {
    /// The place of the axis that `option` names among `axes`.
    pub(super) fn place(
        option: &str,
        chosen: Option<&String>,
        axes: &[&str],
    ) -> Result<Option<usize>, ReportError> {
        let Some(chosen) = chosen else {
            return Ok(None);
        };
        match axes.iter().position(|axis| axis == chosen) {
            Some(at) => Ok(Some(at)),
            None => Err(ReportError(match axes {
                [] => format!("{option}: the figure has no axis `{chosen}`, and no other axis"),
                _ => format!(
                    "{option}: the figure has no axis `{chosen}`; its axes are {}",
                    axes.join(", ")
                ),
            })),
        }
    }

    /// The sources, with the chosen points of their studies.
    pub(super) fn kept<'a>(&self, sources: &'a [Source]) -> Result<Cow<'a, [Source]>, ReportError> {
        if self.only.is_empty() {
            return Ok(Cow::Borrowed(sources));
        }
        let mut kept = sources.to_vec();
        let studies = kept.iter_mut().filter_map(|source| match source {
            Source::Study(study) => Some(&mut **study),
            Source::Run(_) | Source::Congestion(_) => None,
        });
        let studies: Vec<&mut StudySource> = studies.collect();
        let axes = settings(&studies);
        let chosen = self.only.iter().map(|text| chosen(text, &axes));
        let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
        studies.into_iter().for_each(|study| study.keep(&chosen));
        Ok(Cow::Owned(kept))
    }
}

/// The axes of all studies, and their settings; the last one has the loads.
fn settings(studies: &[&mut StudySource]) -> Vec<(String, Vec<String>)> {
    let mut axes: Vec<(String, Vec<String>)> = Vec::new();
    for study in studies {
        for (at, name) in study.axes.iter().enumerate() {
            let known = axes.iter().position(|(axis, _)| axis == name);
            let known = known.unwrap_or_else(|| {
                axes.push((name.clone(), Vec::new()));
                axes.len() - 1
            });
            for row in &study.rows {
                if !axes[known].1.contains(&row.labels[at]) {
                    axes[known].1.push(row.labels[at].clone());
                }
            }
        }
    }
    let rows = studies.iter().flat_map(|study| &study.rows);
    let mut loads: Vec<String> = Vec::new();
    for load in rows.filter_map(|row| row.load.as_ref()) {
        if !loads.contains(load) {
            loads.push(load.clone());
        }
    }
    // An axis of this name comes first.
    if !loads.is_empty() {
        axes.push((LOAD.to_owned(), loads));
    }
    axes
}

/// The axis and the setting of `AXIS=SETTING`. Both may have a `=` in them.
fn chosen<'a>(
    text: &'a str,
    axes: &[(String, Vec<String>)],
) -> Result<(&'a str, &'a str), ReportError> {
    let mut named = Vec::new();
    for (axis, settings) in axes {
        let rest = text.strip_prefix(axis.as_str());
        if let Some(setting) = rest.and_then(|rest| rest.strip_prefix('=')) {
            if settings.iter().any(|known| known == setting) {
                return Ok((&text[..axis.len()], setting));
            }
            named.push((axis, setting, settings));
        }
    }
    let names: Vec<&str> = axes.iter().map(|(axis, _)| axis.as_str()).collect();
    Err(ReportError(match named.first() {
        Some((axis, setting, settings)) => format!(
            "--only: axis {axis} has no setting `{}`; its settings are {}",
            cut(setting),
            settings.join(", ")
        ),
        None if names.is_empty() => {
            "--only: no study of the directories has an axis; leave the option out".to_owned()
        }
        None => format!(
            "--only: `{}` names no axis of a study; write AXIS=SETTING, with one of the axes {}",
            cut(text),
            names.join(", ")
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::StudyRow;
    use serde_json::Value;

    fn study(axes: [&str; 2], rows: &[[&str; 2]]) -> Source {
        let row = |labels: &[&str; 2]| StudyRow {
            run: 1,
            point: 1,
            labels: labels.map(str::to_owned).to_vec(),
            load: None,
            cells: Value::Null,
        };
        Source::Study(Box::new(StudySource {
            label: String::new(),
            dir: "".into(),
            study: Value::Null,
            command: None,
            axes: axes.map(str::to_owned).to_vec(),
            rows: rows.iter().map(row).collect(),
            changes: Vec::new(),
            detail: None,
        }))
    }

    /// The rows that are kept of two studies, whose axes differ.
    fn kept(only: &[&str]) -> Result<Vec<String>, String> {
        let fabrics = [["tree", "1"], ["torus", "1"], ["tree", "2"], ["ring", "2"]];
        let sources = [
            study(["fabric", "a=b"], &fabrics),
            study(["fabric", "rate"], &[["tree", "0.1"], ["star", "0.2"]]),
        ];
        let choice = Choice {
            only: only.iter().map(ToString::to_string).collect(),
            ..Choice::default()
        };
        let kept = choice.kept(&sources).map_err(|e| e.0)?;
        let rows = kept.iter().flat_map(|source| match source {
            Source::Study(study) => &study.rows[..],
            Source::Run(_) | Source::Congestion(_) => &[],
        });
        Ok(rows.map(|row| row.labels.concat()).collect())
    }

    #[test]
    fn settings_are_kept_by_axis() {
        assert_eq!(kept(&[]).unwrap().len(), 6);
        let of_axis = kept(&["fabric=tree", "fabric=ring"]).unwrap();
        assert_eq!(of_axis, ["tree1", "tree2", "ring2", "tree0.1"]);
        let of_two = kept(&["fabric=tree", "a=b=2"]).unwrap();
        assert_eq!(of_two, ["tree2", "tree0.1"]);
    }

    #[test]
    fn unknown_settings_are_refused() {
        assert_eq!(
            kept(&["tree"]).unwrap_err(),
            "--only: `tree` names no axis of a study; write AXIS=SETTING, with one of the axes fabric, a=b, rate"
        );
        assert_eq!(
            kept(&["fabric=mesh"]).unwrap_err(),
            "--only: axis fabric has no setting `mesh`; its settings are tree, torus, ring, star"
        );
    }
}
