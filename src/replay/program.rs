//! The one internal form of every trace: per rank, a lazy sequence of
//! operations with explicit dependencies.

use crate::fabric::ids::define_ids;
use std::sync::Arc;

define_ids! {
    /// A rank of a job. Not its position in a communicator.
    RankId;
}

/// One operation of a rank. It starts `compute_ps` after both the previous
/// operation of the rank is done and the event in `after` has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Event that must have happened before the computation starts.
    pub after: After,
    /// Local computation in picoseconds.
    pub compute_ps: u64,
    /// What happens then.
    pub action: Action,
    /// Line of the trace, for messages to the user.
    pub line: u64,
}

/// Event that an operation waits for, besides the end of its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Nothing more.
    Previous,
    /// This rank sent the message with this id.
    Sent(u64),
    /// This rank received the message with this id.
    Received(u64),
    /// This rank completed the collective with this id.
    Completed(u64),
}

/// What an operation does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the entry of a receive, a wait or the end.
    Marker {
        /// Its id, in formats where markers and messages share one range of ids: an
        /// operation may then name it in [`After::Sent`].
        id: Option<u64>,
    },
    /// Sends `bytes` to rank `to`; the message is known as `id` in the trace.
    Send {
        /// Message id, unique in the trace.
        id: u64,
        /// Receiving rank.
        to: RankId,
        /// Payload.
        bytes: u64,
    },
    /// Takes part in a collective; the number is the rank's position among its members.
    Collective(Arc<Collective>, u32),
}

/// One collective operation, shared by all its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collective {
    /// Id, unique in the trace.
    pub id: u64,
    /// Ranks that take part, in communicator order.
    pub members: Arc<[RankId]>,
    /// Operation and sizes.
    pub kind: CollectiveKind,
}

/// Operation of a collective. Roots and size lists are indexed by the position
/// in the communicator; sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectiveKind {
    /// `bytes` from the root to all.
    Bcast {
        /// Position of the root.
        root: u32,
        /// Size of the message.
        bytes: u64,
    },
    /// `bytes` from each, combined at the root.
    Reduce {
        /// Position of the root.
        root: u32,
        /// Size of the vector.
        bytes: u64,
    },
    /// `bytes` from each, combined everywhere.
    Allreduce {
        /// Size of the vector.
        bytes: u64,
    },
    /// Block `i` goes from member `i` to the root.
    Gather {
        /// Position of the root.
        root: u32,
        /// Block of each member.
        blocks: Vec<u64>,
    },
    /// Block `i` goes from the root to member `i`.
    Scatter {
        /// Position of the root.
        root: u32,
        /// Block of each member.
        blocks: Vec<u64>,
    },
    /// Block `i` goes from member `i` to all.
    Allgather {
        /// Block of each member.
        blocks: Vec<u64>,
    },
    /// A vector of all blocks from each, combined; block `i` of the result goes to member `i`.
    ReduceScatter {
        /// Block of each member.
        blocks: Vec<u64>,
    },
    /// `bytes` from each; member `i` gets the combination of members 0 to `i`.
    Scan {
        /// Size of the vector.
        bytes: u64,
    },
    /// `bytes` from each; member `i > 0` gets the combination of members 0 to `i − 1`.
    Exscan {
        /// Size of the vector.
        bytes: u64,
    },
    /// No member leaves before all have entered.
    Barrier,
    /// Member `i` sends `blocks[i].to(j)` bytes to each member `j`.
    Alltoall {
        /// What each member sends.
        blocks: Vec<AlltoallBlocks>,
    },
}

/// What one member of an all-to-all sends to each member, itself included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlltoallBlocks {
    /// The same number of bytes to each.
    Each(u64),
    /// A total split evenly over `members`; the lowest positions get the
    /// remainder.
    Split {
        /// Sum over all destinations.
        total: u64,
        /// Size of the communicator.
        members: u32,
    },
}

impl AlltoallBlocks {
    /// Bytes for the member at position `j`.
    #[must_use]
    pub fn to(&self, j: u32) -> u64 {
        match *self {
            Self::Each(bytes) => bytes,
            Self::Split { total, members } => {
                let members = u64::from(members.max(1));
                total / members + u64::from(u64::from(j) < total % members)
            }
        }
    }
}

/// A trace, read lazily rank by rank.
pub trait Program {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// The next operation of `rank` in program order; `None` at its end.
    ///
    /// # Errors
    /// If the trace is broken at a line not read before.
    fn next(&mut self, rank: RankId) -> anyhow::Result<Option<Op>>;

    /// Starts over: every rank is at its first operation again.
    ///
    /// # Errors
    /// If the trace cannot be read again.
    fn restart(&mut self) -> anyhow::Result<()>;
}
