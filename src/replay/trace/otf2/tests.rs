//! Archives of the corpus as operations: which calls, with which peers, sizes and computation.

use super::OTF2;
use crate::mpi::{Call, RequestId, SendMode, Tag, Until};
use crate::program::{
    Action, AlltoallBlocks, CollectiveKind, Contribution, Op, RankId, RegionId, RootedBlocks,
    StreamId,
};
use crate::trace::summary::sent;
use crate::trace::{Reading, TraceFile, check_file};
use flitwise_base::stop::Stop;
use flitwise_formats::source::Input;
use std::path::{Path, PathBuf};

fn corpus(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("../../tests/corpus/otf2").join(name)
}

fn file(name: &str) -> Box<dyn TraceFile> {
    let input = Input::new(&corpus(name));
    (OTF2.check)(&input, Stop::never()).unwrap()
}

fn operations(file: &dyn TraceFile, reading: &Reading) -> Vec<Vec<Op>> {
    let mut program = file.open(reading, Stop::never()).unwrap();
    let ranks = RankId::all(file.ranks());
    let mut of_rank = |rank| -> Vec<Op> {
        let next = || program.next(rank, StreamId::new(0)).unwrap();
        std::iter::from_fn(next).collect()
    };
    ranks.map(&mut of_rank).collect()
}

/// The operations but for entries and exits of regions, whose computation is before the next one.
fn calls_of(name: &str) -> Vec<Vec<Op>> {
    let all = operations(&*file(name), &Reading::default());
    let calls = |ops: Vec<Op>| {
        let mut ps = 0;
        let with_ps = |mut op: Op| {
            op.compute_ps += std::mem::take(&mut ps);
            match op.action {
                Action::EnterRegion(_) | Action::LeaveRegion(_) => {
                    ps = op.compute_ps;
                    None
                }
                _ => Some(op),
            }
        };
        ops.into_iter().filter_map(with_ps).collect()
    };
    all.into_iter().map(calls).collect()
}

fn call(op: &Op) -> &Call {
    op.action.call().expect("a call")
}

fn rank(rank: u32) -> RankId {
    RankId::new(rank)
}

#[test]
fn a_stencil_computes_between_its_calls() {
    let all = calls_of("stencil");
    assert_eq!(all.len(), 8);
    let ops = &all[0];
    // Thrice two exchanges of three calls and a reduction, and the end.
    assert_eq!(ops.len(), 3 * 7 + 1);
    // From the end of MPI_Init to the start of MPI_Irecv; regions of the program are in it.
    assert_eq!(ops[0].compute_ps, 103_000_000);
    let receive = RequestId(1);
    assert!(matches!(
        *call(&ops[0]),
        Call::Receive { from, tag: Some(Tag(0)), request: Some(RequestId(1)), .. } if from == Some(rank(1))
    ));
    assert_eq!(ops[1].compute_ps, 1_000_000);
    assert!(matches!(
        *call(&ops[1]),
        Call::Send { to, bytes: 4096, mode: SendMode::Standard, request: Some(RequestId(2)), .. } if to == rank(1)
    ));
    assert_eq!(ops[2].compute_ps, 6_000_000);
    assert_eq!(
        *call(&ops[2]),
        Call::Wait {
            requests: [receive, RequestId(2)].into(),
            until: Until::All
        }
    );
    let Call::Collective {
        comm,
        contribution,
        request: None,
    } = call(&ops[6])
    else {
        panic!("no collective");
    };
    assert_eq!(comm.members.len(), 8);
    // The recorder counts the vector once for each member.
    let vector = CollectiveKind::Allreduce { bytes: 8 };
    assert_eq!(*contribution, Contribution::Known(vector));
    assert_eq!(ops[21].action, Action::Marker);
    assert_eq!(ops[21].compute_ps, 1_000_000);
}

#[test]
fn ranks_of_archives_agree() {
    for (name, messages, bytes) in [
        ("stencil", 48, 196_776),
        ("calls", 13, 2_173_657),
        ("mapped", 1, 99),
    ] {
        let file = file(name);
        let agreement = file.agreement(Stop::never()).unwrap();
        assert!(agreement.errors.is_empty(), "{:?}", agreement.errors.first);
        assert!(agreement.warnings.is_empty(), "{:?}", agreement.warnings);
        let (traffic, _) = sent(&*file, None).unwrap();
        assert_eq!(
            (traffic.messages, traffic.bytes),
            (messages, bytes),
            "{name}"
        );
    }
}

/// The contributions of a rank to the collectives of all ranks.
fn contributions(ops: &[Op]) -> Vec<&Contribution> {
    let collectives = ops.iter().filter_map(|op| match op.action.call()? {
        Call::Collective {
            comm, contribution, ..
        } => Some((comm.members.len(), contribution)),
        _ => None,
    });
    collectives
        .filter(|(n, _)| *n == 4)
        .map(|(_, c)| c)
        .collect()
}

/// The collectives of rank `me` after the first one, with a root or with a part for each rank.
fn rooted_and_parted(me: usize, blocks: &[u64]) -> [Contribution; 10] {
    use CollectiveKind as Kind;
    let known = |kind| Contribution::Known(kind);
    let rooted = if me == 2 {
        RootedBlocks::All(blocks.into())
    } else {
        RootedBlocks::Own(blocks[me])
    };
    let gatherv = Contribution::Gatherv {
        root: 2,
        blocks: rooted.clone(),
    };
    let scatterv = Contribution::Scatterv {
        root: 2,
        blocks: rooted,
    };
    let each = vec![AlltoallBlocks::Each(256); 4];
    let scatter = vec![48; 4];
    let (root, bytes) = (2, 1000);
    let gathered = vec![64; 4];
    [
        known(Kind::Barrier),
        known(Kind::Bcast { root, bytes }),
        known(Kind::Reduce { root, bytes: 800 }),
        known(Kind::Gather {
            root,
            blocks: gathered,
        }),
        gatherv,
        known(Kind::Scatter {
            root,
            blocks: scatter,
        }),
        scatterv,
        known(Kind::Allgather {
            blocks: vec![128; 4],
        }),
        known(Kind::Allgather {
            blocks: blocks.to_vec(),
        }),
        known(Kind::Alltoall { blocks: each }),
    ]
}

#[test]
fn sums_become_sizes() {
    use CollectiveKind as Kind;
    let all = calls_of("calls");
    let blocks = vec![100, 0, 300, 24];
    let known = |kind| Contribution::Known(kind);
    for me in [0, 1, 2, 3] {
        let found = contributions(&all[me]);
        // The first one is between two groups.
        assert!(matches!(found[0], Contribution::Alltoallv { .. }));
        let expected = rooted_and_parted(me, &blocks);
        for (i, expected) in expected.iter().enumerate() {
            assert_eq!(found[1 + i], expected, "rank {me}");
        }
        let expected = [
            // 120 bytes may be 4 vectors of 30, or 3 of 40 in place.
            known(Kind::Allreduce { bytes: 30 }),
            known(Kind::ReduceScatter {
                blocks: blocks.clone(),
            }),
            known(Kind::ReduceScatter {
                blocks: vec![16; 4],
            }),
            known(Kind::Scan { bytes: 24 }),
            known(Kind::Exscan { bytes: 32 }),
            known(Kind::Allreduce { bytes: 80 }),
            known(Kind::Barrier),
        ];
        for (i, expected) in expected.iter().enumerate() {
            assert_eq!(found[12 + i], expected, "rank {me}");
        }
    }
}

#[test]
fn an_all_to_all_is_spread_by_its_sums() {
    let all = calls_of("calls");
    let parts: Vec<_> = (all.iter().map(|ops| contributions(ops)[11]))
        .map(|contribution| match contribution {
            Contribution::Alltoallv { send, receive } => (send.clone(), receive.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    for (i, (send, _)) in parts.iter().enumerate() {
        // Each sends a quarter of its sum to each, since all receive as much.
        assert_eq!(**send, [[100, 0, 300, 24][i]; 4]);
        for (j, (_, receive)) in parts.iter().enumerate() {
            assert_eq!(send[j], receive[i]);
        }
    }
}

/// The entries, exits and calls of a rank of the archive `regions`, each with the microseconds before it.
fn course(rank: usize, reading: &Reading) -> Vec<String> {
    let file = file("regions");
    let ops = operations(&*file, reading);
    let line = |op: &Op| {
        let name = |region: RegionId| &file.regions()[region.index()];
        let what = match &op.action {
            Action::EnterRegion(region) => format!("enter {}", name(*region)),
            Action::LeaveRegion(region) => format!("leave {}", name(*region)),
            Action::Mpi(call) => match **call {
                Call::Send { .. } => "send".to_owned(),
                Call::Receive { .. } => "receive".to_owned(),
                Call::Wait { .. } => "wait".to_owned(),
                Call::Collective { .. } => "barrier".to_owned(),
                _ => "another call".to_owned(),
            },
            _ => "end".to_owned(),
        };
        format!("{} {what}", op.compute_ps / 1_000_000)
    };
    ops[rank].iter().map(line).collect()
}

#[test]
fn functions_of_the_program_are_regions() {
    let file = file("regions");
    let names: Vec<&str> = file.regions().iter().map(|name| &**name).collect();
    assert_eq!(
        names,
        ["main", "init", "solve", "dot", "output", "progress"]
    );
    let start = ["0 enter main", "1 enter init", "10 barrier", "5 leave init"];
    // After the last call there is no computation, and `main` has no exit.
    let end = ["1 enter output", "1 barrier", "51 leave output", "1 end"];
    let solve = [
        "1 enter solve",
        "1 enter dot",
        "21 leave dot",
        "1 send",
        "1 enter dot",
        "11 leave dot",
        "1 send",
        "1 barrier",
        "8 leave solve",
    ];
    let default = Reading::default();
    assert_eq!(course(0, &default), [&start[..], &solve, &end].concat());
    // The polls are a loop: what is between them is no computation, whatever it is in.
    let solve = [
        "1 enter solve",
        "1 receive",
        "1 enter progress",
        "0 leave progress",
        "0 wait",
        "1 receive",
        "1 barrier",
        "4 leave solve",
    ];
    assert_eq!(course(1, &default), [&start[..], &solve, &end].concat());
    let no_gap = Reading {
        poll_gap_ps: 0,
        ..default
    };
    let polls = &course(1, &no_gap)[6..9];
    assert_eq!(polls, ["2 enter progress", "2 leave progress", "1 wait"]);
}

#[test]
fn calls_are_told_by_their_regions() {
    let all = calls_of("calls");
    let modes = |me: usize| -> Vec<SendMode> {
        let sends = all[me].iter().filter_map(|op| match *op.action.call()? {
            Call::Send { mode, .. } => Some(mode),
            _ => None,
        });
        sends.collect()
    };
    // Before its first message rank 0 is outside of MPI for 14 us, in 4 of which the recorder writes.
    assert_eq!(all[0][0].compute_ps, 10_000_000);
    assert_eq!(modes(2)[0], SendMode::Synchronous);
    assert!(modes(0).contains(&SendMode::Buffered));
    let kinds: Vec<&str> = (all[0].iter())
        .map(|op| match op.action.call() {
            Some(Call::Send { request: None, .. }) => "send",
            Some(Call::Send { .. }) => "isend",
            Some(Call::Receive { request: None, .. }) => "recv",
            Some(Call::Receive { .. }) => "irecv",
            Some(Call::Wait { .. }) => "wait",
            Some(Call::Probe { .. }) => "probe",
            Some(Call::Collective { request: None, .. }) => "collective",
            Some(Call::Collective { .. }) => "icollective",
            Some(Call::Free { .. }) => "free",
            None => "end",
        })
        .collect();
    let expected = [
        // MPI_Send, two MPI_Sendrecv, MPI_Bsend, and a receive after each probe; the last message is for two groups.
        &[
            "send", "irecv", "isend", "wait", "irecv", "isend", "wait", "send",
        ][..],
        &[
            "probe", "recv", "probe", "irecv", "wait", "probe", "irecv", "wait", "send",
        ],
        &["collective"; 17],
        &["icollective", "collective", "wait", "end"],
    ]
    .concat();
    assert_eq!(kinds, expected);
    // The receive that was cancelled is none; the one that was tested waits where it was found.
    let receives = all[1]
        .iter()
        .filter(|op| matches!(op.action.call(), Some(Call::Receive { .. })));
    assert_eq!(receives.count(), 4);
}

#[test]
fn lost_receives_are_refused() {
    let e = check_file(&corpus("lost"), Stop::never());
    let e = e.err().expect("an error").to_string();
    assert!(
        e.contains("receives are missing: 1 messages are sent, but 0 are received"),
        "{e}"
    );
}
