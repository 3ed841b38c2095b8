//! `study.json` as types, from which its schema is derived.

use super::until::Studied;
use super::write::column_name;
use crate::config::{Axis as AxisSpec, Override};
use crate::results::document::schema_of;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Version of the layout.
pub const SCHEMA: &str = "flitwise-study-1";

/// `study.json`: what a study is and how far it is (docs/reference/study.md).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Document<'a> {
    /// `flitwise-study-1`; another layout would have another name.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The version of Flitwise.
    version: &'static str,
    /// The name of the study.
    name: &'a str,
    /// The question that it answers.
    description: Option<&'a str>,
    /// Words to find it by.
    tags: &'a [String],
    /// Keys that hold for all runs, each as `--set` takes it.
    sets: Vec<String>,
    /// The topology of the first point, as in `experiment.fabric.topology` of [result.json](../reference/result.md); an axis may vary it.
    topology: &'a Value,
    /// The axes, in the order of the file.
    axes: Vec<Axis<'a>>,
    /// Combinations of settings.
    #[schemars(extend("unit" = "points"))]
    points: usize,
    /// Points times their seeds.
    #[schemars(extend("unit" = "runs"))]
    runs: usize,
    /// Runs without a result, because the study was stopped.
    #[schemars(extend("unit" = "runs"))]
    missing: usize,
    /// Lost or doubtful parts of the traces, as the warnings name them: a text for each trace.
    left_out: &'a [String],
    /// Runs that failed or stalled.
    #[schemars(extend("unit" = "runs"))]
    failed: usize,
}

/// Something that varies.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Axis<'a> {
    /// The name of the axis in tables.
    name: &'a str,
    /// Its column in the tables.
    column: String,
    /// The label of the setting that the others are compared with.
    reference: &'a str,
    /// Its values or variants.
    settings: Vec<Setting<'a>>,
}

/// A value or variant of an axis.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Setting<'a> {
    /// Its name in tables.
    label: &'a str,
    /// Keys that it sets, each as `--set` takes it.
    sets: Vec<String>,
}

impl<'a> Document<'a> {
    /// The document of a study.
    pub(super) fn of(studied: &'a Studied) -> Self {
        let study = &studied.grid.study;
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            name: &study.name,
            description: study.description.as_deref(),
            tags: &study.tags,
            sets: texts(&study.sets),
            topology: &studied.topology,
            axes: study.axes.iter().map(Axis::of).collect(),
            points: studied.grid.points.len(),
            runs: studied.runs,
            missing: studied.missing,
            left_out: &studied.left_out,
            failed: studied.failed(),
        }
    }
}

impl<'a> Axis<'a> {
    fn of(axis: &'a AxisSpec) -> Self {
        let settings = axis.settings.iter().map(|setting| Setting {
            label: &setting.label,
            sets: texts(&setting.overrides),
        });
        Self {
            name: &axis.name,
            column: column_name(&axis.name),
            reference: &axis.settings[axis.reference].label,
            settings: settings.collect(),
        }
    }
}

/// Overrides with their values as TOML, however they were written.
fn texts(sets: &[Override]) -> Vec<String> {
    let text = |set: &Override| format!("{}={}", set.key(), set.value());
    sets.iter().map(text).collect()
}

/// Returns the JSON Schema of `study.json`.
#[must_use]
pub fn study_schema() -> serde_json::Value {
    schema_of::<Document<'static>>(SCHEMA, "study.json of Flitwise")
}
