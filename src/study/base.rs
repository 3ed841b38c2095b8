//! The base experiments of two studies, side by side.

use super::grid::Grid;
use crate::config::{ConfigError, Study, experiment_json};
use serde_json::Value;

/// Returns the base experiments of two studies as `experiment` in `result.json`, with the same seed and at the same point:
/// the first one of `one`. An axis or a seed that only one of the studies has makes no difference.
///
/// # Errors
/// If one of them is no experiment at this point.
pub fn base_experiments(one: &Study, other: &Study) -> Result<[Value; 2], ConfigError> {
    let mut moved = one.clone();
    moved.base.for_analyses |= other.base.for_analyses;
    let other = Study {
        axes: one.axes.clone(),
        excluded: one.excluded.clone(),
        ..other.clone()
    };
    Ok([experiment(moved)?, experiment(other)?])
}

fn experiment(study: Study) -> Result<Value, ConfigError> {
    let plan = Grid::of(study)?.plan(0, Some(1))?;
    let experiment = experiment_json(&plan.experiment).to_string();
    // Written and read, so that equal numbers are equal.
    Ok(serde_json::from_str(&experiment).unwrap_or_default())
}
