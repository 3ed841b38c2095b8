//! The one place where configuration, replay and engine meet.

use crate::config::{ConfigError, Experiment, Plan};
use crate::fabric::spec::Tick;
use crate::fabric::stats::FabricStats;
use crate::replay::outcome::JobOutcome;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// What a run is told from outside; shared by the runs of a plan.
pub struct Control<'a> {
    /// Set when the user asks to stop: the run ends with what it has.
    pub stop: &'a AtomicBool,
    /// Told about the progress of the main run, a few times a second.
    pub progress: &'a dyn Progress,
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
    /// Length of a tick in picoseconds.
    pub tick_ps: u64,
    /// Trace records that have started, and their number if known.
    pub records: (u64, Option<u64>),
    /// Messages delivered.
    pub messages: u64,
    /// Flit-hops so far.
    pub flit_hops: u64,
}

/// Receives snapshots; must be cheap.
pub trait Progress: Sync {
    /// The run has come this far.
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
    /// No progress is possible; says who waits for whom.
    Stalled(String),
}

/// One simulation.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// How it ended.
    pub status: Status,
    /// Counters of the fabric.
    pub stats: FabricStats,
    /// Per job of the experiment; `None` for disabled ones.
    pub jobs: Vec<Option<JobOutcome>>,
    /// Wall-clock time.
    pub wall: Duration,
}

/// The experiment and its baselines, in the order of the plan.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The experiment.
    pub main: Simulation,
    /// The baselines; fewer than planned if the user stopped the run.
    pub baselines: Vec<Simulation>,
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

/// Simulates one experiment.
///
/// # Errors
/// If a trace is broken, a job does not fit, or the run fails.
pub fn run_experiment(
    experiment: &Experiment,
    control: &Control<'_>,
) -> Result<Simulation, RunError> {
    let started = Instant::now();
    let _ = (experiment, control, started);
    Err(RunError::Failed(anyhow::anyhow!(
        "this build has no engine"
    )))
}

/// Simulates the experiment and its baselines, side by side if `threads` allows.
///
/// # Errors
/// The first error, that of the experiment before those of the baselines.
pub fn run_plan(plan: &Plan, control: &Control<'_>, threads: usize) -> Result<RunResult, RunError> {
    let quiet = Control {
        stop: control.stop,
        progress: &Silent,
    };
    let baselines = || -> Result<Vec<Simulation>, RunError> {
        let wanted = plan.baselines.iter().take_while(|_| !quiet.stopped());
        wanted
            .map(|b| run_experiment(&b.experiment, &quiet))
            .collect()
    };
    if threads < 2 || plan.baselines.is_empty() {
        let main = run_experiment(&plan.experiment, control)?;
        return Ok(RunResult {
            main,
            baselines: baselines()?,
        });
    }
    std::thread::scope(|scope| {
        let side = scope.spawn(baselines);
        let main = run_experiment(&plan.experiment, control);
        let side = side
            .join()
            .unwrap_or_else(|_| Err(RunError::Failed(anyhow::anyhow!("a baseline run panicked"))));
        Ok(RunResult {
            main: main?,
            baselines: side?,
        })
    })
}
