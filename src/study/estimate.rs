//! The work of a study, and an estimate of its duration.

use super::execute::{Prepared, recorded_wall};
use crate::run::{Run, Session, TaskId};
use hashbrown::HashSet;
use std::time::Duration;

/// The work of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// Runs: points with a seed each.
    pub runs: usize,
    /// Tasks of the runs, each once.
    pub tasks: usize,
    /// Tasks that have a record.
    pub recorded: usize,
    /// Time of the other tasks on one thread, if they take as long as recorded ones of their kind; `None`
    /// where there is no such record.
    pub left: Option<Duration>,
}

/// Most records that are read for an estimate, per kind of task.
const SAMPLE: u32 = 200;

/// The kinds of tasks, each of which takes a time of its own.
fn kind(run: Run) -> usize {
    match run {
        Run::Experiment | Run::Load(_) => 0,
        Run::Baseline(_) => 1,
        Run::Unloaded => 2,
        Run::Ideal => 3,
        Run::AlwaysUp => 4,
    }
}

/// Runs without a record that share no task: which of `prepared`, and its experiment (or its loads) or one of its
/// baselines.
#[must_use]
pub fn open_runs(prepared: &[Prepared], session: &Session) -> Vec<(usize, Run)> {
    let mut seen: HashSet<TaskId> = HashSet::new();
    let mut open = Vec::new();
    for (at, run) in prepared.iter().enumerate() {
        for task in &run.tasks {
            if !seen.insert(task.id) || session.has_record(task.id) {
                continue;
            }
            let run = match task.run {
                Run::Load(_) => Run::Experiment,
                run => run,
            };
            let counts = matches!(run, Run::Experiment | Run::Baseline(_) | Run::AlwaysUp);
            if counts && open.last() != Some(&(at, run)) {
                open.push((at, run));
            }
        }
    }
    open
}

/// Returns the work that is left for these runs.
#[must_use]
pub fn estimate(prepared: &[Prepared], session: &Session) -> Estimate {
    let mut seen: HashSet<TaskId> = HashSet::new();
    let mut known = [(Duration::ZERO, 0_u32); 5];
    let (mut missing, mut recorded) = ([0_u32; 5], 0);
    for task in prepared.iter().flat_map(|run| &run.tasks) {
        if !seen.insert(task.id) {
            continue;
        }
        let kind = kind(task.run);
        if !session.has_record(task.id) {
            missing[kind] += 1;
            continue;
        }
        recorded += 1;
        let (sum, count) = &mut known[kind];
        if *count < SAMPLE
            && let Some(wall) = recorded_wall(session, task.id)
        {
            *sum += wall;
            *count += 1;
        }
    }
    let kinds = missing.iter().zip(known);
    let times = kinds.map(|(&missing, (sum, count))| match (missing, count) {
        (0, _) => Some(Duration::ZERO),
        (_, 0) => None,
        (missing, count) => Some(sum * missing / count),
    });
    Estimate {
        runs: prepared.len(),
        tasks: seen.len(),
        recorded,
        left: times.sum(),
    }
}
