//! The results of the replay, per job.

use super::pairs::PairCounts;
use flitwise_fabric::ids::NicId;
use flitwise_fabric::stats::Latency;
use serde::{Deserialize, Serialize};

/// Result of one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobOutcome {
    /// Name from the experiment.
    pub name: String,
    /// Ranks of the job.
    pub ranks: u32,
    /// The NIC of every rank.
    pub nics: Vec<NicId>,
    /// Whether every operation is done, every message was delivered and every
    /// collective was completed, in all repetitions. For a job that repeats until the
    /// others end, one repetition suffices.
    pub complete: bool,
    /// Whether the job repeats until the others end: the run does not wait for it.
    pub endless: bool,
    /// Start in picoseconds from the start of the run; `None` of a job that did not start.
    pub start_ps: Option<u64>,
    /// Complete repetitions: from start to last event, in picoseconds.
    pub repetitions_ps: Vec<u64>,
    /// Time of the last event, also of a repetition that was cut off, in picoseconds from
    /// the start of the run; of a job that was cut off, the end of the run.
    pub end_ps: u64,
    /// Mean of the repetitions, rounded down, in picoseconds; if not complete, the time
    /// from the start of the job to its last event, or to the end of the run that cut it off.
    pub execution_ps: u64,
    /// Computation of a rank, reductions included, in its stream that computed longest: the mean over the ranks and
    /// the repetitions, rounded down. It does not depend on the network.
    pub compute_ps: u64,
    /// The rest of the execution time: network and waiting for partners.
    pub network_ps: u64,
    /// Point-to-point messages of the trace that were replayed.
    pub point_to_point: u64,
    /// Their payload.
    pub point_to_point_bytes: u64,
    /// Collective operations that were completed.
    pub collectives: u64,
    /// All messages created, collectives included.
    pub messages: u64,
    /// Payload of all messages.
    pub bytes: u64,
    /// Messages between ranks on one node, which skip the fabric.
    pub intra_node_messages: u64,
    /// Ticks from creation to delivery of the messages that the fabric carried.
    pub latency: Latency,
    /// Messages and bytes by pairs of ranks, including messages inside nodes.
    pub pairs: PairCounts,
    /// Waits that a message ended, and their picoseconds, by the rank that waited and the rank whose message ended
    /// its wait, or that it waited to send to.
    pub waits: PairCounts,
}
