//! A resolved experiment: everything a run needs, nothing left to defaults.

use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::spec::FabricSpec;
use crate::replay::collectives::Choices;
use crate::units::Ratio;
use std::path::PathBuf;

/// One experiment as interpreted. A baseline is another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Seed of every random stream.
    pub seed: u64,
    /// The fabric, already validated.
    pub fabric: FabricSpec,
    /// Name of the routing algorithm, for the record: it follows from the topology.
    pub routing: &'static str,
    /// How the DTable table was made, if that is the scheduler.
    pub dtable: Option<DTableTable>,
    /// Applications, in the order of the file; the loader sees to it that at least one
    /// is enabled. Who drives the engine may do without (`runner::workload`).
    pub jobs: Vec<Job>,
    /// Synthetic flows.
    pub background: Vec<Background>,
}

/// One application.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Unique name, by default that of the trace.
    pub name: String,
    /// False: the job keeps its NICs but is not replayed (baselines do this, so
    /// that the placement of the others does not change).
    pub enabled: bool,
    /// Trace as written in the file; this is what is recorded.
    pub trace: String,
    /// Where the trace was found.
    pub trace_path: PathBuf,
    /// Service level.
    pub sl: u8,
    /// vFabric that the job named.
    pub vfabric: Option<String>,
    /// NICs that the job may use, ascending; `None` means all.
    pub hosts: Option<Vec<u32>>,
    /// How ranks are placed on NICs.
    pub placement: Placement,
    /// Ranks per NIC.
    pub tasks_per_node: u32,
    /// Start of the job in picoseconds.
    pub start_ps: u64,
    /// When a send is done.
    pub send_completion: SendCompletion,
    /// Multiplies every computation.
    pub compute_scale: Ratio,
    /// Latency of a message between ranks of one NIC, in picoseconds.
    pub intra_node_latency_ps: u64,
    /// Bandwidth of such messages in bytes per second.
    pub intra_node_bandwidth: Ratio,
    /// Cost of a reduction in picoseconds per byte.
    pub reduction_cost_ps_per_byte: Ratio,
    /// Algorithms of collectives chosen by hand.
    pub collectives: Choices,
}

/// How the ranks of a job are placed on NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Ascending NICs, one filled after the other.
    Linear,
    /// Ascending NICs, dealt out one rank at a time.
    RoundRobin,
    /// Random NICs, drawn from the seed and the index of the job.
    Random,
    /// NIC of each rank.
    List(Vec<u32>),
}

/// When a send is done for the sending rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendCompletion {
    /// When handed to the NIC.
    Handed,
    /// When the last flit has left the NIC.
    Injected,
    /// When delivered, for messages above `eager_threshold`; else when handed.
    Rendezvous {
        /// Largest eager message in bytes.
        eager_threshold: u64,
    },
}

/// A synthetic flow from every NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    /// Service level.
    pub sl: u8,
    /// Offered load in flits per tick and NIC, above 0 and at most 1.
    pub rate: Ratio,
    /// Size of a message in bytes.
    pub message_bytes: u64,
    /// Destinations.
    pub pattern: Pattern,
}

/// Destinations of a synthetic flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Every other NIC with equal probability.
    Uniform,
}

/// What an experiment file asks for: the experiment and what it is compared to.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// Runs that slowdown is measured against; empty if switched off.
    pub baselines: Vec<Baseline>,
}

/// One run that slowdown is measured against.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// What is run.
    pub experiment: Experiment,
    /// `(job of the main experiment, job of the baseline)` pairs compared.
    pub jobs: Vec<(usize, usize)>,
}

impl Experiment {
    /// Checks that the jobs fit on the fabric once the traces have told their
    /// numbers of ranks (`ranks[i]` belongs to `jobs[i]`).
    ///
    /// # Errors
    /// The first job that does not fit.
    pub fn check_ranks(&self, ranks: &[u32]) -> Result<(), super::ConfigError> {
        let nics = self.fabric.topology.nics();
        let mut taken: u64 = 0;
        for (i, (job, &ranks)) in self.jobs.iter().zip(ranks).enumerate() {
            if let Placement::List(list) = &job.placement {
                if list.len() != ranks as usize {
                    return Err(super::ConfigError::new(
                        format!("job.{i}.placement"),
                        format!(
                            "{} NICs are listed, but `{}` has {ranks} ranks; list one NIC per rank",
                            list.len(),
                            job.trace
                        ),
                    ));
                }
                continue;
            }
            let room = job
                .hosts
                .as_ref()
                .map_or(u64::from(nics), |h| h.len() as u64);
            let needed = u64::from(ranks.div_ceil(job.tasks_per_node));
            taken += needed;
            if needed > room || taken > u64::from(nics) {
                return Err(super::ConfigError::new(
                    format!("job.{i}"),
                    format!(
                        "`{}` has {ranks} ranks and needs {needed} NICs, but {} of the {nics} NICs are left for it; \
                         take a larger fabric or raise tasks_per_node",
                        job.trace,
                        room.min(u64::from(nics).saturating_sub(taken - needed)),
                    ),
                ));
            }
        }
        Ok(())
    }
}
