//! Control over runs from outside: stopping them, their progress, and what watches them.

use super::recorder::{Recorder, Run};
use super::saturation::SaturatedRun;
use super::timeline::Timeline;
use crate::fabric::spec::Tick;
use crate::stop::Stop;
use crate::units::{Ratio, TickLength};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

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
    /// ever further behind ([`Saturation`](super::Saturation)).
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
