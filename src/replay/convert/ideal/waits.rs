//! Whose parts a member of a collective waits for.

use super::super::graph::{Brings, Entry};
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};

/// The members that a member of a collective waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    None,
    Root,
    /// Those with a part that is not empty: their number.
    Full(usize),
    All,
}

/// The position of the root, if there is one, and the members that this member waits for. A part of 0 bytes delays no member.
pub(super) fn waits_for(entry: &Entry) -> (Option<u32>, WaitsFor) {
    let me = entry.me;
    let from_root = |root: u32, bytes: u64| match bytes {
        _ if me == root => (Some(root), WaitsFor::None),
        0 => (Some(root), WaitsFor::None),
        _ => (Some(root), WaitsFor::Root),
    };
    let to_root = |root: u32, rule: WaitsFor| match rule {
        rule if me == root => (Some(root), rule),
        _ => (Some(root), WaitsFor::None),
    };
    let unless_empty = |bytes: u64| match bytes {
        0 => WaitsFor::None,
        _ => WaitsFor::All,
    };
    let own = |blocks: &[u64]| blocks.get(me as usize).copied().unwrap_or(0);
    let of_kind = |kind: &CollectiveKind| match kind {
        CollectiveKind::Bcast { root, bytes } => from_root(*root, *bytes),
        CollectiveKind::Scatter { root, blocks } => from_root(*root, own(blocks)),
        CollectiveKind::Reduce { root, bytes } => to_root(*root, unless_empty(*bytes)),
        CollectiveKind::Gather { root, blocks } => to_root(*root, full_of(Some(*root), blocks)),
        CollectiveKind::Allreduce { bytes } => (None, unless_empty(*bytes)),
        CollectiveKind::Allgather { blocks } => (None, full_of(None, blocks)),
        CollectiveKind::Alltoall { blocks }
            if blocks.iter().all(|row| *row == AlltoallBlocks::Each(0)) =>
        {
            (None, WaitsFor::None)
        }
        _ => (None, WaitsFor::All),
    };
    match &entry.brings {
        Brings::All(collective) => of_kind(&collective.kind),
        Brings::Own(Contribution::Known(kind)) => of_kind(kind),
        Brings::Own(Contribution::Gatherv { root, blocks }) => match blocks {
            RootedBlocks::All(blocks) => to_root(*root, full_of(Some(*root), blocks)),
            RootedBlocks::Own(_) => (Some(*root), WaitsFor::None),
        },
        Brings::Own(Contribution::Scatterv { root, blocks }) => match blocks {
            RootedBlocks::All(blocks) => from_root(*root, own(blocks)),
            RootedBlocks::Own(bytes) => from_root(*root, *bytes),
        },
        Brings::Own(Contribution::Alltoallv { .. }) => (None, WaitsFor::All),
    }
}

/// The members whose blocks are not empty, without the one at `root`.
fn full_of(root: Option<u32>, blocks: &[u64]) -> WaitsFor {
    let blocks = (0..).zip(blocks);
    let full = blocks.filter(|&(position, bytes)| *bytes > 0 && Some(position) != root);
    match full.count() {
        0 => WaitsFor::None,
        full => WaitsFor::Full(full),
    }
}

/// Whether a member is one of those that [`full_of`] counts.
pub(super) fn is_full(entry: &Entry) -> bool {
    let me = entry.me;
    let own = |blocks: &[u64]| blocks.get(me as usize).is_some_and(|bytes| *bytes > 0);
    let of_kind = |kind: &CollectiveKind| match kind {
        CollectiveKind::Gather { root, blocks } => me != *root && own(blocks),
        CollectiveKind::Allgather { blocks } => own(blocks),
        _ => false,
    };
    match &entry.brings {
        Brings::All(collective) => of_kind(&collective.kind),
        Brings::Own(Contribution::Known(kind)) => of_kind(kind),
        Brings::Own(Contribution::Gatherv { root, blocks }) => {
            me != *root
                && match blocks {
                    RootedBlocks::All(blocks) => own(blocks),
                    RootedBlocks::Own(bytes) => *bytes > 0,
                }
        }
        Brings::Own(_) => false,
    }
}

/// Whether the members wait for the root alone.
pub(super) fn waits_for_root(entry: &Entry) -> bool {
    match waits_for(entry) {
        (Some(root), rule) => {
            if entry.me == root {
                rule == WaitsFor::None
            } else {
                rule == WaitsFor::Root
            }
        }
        (None, _) => false,
    }
}
