//! The result of one simulation.

use super::measure::Measured;
use super::saturation::Saturation;
use crate::explain::Explanation;
use crate::fabric::spec::Tick;
use crate::fabric::stats::FabricStats;
use crate::oblivious::MeanFigures;
use crate::replay::GapsSkipped;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a simulation ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every job reached its end.
    #[default]
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// Stopped because a background flow fell ever further behind.
    Saturated,
    /// No progress is possible; the text says which parts wait for which.
    Stalled(String),
}

/// One simulation, or the static analysis in its place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

impl Simulation {
    /// The simulated time at its end in ticks, with the time that was skipped.
    #[must_use]
    pub fn end_tick(&self) -> Tick {
        let skipped = self.skipped.map_or(0, |skipped| skipped.ticks);
        self.stats.end_tick.saturating_add(skipped)
    }
}
