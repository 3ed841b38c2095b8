//! Runs the tasks of plans: side by side, each once, and only if it has no record.

use super::analyse::analyse;
use super::fits::fits;
use super::record::{Record, Records};
use super::simulate::{Watched, run_experiment};
use super::task::{Network, Task, TaskId, tasks};
use super::traces::{TraceDigest, Traces};
use super::{
    Control, LoadsDone, Progress, Recording, Run, RunError, RunResult, SaturatedRun, Simulation,
    Snapshot, Status, measure, reference,
};
use crate::config::{Experiment, Plan};
use crate::fabric::spec::Switch;
use crate::stop::Stop;
use anyhow::anyhow;
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Runs plans. It reads, checks and hashes each trace once, however many plans need it.
pub struct Session {
    pub(super) traces: Traces,
    pub(super) records: Option<Records>,
    threads: usize,
    /// Threads that simulate a fabric.
    each: AtomicUsize,
}

/// Most threads that simulate a fabric.
const MOST_THREADS: usize = 8;

/// A task of the plan that is being run.
struct Slot {
    run: Run,
    task: Task,
    id: TaskId,
    /// An earlier slot with the same task.
    same_as: Option<usize>,
    /// Its record, where it was there already; `None` if `same_as` names a slot.
    kept: Option<Record>,
}

impl Slot {
    /// Whether its result has to be simulated.
    fn is_missing(&self) -> bool {
        self.same_as.is_none() && self.kept.is_none()
    }
}

impl Session {
    /// A session that uses up to `threads` threads, at least one: for tasks side by side, and if there are few tasks,
    /// several for one fabric.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self {
            traces: Traces::none(),
            records: None,
            threads: threads.max(1),
            each: AtomicUsize::new(1),
        }
    }

    /// Divides the threads among `tasks` fabrics that are to be simulated. Returns how many tasks run side by side.
    pub(crate) fn divide(&self, tasks: usize) -> usize {
        let each = (self.threads / tasks.max(1)).clamp(1, MOST_THREADS);
        self.each.store(each, Ordering::Relaxed);
        self.threads / each
    }

    /// The threads that simulate the fabric of `experiment`.
    fn threads_of(&self, experiment: &Experiment) -> usize {
        // One of them has all NICs, and each takes as much memory as the whole fabric at rest.
        let most = match experiment.fabric.switch {
            Switch::Hierarchical(_) => MOST_THREADS,
            Switch::Voq(_) => MOST_THREADS / 2,
        };
        if can_use_threads(experiment) {
            self.each.load(Ordering::Relaxed).min(most)
        } else {
            1
        }
    }

    /// Keeps records in `dir`, and reads the records found there instead of running their tasks.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn with_records(self, dir: &Path) -> std::io::Result<Self> {
        Ok(Self {
            records: Some(Records::in_dir(dir)?),
            ..self
        })
    }

    /// Runs the tasks of `plan` that have no record yet, and combines all records.
    ///
    /// # Errors
    /// If a trace is broken, a job does not fit, or a run fails. An error of the experiment
    /// takes precedence over errors of the baselines.
    pub fn run(&mut self, plan: &Plan, control: &Control<'_>) -> Result<RunResult, RunError> {
        let tasks = tasks(plan);
        let experiments = tasks.iter().map(|(_, task)| &task.experiment);
        self.traces.check(experiments, control.stop)?;
        let slots = self.slots(tasks, plan.explain, control);
        let outcomes = Work {
            slots: &slots,
            session: self,
            control,
            explain: plan.explain,
            next: AtomicUsize::new(0),
            abandoned: slots.iter().map(|_| AtomicBool::new(false)).collect(),
            done: slots
                .iter()
                .map(|slot| AtomicU64::new(if slot.is_missing() { 0 } else { WHOLE }))
                .collect(),
        }
        .all()?;
        self.combine(plan, &slots, outcomes)
    }

    fn slots(&self, tasks: Vec<(Run, Task)>, explain: bool, control: &Control<'_>) -> Vec<Slot> {
        let mut slots: Vec<Slot> = Vec::with_capacity(tasks.len());
        let ids = self.ids_of(&tasks);
        for ((run, task), id) in tasks.into_iter().zip(ids) {
            let same_as = slots.iter().position(|slot| slot.id == id);
            // Time series and timelines are no part of a record: a task that records them runs.
            let kept = match &self.records {
                Some(records) if !watched(control, run) && same_as.is_none() => {
                    let explained = |record: &Record| {
                        let explanation = &record.simulation.explanation;
                        explanation.is_some() || !explains(explain, run, &task)
                    };
                    let fitting = |record: &Record| fits(&record.simulation, &task.experiment);
                    let kept = records.read(id).filter(fitting).filter(explained);
                    kept.map(|mut record| {
                        let explanation = record.simulation.explanation.take();
                        let asked = explains(explain, run, &task);
                        record.simulation.explanation = explanation.filter(|_| asked);
                        record
                    })
                }
                _ => None,
            };
            slots.push(Slot {
                run,
                task,
                id,
                same_as,
                kept,
            });
        }
        slots
    }

    /// The results, each in its place. Only the last ones may be missing, if the user stopped the run.
    fn combine(
        &self,
        plan: &Plan,
        slots: &[Slot],
        mut outcomes: Vec<Option<Simulation>>,
    ) -> Result<RunResult, RunError> {
        for (at, slot) in slots.iter().enumerate() {
            if let Some(earlier) = slot.same_as {
                outcomes[at] = outcomes[earlier].as_ref().map(|run| Simulation {
                    wall: Duration::ZERO,
                    ..run.clone()
                });
            }
        }
        let runs = slots.iter().map(|slot| slot.run).zip(outcomes);
        let results = runs.filter_map(|(run, outcome)| Some((run, outcome?)));
        let experiments = slots.iter().map(|slot| &slot.task.experiment);
        combined(plan, results, self.traces.digests_in(experiments))
    }

    /// Simulates a task, and keeps its record.
    pub(super) fn simulate(
        &self,
        task: &Task,
        id: TaskId,
        run: Run,
        report: &impl Fn(&Snapshot),
        watched: Watched<'_>,
        recording: Option<Recording<'_>>,
    ) -> Result<Simulation, RunError> {
        let Task {
            experiment,
            network,
        } = task;
        let (traces, stop) = (&self.traces, watched.stop);
        let threads = self.threads_of(experiment);
        let simulation = match (network, &experiment.congestion, &experiment.measure) {
            (Network::Fabric, Some(request), _) => analyse(experiment, request, stop),
            (Network::Unloaded | Network::Ideal, ..) => {
                reference::run_reference(experiment, *network, traces, stop)
            }
            (Network::Fabric, None, Some(measure)) => {
                measure::measure_load(experiment, measure, threads, stop, report, recording)
            }
            (Network::Fabric, None, None) => {
                run_experiment(experiment, run, traces, watched, threads, recording)
            }
        }?;
        if let Some(records) = &self.records {
            let digests = traces.digests_in([experiment]);
            let record = Record::new(id, *network, digests, simulation);
            records.write(id, &record)?;
            return Ok(record.simulation);
        }
        Ok(simulation)
    }
}

/// The results of the tasks of a plan, in their order, in their places.
pub(super) fn combined(
    plan: &Plan,
    results: impl IntoIterator<Item = (Run, Simulation)>,
    traces: Vec<TraceDigest>,
) -> Result<RunResult, RunError> {
    let (mut main, mut baselines, mut curve) = (None, Vec::new(), Vec::new());
    let (mut always_up, mut unloaded, mut ideal) = (None, None, None);
    for (run, mut outcome) in results {
        let experiment = match run {
            Run::Baseline(at) => plan.baselines.get(at).map(|other| &other.experiment),
            _ => Some(&plan.experiment),
        };
        if !experiment.is_some_and(|experiment| fits(&outcome, experiment)) {
            let problem =
                "a record does not fit its experiment; remove the records, and run it again";
            return Err(RunError::Failed(anyhow!(problem)));
        }
        // The last jobs may be no part of the task.
        outcome.jobs.resize(
            experiment.map_or(0, |experiment| experiment.jobs.len()),
            None,
        );
        match run {
            Run::Experiment => main = Some(outcome),
            Run::Baseline(at) if at == baselines.len() => baselines.push(outcome),
            Run::Baseline(_) => {}
            Run::Load(at) if at == curve.len() => curve.push(outcome),
            Run::Load(_) => {}
            Run::AlwaysUp => always_up = Some(outcome),
            Run::Unloaded => unloaded = Some(outcome),
            Run::Ideal => ideal = Some(outcome),
        }
    }
    let main = main.or_else(|| curve.last().cloned());
    let main = main.ok_or_else(|| RunError::Failed(anyhow!("nothing was simulated")))?;
    Ok(RunResult {
        main,
        baselines,
        curve,
        always_up,
        unloaded,
        ideal,
        traces,
    })
}

/// Whether several threads simulate the fabric of `experiment` faster than one. In small fabrics they would wait for each
/// other more than they work (`docs/evidence/performance.md`).
#[must_use]
pub fn can_use_threads(experiment: &Experiment) -> bool {
    let fewest_nics = match experiment.fabric.switch {
        Switch::Hierarchical(_) => 512,
        Switch::Voq(_) => 2048,
    };
    experiment.congestion.is_none() && experiment.fabric.topology.nics() >= fewest_nics
}

/// Whether something that is no part of a record is taken from `run`.
fn watched(control: &Control<'_>, run: Run) -> bool {
    control.recorder.is_some() || control.timeline.is_some() && run == Run::Experiment
}

/// Whether the run of `task` explains why its jobs take as long as they do, if the plan asks for that.
fn explains(asked: bool, run: Run, task: &Task) -> bool {
    let answers = task.network == Network::Fabric && run != Run::AlwaysUp;
    asked && answers && task.experiment.measure.is_none()
}

/// The tasks of a plan while they run.
struct Work<'a> {
    slots: &'a [Slot],
    session: &'a Session,
    control: &'a Control<'a>,
    /// Runs with jobs are explained.
    explain: bool,
    /// The next slot to be begun.
    next: AtomicUsize,
    /// By slot: set when an earlier slot failed or was stopped as saturated, so that its task need not continue.
    abandoned: Vec<AtomicBool>,
    /// By slot: thousandths done; of a run that is no load, all or nothing.
    done: Vec<AtomicU64>,
}

/// Thousandths that a load counts for in the progress.
const WHOLE: u64 = 1000;

type Outcome = (usize, Result<Simulation, RunError>);

impl Work<'_> {
    /// The results by slot: missing where the task of an earlier slot is the same, or the user
    /// stopped the run before the task began.
    fn all(&self) -> Result<Vec<Option<Simulation>>, RunError> {
        let missing = || self.slots.iter().filter(|slot| slot.is_missing());
        let large = |slot: &&Slot| {
            let task = &slot.task;
            task.network == Network::Fabric && can_use_threads(&task.experiment)
        };
        let side_by_side = match missing().filter(large).count() {
            0 => self.session.divide(self.session.threads),
            fabrics => self.session.divide(fabrics),
        };
        let threads = side_by_side.min(missing().count());
        let mut outcomes = match threads {
            0 | 1 => self.worker(),
            _ => std::thread::scope(|scope| {
                let workers: Vec<_> = (1..threads)
                    .map(|_| scope.spawn(|| self.worker()))
                    .collect();
                let mut outcomes = self.worker();
                for worker in workers {
                    let panicked = || RunError::Failed(anyhow!("a run panicked"));
                    let after_all = self.slots.len();
                    let joined = worker.join();
                    outcomes.extend(joined.unwrap_or_else(|_| vec![(after_all, Err(panicked()))]));
                }
                outcomes
            }),
        };
        // The first error in the order of the plan counts, not the first in time.
        outcomes.sort_by_key(|&(at, _)| at);
        let mut by_slot: Vec<Option<Simulation>> = self.slots.iter().map(|_| None).collect();
        for (at, outcome) in outcomes {
            let outcome = outcome?;
            let saturated = outcome.status == Status::Saturated;
            by_slot[at] = Some(outcome);
            if saturated {
                // The progress of later ones depends on the threads.
                break;
            }
        }
        Ok(by_slot)
    }

    /// Runs one task after the other until none is left.
    fn worker(&self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = self.slots.get(at) else {
                return outcomes;
            };
            if slot.same_as.is_some() || slot.kept.is_some() {
                self.done[at].store(WHOLE, Ordering::Relaxed);
            }
            if let Some(record) = &slot.kept {
                outcomes.push((at, Ok(record.simulation.clone())));
                continue;
            }
            // The first task has a result in any case.
            if slot.same_as.is_some() || at > 0 && self.stop(at).is_set() {
                continue;
            }
            let outcome = self.simulate(at, slot);
            let saturated = |run: &Simulation| run.status == Status::Saturated;
            if outcome.as_ref().map_or(true, saturated) {
                for later in &self.abandoned[at + 1..] {
                    later.store(true, Ordering::Relaxed);
                }
            }
            self.done[at].store(WHOLE, Ordering::Relaxed);
            outcomes.push((at, outcome));
        }
    }

    /// The token that stops the task of slot `at`.
    fn stop(&self, at: usize) -> Stop<'_> {
        self.control.stop.part(&self.abandoned[at])
    }

    /// Runs a task, and keeps its record.
    fn simulate(&self, at: usize, slot: &Slot) -> Result<Simulation, RunError> {
        let recorder = self.control.recorder;
        let recording = recorder.and_then(|recorder| recorder.begin(slot.run));
        let watched = Watched {
            progress: self,
            report_every: self.control.report_every,
            stop: self.stop(at),
            stop_when_saturated: self.control.stop_when_saturated,
            timeline: (self.control.timeline).filter(|_| slot.run == Run::Experiment),
            explain: explains(self.explain, slot.run, &slot.task),
        };
        let report = self.reporter(at);
        let (session, run) = (self.session, slot.run);
        session.simulate(&slot.task, slot.id, run, &report, watched, recording)
    }

    /// Returns a reporter for slot `at`, which reports ticks as records. It passes on the progress of all loads of a
    /// curve a few times a second.
    fn reporter(&self, at: usize) -> impl Fn(&Snapshot) + '_ {
        let last = Cell::new(Instant::now());
        move |snapshot| {
            let (tick, all) = (u128::from(snapshot.records), snapshot.records_total.max(1));
            let part = tick * u128::from(WHOLE) / u128::from(all);
            self.done[at].store((part as u64).min(WHOLE - 1), Ordering::Relaxed);
            if last.get().elapsed() < self.control.report_every {
                return;
            }
            last.set(Instant::now());
            let done = || self.done.iter().map(|done| done.load(Ordering::Relaxed));
            self.control.progress.update(&Snapshot {
                run: self.slots[at].run,
                records: done().sum(),
                records_total: self.slots.len() as u64 * WHOLE,
                loads: snapshot.loads.map(|loads| LoadsDone {
                    measured: done().filter(|&done| done == WHOLE).count() as u64,
                    all: self.slots.len() as u64,
                    ..loads
                }),
                ..*snapshot
            });
        }
    }
}

impl Progress for Work<'_> {
    /// Passes on the reports of the experiment, and once it has ended the reports of the first baseline that has not
    /// ended.
    fn update(&self, snapshot: &Snapshot) {
        let goes_on = |at: &usize| self.done[*at].load(Ordering::Relaxed) < WHOLE;
        let reports = |slot: &Slot| matches!(slot.run, Run::Experiment | Run::Baseline(_));
        let mut runs = (0..self.slots.len()).filter(|&at| reports(&self.slots[at]));
        let first = runs.find(|at| goes_on(at) && self.slots[*at].is_missing());
        if first.is_some_and(|at| self.slots[at].run == snapshot.run) {
            self.control.progress.update(snapshot);
        }
    }

    fn saturated(&self, seen: &SaturatedRun) {
        self.control.progress.saturated(seen);
    }
}
