//! Collective operations and their sizes, whatever the format.

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
        /// The messages of each member.
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

/// The messages of one member of an all-to-all, one to each member, itself included.
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
