//! Collectives as the calls of DUMPI.

use super::super::written::even;
use super::{INSTEAD, all_elements, elements};
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};
use anyhow::bail;
use flitwise_formats::dumpi::call::{
    Allgatherv, Allreduce, Alltoallv, Bcast, Exchange, Gather, Gatherv, OneComm, Reduce,
    ReduceScatter, Scatter, Scatterv,
};
use flitwise_formats::dumpi::{Array, Call, Comm, Datatype, Elements, Op};

/// Receives the call of a collective.
type Sink<'a> = &'a mut dyn FnMut(&Call<'_>) -> anyhow::Result<()>;

/// A member: its communicator, its place in it, and the size of it.
type Member = (Comm, i32, i32);

/// Gives the call of a member to `call`.
pub(super) fn call(
    contribution: &Contribution,
    member: Member,
    mut call: impl FnMut(&Call<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    match contribution {
        Contribution::Known(kind) => known(kind, member, &mut call),
        Contribution::Gatherv { root, blocks } => gatherv(*root, blocks, member, &mut call),
        Contribution::Scatterv { root, blocks } => scatterv(*root, blocks, member, &mut call),
        Contribution::Alltoallv { send, receive } => alltoallv(send, receive, member, &mut call),
    }
}

/// The part of the member at place `me`.
fn own<T>(parts: &[T], me: i32) -> Option<&T> {
    parts.get(usize::try_from(me).ok()?)
}

/// The blocks that a member knows.
fn rooted(blocks: &[u64], root: u32, me: i32) -> RootedBlocks {
    if number(root) == me {
        RootedBlocks::All(blocks.into())
    } else {
        RootedBlocks::Own(own(blocks, me).copied().unwrap_or(0))
    }
}

/// A collective whose sizes all members know.
fn known(kind: &CollectiveKind, member: Member, call: Sink<'_>) -> anyhow::Result<()> {
    let (comm, me, _) = member;
    let reduce = |bytes: u64| {
        let (count, datatype) = elements(bytes)?;
        anyhow::Ok(Allreduce {
            count,
            datatype,
            op: Op::SUM,
            comm,
        })
    };
    match kind {
        CollectiveKind::Barrier => call(&Call::Barrier(OneComm { comm })),
        CollectiveKind::Bcast { root, bytes } => {
            let (count, datatype) = elements(*bytes)?;
            let root = number(*root);
            call(&Call::Bcast(Bcast {
                count,
                datatype,
                root,
                comm,
            }))
        }
        CollectiveKind::Reduce { root, bytes } => {
            let (count, datatype) = elements(*bytes)?;
            call(&Call::Reduce(Reduce {
                count,
                datatype,
                op: Op::SUM,
                root: number(*root),
                comm,
            }))
        }
        CollectiveKind::Allreduce { bytes } => call(&Call::Allreduce(reduce(*bytes)?)),
        CollectiveKind::Scan { bytes } => call(&Call::Scan(reduce(*bytes)?)),
        CollectiveKind::Exscan { bytes } => call(&Call::Exscan(reduce(*bytes)?)),
        CollectiveKind::Gather { root, blocks } => match even(blocks) {
            Some(bytes) => gather(*root, bytes, member, call),
            None => gatherv(*root, &rooted(blocks, *root, me), member, call),
        },
        CollectiveKind::Scatter { root, blocks } => match even(blocks) {
            Some(bytes) => scatter(*root, bytes, member, call),
            None => scatterv(*root, &rooted(blocks, *root, me), member, call),
        },
        CollectiveKind::Allgather { blocks } => match even(blocks) {
            Some(bytes) => call(&Call::Allgather(exchange(bytes, comm)?)),
            None => allgatherv(blocks, member, call),
        },
        CollectiveKind::ReduceScatter { blocks } => reduce_scatter(blocks, member, call),
        CollectiveKind::Alltoall { blocks } => match own(blocks, me) {
            Some(AlltoallBlocks::Each(bytes)) => call(&Call::Alltoall(exchange(*bytes, comm)?)),
            _ => bail!("an all-to-all of which only the sum is known has no call: {INSTEAD}"),
        },
    }
}

fn reduce_scatter(
    blocks: &[u64],
    (comm, _, commsize): Member,
    call: Sink<'_>,
) -> anyhow::Result<()> {
    let (counts, datatype) = all_elements(blocks)?;
    let recvcounts: Elements<i32> = counts.into_iter().collect();
    call(&Call::ReduceScatter(ReduceScatter {
        commsize,
        recvcounts: recvcounts.array(),
        datatype,
        op: Op::SUM,
        comm,
    }))
}

fn exchange(bytes: u64, comm: Comm) -> anyhow::Result<Exchange> {
    let (count, datatype) = elements(bytes)?;
    Ok(Exchange {
        sendcount: count,
        sendtype: datatype,
        recvcount: count,
        recvtype: datatype,
        comm,
    })
}

fn gather(root: u32, bytes: u64, (comm, me, _): Member, call: Sink<'_>) -> anyhow::Result<()> {
    let (count, datatype) = elements(bytes)?;
    let root = number(root);
    let at_root = root == me;
    call(&Call::Gather(Gather {
        commrank: me,
        sendcount: count,
        sendtype: datatype,
        root,
        comm,
        recvcount: at_root.then_some(count),
        recvtype: at_root.then_some(datatype),
    }))
}

fn scatter(root: u32, bytes: u64, (comm, me, _): Member, call: Sink<'_>) -> anyhow::Result<()> {
    let (count, datatype) = elements(bytes)?;
    let root = number(root);
    let at_root = root == me;
    call(&Call::Scatter(Scatter {
        commrank: me,
        recvcount: count,
        recvtype: datatype,
        root,
        comm,
        sendcount: at_root.then_some(count),
        sendtype: at_root.then_some(datatype),
    }))
}

fn gatherv(
    root: u32,
    blocks: &RootedBlocks,
    (comm, me, commsize): Member,
    call: Sink<'_>,
) -> anyhow::Result<()> {
    let parts = Parts::of(blocks, me)?;
    call(&Call::Gatherv(Gatherv {
        commrank: me,
        commsize,
        sendcount: parts.own,
        sendtype: parts.datatype,
        root: number(root),
        comm,
        recvcounts: parts.counts(),
        displs: parts.places(),
        recvtype: parts.datatype,
    }))
}

fn scatterv(
    root: u32,
    blocks: &RootedBlocks,
    (comm, me, commsize): Member,
    call: Sink<'_>,
) -> anyhow::Result<()> {
    let parts = Parts::of(blocks, me)?;
    call(&Call::Scatterv(Scatterv {
        commrank: me,
        commsize,
        sendtype: parts.datatype,
        recvcount: parts.own,
        recvtype: parts.datatype,
        root: number(root),
        comm,
        sendcounts: parts.counts(),
        displs: parts.places(),
    }))
}

fn allgatherv(blocks: &[u64], (comm, me, commsize): Member, call: Sink<'_>) -> anyhow::Result<()> {
    let (counts, datatype) = all_elements(blocks)?;
    let (recvcounts, displs) = placed(&counts);
    call(&Call::Allgatherv(Allgatherv {
        commsize,
        sendcount: own(&counts, me).copied().unwrap_or(0),
        sendtype: datatype,
        recvcounts: recvcounts.array(),
        displs: displs.array(),
        recvtype: datatype,
        comm,
    }))
}

fn alltoallv(
    send: &[u64],
    receive: &[u64],
    (comm, _, commsize): Member,
    call: Sink<'_>,
) -> anyhow::Result<()> {
    let (sent, sendtype) = all_elements(send)?;
    let (received, recvtype) = all_elements(receive)?;
    let ((sendcounts, senddispls), (recvcounts, recvdispls)) = (placed(&sent), placed(&received));
    call(&Call::Alltoallv(Alltoallv {
        commsize,
        sendcounts: sendcounts.array(),
        senddispls: senddispls.array(),
        sendtype,
        recvcounts: recvcounts.array(),
        recvdispls: recvdispls.array(),
        recvtype,
        comm,
    }))
}

/// Counts, and where their elements lie one behind the other.
type Placed = (Elements<i32>, Elements<i32>);

fn placed(counts: &[i32]) -> Placed {
    let places = counts.iter().scan(0_i32, |next, &count| {
        let place = *next;
        *next = next.saturating_add(count);
        Some(place)
    });
    (counts.iter().copied().collect(), places.collect())
}

/// The counts of a gather or a scatter that a member knows.
struct Parts {
    own: i32,
    datatype: Datatype,
    /// At the root.
    all: Option<Placed>,
}

impl Parts {
    fn of(blocks: &RootedBlocks, me: i32) -> anyhow::Result<Self> {
        match blocks {
            RootedBlocks::All(all) => {
                let (counts, datatype) = all_elements(all)?;
                Ok(Self {
                    own: own(&counts, me).copied().unwrap_or(0),
                    datatype,
                    all: Some(placed(&counts)),
                })
            }
            RootedBlocks::Own(bytes) => {
                let (own, datatype) = elements(*bytes)?;
                Ok(Self {
                    own,
                    datatype,
                    all: None,
                })
            }
        }
    }

    /// The counts, at the root.
    fn counts(&self) -> Option<Array<'_, i32>> {
        self.all.as_ref().map(|(counts, _)| counts.array())
    }

    /// The places of their elements, at the root.
    fn places(&self) -> Option<Array<'_, i32>> {
        self.all.as_ref().map(|(_, places)| places.array())
    }
}

/// The place of a root.
fn number(root: u32) -> i32 {
    i32::try_from(root).unwrap_or(i32::MAX)
}
