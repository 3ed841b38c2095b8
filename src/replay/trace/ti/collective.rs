//! The contribution of a member to a collective.

use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};
use flitwise_formats::ti::{Collective, Datatype, Elements};

/// The contribution of rank `me` of `n`, and the flops that it computes.
pub(super) fn contribution(call: &Collective, me: u32, n: u32) -> (Contribution, f64) {
    let known = |kind| (Contribution::Known(kind), 0.0);
    match *call {
        Collective::Barrier => known(CollectiveKind::Barrier),
        Collective::Bcast { elements, root } => {
            let bytes = elements.bytes();
            known(CollectiveKind::Bcast { root, bytes })
        }
        Collective::Reduce {
            elements,
            flops,
            root,
        } => {
            let bytes = elements.bytes();
            let kind = CollectiveKind::Reduce { root, bytes };
            (Contribution::Known(kind), flops)
        }
        Collective::Allreduce { elements, flops } => {
            let bytes = elements.bytes();
            let kind = CollectiveKind::Allreduce { bytes };
            (Contribution::Known(kind), flops)
        }
        Collective::Scan { elements, flops } => {
            let bytes = elements.bytes();
            (Contribution::Known(CollectiveKind::Scan { bytes }), flops)
        }
        Collective::Exscan { elements, flops } => {
            let bytes = elements.bytes();
            (Contribution::Known(CollectiveKind::Exscan { bytes }), flops)
        }
        Collective::ReduceScatter {
            ref recv,
            datatype,
            flops,
        } => {
            let blocks = sizes(recv, datatype);
            let kind = CollectiveKind::ReduceScatter { blocks };
            (Contribution::Known(kind), flops)
        }
        _ => (uneven(call, me, n), 0.0),
    }
}

/// The same where members have blocks of their own.
fn uneven(call: &Collective, me: u32, n: u32) -> Contribution {
    let equal = |bytes| vec![bytes; n as usize];
    match *call {
        Collective::Gather { send, recv, root } => {
            let blocks = equal(at_root(me == root, recv, send));
            Contribution::Known(CollectiveKind::Gather { root, blocks })
        }
        Collective::Scatter { send, recv, root } => {
            let blocks = equal(at_root(me == root, send, recv));
            Contribution::Known(CollectiveKind::Scatter { root, blocks })
        }
        Collective::Allgather { send, recv } => {
            let blocks = equal(at_root(true, recv, send));
            Contribution::Known(CollectiveKind::Allgather { blocks })
        }
        Collective::Alltoall { send, recv } => {
            let each = AlltoallBlocks::Each(at_root(true, recv, send));
            let blocks = vec![each; n as usize];
            Contribution::Known(CollectiveKind::Alltoall { blocks })
        }
        Collective::Gatherv {
            send,
            ref recv,
            recv_type,
            root,
        } => Contribution::Gatherv {
            root,
            blocks: rooted(me == root, recv, recv_type, send),
        },
        Collective::Scatterv {
            ref send,
            send_type,
            recv,
            root,
        } => Contribution::Scatterv {
            root,
            blocks: rooted(me == root, send, send_type, recv),
        },
        Collective::Allgatherv {
            ref recv,
            recv_type,
            ..
        } => Contribution::Known(CollectiveKind::Allgather {
            blocks: sizes(recv, recv_type),
        }),
        Collective::Alltoallv(ref a) => Contribution::Alltoallv {
            send: sizes(&a.send, a.send_type).into(),
            receive: sizes(&a.recv, a.recv_type).into(),
        },
        _ => Contribution::Known(CollectiveKind::Barrier),
    }
}

/// A block of a collective whose blocks are equal. The root may have passed `MPI_IN_PLACE` for `other`, its own block:
/// it counts by `all`, unless the trace does not have that.
fn at_root(root: bool, all: Elements, other: Elements) -> u64 {
    match (root, all.bytes(), other.bytes()) {
        (true, 0, bytes) | (false, _, bytes) | (true, bytes, _) => bytes,
    }
}

fn rooted(root: bool, all: &[u64], datatype: Datatype, own: Elements) -> RootedBlocks {
    if root {
        RootedBlocks::All(sizes(all, datatype).into())
    } else {
        RootedBlocks::Own(own.bytes())
    }
}

fn sizes(counts: &[u64], datatype: Datatype) -> Vec<u64> {
    counts.iter().map(|&count| datatype.bytes(count)).collect()
}
