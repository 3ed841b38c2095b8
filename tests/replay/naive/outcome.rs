//! What a replay yields.

use std::collections::BTreeMap;

/// A message that entered the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// Tick of its creation.
    pub tick: u64,
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
}

/// How a replay ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every repetition was complete.
    Complete,
    /// Nothing moves any more, but the job is not complete.
    Stalled,
    /// A call made no sense; why.
    Error(String),
}

/// Start and end of an operation in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub started_ps: u64,
    /// `None` if it never ended.
    pub done_ps: Option<u64>,
}

/// How often something that is worth a test happened.
pub type Features = BTreeMap<&'static str, u64>;

/// The outcome of a replay.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub end: End,
    /// From start to last event of each complete repetition.
    pub repetitions_ps: Vec<u64>,
    /// Time of the last event.
    pub end_ps: u64,
    /// Computation of each rank, reductions included, in its stream that computed longest; the sum over the ranks and the
    /// complete repetitions.
    pub compute_ps: u64,
    /// Messages through the fabric, or their parts, in the order of their creation.
    pub fabric: Vec<Sent>,
    /// Messages of ranks, of which several of the fabric may be parts.
    pub messages: u64,
    pub intra_node_messages: u64,
    /// Messages to other nodes, by rank.
    pub sent_to_nodes: BTreeMap<u32, u64>,
    /// Of all messages.
    pub bytes: u64,
    /// Sends of the program that have started, and their payload.
    pub point_to_point: u64,
    pub point_to_point_bytes: u64,
    /// Collectives that all members have completed.
    pub collectives: u64,
    /// Operations of the last repetition, by rank, stream and index.
    pub times: BTreeMap<(u32, u32, usize), Times>,
    pub features: Features,
}

impl Outcome {
    /// Start and end of an operation of the last repetition, both of which it must have.
    pub fn times(&self, rank: u32, stream: u32, index: usize) -> (u64, u64) {
        let times = self.times[&(rank, stream, index)];
        (times.started_ps, times.done_ps.expect("it is done"))
    }
}
