//! GOAL and TI: rings of messages.

use crate::measure::Bench;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;

use flitwise_formats::goal::{self, Builder, Dependency, DependencyKind, Op, Schedule, Task};
use flitwise_formats::ti::{self, Trace};

const RANKS: u32 = 64;

/// 5 million operations times the scale.
pub fn run(bench: &mut Bench) {
    let operations = bench.scaled(5_000_000);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [bin, text, list] = ["ring.bin", "ring.goal", "ring.txt"].map(|name| dir.path().join(name));
    write_goal(&bin, &text, operations);
    bench.rate(
        "GOAL, binary: operations",
        "M operations/s",
        operations,
        || {
            let schedule = Schedule::open(&bin).expect("a valid schedule");
            for rank in 0..schedule.ranks() {
                let mut block = schedule.rank(rank).expect("a valid rank");
                for index in 0..block.len() {
                    black_box(&block.node(index).expect("a valid operation"));
                }
            }
        },
    );
    bench.rate(
        "GOAL, binary: with successors",
        "M operations/s",
        operations,
        || {
            let schedule = Schedule::open(&bin).expect("a valid schedule");
            for rank in 0..schedule.ranks() {
                let mut block = schedule.rank(rank).expect("a valid rank");
                for index in 0..block.len() {
                    let node = block.node(index).expect("a valid operation");
                    let each = |of, kind| {
                        black_box((of, kind));
                    };
                    block.successors(index, &node, each).expect("valid lists");
                }
            }
        },
    );
    bench.rate("GOAL, binary: check", "M operations/s", operations, || {
        assert!(goal::check_file(&bin).expect("a valid schedule").is_clean());
    });
    bench.rate("GOAL, text: opened", "M operations/s", operations, || {
        black_box(Schedule::open(&text).expect("a valid schedule"));
    });
    let mb = std::fs::metadata(&text).map_or(0, |meta| meta.len()) / 1_000_000;
    println!("(the text has {mb} MB)");
    write_ti(&list, operations);
    bench.rate(
        "TI, files of ranks: actions",
        "M operations/s",
        operations,
        || {
            let trace = Trace::open(&list).expect("a valid trace");
            for rank in 0..trace.ranks() {
                for action in trace.rank(rank).expect("a rank") {
                    black_box(&action.expect("a valid action"));
                }
            }
        },
    );
    bench.rate(
        "TI, files of ranks: check",
        "M operations/s",
        operations,
        || {
            assert!(ti::check_file(&list).expect("a valid trace").is_clean());
        },
    );
}

/// Each rank computes, sends to the next and receives from the one before, again and again.
fn write_goal(bin: &Path, text: &Path, operations: u64) {
    let rounds = operations / 3 / u64::from(RANKS);
    let mut builder = Builder::new(bin, RANKS).expect("space");
    for rank in 0..RANKS {
        let mut last = None;
        for round in 0..rounds {
            let (bytes, tag) = (1024 + round % 999, (round % 1000) as u32);
            let (to, from) = ((rank + 1) % RANKS, Some((rank + RANKS - 1) % RANKS));
            let tasks = [
                Task::Calc { time: 1000 + round },
                Task::Send { bytes, to, tag },
                Task::Recv {
                    bytes,
                    from,
                    tag: Some(tag),
                },
            ];
            let [calc, send, recv] = tasks.map(|task| builder.op(Op::new(task)).expect("space"));
            let kind = DependencyKind::Done;
            let first = last.map(|on| Dependency { of: calc, on, kind });
            let others = [send, recv].map(|of| Dependency { of, on: calc, kind });
            for dependency in first.into_iter().chain(others) {
                builder.dependency(dependency).expect("space");
            }
            last = Some(recv);
        }
        builder.end_rank().expect("space");
    }
    let schedule = builder.finish().expect("space");
    let create = |path| BufWriter::new(File::create(path).expect("a file"));
    let (mut binary, mut written) = (create(bin), create(text));
    goal::write::binary(&schedule, &mut binary).expect("space");
    goal::write::text(&schedule, &mut written).expect("space");
    binary.flush().and(written.flush()).expect("space");
}

fn write_ti(list: &Path, operations: u64) {
    let rounds = operations / 4 / u64::from(RANKS);
    let mut names = File::create(list).expect("a file");
    for rank in 0..RANKS {
        let name = format!("rank-{rank}.txt");
        writeln!(names, "{name}").expect("space");
        let mut out = BufWriter::new(File::create(list.with_file_name(name)).expect("a file"));
        writeln!(out, "{rank} init").expect("space");
        for round in 0..rounds {
            let (tag, count) = (round % 1000, 100 + round % 99);
            let (to, from) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS);
            writeln!(
                out,
                "{rank} compute {}\n{rank} irecv {from} {tag} {count} 0\n{rank} send {to} {tag} {count} 0\n\
                 {rank} wait {from} {rank} {tag}",
                1000 + round
            )
            .expect("space");
        }
        writeln!(out, "{rank} finalize").expect("space");
    }
}
