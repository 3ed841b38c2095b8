//! Runs the tasks of many runs side by side, each task once.

use super::grid::Grid;
use super::metrics::Metrics;
use super::row::{RunRow, rows};
use super::tasks::reason;
use crate::config::{ParsedBase, Plan, experiment_json};
use crate::run::{Control, PlanTask, Run, RunError, Session, Simulation, Status, TaskId};
use hashbrown::{HashMap, HashSet};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How far a study has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StudySnapshot {
    /// Runs whose tasks are all done.
    pub runs_done: usize,
    /// All runs known so far.
    pub runs: usize,
    /// Tasks done or taken from records.
    pub tasks_done: usize,
    /// All tasks known so far, each once.
    pub tasks: usize,
    /// Runs without a result.
    pub failed: usize,
}

impl StudySnapshot {
    /// The progress of `runs`: the tasks in `open` are not done, and the tasks in `reasons` never will be.
    #[must_use]
    pub fn of(
        runs: &[Prepared],
        open: &HashSet<TaskId>,
        reasons: &HashMap<TaskId, String>,
    ) -> Self {
        let tasks: HashSet<TaskId> = runs
            .iter()
            .flat_map(|run| run.tasks.iter().map(|task| task.id))
            .collect();
        let done = |run: &&Prepared| run.tasks.iter().all(|task| !open.contains(&task.id));
        let failed = |run: &&Prepared| run.tasks.iter().any(|task| reasons.contains_key(&task.id));
        Self {
            runs_done: runs.iter().filter(done).count(),
            runs: runs.len(),
            tasks_done: tasks.len() - open.len(),
            tasks: tasks.len(),
            failed: runs.iter().filter(failed).count(),
        }
    }
}

/// Receives the progress of a study; must be cheap.
pub trait StudyProgress: Sync {
    /// Receives the progress of the study after each task.
    fn update(&self, snapshot: &StudySnapshot);
}

/// Receives nothing.
pub struct Unwatched;

impl StudyProgress for Unwatched {
    fn update(&self, _: &StudySnapshot) {}
}

/// Where the tasks of a study are done.
pub trait Engine {
    /// Does the tasks of `runs` elsewhere, until each has a record or a reason, or the user stops it. Returns the
    /// reasons by task; `None`: does nothing, and the tasks are done by threads of this process.
    ///
    /// # Errors
    /// If they cannot be done there.
    fn run(
        &self,
        runs: &[Prepared],
        session: &Session,
        progress: &dyn StudyProgress,
    ) -> Result<Option<HashMap<TaskId, String>>, RunError>;
}

/// Threads of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Here;

impl Engine for Here {
    fn run(
        &self,
        _: &[Prepared],
        _: &Session,
        _: &dyn StudyProgress,
    ) -> Result<Option<HashMap<TaskId, String>>, RunError> {
        Ok(None)
    }
}

/// A run that is ready to be simulated.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Prepared {
    /// Index of its point.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<PlanTask>,
}

impl Prepared {
    /// The topology of its fabric, as in `result.json`.
    #[must_use]
    pub fn topology(&self) -> Value {
        experiment_json(&self.plan.experiment)["fabric"]["topology"].take()
    }

    /// A run whose traces are read.
    pub(super) fn of((point, seed): (usize, u64), plan: Plan, tasks: Vec<PlanTask>) -> Self {
        Self {
            point,
            seed,
            plan: Arc::new(plan),
            tasks,
        }
    }

    /// Resolves a run and reads its traces.
    pub(super) fn new(
        grid: &Grid,
        base: &ParsedBase<'_>,
        session: &mut Session,
        (point, seed): (usize, u64),
        control: &Control<'_>,
    ) -> Result<Self, RunError> {
        let plan = grid.plan_of(base, point, Some(seed))?;
        session.prepare(&plan, control)?;
        let tasks = session.tasks(&plan);
        Ok(Self::of((point, seed), plan, tasks))
    }
}

/// The outcome of a task, or why there is none.
type Outcome = Result<Arc<Simulation>, Arc<str>>;

/// Tasks and runs while they are done.
pub(super) struct Batch<'a> {
    session: &'a Session,
    control: &'a Control<'a>,
    progress: &'a dyn StudyProgress,
    runs: &'a [Prepared],
    /// The reasons for which tasks done elsewhere have no record; `None`: the tasks are done here.
    elsewhere: Option<HashMap<TaskId, String>>,
    /// Each task once, in the order of the runs, with the first run that needs it.
    queue: Vec<(usize, PlanTask)>,
    /// The runs that need a task, by task.
    users: HashMap<TaskId, Vec<usize>>,
    next: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    /// Results that a run still needs, with the number of these runs.
    kept: HashMap<TaskId, (Outcome, usize)>,
    /// By run: tasks that are not done, each once.
    missing: Vec<usize>,
    /// By run.
    rows: Vec<Option<Vec<RunRow>>>,
    seen: StudySnapshot,
    /// Why a record cannot be kept, which ends the study.
    unkept: Option<RunError>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        session: &'a Session,
        runs: &'a [Prepared],
        elsewhere: Option<HashMap<TaskId, String>>,
        control: &'a Control<'a>,
        progress: &'a dyn StudyProgress,
    ) -> Self {
        let (mut queue, mut missing) = (Vec::new(), Vec::new());
        let mut users: HashMap<TaskId, Vec<usize>> = HashMap::new();
        for (at, run) in runs.iter().enumerate() {
            let mut distinct = 0;
            for task in &run.tasks {
                let users = users.entry(task.id).or_default();
                if users.is_empty() {
                    queue.push((at, *task));
                }
                if users.last() != Some(&at) {
                    users.push(at);
                    distinct += 1;
                }
            }
            missing.push(distinct);
        }
        let seen = StudySnapshot {
            runs_done: 0,
            runs: runs.len(),
            tasks_done: 0,
            tasks: queue.len(),
            failed: 0,
        };
        Self {
            session,
            control,
            progress,
            runs,
            elsewhere,
            queue,
            users,
            next: AtomicUsize::new(0),
            state: Mutex::new(State {
                kept: HashMap::new(),
                missing,
                rows: runs.iter().map(|_| None).collect(),
                seen,
                unkept: None,
            }),
        }
    }

    /// The rows by run: `None` for runs that were not done when the user stopped the study.
    ///
    /// # Errors
    /// If a record cannot be kept.
    pub(super) fn all(self, threads: usize) -> Result<Vec<Option<Vec<RunRow>>>, RunError> {
        let threads = self.session.divide(self.queue.len()).min(threads);
        std::thread::scope(|scope| {
            let threads = threads.min(self.queue.len());
            for _ in 1..threads {
                scope.spawn(|| self.worker());
            }
            self.worker();
        });
        let state = self.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.unkept.map_or(Ok(state.rows), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one task after the other until none is left.
    fn worker(&self) {
        // Outcomes of tasks that were done elsewhere are collected in any case.
        while self.goes_on() {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&(run, task)) = self.queue.get(at) else {
                return;
            };
            if let Some(outcome) = self.outcome(run, task) {
                for run in self.done(task.id, outcome) {
                    self.finish(run);
                }
                let seen = self.state().seen;
                self.progress.update(&seen);
            }
        }
    }

    fn goes_on(&self) -> bool {
        let stopped = self.elsewhere.is_none() && self.control.stopped();
        !stopped && self.state().unkept.is_none()
    }

    /// The outcome of a task; `None` if the user stopped it, or its record cannot be kept.
    fn outcome(&self, run: usize, task: PlanTask) -> Option<Outcome> {
        if let Some(simulation) = self.session.recorded(task.id) {
            return Some(Ok(Arc::new(simulation)));
        }
        if let Some(reasons) = &self.elsewhere {
            let reason = reasons.get(&task.id)?;
            return Some(Err(reason.as_str().into()));
        }
        let plan = &self.runs[run].plan;
        match self.session.simulate_task(plan, task, self.control) {
            Ok(simulation) if simulation.status == Status::Interrupted => None,
            Ok(simulation) => Some(Ok(Arc::new(simulation))),
            Err(RunError::Interrupted(_)) => None,
            Err(e @ RunError::Unkept(_)) => {
                self.state().unkept.get_or_insert(e);
                None
            }
            Err(e) => Some(Err(reason(&e).into())),
        }
    }

    /// Keeps an outcome, and returns the runs for which it was the last one missing.
    fn done(&self, id: TaskId, outcome: Outcome) -> Vec<usize> {
        let users = self.users.get(&id).map_or(&[][..], Vec::as_slice);
        let mut state = self.state();
        state.seen.tasks_done += 1;
        state.kept.insert(id, (outcome, users.len()));
        let complete = users.iter().copied().filter(|&run| {
            state.missing[run] -= 1;
            state.missing[run] == 0
        });
        complete.collect()
    }

    /// Makes the rows of a run whose tasks are done.
    fn finish(&self, at: usize) {
        let run = &self.runs[at];
        let outcomes = self.take(run);
        let record = run
            .tasks
            .first()
            .map_or_else(String::new, |task| task.id.to_string());
        let metrics = Metrics::of(&run.plan);
        let failed = |reason: String| {
            let of_run = (run.point, run.seed);
            vec![RunRow::failed(of_run, metrics, record, reason)]
        };
        let results: Result<Vec<(Run, Simulation)>, Arc<str>> = (run.tasks.iter().zip(outcomes))
            .map(|(task, outcome)| Ok((task.run, Simulation::clone(&*outcome?))))
            .collect();
        let made = match results {
            Err(reason) => failed(reason.to_string()),
            Ok(results) => match self.session.result_of(&run.plan, results) {
                Err(e) => failed(e.to_string()),
                Ok(result) => {
                    let ids = run.tasks.iter().map(|task| (task.run, task.id.to_string()));
                    let ids: Vec<_> = ids.collect();
                    rows((run.point, run.seed), &run.plan, &result, &ids)
                }
            },
        };
        let mut state = self.state();
        state.seen.runs_done += 1;
        state.seen.failed += usize::from(made.iter().any(|row| !row.reason.is_empty()));
        state.rows[at] = Some(made);
    }

    /// The outcomes of the tasks of a run. An outcome is dropped once no other run needs it.
    fn take(&self, run: &Prepared) -> Vec<Outcome> {
        let mut state = self.state();
        let gone = || Err(Arc::from("the result of a task is missing"));
        let outcomes = run.tasks.iter().map(|task| {
            let kept = state.kept.get(&task.id);
            kept.map_or_else(gone, |(outcome, _)| outcome.clone())
        });
        let outcomes = outcomes.collect();
        let mut ids: Vec<TaskId> = run.tasks.iter().map(|task| task.id).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            if let Some((_, users)) = state.kept.get_mut(&id) {
                *users -= 1;
                if *users == 0 {
                    state.kept.remove(&id);
                }
            }
        }
        outcomes
    }
}

/// Wall-clock time of a task that has a record.
pub(super) fn recorded_wall(session: &Session, id: TaskId) -> Option<Duration> {
    session.recorded(id).map(|simulation| simulation.wall)
}
