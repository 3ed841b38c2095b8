//! Recorded traces of calls and schedules: the naive replay agrees with the replay on each of their messages, on a fabric without
//! contention.

use crate::formats::data::{data, examples_of_simgrid, own};
use crate::naive::fabric::{play, replay_of};
use crate::naive::{Case, End, Sent, compare, replay};
use flitwise::fabric::workload::Workload;
use flitwise::replay::mpi::Call;
use flitwise::replay::mpi::{CommId, SendMode, Tag, Until};
use flitwise::replay::outcome::JobOutcome;
use flitwise::replay::program::{Action, After, Event, Label, Op, Place, RankId, StreamId};
use flitwise::replay::trace::{Reading, TraceFile, check_file};
use flitwise::stop::Stop;
use flitwise::units::Ratio;
use flitwise_formats::goal::{DependencyKind, Schedule, Task};
use std::path::{Path, PathBuf};

fn shipped(name: &str) -> PathBuf {
    own("traces").join(name)
}

fn checked(trace: &Path) -> Box<dyn TraceFile> {
    check_file(trace, Stop::never()).unwrap()
}

fn reading() -> Reading {
    Reading {
        host_speed: Ratio::whole(1_000_000_000),
        ..Reading::default()
    }
}

/// The replay of a trace as its file is read.
fn engine(case: &Case, file: &dyn TraceFile) -> (JobOutcome, Vec<Sent>) {
    let program = file.open(&reading(), Stop::never()).unwrap();
    let mut replay = replay_of(case, program);
    let log = play(&mut replay, false);
    assert!(replay.finished());
    (replay.outcomes().remove(0), log)
}

/// All operations of a trace whose operations wait for those before them, or for events.
fn operations(file: &dyn TraceFile) -> Vec<Vec<Vec<Op>>> {
    let mut program = file.open(&reading(), Stop::never()).unwrap();
    let mut ranks = Vec::new();
    for rank in RankId::all(file.ranks()) {
        let mut ops = Vec::new();
        while let Some(op) = program.next(rank, StreamId::new(0)).unwrap() {
            ops.push(op);
        }
        ranks.push(vec![ops]);
    }
    ranks
}

fn naive_agrees_on(trace: &Path) {
    let (file, name) = (checked(trace), trace.display());
    let case = Case::of(operations(&*file));
    let naive = compare(&case).unwrap_or_else(|e| panic!("{name}: {}", &e[..e.len().min(2000)]));
    let (outcome, log) = engine(&case, &*file);
    assert_eq!(log, naive.fabric, "{name}");
    assert_eq!(outcome.execution_ps, naive.repetitions_ps[0], "{name}");
}

#[test]
fn the_naive_replay_agrees_on_actions() {
    for name in ["nas_is_S-16", "nas_dt_SH_W-32", "comd-16", "hpl-16"] {
        naive_agrees_on(&shipped(&format!("ti/{name}.tar.gz")));
    }
    if let Some(folder) = data("traces/ti/lulesh-27") {
        naive_agrees_on(&folder.join("lulesh-27-ti.tar.gz"));
    }
    for (trace, _) in examples_of_simgrid().into_iter().flatten() {
        naive_agrees_on(&trace);
    }
}

#[test]
fn the_naive_replay_agrees_on_vef_traces() {
    let applications = [
        "gromacs_water-16",
        "hpl-16",
        "hpl-64",
        "lammps_melt-16",
        "lulesh-27",
        "randomaccess-16",
    ];
    for name in applications {
        naive_agrees_on(&shipped(&format!("{name}.vef.gz")));
    }
    if let Some(folder) = data("traces/vef-thirdparty") {
        for name in [
            "out_2025-08-21-173711.vef.gz",
            "output_trace_dummy.vef",
            "output_trace_dummyRecv.vef",
        ] {
            naive_agrees_on(&folder.join(name));
        }
    }
}

/// Each operation of a schedule as a stream of its own, which waits for what the operation waits for. A CPU does nothing else
/// while it computes; so this is the same only where the computations of a rank wait for one another.
fn streams(schedule: &Schedule) -> Vec<Vec<Vec<Op>>> {
    let mut ranks = Vec::new();
    for rank in 0..schedule.ranks() {
        let mut block = schedule.rank(rank).unwrap();
        let mut waits = vec![Vec::new(); block.len() as usize];
        let mut actions = Vec::new();
        for index in 0..block.len() {
            let node = block.node(index).unwrap();
            block
                .successors(index, &node, |of, kind| {
                    let label = Label::new(index.into()).unwrap();
                    waits[of as usize].push(match kind {
                        DependencyKind::Done => Event::Done(label),
                        DependencyKind::Started => Event::Started(label),
                    });
                })
                .unwrap();
            let (comm, request) = (CommId::new(0), None);
            actions.push(match node.op.task {
                Task::Calc { time } => (time * 1000, Action::Marker),
                Task::Send { bytes, to, tag } => {
                    let send = Call::Send {
                        to: RankId::new(to),
                        comm,
                        tag: Tag(tag.cast_signed()),
                        bytes,
                        mode: SendMode::Standard,
                        nic: 0,
                        request,
                    };
                    (0, Action::Mpi(Box::new(send)))
                }
                Task::Recv { from, tag, .. } => {
                    let receive = Call::Receive {
                        from: from.map(RankId::new),
                        comm,
                        tag: tag.map(|tag| Tag(tag.cast_signed())),
                        request,
                    };
                    (0, Action::Mpi(Box::new(receive)))
                }
                Task::Collective { .. } | Task::Work { .. } => panic!("GOAL has none"),
            });
        }
        let ops = (0..).zip(actions).zip(waits);
        let stream = |((index, (compute_ps, action)), events)| {
            vec![Op {
                after: After::of(events),
                compute_ps,
                action,
                label: Label::new(index),
                place: Place::line(index + 1),
            }]
        };
        ranks.push(ops.map(stream).collect());
    }
    ranks
}

fn naive_agrees_on_schedules(names: &[&str]) {
    for name in names {
        let file = checked(&shipped(&format!("goal/{name}.goal.gz")));
        let case = Case::of(streams(
            &file
                .schedule(&Reading::default())
                .unwrap()
                .unwrap()
                .schedule,
        ));
        let naive = replay(&case);
        let (outcome, mut log) = engine(&case, &*file);
        // What happens at one time may happen in another order: streams act in theirs, a CPU takes what could start first.
        let mut expected = naive.fabric.clone();
        expected.sort_unstable();
        log.sort_unstable();
        assert_eq!(log, expected, "{name}");
        assert_eq!(outcome.execution_ps, naive.repetitions_ps[0], "{name}");
    }
}

/// Those in which no computation waits for the CPU. LogGOPSim's times of the others are in `loggp`.
#[test]
fn the_naive_replay_agrees_on_schedules() {
    naive_agrees_on_schedules(&[
        "allreduce-recdoub-16-1m",
        "allreduce-ring-16-1m",
        "alltoall-linear-32-4k",
        "bcast-binomial-16-64k",
        "binary_tree_32",
        "dissemination-64-8b",
        "gather-16-4k",
        "pipelinedring-8-64k",
        "random_bisect-32-256k",
    ]);
}

/// How many requests the waits of a rank name, and what they wait for.
fn waits(ops: &[Op]) -> Vec<(usize, Until)> {
    let wait = |op: &Op| match &op.action {
        Action::Mpi(call) => match &**call {
            Call::Wait { requests, until } => Some((requests.len(), *until)),
            _ => None,
        },
        _ => None,
    };
    ops.iter().filter_map(wait).collect()
}

/// A `wait` that names no message takes the collective that was started first, and a `waitall` the rest.
#[test]
fn collectives_that_do_not_block_are_waited_for() {
    let of = |rank: u32| {
        let late = if rank == 0 { "0 compute 5000\n" } else { "" };
        format!(
            "{rank} init\n{late}{rank} ibarrier\n{rank} ibcast 9 0 0\n{rank} iallreduce 1 2 0\n{rank} wait {rank} 0 0\n\
             {rank} compute 100\n{rank} waitall 2\n{rank} finalize\n"
        )
    };
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("immediate.ti");
    std::fs::write(&trace, [0, 1, 2].map(of).concat()).unwrap();
    let ranks = operations(&*checked(&trace));
    let waits = waits(&ranks[1][0]);
    assert_eq!(waits, [(1, Until::All), (2, Until::All)]);
    let outcome = compare(&Case::of(ranks)).unwrap();
    assert_eq!(
        (outcome.end.clone(), outcome.collectives),
        (End::Complete, 3)
    );
    // Ranks 1 and 2 wait for the barrier until rank 0 has entered it.
    let done = |rank, index| outcome.times[&(rank, 0, index)].done_ps.unwrap();
    for rank in 1..3 {
        assert!(done(rank, 2) < 1_000 && done(rank, 3) > 5_000_000);
    }
}

/// Two `waitany`s take two requests in the order in which they complete; the third action finds none.
#[test]
fn a_waitany_takes_the_request_that_completes_first() {
    let text = "\
0 init\n0 irecv 1 7 8 0\n0 irecv 2 7 8 0\n0 waitany 2\n0 send 1 9 8 0\n0 waitany 2\n0 waitany 2\n0 wait 1 0 7\n0 finalize\n\
1 init\n1 recv 0 9 8 0\n1 send 0 7 8 0\n1 finalize\n\
2 init\n2 compute 5000\n2 send 0 7 8 0\n2 finalize\n";
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("any.ti");
    std::fs::write(&trace, text).unwrap();
    let ranks = operations(&*checked(&trace));
    let waits = waits(&ranks[0][0]);
    assert_eq!(waits, [(2, Until::Any), (2, Until::All)]);
    // Rank 1 answers what rank 0 sends behind its first wait, which waits for rank 2 and its 5 us.
    let outcome = compare(&Case::of(ranks)).unwrap();
    assert_eq!(outcome.end, End::Complete);
    let end = |rank, index| outcome.times[&(rank, 0, index)].done_ps.unwrap();
    assert!(end(0, 2) > 5_000_000);
    assert!(end(0, 4) > end(1, 1));
}

/// What a `waitany` took is known again when as many waits follow as there were requests: lists do not grow, and what started
/// later is waited for.
#[test]
fn waits_behind_a_waitany_settle_what_it_took() {
    let turn = "0 irecv 1 7 8 0\n0 irecv 1 8 8 0\n0 waitany 2\n0 wait 1 0 8\n0 irecv 1 9 8 0\n0 waitany 1\n";
    let sends = "1 send 0 8 8 0\n1 send 0 7 8 0\n1 send 0 9 8 0\n";
    let text = format!(
        "0 init\n{}0 finalize\n1 init\n{}1 finalize\n",
        turn.repeat(1000),
        sends.repeat(1000)
    );
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("turns.ti");
    std::fs::write(&trace, text).unwrap();
    let ranks = operations(&*checked(&trace));
    let waits = waits(&ranks[0][0]);
    let expected = [(2, Until::Any), (2, Until::All), (1, Until::All)];
    assert_eq!(waits, expected.repeat(1000));
    let outcome = compare(&Case::of(ranks)).unwrap();
    assert_eq!(outcome.end, End::Complete);
}
