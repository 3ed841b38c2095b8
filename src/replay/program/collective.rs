//! Collective operations and what each member brings to them.

use crate::ids::RankId;
pub use flitwise_formats::collective::{AlltoallBlocks, CollectiveKind};
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

/// The part of one member in a collective, when it enters: all that it knows by itself.
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
        /// The bytes that this member sends to each member.
        send: Box<[u64]>,
        /// The bytes that this member receives from each member.
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
