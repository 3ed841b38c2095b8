//! Collective operations and their sizes, whatever the format.

/// An operation by its number in Chakra traces; see [`kind`](Self::kind).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say all")]
pub enum Operation {
    Allreduce,
    Reduce,
    Allgather,
    Gather,
    Scatter,
    Bcast,
    Alltoall,
    ReduceScatter,
    ReduceScatterBlock,
    Barrier,
}

impl Operation {
    /// The operation with this number.
    #[must_use]
    pub fn of(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Allreduce,
            1 => Self::Reduce,
            2 => Self::Allgather,
            3 => Self::Gather,
            4 => Self::Scatter,
            5 => Self::Bcast,
            6 => Self::Alltoall,
            7 => Self::ReduceScatter,
            8 => Self::ReduceScatterBlock,
            9 => Self::Barrier,
            _ => return None,
        })
    }

    /// Whether one member is its root.
    #[must_use]
    pub fn has_root(self) -> bool {
        matches!(
            self,
            Self::Reduce | Self::Gather | Self::Scatter | Self::Bcast
        )
    }

    /// The operation of `members` members, each of which brings `bytes` bytes (of a scatter, the root). Blocks are as equal
    /// as possible.
    #[must_use]
    pub fn kind(self, bytes: u64, members: u32, root: u32) -> CollectiveKind {
        let split = AlltoallBlocks::Split {
            total: bytes,
            members,
        };
        let parts = || (0..members).map(|member| split.to(member)).collect();
        let whole = || vec![bytes; members as usize];
        match self {
            Self::Allreduce => CollectiveKind::Allreduce { bytes },
            Self::Reduce => CollectiveKind::Reduce { root, bytes },
            Self::Bcast => CollectiveKind::Bcast { root, bytes },
            Self::Barrier => CollectiveKind::Barrier,
            Self::Allgather => CollectiveKind::Allgather { blocks: whole() },
            Self::Gather => CollectiveKind::Gather {
                root,
                blocks: whole(),
            },
            Self::Scatter => CollectiveKind::Scatter {
                root,
                blocks: parts(),
            },
            Self::ReduceScatter | Self::ReduceScatterBlock => {
                CollectiveKind::ReduceScatter { blocks: parts() }
            }
            Self::Alltoall => {
                let each = bytes / u64::from(members.max(1));
                let equal = each.checked_mul(members.into()) == Some(bytes);
                let blocks = if equal {
                    AlltoallBlocks::Each(each)
                } else {
                    split
                };
                CollectiveKind::Alltoall {
                    blocks: vec![blocks; members as usize],
                }
            }
        }
    }
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
