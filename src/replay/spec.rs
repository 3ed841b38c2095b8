//! The jobs and flows of one run.

use super::background::{BackgroundFlow, NicQueueing};
use super::collectives::in_network::Switches;
use super::job::{JobSpec, Repeat};
use super::messages::MOST_JOBS;
use super::node::NodeSpec;
use anyhow::ensure;
use flitwise_base::units::TickLength;
use flitwise_fabric::spec::{FabricSpec, Tick};
use flitwise_fabric::workload::Queueing;

/// Everything that is replayed in one run.
pub struct ReplaySpec<'a> {
    /// Length of a tick of the fabric.
    pub tick: TickLength,
    /// NICs of the fabric.
    pub nics: u32,
    /// Its nodes.
    pub node: NodeSpec,
    /// The aggregation nodes of its switches, if it has any.
    pub switches: Option<Switches>,
    /// The queueing of messages at the NICs.
    pub queueing: Queueing,
    /// The order in which flows that share such a queue are served.
    pub nic_queueing: NicQueueing,
    /// Seed of the experiment.
    pub seed: u64,
    /// The applications.
    pub jobs: Vec<JobSpec<'a>>,
    /// Background flows. They run from tick 0 until the last job has ended, except jobs that
    /// repeat until the others end.
    pub background: Vec<BackgroundFlow>,
    /// Background flows last at least to this tick, even without a job.
    pub background_until: Option<Tick>,
    /// Skips gaps between the messages of jobs, except this number of ticks before each message
    /// (`docs/model/gap-skip.md`). Without a background flow, or with `background_until`, this changes
    /// nothing.
    pub gap_skip: Option<Tick>,
}

impl<'a> ReplaySpec<'a> {
    /// These jobs on the fabric `spec`, without background traffic.
    #[must_use]
    pub fn new(spec: &FabricSpec, seed: u64, jobs: Vec<JobSpec<'a>>) -> Self {
        Self {
            tick: spec.units.tick,
            nics: spec.topology.nics(),
            switches: Switches::of(&spec.topology),
            node: NodeSpec {
                nics: spec.topology.planes(),
                planes: spec.topology.planes(),
                ..NodeSpec::default()
            },
            queueing: spec.queueing(),
            nic_queueing: NicQueueing::Fifo,
            seed,
            jobs,
            background: Vec::new(),
            background_until: None,
            gap_skip: None,
        }
    }

    /// Refuses jobs that make no run together.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let jobs = &self.jobs;
        ensure!(
            jobs.len() <= MOST_JOBS,
            "there are {} jobs, but a run has at most 2^24: leave some out",
            jobs.len()
        );
        ensure!(
            jobs.is_empty() || !jobs.iter().all(|job| job.repeat == Repeat::UntilOthersEnd),
            "every job repeats until the others end, so none would"
        );
        Ok(())
    }
}
