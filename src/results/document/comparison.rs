//! The JSON of `flitwise explain --against`: the jobs of two experiments, and by how much their times differ.

use super::explanation::{Difference, Explanation, difference, of_job};
use super::runs::hash_of;
use super::schema::schema_of;
use crate::explain;
use crate::results::compared::{ComparedRun, MOST_KEYS, different_keys};
use crate::results::explain::by_name;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Version of the layout.
pub const COMPARISON_SCHEMA: &str = "flitwise-comparison-1";

/// The comparison of `flitwise explain --against --json`: why the jobs of one experiment take longer than the jobs of another.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct ComparisonDocument {
    /// `flitwise-comparison-1`; another layout would have another name.
    #[schemars(extend("const" = COMPARISON_SCHEMA))]
    pub schema: &'static str,
    /// The version of Flitwise.
    pub version: &'static str,
    /// The experiment.
    pub this: ComparedExperiment,
    /// The experiment of `--against`.
    pub other: ComparedExperiment,
    /// The keys of [experiment files](../reference/experiment.md) in which the two differ, at most 10.
    pub different_keys: Vec<String>,
    /// The jobs that both experiments have; empty if one of the runs is not complete.
    pub jobs: Vec<ComparedJob>,
}

/// One of the two experiments.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct ComparedExperiment {
    /// Its `name`, or the name of its file or directory; if both have the same, `file` of `other`.
    pub name: String,
    /// Its file, or the directory of its result, as the command names it.
    pub file: String,
    /// As `experiment_hash` of its result.
    pub experiment_hash: String,
}

impl From<ComparedRun<'_>> for ComparedExperiment {
    fn from(run: ComparedRun<'_>) -> Self {
        Self {
            name: run.name.to_owned(),
            file: run.file.display().to_string(),
            experiment_hash: hash_of(&run.plan.experiment, run.result),
        }
    }
}

/// A job in both experiments.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct ComparedJob {
    /// The name of the job.
    pub job: String,
    /// The job in the experiment, as `explanation[]` of [result.json](../reference/result.md#explanation).
    pub this: Explanation,
    /// The job in the experiment of `--against`.
    pub other: Explanation,
    /// `this` less `other`; negative where the job of the experiment is shorter.
    pub difference: Difference,
}

/// The comparison of the jobs of `this` with the jobs of the same names in `other`.
#[must_use]
pub fn comparison_json(this: ComparedRun<'_>, other: ComparedRun<'_>) -> ComparisonDocument {
    let experiment = &this.plan.experiment;
    let one = |explained: &explain::Explanation| {
        let job = experiment.jobs[explained.job].name.clone();
        let before = by_name(other, "other", &job)?;
        Some(ComparedJob {
            job,
            this: of_job(experiment, &this.result.main, explained, None),
            other: of_job(
                before.experiment,
                &other.result.main,
                before.explained,
                None,
            ),
            difference: difference(experiment, explained, before),
        })
    };
    let all = this.result.main.explanation.iter().flatten();
    let keys = different_keys(experiment, &other.plan.experiment);
    ComparisonDocument {
        schema: COMPARISON_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        this: this.into(),
        other: other.into(),
        different_keys: keys.into_iter().take(MOST_KEYS).collect(),
        jobs: all.filter_map(one).collect(),
    }
}

/// Returns the JSON Schema of the comparison.
#[must_use]
pub fn comparison_schema() -> Value {
    let title = "the comparison of `flitwise explain --against`";
    schema_of::<ComparisonDocument>(COMPARISON_SCHEMA, title)
}
