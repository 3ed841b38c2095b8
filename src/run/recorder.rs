//! Records the time series of the runs of a plan.

use crate::fabric::series::{Sample, Sampling};
use crate::fabric::spec::Tick;

/// One of the runs of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// The experiment with its jobs.
    Experiment,
    /// The baseline of this index.
    Baseline(usize),
    /// The experiment without a job, at the load of this index.
    Load(usize),
    /// The experiment on its fabric with links that are always up, which has no time series.
    AlwaysUp,
    /// The experiment on an unloaded fabric, which has no time series.
    Unloaded,
    /// The experiment on an ideal network, which has no time series.
    Ideal,
}

/// Receives the samples of one run.
pub struct Recording<'a> {
    /// Ticks from one sample to the next, at least 1.
    pub interval: Tick,
    /// Called with each sample, in order.
    pub take: Box<dyn FnMut(&Sample) + Send + 'a>,
}

impl Recording<'_> {
    pub(super) fn sampling(&mut self) -> Sampling<'_> {
        Sampling {
            interval: self.interval,
            take: &mut *self.take,
        }
    }
}

/// Receives the time series of the runs of a plan, which may run side by side.
pub trait Recorder: Sync {
    /// Begins to record a run; `None` if it is not recorded. Called at most once per run.
    fn begin(&self, run: Run) -> Option<Recording<'_>>;
}
