//! Speed of the readers and checks of GOAL and TI, on generated rings of messages:
//! `cargo bench -p flitwise-formats --bench goal_ti [-- OPERATIONS]`, 5 million of them unless said otherwise.
//! Prints the median of five runs, by the clock and by the CPU time of the calling thread.

mod measure;

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;

use flitwise_formats::goal::{self, Builder, Dependency, Kind, Op, Schedule, Task};
use flitwise_formats::ti::{self, Trace};
use measure::{millions_per_second, peak_mb};

const RANKS: u32 = 64;

fn main() {
    let args = std::env::args().skip(1);
    let operations: u64 = args
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(5_000_000);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [bin, text, list] = ["ring.bin", "ring.goal", "ring.txt"].map(|name| dir.path().join(name));
    write_goal(&bin, &text, operations);
    median("GOAL, binary: operations", operations, || {
        let schedule = Schedule::open(&bin).expect("a valid schedule");
        for rank in 0..schedule.ranks() {
            let mut block = schedule.rank(rank).expect("a valid rank");
            for index in 0..block.len() {
                black_box(&block.node(index).expect("a valid operation"));
            }
        }
    });
    median("GOAL, binary: with successors", operations, || {
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
    });
    median("GOAL, binary: check", operations, || {
        assert!(goal::check_file(&bin).expect("a valid schedule").is_clean());
    });
    median("GOAL, text: opened", operations, || {
        black_box(Schedule::open(&text).expect("a valid schedule"));
    });
    let mb = std::fs::metadata(&text).map_or(0, |meta| meta.len()) / 1_000_000;
    println!("(the text has {mb} MB)");
    write_ti(&list, operations);
    median("TI, files of ranks: actions", operations, || {
        let trace = Trace::open(&list).expect("a valid trace");
        for rank in 0..trace.ranks() {
            for action in trace.rank(rank).expect("a rank") {
                black_box(&action.expect("a valid action"));
            }
        }
    });
    median("TI, files of ranks: check", operations, || {
        assert!(ti::check_file(&list).expect("a valid trace").is_clean());
    });
    println!("peak memory: {} MB", peak_mb());
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
            let kind = Kind::Done;
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

fn median(name: &str, operations: u64, run: impl FnMut()) {
    let (wall, cpu) = millions_per_second(operations, run);
    println!("{name:30} {wall:6.1} M operations/s by the clock, {cpu:6.1} by CPU time");
}
