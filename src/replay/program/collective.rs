//! Collective operations and what each member brings to them.

use super::RankId;
use std::sync::Arc;

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

impl CollectiveKind {
    /// Its name, as in `[collectives]`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bcast { .. } => "bcast",
            Self::Reduce { .. } => "reduce",
            Self::Allreduce { .. } => "allreduce",
            Self::Gather { .. } => "gather",
            Self::Scatter { .. } => "scatter",
            Self::Allgather { .. } => "allgather",
            Self::ReduceScatter { .. } => "reduce_scatter",
            Self::Scan { .. } => "scan",
            Self::Exscan { .. } => "exscan",
            Self::Barrier => "barrier",
            Self::Alltoall { .. } => "alltoall",
        }
    }

    /// Position of the root, if it has one.
    #[must_use]
    pub fn root(&self) -> Option<u32> {
        match *self {
            Self::Bcast { root, .. }
            | Self::Reduce { root, .. }
            | Self::Gather { root, .. }
            | Self::Scatter { root, .. } => Some(root),
            _ => None,
        }
    }
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

/// What one member of a collective brings to it, when it enters: all that it knows by itself.
/// Lists have an entry for every member, in the order of the communicator; sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contribution {
    /// An operation all of whose sizes every member knows.
    Known(CollectiveKind),
    /// A gather to the root of blocks that only the root and their owners know.
    Gatherv {
        /// Position of the root.
        root: u32,
        /// The sizes that this member knows.
        blocks: RootedBlocks,
    },
    /// A scatter from the root of blocks that only the root and their owners know.
    Scatterv {
        /// Position of the root.
        root: u32,
        /// The sizes that this member knows.
        blocks: RootedBlocks,
    },
    /// An all-to-all of which every member knows only its own messages.
    Alltoallv {
        /// What this member sends to each member.
        send: Box<[u64]>,
        /// What this member receives from each member.
        receive: Box<[u64]>,
    },
}

impl Contribution {
    /// The [name](CollectiveKind::name) of the operation; a gatherv is a gather, and so on.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Known(kind) => kind.name(),
            Self::Gatherv { .. } => "gather",
            Self::Scatterv { .. } => "scatter",
            Self::Alltoallv { .. } => "alltoall",
        }
    }

    /// Position of the root, if it has one.
    #[must_use]
    pub fn root(&self) -> Option<u32> {
        match self {
            Self::Known(kind) => kind.root(),
            Self::Gatherv { root, .. } | Self::Scatterv { root, .. } => Some(*root),
            Self::Alltoallv { .. } => None,
        }
    }
}

/// Sizes that one member knows of a gatherv or scatterv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootedBlocks {
    /// At the root: the blocks of all members.
    All(Box<[u64]>),
    /// At any other member: its own block.
    Own(u64),
}
