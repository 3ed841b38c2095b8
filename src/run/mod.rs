//! Runs a plan: the one place where configuration, replay and fabric meet.
//!
//! A plan is made of tasks: the experiment or each of its loads, its baselines, and its runs on an unloaded fabric and
//! on an ideal network. The result of each is a [`Record`]. A [`Session`] runs the tasks side by side and combines the
//! records; tasks that are equal run once. With a directory of records it runs only the tasks without a record.

use crate::config::{ConfigError, Plan};
use crate::explain::Explanation;
use crate::fabric::spec::Tick;
use crate::fabric::stats::FabricStats;
use crate::oblivious::MeanFigures;
use crate::replay::GapsSkipped;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use crate::stop::Stop;
use crate::units::{Ratio, TickLength};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use thiserror::Error;

mod analyse;
mod explain;
mod many;
mod matrix;
mod measure;
mod record;
mod recorder;
mod reference;
mod saturation;
mod session;
mod simulate;
mod static_check;
mod task;
mod timeline;
mod traces;
mod workload;

pub use many::PlanTask;
pub use matrix::{communication_matrix, job_nics};
pub use measure::{LevelBatch, Measured, WINDOW_BATCHES, WindowBatch};
pub use record::Record;
pub use recorder::{Recorder, Recording, Run};
pub use saturation::{SaturatedRun, Saturation};
pub use session::Session;
pub use static_check::{
    CHECK_SCHEMA, Check, CheckError, Completion, ConnectionCheck, Errors, Lengths, LevelCheck,
    OverRuns, Prediction, check_figure, static_check, write_check_table,
};
pub use task::{Network, TaskId};
pub use timeline::Timeline;
pub use traces::TraceDigest;
pub use workload::workload;

/// Control over the runs of a plan from outside. By default there is none: the runs continue to their end, and nothing
/// receives their progress or time series.
///
/// ```
/// use flitwise::run::{Control, Silent};
/// use std::sync::atomic::AtomicBool;
///
/// let stop = AtomicBool::new(false); // another thread, or a signal handler, sets it
/// let control = Control::default().stopped_by(&stop).reporting_to(&Silent);
/// assert!(!control.stopped());
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Control<'a> {
    /// Set when the user asks to stop: the run ends with its results so far.
    pub stop: Stop<'a>,
    /// Receives the progress of the experiment, then of its baselines, or of the loads.
    pub progress: &'a dyn Progress,
    /// Wall-clock time between two reports of progress, at least; 200 ms by default.
    pub report_every: Duration,
    /// Watches the run of the experiment with its jobs; `None`: nothing does.
    pub timeline: Option<&'a dyn Timeline>,
    /// Receives time series; `None`: they are not recorded.
    pub recorder: Option<&'a dyn Recorder>,
    /// A run with jobs ends as soon as a background flow falls ever further behind.
    pub stop_when_saturated: bool,
}

impl Default for Control<'_> {
    fn default() -> Self {
        Self {
            stop: Stop::never(),
            progress: &Silent,
            report_every: Duration::from_millis(200),
            timeline: None,
            recorder: None,
            stop_when_saturated: false,
        }
    }
}

impl<'a> Control<'a> {
    /// The same, but the runs end with their results so far when `stop` is set.
    #[must_use]
    pub fn stopped_by(self, stop: &'a AtomicBool) -> Self {
        let stop = Stop::new(stop);
        Self { stop, ..self }
    }

    /// The same, but `progress` receives the progress of the runs.
    #[must_use]
    pub fn reporting_to(self, progress: &'a dyn Progress) -> Self {
        Self { progress, ..self }
    }

    /// The same, but with this much wall-clock time between two reports of progress. With 0 a run reports at every
    /// check, so the reports depend on the simulation alone.
    #[must_use]
    pub fn reporting_every(self, report_every: Duration) -> Self {
        Self {
            report_every,
            ..self
        }
    }

    /// The same, but `recorder` receives time series.
    #[must_use]
    pub fn recorded_by(self, recorder: &'a dyn Recorder) -> Self {
        let recorder = Some(recorder);
        Self { recorder, ..self }
    }

    /// The same, but `timeline` watches the run of the experiment.
    #[must_use]
    pub fn seen_by(self, timeline: &'a dyn Timeline) -> Self {
        let timeline = Some(timeline);
        Self { timeline, ..self }
    }

    /// The same, but a run with jobs ends, with its results so far, as soon as a background flow falls
    /// ever further behind ([`Saturation`]).
    #[must_use]
    pub fn ending_when_saturated(self) -> Self {
        Self {
            stop_when_saturated: true,
            ..self
        }
    }

    /// Whether the run should end early.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.is_set()
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The run: the experiment; when it has ended, a baseline; or one of the loads.
    pub run: Run,
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
    /// The least simulated time in picoseconds that is needed by the jobs that the run waits for: their starts,
    /// repetitions and ideal clocks. `None` without a job, or if no clock is known.
    pub least_ps: Option<u64>,
    /// How the loads stand; `None` with a job.
    pub loads: Option<LoadsDone>,
}

impl Snapshot {
    /// A run at its start, of which nothing is known.
    #[must_use]
    pub fn of(run: Run, tick_length: TickLength) -> Self {
        Self {
            run,
            tick: 0,
            tick_length,
            records: 0,
            records_total: 0,
            messages: 0,
            flit_hops: 0,
            least_ps: None,
            loads: None,
        }
    }
}

/// How the loads of a measurement stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadsDone {
    /// Loads that are measured.
    pub measured: u64,
    /// All loads.
    pub all: u64,
    /// The load that reports.
    pub load: Ratio,
    /// It is in its window, else in its warm-up.
    pub in_window: bool,
}

impl LoadsDone {
    /// These numbers.
    #[must_use]
    pub fn new(measured: u64, all: u64, load: Ratio, in_window: bool) -> Self {
        Self {
            measured,
            all,
            load,
            in_window,
        }
    }
}

/// Receives snapshots; must be cheap.
pub trait Progress: Sync {
    /// Receives the state of the run.
    fn update(&self, snapshot: &Snapshot);

    /// Receives, once for a run, that one of its background flows falls ever further behind.
    fn saturated(&self, _: &SaturatedRun) {}
}

/// Receives nothing.
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: &Snapshot) {}
}

impl Simulation {
    /// The simulated time at its end in ticks, with the time that was skipped.
    #[must_use]
    pub fn end_tick(&self) -> Tick {
        let skipped = self.skipped.map_or(0, |skipped| skipped.ticks);
        self.stats.end_tick.saturating_add(skipped)
    }
}

/// How a simulation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every job reached its end.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// Stopped because a background flow fell ever further behind.
    Saturated,
    /// No progress is possible; the text says which parts wait for which.
    Stalled(String),
}

/// One simulation, or the static analysis in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Simulation {
    /// How it ended.
    pub status: Status,
    /// Counters of the fabric: of the window, if something was measured.
    pub stats: FabricStats,
    /// Per job of the experiment; `None` for disabled ones, and on an ideal network for jobs that
    /// repeat until the others end.
    pub jobs: Vec<Option<JobOutcome>>,
    /// Per background flow of the experiment, over the same time.
    pub background: Vec<BackgroundOutcome>,
    /// Messages created in that time.
    pub messages: u64,
    /// Messages created and not delivered at its end.
    pub backlog: u64,
    /// How the measurement went, in an experiment without a job.
    pub measured: Option<Measured>,
    /// The figures of the static analysis that takes the place of a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<MeanFigures>,
    /// The first background flow seen to fall ever further behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<Saturation>,
    /// The gaps between the messages of jobs that were skipped, if gaps are skipped. The counters of the fabric do not
    /// include this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<GapsSkipped>,
    /// How far the replay of the jobs came, if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Reached>,
    /// Why each job takes as long as it does, if the plan asks for it. In the order of the jobs; only jobs that
    /// completed and that the run waits for are explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Vec<Explanation>>,
    /// Wall-clock time, without the time of the explanation.
    pub wall: Duration,
}

/// How far a replay came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reached {
    /// Operations started, of the jobs that the run waits for.
    pub operations: u64,
    /// Number of all these operations, over all repetitions.
    pub operations_total: u64,
}

/// The experiment and its baselines, in the order of the plan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// The experiment; with several loads, the last one begun.
    pub main: Simulation,
    /// The baselines; fewer than planned if the user stopped the run.
    pub baselines: Vec<Simulation>,
    /// Without a job: the experiment at each load; fewer if the user stopped the run.
    pub curve: Vec<Simulation>,
    /// The jobs of the experiment on an unloaded fabric, if the plan asks where the time goes and the
    /// user did not stop the run.
    pub unloaded: Option<Simulation>,
    /// The same on an ideal network.
    pub ideal: Option<Simulation>,
    /// The traces of the experiment and its baselines, each once.
    pub traces: Vec<TraceDigest>,
}

impl RunResult {
    /// The status of all runs together: stalled if the experiment stalled at one of its loads, or a baseline did; else
    /// saturated if a run was stopped because it was saturated; else interrupted if the user stopped a run.
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
            Status::Complete | Status::Interrupted | Status::Saturated => None,
        });
        if let Some(why) = stall {
            return Status::Stalled(why);
        }
        if runs.iter().any(|(_, run)| run.status == Status::Saturated) {
            return Status::Saturated;
        }
        let measure = plan.experiment.measure.as_ref();
        let cut_off = |run: &Option<Simulation>| match run {
            Some(run) => run.status == Status::Interrupted,
            None => true,
        };
        let references = [&self.unloaded, &self.ideal];
        let missing = self.baselines.len() < plan.baselines.len()
            || plan.split && measure.is_none() && references.into_iter().any(cut_off)
            || self.curve.len() < measure.map_or(0, |m| m.loads.len());
        let interrupted = |(_, run): &(_, &Simulation)| run.status == Status::Interrupted;
        if missing || runs.iter().any(interrupted) {
            Status::Interrupted
        } else {
            Status::Complete
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
#[non_exhaustive]
pub enum RunError {
    /// The input is at fault: exit code 2.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A trace is at fault: exit code 2.
    #[error("{0:#}")]
    Trace(anyhow::Error),
    /// The run failed: exit code 1.
    #[error("{0:#}")]
    Failed(anyhow::Error),
    /// The user stopped the run before it began to simulate; the text names the step that was interrupted.
    #[error("interrupted while {0}: nothing was simulated")]
    Interrupted(String),
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
/// use flitwise::run::{Control, Status, run_plan};
/// use std::path::Path;
///
/// let text = r#"
///     fabric.topology = { kind = "single", nics = 16 }
///     [[job]]
///     trace = "traces/randomaccess-16.vef.gz"
/// "#;
/// let plan = resolve_text("example.toml", text, Path::new(""), &[])?;
/// let result = run_plan(&plan, &Control::default(), 1)?;
/// assert_eq!(result.main.status, Status::Complete);
/// let stats = &result.main.stats;
/// assert_eq!(stats.messages_delivered, stats.messages);
/// assert!(result.main.jobs[0].is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_plan(plan: &Plan, control: &Control<'_>, threads: usize) -> Result<RunResult, RunError> {
    Session::new(threads).run(plan, control)
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
            run_plan(&plan, &Control::default().stopped_by(stop), 2)
        };
        let Err(error @ RunError::Interrupted(_)) = run(true) else {
            panic!("the check went on");
        };
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert_eq!(run(false).unwrap().main.status, Status::Complete);
    }

    /// The experiment may be complete when the user stops the run.
    #[test]
    fn a_missing_ideal_run_interrupts_the_result() {
        let text = "fabric.topology = { kind = \"single\", nics = 16 }\n\
                    [[job]]\ntrace = \"traces/randomaccess-16.vef.gz\"\n";
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut plan = resolve_text("test.toml", text, root, &[]).unwrap();
        plan.split = true;
        let mut result = run_plan(&plan, &Control::default(), 1).unwrap();
        assert_eq!(result.status(&plan), Status::Complete);
        if let Some(ideal) = &mut result.ideal {
            ideal.status = Status::Interrupted;
        }
        assert_eq!(result.status(&plan), Status::Interrupted);
        result.ideal = None;
        assert_eq!(result.status(&plan), Status::Interrupted);
    }
}
