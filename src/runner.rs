//! Runs a plan: the one place where configuration, replay and fabric meet.

use crate::config::{ConfigError, Experiment, Plan};
use crate::fabric::engine::{self, Engine, RunEnd};
use crate::fabric::spec::Tick;
use crate::fabric::stats::FabricStats;
use crate::replay::Replay;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use crate::units::TickLength;
use anyhow::anyhow;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

mod measure;
mod recorder;
mod traces;
mod workload;

pub use measure::{LevelBatch, Measured, WINDOW_BATCHES, WindowBatch};
pub use recorder::{Recorder, Recording, Run};
pub use traces::TraceDigest;
pub use workload::workload;

use traces::Traces;
use workload::replay_of;

/// Control over the runs of a plan from outside.
pub struct Control<'a> {
    /// Set when the user asks to stop: the run ends with its results so far.
    pub stop: &'a AtomicBool,
    /// Receives the progress of the main run, a few times a second.
    pub progress: &'a dyn Progress,
    /// Receives time series; `None`: they are not recorded.
    pub recorder: Option<&'a dyn Recorder>,
}

impl Control<'_> {
    /// True if the run should end early.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Simulated time in ticks.
    pub tick: Tick,
    /// Length of a tick.
    pub tick_length: TickLength,
    /// Trace records started, of the jobs that the run waits for; without a job, thousandths
    /// of the loads.
    pub records: u64,
    /// Number of all these records, over all repetitions.
    pub records_total: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Flit-hops so far.
    pub flit_hops: u64,
}

/// Receives snapshots; must be cheap.
pub trait Progress: Sync {
    /// Receives the state of the run.
    fn update(&self, snapshot: &Snapshot);
}

/// Receives nothing.
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: &Snapshot) {}
}

/// How a simulation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Every job came to its end.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// No progress is possible; the text says which parts wait for which.
    Stalled(String),
}

/// One simulation.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// How it ended.
    pub status: Status,
    /// Counters of the fabric: of the window, if something was measured.
    pub stats: FabricStats,
    /// Per job of the experiment; `None` for disabled ones.
    pub jobs: Vec<Option<JobOutcome>>,
    /// Per background flow of the experiment, over the same time.
    pub background: Vec<BackgroundOutcome>,
    /// Messages created in that time.
    pub messages: u64,
    /// Messages created and not delivered at its end.
    pub backlog: u64,
    /// How the measurement went, in an experiment without a job.
    pub measured: Option<Measured>,
    /// Wall-clock time.
    pub wall: Duration,
}

/// The experiment and its baselines, in the order of the plan.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The experiment; with several loads, the last one begun.
    pub main: Simulation,
    /// The baselines; fewer than planned if the user stopped the run.
    pub baselines: Vec<Simulation>,
    /// Without a job: the experiment at each load; fewer if the user stopped the run.
    pub curve: Vec<Simulation>,
    /// The traces of the experiment and its baselines, each once.
    pub traces: Vec<TraceDigest>,
}

impl RunResult {
    /// How all runs ended: stalled if the experiment stalled at one of its loads, or a baseline
    /// did; else interrupted if the user stopped any of them.
    #[must_use]
    pub fn status(&self, plan: &Plan) -> Status {
        let mut runs: Vec<(String, &Simulation)> = match &self.curve[..] {
            [] | [_] => vec![(String::new(), &self.main)],
            curve => curve.iter().map(|run| (place(run), run)).collect(),
        };
        runs.extend(
            self.baselines
                .iter()
                .map(|run| ("in a baseline: ".into(), run)),
        );
        let stall = runs.iter().find_map(|(place, run)| match &run.status {
            Status::Stalled(why) => Some(format!("{place}{why}")),
            Status::Complete | Status::Interrupted => None,
        });
        if let Some(why) = stall {
            return Status::Stalled(why);
        }
        let measure = plan.experiment.measure.as_ref();
        let missing = self.baselines.len() < plan.baselines.len()
            || self.curve.len() < measure.map_or(0, |m| m.loads.len());
        match missing
            || runs
                .iter()
                .any(|(_, run)| run.status == Status::Interrupted)
        {
            true => Status::Interrupted,
            false => Status::Complete,
        }
    }
}

/// The load of a run, if there are several, as the beginning of a message.
fn place(run: &Simulation) -> String {
    let load = |measured: &Measured| format!("at load {}: ", measured.load);
    run.measured.as_ref().map_or_else(String::new, load)
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// The input is at fault: exit code 2.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A trace is at fault: exit code 2.
    #[error("{0:#}")]
    Trace(anyhow::Error),
    /// The run failed: exit code 1.
    #[error("{0:#}")]
    Failed(anyhow::Error),
}

/// Called now and then: true ends the run.
type Stopped<'a> = &'a (dyn Fn() -> bool + Sync);

/// Wall-clock time between reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// Simulates one experiment.
fn run_experiment(
    experiment: &Experiment,
    traces: &Traces,
    progress: &dyn Progress,
    mut recording: Option<Recording<'_>>,
    stopped: Stopped<'_>,
) -> Result<Simulation, RunError> {
    let started = Instant::now();
    let (mut replay, records) = replay_of(experiment, traces, None)?;
    let mut engine = engine_of(experiment)?;
    let mut reported = started;
    let mut control = |engine: &engine::Progress, replay: &Replay| {
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            let replayed = replay.progress();
            progress.update(&Snapshot {
                tick: engine.tick,
                tick_length: experiment.fabric.units.tick,
                records: replayed.operations,
                records_total: records,
                messages: replayed.messages_delivered,
                flit_hops: engine.flit_hops,
            });
        }
        if stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let sampling = recording.as_mut().map(Recording::sampling);
    let end = engine.run_sampled(&mut replay, &mut control, sampling);
    if let Some(error) = replay.take_error() {
        return Err(RunError::Trace(error));
    }
    let status = status_of(end, &replay)?;
    let mut outcomes = replay.outcomes().into_iter();
    let jobs = experiment
        .jobs
        .iter()
        .map(|job| job.enabled.then(|| outcomes.next()).flatten());
    let stats = engine.stats();
    let messages = stats.messages + replay.waiting(stats.end_tick);
    Ok(Simulation {
        status,
        jobs: jobs.collect(),
        background: replay.background(stats.end_tick),
        messages,
        backlog: messages - stats.messages_delivered,
        measured: None,
        stats,
        wall: started.elapsed(),
    })
}

fn engine_of(experiment: &Experiment) -> Result<Engine, ConfigError> {
    Engine::new(&experiment.fabric).map_err(|e| ConfigError::new(e.key.to_owned(), e.problem))
}

fn status_of(end: RunEnd, replay: &Replay) -> Result<Status, RunError> {
    Ok(match end {
        RunEnd::Finished => Status::Complete,
        RunEnd::Interrupted => Status::Interrupted,
        RunEnd::Deadlock(stall) => Status::Stalled(stall.to_string()),
        RunEnd::Drained => Status::Stalled(stall_of(replay)),
        RunEnd::Exhausted => {
            return Err(RunError::Failed(anyhow!(
                "more than 2^28 messages or packets wait to be delivered: the jobs send faster \
                 than the fabric delivers"
            )));
        }
    })
}

/// Never empty.
fn stall_of(replay: &Replay) -> String {
    let report = replay.stall_report();
    if report.is_empty() {
        return "nothing is due any more, but the run is not over".into();
    }
    report.join("\n")
}

/// Simulates the experiment and its baselines, or its loads, side by side if `threads`
/// allows. Equal configurations are simulated only once.
///
/// # Errors
/// If a trace is broken, a job does not fit, or a run fails. An error of the experiment
/// takes precedence over errors of the baselines.
///
/// # Examples
/// ```
/// use flitwise::config::resolve_text;
/// use flitwise::runner::{Control, Silent, Status, run_plan};
/// use std::{path::Path, sync::atomic::AtomicBool};
///
/// let text = r#"
///     fabric.topology = { kind = "single", nics = 16 }
///     [[job]]
///     trace = "traces/randomaccess-16.vef.gz"
/// "#;
/// let plan = resolve_text("example.toml", text, Path::new(""), &[])?;
/// let (stop, progress) = (AtomicBool::new(false), Silent);
/// let control = Control { stop: &stop, progress: &progress, recorder: None };
/// let result = run_plan(&plan, &control, 1)?;
/// assert_eq!(result.main.status, Status::Complete);
/// let stats = &result.main.stats;
/// assert_eq!(stats.messages_delivered, stats.messages);
/// assert!(result.main.jobs[0].is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_plan(plan: &Plan, control: &Control<'_>, threads: usize) -> Result<RunResult, RunError> {
    if let Some(measure) = &plan.experiment.measure {
        return measure::run_curve(&plan.experiment, measure, control, threads);
    }
    let baselines = plan.baselines.iter().map(|b| &b.experiment);
    let experiments: Vec<&Experiment> =
        std::iter::once(&plan.experiment).chain(baselines).collect();
    let traces = &Traces::check(&experiments, &|| control.stopped())?;
    // Without the experiment the baselines are useless.
    let failed = AtomicBool::new(false);
    let stopped = || control.stopped() || failed.load(Ordering::Relaxed);
    let recording = |run| control.recorder.and_then(|recorder| recorder.begin(run));
    // A baseline that is the experiment itself is not simulated again.
    let baselines = || -> Result<Vec<Option<Simulation>>, RunError> {
        let wanted = plan.baselines.iter().take_while(|_| !stopped());
        wanted
            .enumerate()
            .map(|(i, b)| match b.experiment == plan.experiment {
                true => Ok(None),
                false => {
                    let recording = recording(Run::Baseline(i));
                    run_experiment(&b.experiment, traces, &Silent, recording, &stopped).map(Some)
                }
            })
            .collect()
    };
    let main = || {
        let experiment = &plan.experiment;
        let recording = recording(Run::Experiment);
        run_experiment(experiment, traces, control.progress, recording, &stopped)
            .inspect_err(|_| failed.store(true, Ordering::Relaxed))
    };
    let result = |main: Simulation, baselines: Vec<Option<Simulation>>| {
        let same = || Simulation {
            wall: Duration::ZERO,
            ..main.clone()
        };
        let baselines = baselines.into_iter();
        RunResult {
            baselines: baselines.map(|run| run.unwrap_or_else(same)).collect(),
            main,
            curve: Vec::new(),
            traces: traces.digests(),
        }
    };
    if threads < 2 || plan.baselines.is_empty() {
        return Ok(result(main()?, baselines()?));
    }
    std::thread::scope(|scope| {
        let side = scope.spawn(baselines);
        let main = main();
        let side = side
            .join()
            .unwrap_or_else(|_| Err(RunError::Failed(anyhow!("a baseline run panicked"))));
        Ok(result(main?, side?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::resolve_text;
    use std::fmt::Write;

    #[test]
    fn a_check_ends_when_the_user_stops_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = String::from("VEF3 1 70000 1 0 0 0 1000\nC0 0\n");
        (0..70_000).for_each(|id| writeln!(text, "{id} 0 0 0 0 1 -1").unwrap());
        std::fs::write(dir.path().join("long.vef"), text).unwrap();
        let text = "[fabric]\ntopology = { kind = \"single\", nics = 4 }\n\
                    [[job]]\ntrace = \"long.vef\"\n";
        let plan = resolve_text("test.toml", text, dir.path(), &[]).unwrap();
        let run = |stop| {
            let stop = &AtomicBool::new(stop);
            let progress = &Silent;
            let recorder = None;
            let control = Control {
                stop,
                progress,
                recorder,
            };
            run_plan(&plan, &control, 2)
        };
        let Err(RunError::Failed(error)) = run(true) else {
            panic!("the check went on");
        };
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert_eq!(run(false).unwrap().main.status, Status::Complete);
    }
}
