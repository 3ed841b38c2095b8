//! Collectives become the contributions of their members.

use super::write::{Bytes, NULL, ROOT, Stream, all_done, collective, last, none, nth, ranks};
use super::*;
use crate::mpi::{RequestId, SendMode};
use crate::program::{AlltoallBlocks, CollectiveKind, Contribution, RootedBlocks};

/// The contribution of rank 0 of two to a collective on a communicator.
fn brings(name: &str, fields: Bytes) -> Contribution {
    let found = calls(|stream| stream.call(name, fields.clone()));
    match &found[..] {
        [Call::Collective { contribution, .. }] => contribution.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// A part of `of` bytes.
fn even(bytes: Bytes, of: u64) -> Bytes {
    bytes.vs([2, of, 1])
}

fn counts(bytes: Bytes, counts: &[i64]) -> Bytes {
    bytes.vs([3, 8]).seq(counts)
}

#[test]
fn every_collective_has_its_sizes() {
    let nothing = |bytes: Bytes| bytes.v(0);
    let in_place = |bytes: Bytes| bytes.v(1);
    let world = || collective(0, NULL);
    let rooted = |root| collective(0, root);
    let known = |kind| Contribution::Known(kind);
    for (name, fields, expected) in [
        (
            "MPI_Barrier",
            nothing(nothing(world())),
            known(CollectiveKind::Barrier),
        ),
        (
            "MPI_Bcast",
            nothing(even(rooted(0), 64)),
            known(CollectiveKind::Bcast { root: 0, bytes: 64 }),
        ),
        (
            "MPI_Bcast",
            even(nothing(rooted(1)), 64),
            known(CollectiveKind::Bcast { root: 1, bytes: 64 }),
        ),
        (
            "MPI_Reduce",
            even(in_place(rooted(0)), 64),
            known(CollectiveKind::Reduce { root: 0, bytes: 64 }),
        ),
        (
            "MPI_Allreduce",
            even(in_place(world()), 64),
            known(CollectiveKind::Allreduce { bytes: 64 }),
        ),
        (
            "MPI_Scan",
            even(even(world(), 64), 64),
            known(CollectiveKind::Scan { bytes: 64 }),
        ),
        (
            "MPI_Exscan",
            even(even(world(), 64), 64),
            known(CollectiveKind::Exscan { bytes: 64 }),
        ),
        (
            "MPI_Gather",
            even(in_place(rooted(0)), 64),
            known(CollectiveKind::Gather {
                root: 0,
                blocks: vec![64; 2],
            }),
        ),
        (
            "MPI_Scatter",
            even(nothing(rooted(1)), 64),
            known(CollectiveKind::Scatter {
                root: 1,
                blocks: vec![64; 2],
            }),
        ),
        (
            "MPI_Allgather",
            even(in_place(world()), 64),
            known(CollectiveKind::Allgather {
                blocks: vec![64; 2],
            }),
        ),
        (
            "MPI_Alltoall",
            even(in_place(world()), 64),
            known(CollectiveKind::Alltoall {
                blocks: vec![AlltoallBlocks::Each(64); 2],
            }),
        ),
        (
            "MPI_Allgatherv",
            counts(even(world(), 8), &[1, 2]),
            known(CollectiveKind::Allgather {
                blocks: vec![8, 16],
            }),
        ),
        (
            "MPI_Reduce_scatter",
            counts(nothing(world()), &[1, 2]),
            known(CollectiveKind::ReduceScatter {
                blocks: vec![8, 16],
            }),
        ),
        (
            "MPI_Reduce_scatter_block",
            even(nothing(world()), 8),
            known(CollectiveKind::ReduceScatter { blocks: vec![8, 8] }),
        ),
        (
            "MPI_Gatherv",
            counts(even(rooted(0), 8), &[1, 2]),
            Contribution::Gatherv {
                root: 0,
                blocks: RootedBlocks::All([8, 16].into()),
            },
        ),
        (
            "MPI_Gatherv",
            nothing(even(rooted(1), 8)),
            Contribution::Gatherv {
                root: 1,
                blocks: RootedBlocks::Own(8),
            },
        ),
        (
            "MPI_Scatterv",
            even(nothing(rooted(1)), 8),
            Contribution::Scatterv {
                root: 1,
                blocks: RootedBlocks::Own(8),
            },
        ),
        (
            "MPI_Alltoallv",
            counts(in_place(world()), &[1, 2]),
            Contribution::Alltoallv {
                send: [8, 16].into(),
                receive: [8, 16].into(),
            },
        ),
        (
            "MPI_Alltoallw",
            counts(world().v(4).seq(&[3, 0]), &[1, 2]),
            Contribution::Alltoallv {
                send: [3, 0].into(),
                receive: [8, 16].into(),
            },
        ),
    ] {
        assert_eq!(brings(name, fields), expected, "{name}");
    }
}

#[test]
fn collectives_may_be_complete_later() {
    let sum = || even(even(collective(0, NULL), 8), 8);
    let found = calls(|stream| {
        stream.call("MPI_Iallreduce", sum());
        stream.call("MPI_Wait", all_done(&[last(0)]));
        stream.call("MPI_Allreduce_init", sum());
        stream.call("MPI_Start", none().seq(&[nth(1)]));
        stream.call("MPI_Wait", all_done(&[nth(1)]));
    });
    let requests: Vec<_> = found
        .iter()
        .map(|call| match call {
            Call::Collective { request, .. } => *request,
            Call::Wait { requests, .. } => Some(requests[0]),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(requests, [1, 1, 2, 2].map(|number| Some(RequestId(number))));
}

/// Each member of a ring sends to the next one: the first has a gap at one end.
#[test]
fn neighbours_get_messages() {
    let ring = |stream: &mut Stream| {
        let lists: [&[i64]; 3] = [&[0, 1], &[-1, 1], &[1, -1]];
        stream.comm([2, 0, 0, 2], "MPI_Cart_create", &lists);
    };
    let found = calls(|stream| {
        ring(stream);
        let alltoallv = counts(counts(collective(2, NULL), &[3, 4]), &[1, 2]);
        stream.call("MPI_Neighbor_alltoallv", alltoallv);
        let allgather = even(even(collective(2, NULL), 5), 5);
        stream.call("MPI_Ineighbor_allgather", allgather);
        stream.call("MPI_Wait", all_done(&[last(0)]));
    });
    let mut comm = None;
    for (half, bytes) in found.chunks(3).zip([24, 5]) {
        let [
            Call::Receive { from, comm: of, .. },
            Call::Send {
                to,
                bytes: sent,
                mode,
                ..
            },
            Call::Wait { requests, .. },
        ] = half
        else {
            panic!("{half:?}");
        };
        assert_eq!(
            (*from, *to, *sent),
            (Some(RankId::new(1)), RankId::new(1), bytes)
        );
        assert_eq!((*mode, requests.len()), (SendMode::Standard, 2));
        assert_eq!(*comm.get_or_insert(*of), *of);
    }
    assert_eq!(found.len(), 6);
}

/// The ranks 0 and 1 and the ranks 2 and 3.
#[test]
fn two_groups_exchange_with_each_other() {
    let streams = |name: &'static str, of: fn(u32) -> Bytes| {
        ranks(4, move |stream| {
            let (own, others) = match stream.rank {
                0 | 1 => ([0, 1], [2, 3]),
                _ => ([2, 3], [0, 1]),
            };
            stream.comm([2, 0, 0, 0], "MPI_Comm_split", &[&own]);
            stream.comm([3, 2, 0, 1], "MPI_Intercomm_create", &[&own, &others]);
            stream.call(name, of(stream.rank));
        })
    };
    let found = calls_of(&streams("MPI_Bcast", |rank| match rank {
        0 => collective(3, ROOT).vs([2, 64, 1, 0]),
        1 => collective(3, NULL).vs([0, 0]),
        _ => collective(3, 0).vs([0, 2, 64, 1]),
    }));
    let [
        Call::Collective {
            comm, contribution, ..
        },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!(comm.members.len(), 4);
    let expected = Contribution::Alltoallv {
        send: [0, 0, 64, 64].into(),
        receive: [0; 4].into(),
    };
    assert_eq!(*contribution, expected);
    // All of them agree.
    for (name, of) in [
        (
            "MPI_Barrier",
            (|_| collective(3, NULL).vs([0, 0])) as fn(u32) -> Bytes,
        ),
        ("MPI_Allgather", |_| even(even(collective(3, NULL), 8), 8)),
        ("MPI_Gatherv", |rank| match rank {
            2 => counts(collective(3, ROOT).v(0), &[1, 1]),
            3 => collective(3, NULL).vs([0, 0]),
            _ => even(collective(3, 0), 8).v(0),
        }),
    ] {
        let dir = super::write::directory(&streams(name, of));
        let file = check_file(dir.path(), Stop::never()).unwrap();
        assert!(
            file.doubts().is_none() && file.unsupported().is_empty(),
            "{name}"
        );
    }
    let dir = super::write::directory(&streams("MPI_Reduce_scatter_block", |_| {
        even(collective(3, NULL).v(0), 8)
    }));
    let said = opened(dir.path()).unsupported();
    assert!(
        said[0].contains("4 calls that are reductions with scattered results between two groups"),
        "{said:?}"
    );
}
