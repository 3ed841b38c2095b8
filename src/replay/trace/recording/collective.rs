//! The contribution of a member to a collective.

use super::communicators::Comm;
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};
use flitwise_formats::recording::{Collective, Operation, Part, Peer};

/// The bytes of a part of which all blocks are equal; 0 of one in place.
fn bytes(part: &Part<'_>) -> u64 {
    match part {
        Part::Even(data) => data.bytes(),
        _ => 0,
    }
}

/// The bytes of each block; none of one in place.
fn sizes(part: &Part<'_>) -> Option<Box<[u64]>> {
    // Counts of a recording that was checked are not below 0.
    let size = |count: i64| u64::try_from(count).unwrap_or(0);
    match part {
        Part::Counts { size: of, counts } => {
            Some(counts.iter().map(|n| size(n).saturating_mul(*of)).collect())
        }
        Part::Bytes(bytes) => Some(bytes.iter().map(size).collect()),
        _ => None,
    }
}

/// The larger of what a member sends and receives: the other one may be in place.
fn either(call: &Collective<'_>) -> u64 {
    bytes(&call.received).max(bytes(&call.sent))
}

/// The number of the root; one that does not exist is beyond all communicators.
fn root(call: &Collective<'_>) -> u32 {
    match call.root {
        Peer::Rank(rank) => rank,
        Peer::Any | Peer::Null | Peer::Root => u32::MAX,
    }
}

/// The contribution of a rank to a collective; `None` to one between groups of which the recording does not say enough, and
/// to one of neighbours.
pub(super) fn contribution(call: &Collective<'_>, comm: &Comm) -> Option<Contribution> {
    match comm.others_are_second {
        Some(are_second) => between(call, comm, are_second),
        None => within(call, comm.all.members.len()),
    }
}

fn within(call: &Collective<'_>, n: usize) -> Option<Contribution> {
    let (root, either) = (root(call), either(call));
    let kind = match call.operation {
        Operation::Barrier => CollectiveKind::Barrier,
        Operation::Bcast => CollectiveKind::Bcast {
            root,
            bytes: either,
        },
        Operation::Reduce => CollectiveKind::Reduce {
            root,
            bytes: either,
        },
        Operation::Allreduce => CollectiveKind::Allreduce { bytes: either },
        Operation::Scan => CollectiveKind::Scan { bytes: either },
        Operation::Exscan => CollectiveKind::Exscan { bytes: either },
        Operation::Gather => CollectiveKind::Gather {
            root,
            blocks: vec![either; n],
        },
        Operation::Scatter => CollectiveKind::Scatter {
            root,
            blocks: vec![either; n],
        },
        Operation::Allgather => CollectiveKind::Allgather {
            blocks: vec![either; n],
        },
        Operation::Alltoall => CollectiveKind::Alltoall {
            blocks: vec![AlltoallBlocks::Each(either); n],
        },
        Operation::ReduceScatterBlock => CollectiveKind::ReduceScatter {
            blocks: vec![either; n],
        },
        Operation::ReduceScatter => CollectiveKind::ReduceScatter {
            blocks: sizes(&call.received).unwrap_or_default().into(),
        },
        Operation::Allgatherv => CollectiveKind::Allgather {
            blocks: sizes(&call.received).unwrap_or_default().into(),
        },
        _ => return uneven(call),
    };
    Some(Contribution::Known(kind))
}

/// The same where a member knows only its own blocks.
fn uneven(call: &Collective<'_>) -> Option<Contribution> {
    let root = root(call);
    let blocks = |at_root: &Part<'_>, own: &Part<'_>| match sizes(at_root) {
        Some(all) => RootedBlocks::All(all),
        None => RootedBlocks::Own(bytes(own)),
    };
    Some(match call.operation {
        Operation::Gatherv => Contribution::Gatherv {
            root,
            blocks: blocks(&call.received, &call.sent),
        },
        Operation::Scatterv => Contribution::Scatterv {
            root,
            blocks: blocks(&call.sent, &call.received),
        },
        Operation::Alltoallv | Operation::Alltoallw => {
            let receive = sizes(&call.received).unwrap_or_default();
            // In place a member sends as much as it receives.
            let send = sizes(&call.sent).unwrap_or_else(|| receive.clone());
            Contribution::Alltoallv { send, receive }
        }
        _ => return None,
    })
}

/// The contribution of a rank to a collective with the other group: every rank sends straight to those that get something.
fn between(call: &Collective<'_>, comm: &Comm, are_second: bool) -> Option<Contribution> {
    let (n, theirs) = (comm.all.members.len(), comm.peers.len());
    let none = || vec![0; theirs];
    let each = |part: &Part<'_>| match sizes(part) {
        Some(sizes) => sizes.into_vec(),
        None => vec![bytes(part); theirs],
    };
    // With the root of the other group, or with all of it by the root of the own one.
    let rooted = |part: &Part<'_>| match call.root {
        Peer::Root => each(part),
        Peer::Rank(rank) => {
            let mut sizes = none();
            if let Some(size) = sizes.get_mut(rank as usize) {
                *size = bytes(part);
            }
            sizes
        }
        Peer::Any | Peer::Null => none(),
    };
    let (send, receive) = match call.operation {
        Operation::Barrier => return Some(Contribution::Known(CollectiveKind::Barrier)),
        Operation::Allreduce => (vec![either(call); theirs], vec![either(call); theirs]),
        Operation::Allgather
        | Operation::Allgatherv
        | Operation::Alltoall
        | Operation::Alltoallv
        | Operation::Alltoallw => (each(&call.sent), each(&call.received)),
        Operation::Bcast
        | Operation::Reduce
        | Operation::Gather
        | Operation::Gatherv
        | Operation::Scatter
        | Operation::Scatterv => (rooted(&call.sent), rooted(&call.received)),
        _ => return None,
    };
    let of_all = |sizes: Vec<u64>| {
        let mut sides = [vec![0; n.saturating_sub(sizes.len())], sizes];
        if !are_second {
            sides.reverse();
        }
        sides.concat().into()
    };
    Some(Contribution::Alltoallv {
        send: of_all(send),
        receive: of_all(receive),
    })
}

/// The bytes that a member sends to each of its neighbours.
pub(super) fn to_neighbours(call: &Collective<'_>, neighbours: usize) -> Box<[u64]> {
    match sizes(&call.sent) {
        Some(sizes) => sizes,
        None => vec![bytes(&call.sent); neighbours].into(),
    }
}
