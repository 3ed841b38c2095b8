//! Settings of a study without an effect: the seeds or an axis replace them in all runs.

use super::grid::Grid;
use crate::config::{Axis, ConfigError, Override, Setting, Study};
use flitwise_base::quote::quoted;
use hashbrown::{HashMap, HashSet};

/// Refuses settings that are replaced in all runs, and points that are the same run.
pub(super) fn check(grid: &Grid) -> Result<(), ConfigError> {
    for set in &grid.study.sets {
        if let Some(others) = replacing(&grid.study, set) {
            let problem =
                format!("does nothing, because {others} it in all runs; remove one of them");
            let mut error = ConfigError::new(set.key(), problem);
            error.location.clone_from(&set.place);
            return Err(error.placed_in(std::slice::from_ref(&set.text)));
        }
    }
    if grid.study.axes.is_empty() || !is_shared(&grid.study.axes) {
        return Ok(());
    }
    let mut seen = HashMap::new();
    for point in 0..grid.points.len() {
        let overrides = grid.overrides(point);
        let is_replaced = |at: usize| {
            let mut later = overrides[at + 1..].iter();
            later.any(|later| replaces(later.key(), overrides[at].key()))
        };
        let (gone, kept): (Vec<usize>, Vec<usize>) =
            (0..overrides.len()).partition(|&at| is_replaced(at));
        let kept: Vec<&str> = kept.iter().map(|&at| &*overrides[at].text).collect();
        if let (Some(same), Some(&set)) = (seen.insert(kept, point), gone.last()) {
            return Err(twice(grid, overrides[set], [same, point]));
        }
    }
    Ok(())
}

/// The error of two points that are the same run, because another axis replaces `set`.
fn twice(grid: &Grid, set: &Override, points: [usize; 2]) -> ConfigError {
    let [one, other] = points.map(|point| grid.name(point));
    let problem = format!(
        "another axis sets it as well, so {one} and {other} are the same run; let one axis set it, or exclude one of the two"
    );
    let mut error = ConfigError::new(set.key(), problem);
    error.location = set.key_place.clone().or_else(|| set.place.clone());
    error
}

/// Says what replaces `set` in all runs.
fn replacing(study: &Study, set: &Override) -> Option<String> {
    if set.key() == "seed" && !study.seeds.is_empty() {
        return Some("the seeds of the study set".to_owned());
    }
    let does = |setting: &Setting| {
        setting
            .overrides
            .iter()
            .any(|other| replaces(other.key(), set.key()))
    };
    let axis = study
        .axes
        .iter()
        .find(|axis| axis.settings.iter().all(does))?;
    Some(format!("axis {} sets", quoted(&axis.name)))
}

/// Whether two of these axes set the same key.
fn is_shared(axes: &[Axis]) -> bool {
    let mut earlier: HashSet<&str> = HashSet::new();
    axes.iter().any(|axis| {
        let overrides = axis.settings.iter().flat_map(|setting| &setting.overrides);
        let keys: HashSet<&str> = overrides.map(Override::key).collect();
        let is_set = |key: &&str| earlier.iter().any(|early| replaces(key, early));
        let shared = keys.iter().any(is_set);
        earlier.extend(keys);
        shared
    })
}

/// Whether a value of the key `late` replaces an earlier one of `early`: that is the same key or a key inside it. A `*` in
/// `late` stands for all elements of a list.
fn replaces(late: &str, early: &str) -> bool {
    let mut early = early.split('.');
    late.split('.').all(|part| {
        early
            .next()
            .is_some_and(|other| part == "*" || part == other)
    })
}
