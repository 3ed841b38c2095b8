//! The contribution of a member to a collective.

use super::communicators::Others;
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};
use flitwise_formats::dumpi::call::{Alltoallv, Alltoallw};
use flitwise_formats::dumpi::{Array, Call, Datatype, Types};

/// The contribution of rank `me` of a communicator of `n` ranks to the collective that it calls; `None` if the call is none.
///
/// `MPI_IN_PLACE` is not recorded: beside it count and type mean nothing, so the side that a call must have counts.
pub(super) fn contribution(call: &Call<'_>, n: u32, types: &Types) -> Option<Contribution> {
    let bytes = |count, datatype| types.bytes(datatype, count).unwrap_or(0);
    let kind = match call {
        Call::Barrier(_) => CollectiveKind::Barrier,
        Call::Bcast(c) => CollectiveKind::Bcast {
            root: number(c.root),
            bytes: bytes(c.count, c.datatype),
        },
        Call::Reduce(c) => CollectiveKind::Reduce {
            root: number(c.root),
            bytes: bytes(c.count, c.datatype),
        },
        Call::Allreduce(c) => CollectiveKind::Allreduce {
            bytes: bytes(c.count, c.datatype),
        },
        Call::Scan(c) => CollectiveKind::Scan {
            bytes: bytes(c.count, c.datatype),
        },
        Call::Exscan(c) => CollectiveKind::Exscan {
            bytes: bytes(c.count, c.datatype),
        },
        Call::ReduceScatter(c) => CollectiveKind::ReduceScatter {
            blocks: sizes(&c.recvcounts, c.datatype, types),
        },
        _ => return equal(call, n, types).or_else(|| uneven(call, types)),
    };
    Some(Contribution::Known(kind))
}

/// The same of collectives in which all members have equal blocks.
fn equal(call: &Call<'_>, n: u32, types: &Types) -> Option<Contribution> {
    let bytes = |count, datatype| types.bytes(datatype, count).unwrap_or(0);
    let equal = |bytes| vec![bytes; n as usize];
    // Both sides are equal; one of them may be MPI_IN_PLACE.
    let either = |must: u64, may: u64| if must > 0 { must } else { may };
    let kind = match call {
        Call::Gather(c) => {
            let own = bytes(c.sendcount, c.sendtype);
            let at_root = c.recvcount.zip(c.recvtype);
            let block = at_root.map_or(own, |(count, of)| either(bytes(count, of), own));
            CollectiveKind::Gather {
                root: number(c.root),
                blocks: equal(block),
            }
        }
        Call::Scatter(c) => {
            let own = bytes(c.recvcount, c.recvtype);
            let at_root = c.sendcount.zip(c.sendtype);
            let block = at_root.map_or(own, |(count, of)| either(bytes(count, of), own));
            CollectiveKind::Scatter {
                root: number(c.root),
                blocks: equal(block),
            }
        }
        Call::Allgather(c) => {
            let block = either(
                bytes(c.recvcount, c.recvtype),
                bytes(c.sendcount, c.sendtype),
            );
            CollectiveKind::Allgather {
                blocks: equal(block),
            }
        }
        Call::Alltoall(c) => {
            let block = either(
                bytes(c.recvcount, c.recvtype),
                bytes(c.sendcount, c.sendtype),
            );
            let blocks = vec![AlltoallBlocks::Each(block); n as usize];
            CollectiveKind::Alltoall { blocks }
        }
        _ => return None,
    };
    Some(Contribution::Known(kind))
}

/// The same of collectives in which each member has a block of its own size.
fn uneven(call: &Call<'_>, types: &Types) -> Option<Contribution> {
    let bytes = |count, datatype| types.bytes(datatype, count).unwrap_or(0);
    Some(match call {
        Call::Allgatherv(c) => Contribution::Known(CollectiveKind::Allgather {
            blocks: sizes(&c.recvcounts, c.recvtype, types),
        }),
        Call::Gatherv(c) => Contribution::Gatherv {
            root: number(c.root),
            blocks: match &c.recvcounts {
                Some(counts) => RootedBlocks::All(sizes(counts, c.recvtype, types).into()),
                None => RootedBlocks::Own(bytes(c.sendcount, c.sendtype)),
            },
        },
        Call::Scatterv(c) => Contribution::Scatterv {
            root: number(c.root),
            blocks: match &c.sendcounts {
                Some(counts) => RootedBlocks::All(sizes(counts, c.sendtype, types).into()),
                None => RootedBlocks::Own(bytes(c.recvcount, c.recvtype)),
            },
        },
        Call::Alltoallv(c) => alltoallv(c, types),
        Call::Alltoallw(c) => alltoallw(c, types),
        _ => return None,
    })
}

/// Whether a recording has enough information on this collective to replay it between two groups. For the other
/// collectives the recorder leaves out the arguments of the root of a group, and it takes the number of sizes from the
/// wrong group.
pub(super) fn says_enough_between(call: &Call<'_>) -> bool {
    matches!(
        call,
        Call::Barrier(_) | Call::Allreduce(_) | Call::Allgather(_) | Call::Alltoall(_)
    )
}

/// The contribution of a rank to a collective with `others`; `None` if the recording does not say enough. Every rank sends straight to
/// all of the other side.
pub(super) fn between(call: &Call<'_>, others: &Others, types: &Types) -> Option<Contribution> {
    let bytes = |count, datatype| types.bytes(datatype, count).unwrap_or(0);
    let (sent, received) = match call {
        Call::Barrier(_) => return Some(Contribution::Known(CollectiveKind::Barrier)),
        Call::Allreduce(c) => {
            let whole = bytes(c.count, c.datatype);
            (whole, whole)
        }
        Call::Allgather(c) | Call::Alltoall(c) => (
            bytes(c.sendcount, c.sendtype),
            bytes(c.recvcount, c.recvtype),
        ),
        _ => return None,
    };
    let (n, theirs) = (others.both.members.len(), others.members.len());
    let to_them = |bytes| {
        let mut sizes = [vec![0; n - theirs], vec![bytes; theirs]];
        if !others.are_second {
            sizes.reverse();
        }
        sizes.concat().into()
    };
    Some(Contribution::Alltoallv {
        send: to_them(sent),
        receive: to_them(received),
    })
}

fn alltoallv(c: &Alltoallv<'_>, types: &Types) -> Contribution {
    let receive = sizes(&c.recvcounts, c.recvtype, types);
    // In place a member sends as much as it receives.
    let in_place = c.sendtype <= Datatype::NULL || c.sendcounts.len() != c.recvcounts.len();
    let send = if in_place {
        receive.clone()
    } else {
        sizes(&c.sendcounts, c.sendtype, types)
    };
    Contribution::Alltoallv {
        send: send.into(),
        receive: receive.into(),
    }
}

fn alltoallw(c: &Alltoallw<'_>, types: &Types) -> Contribution {
    let each = |counts: &Array<'_, i32>, of: &Array<'_, Datatype>| {
        let parts = counts.iter().zip(of.iter());
        parts
            .map(|(count, of)| types.bytes(of, count).unwrap_or(0))
            .collect()
    };
    let receive: Box<[u64]> = each(&c.recvcounts, &c.recvtypes);
    let in_place =
        c.sendcounts.len() != c.recvcounts.len() || c.sendtypes.len() != c.recvtypes.len();
    let send = if in_place {
        receive.clone()
    } else {
        each(&c.sendcounts, &c.sendtypes)
    };
    Contribution::Alltoallv { send, receive }
}

fn sizes(counts: &Array<'_, i32>, datatype: Datatype, types: &Types) -> Vec<u64> {
    let counts = counts.iter();
    counts
        .map(|count| types.bytes(datatype, count).unwrap_or(0))
        .collect()
}

/// A root; one that does not exist is beyond all communicators.
fn number(root: i32) -> u32 {
    u32::try_from(root).unwrap_or(u32::MAX)
}
