//! The tasks of a study one by one, for processes on other machines (`docs/reference/cluster.md`).

use super::execute::Prepared;
use super::grid::Grid;
use crate::config::{ParsedBase, Texts};
use crate::run::{Control, PlanTask, RunError, Session, Status, TaskId};
use flitwise_base::side_by_side;
use hashbrown::HashSet;
use std::fmt;
use std::str::FromStr;

/// A task and a run that needs it. As text it is a word, `ID.POINT.SEED`: enough for another process to
/// find the task in the study, and to notice if the study has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StudyTask {
    /// The task.
    pub id: TaskId,
    /// Index of the point of the run.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
}

impl fmt::Display for StudyTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.id, self.point + 1, self.seed)
    }
}

impl FromStr for StudyTask {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let parts = || {
            let (id, run) = word.split_once('.')?;
            let (point, seed) = run.split_once('.')?;
            Some(Self {
                id: TaskId::parse(id)?,
                point: point.parse::<usize>().ok()?.checked_sub(1)?,
                seed: seed.parse().ok()?,
            })
        };
        parts().ok_or_else(|| "no task; `flitwise study tasks` prints them".to_owned())
    }
}

/// The tasks of some runs, each once, in the order of the runs.
#[must_use]
pub fn distinct_tasks(runs: &[Prepared]) -> Vec<StudyTask> {
    let mut seen = HashSet::new();
    let all = runs.iter().flat_map(|run| {
        run.tasks.iter().map(|task| StudyTask {
            id: task.id,
            point: run.point,
            seed: run.seed,
        })
    });
    all.filter(|task| seen.insert(task.id)).collect()
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskEnd {
    /// It had a record.
    WasRecorded,
    /// It has a record now.
    Recorded,
    /// It failed for this reason, which is noted beside the records.
    Failed(String),
    /// The user stopped it.
    Interrupted,
}

/// Does tasks of a study on up to `threads` threads. A task without a record is simulated, and its record appears only
/// when it is complete. Doing a task again, or on two machines at once, changes nothing.
///
/// # Errors
/// If a task is not one of the study, a run of it cannot be resolved, or a trace is broken: nothing was
/// simulated then.
pub fn run_tasks(
    grid: &Grid,
    session: &mut Session,
    tasks: &[StudyTask],
    control: &Control<'_>,
    threads: usize,
) -> Result<Vec<TaskEnd>, RunError> {
    let mut texts = Texts::default();
    let base = &ParsedBase::of(&grid.study.base, &mut texts);
    let mut found = Vec::with_capacity(tasks.len());
    let mut prepared: Option<Prepared> = None;
    for task in tasks {
        let same = |run: &Prepared| (run.point, run.seed) == (task.point, task.seed);
        let run = match prepared.take().filter(same) {
            Some(run) => run,
            None if task.point < grid.points.len() => {
                Prepared::new(grid, base, session, (task.point, task.seed), control)?
            }
            None => return Err(foreign(*task)),
        };
        let own = run.tasks.iter().find(|own| own.id == task.id);
        let own = own.ok_or_else(|| foreign(*task))?;
        found.push((run.plan.clone(), *own));
        prepared = Some(run);
    }
    let session = &*session;
    let threads = session.divide(found.len()).min(threads);
    side_by_side(threads, found.len(), |at| {
        let (plan, task) = &found[at];
        if control.stopped() {
            return Ok(TaskEnd::Interrupted);
        }
        Ok(end_of(session, plan, *task, control))
    })
}

fn end_of(
    session: &Session,
    plan: &crate::config::Plan,
    task: PlanTask,
    control: &Control<'_>,
) -> TaskEnd {
    if session.recorded(task.id).is_some() {
        return TaskEnd::WasRecorded;
    }
    match session.simulate_task(plan, task, control) {
        Ok(simulation) if simulation.status == Status::Interrupted => TaskEnd::Interrupted,
        Ok(_) => TaskEnd::Recorded,
        Err(RunError::Interrupted(_)) => TaskEnd::Interrupted,
        Err(e) => {
            let reason = reason(&e);
            // Without the note the task counts as lost, and is tried again.
            let _ = session.note_failure(task.id, &reason);
            TaskEnd::Failed(reason)
        }
    }
}

/// Why a task has no result, in a line.
pub(super) fn reason(e: &RunError) -> String {
    e.to_string().replace('\n', "; ")
}

fn foreign(task: StudyTask) -> RunError {
    RunError::Failed(anyhow::anyhow!(
        "{task} is no task of this study; if the study, a trace or Flitwise has changed since the tasks were \
         listed, list them again"
    ))
}
