//! The JSON of `flitwise explain --against`: the jobs of two experiments, and by how much their times differ.

use super::explanation::{Difference, Explanation, difference, of_job};
use super::schema::schema_of;
use crate::config::Plan;
use crate::explain;
use crate::results::explain::by_name;
use crate::run::RunResult;
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
    /// The jobs that both experiments have; empty if one of the runs is not complete.
    pub jobs: Vec<ComparedJob>,
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

/// The comparison of the jobs of `plan` with the jobs of the same names in `other`.
#[must_use]
pub fn comparison_json(
    (plan, result): (&Plan, &RunResult),
    (other, other_result): (&Plan, &RunResult),
) -> ComparisonDocument {
    let experiment = &plan.experiment;
    let one = |explained: &explain::Explanation| {
        let job = experiment.jobs[explained.job].name.clone();
        let before = by_name(other, other_result, &job)?;
        Some(ComparedJob {
            job,
            this: of_job(experiment, &result.main, explained, None),
            other: of_job(
                before.experiment,
                &other_result.main,
                before.explained,
                None,
            ),
            difference: difference(experiment, explained, before),
        })
    };
    let all = result.main.explanation.iter().flatten();
    ComparisonDocument {
        schema: COMPARISON_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        jobs: all.filter_map(one).collect(),
    }
}

/// Returns the JSON Schema of the comparison.
#[must_use]
pub fn comparison_schema() -> Value {
    let title = "the comparison of `flitwise explain --against`";
    schema_of::<ComparisonDocument>(COMPARISON_SCHEMA, title)
}
