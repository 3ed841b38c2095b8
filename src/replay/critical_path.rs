//! The critical path of a job: the chain of events that ends with its last one. Each event is the
//! cause of the next ([`Replay::critical_path`](super::Replay::critical_path)).

use super::node::Parts;
use super::program::{RankId, RegionId, StreamId};
use flitwise_fabric::spec::Tick;

/// A part of a critical path, between one of its events and the next. The legs of a path
/// follow each other without a gap, and none takes no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// Its begin in picoseconds from the start of the run.
    pub from_ps: u64,
    /// Its end.
    pub to_ps: u64,
    /// The rank that computes or sends. Before the start of the job, the rank that begins the path.
    pub rank: RankId,
    /// The collective that it belongs to, in words: `collective 12 (bcast)`.
    pub collective: Option<String>,
    /// The innermost region of the program in which the rank computes or sends.
    pub region: Option<RegionId>,
    /// The kind of the leg.
    pub kind: LegKind,
}

impl Leg {
    /// Its length in picoseconds.
    #[must_use]
    pub fn ps(&self) -> u64 {
        self.to_ps - self.from_ps
    }
}

/// The kind of a [`Leg`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LegKind {
    /// The job has not started.
    Start,
    /// The rank computes before an operation.
    Computing {
        /// Stream of the operation.
        stream: StreamId,
        /// Its number in the stream, from 0.
        operation: u64,
    },
    /// The rank combines data of a reduction.
    Reduction,
    /// A message goes to another rank, and its arrival causes the next leg. A message that continues inside the node of
    /// its receiver is two of them.
    Arrival(LegMessage),
    /// A message leaves the NIC, for which its sender waits.
    Injection(LegMessage),
}

/// A message of a [`Leg`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegMessage {
    /// Receiving rank.
    pub to: RankId,
    /// Its parts in the fabric; from a NIC to itself if it stays inside the node.
    pub parts: Parts,
    /// Service level.
    pub sl: u8,
    /// The token of its parts in the fabric. Only one message has it until that is delivered.
    pub token: u64,
    /// Tick in which it was created.
    pub created: Tick,
    /// Picoseconds for which the receiver had nothing to do but to wait when the message was sent: how
    /// late its partner was.
    pub late_ps: u64,
}

impl LegMessage {
    /// Whether it does not cross the fabric.
    #[must_use]
    pub fn is_inside_node(&self) -> bool {
        self.parts.src == self.parts.dst
    }
}
