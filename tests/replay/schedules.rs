//! Random GOAL schedules against the longest path through them.
//!
//! Each calc has a CPU of its own and each message a tag of its own, and all messages take equally long, so that none waits for
//! one that was sent before: nothing but dependencies and messages decides when an operation starts.

use crate::naive::Case;
use crate::naive::fabric::{play, replay_of};
use flitwise::fabric::workload::Workload;
use flitwise::replay::IntraNode;
use flitwise::replay::trace::{Reading, check_file};
use flitwise::stop::Stop;
use flitwise::units::Ratio;
use proptest::prelude::*;
use std::fmt::Write as _;

const RANKS: usize = 4;
/// Nanoseconds of a message, whatever its size.
const LATENCY: u64 = 100;

#[derive(Debug, Clone, Copy)]
enum Task {
    Calc(u64),
    Send(usize, u64),
    /// The operation that sends, and the size.
    Recv(usize, u64),
}

#[derive(Debug)]
struct Op {
    rank: usize,
    task: Task,
    /// What it waits for: the operation, and true for its end.
    after: Vec<(usize, bool)>,
}

/// Operations in an order in which each may be carried out.
fn operations(pieces: &[[u8; 10]]) -> Vec<Op> {
    let mut ops: Vec<Op> = Vec::new();
    for piece in pieces {
        let (rank, to) = (usize::from(piece[0]) % RANKS, usize::from(piece[1]) % RANKS);
        let amount = u64::from(piece[2]) * 7;
        let mut add = |rank: usize, task, picks: &[u8]| {
            let earlier: Vec<usize> = (0..ops.len()).filter(|&op| ops[op].rank == rank).collect();
            let mut after: Vec<(usize, bool)> = Vec::new();
            for &pick in picks {
                let pick = usize::from(pick);
                // Often there is nothing to wait for.
                if let Some(&op) = earlier.get(pick / 2 % (2 * earlier.len().max(1)))
                    && after.iter().all(|&(other, _)| other != op)
                {
                    after.push((op, pick % 2 == 0));
                }
            }
            ops.push(Op { rank, task, after });
            ops.len() - 1
        };
        if piece[3] % 2 == 0 {
            add(rank, Task::Calc(amount), &piece[4..7]);
        } else {
            let send = add(rank, Task::Send(to, amount), &piece[4..7]);
            add(to, Task::Recv(send, amount), &piece[7..10]);
        }
    }
    ops
}

/// When the last operation is done: each starts when all that it waits for has happened.
fn longest_path(ops: &[Op]) -> u64 {
    let mut times: Vec<(u64, u64)> = Vec::new();
    for op in ops {
        let events = op
            .after
            .iter()
            .map(|&(other, end)| if end { times[other].1 } else { times[other].0 });
        let start = events.max().unwrap_or(0);
        let done = match op.task {
            Task::Calc(time) => start + time,
            Task::Send(..) => start,
            Task::Recv(send, _) => start.max(times[send].0 + LATENCY),
        };
        times.push((start, done));
    }
    times.iter().map(|&(_, done)| done).max().unwrap_or(0)
}

fn text(ops: &[Op]) -> String {
    let mut text = format!("num_ranks {RANKS}\n");
    for rank in 0..RANKS {
        writeln!(text, "rank {rank} {{").unwrap();
        let mut cpu = 0;
        for (number, op) in ops.iter().enumerate().filter(|(_, op)| op.rank == rank) {
            match op.task {
                Task::Calc(time) => {
                    cpu += 1;
                    writeln!(text, "o{number}: calc {time} cpu {cpu}").unwrap();
                }
                Task::Send(to, bytes) => {
                    writeln!(text, "o{number}: send {bytes}b to {to} tag {number}").unwrap();
                }
                Task::Recv(send, bytes) => {
                    let from = ops[send].rank;
                    writeln!(text, "o{number}: recv {bytes}b from {from} tag {send}").unwrap();
                }
            }
            for &(other, end) in &op.after {
                let word = if end { "requires" } else { "irequires" };
                writeln!(text, "o{number} {word} o{other}").unwrap();
            }
        }
        text.push_str("}\n");
    }
    text
}

/// Execution time of a schedule in nanoseconds, all ranks on one node.
fn replayed(text: &str) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.goal");
    std::fs::write(&path, text).unwrap();
    let file = check_file(&path, Stop::never()).unwrap();
    let program = file.open(&Reading::default(), Stop::never()).unwrap();
    let case = Case {
        nics: vec![0; RANKS],
        intra_node: IntraNode {
            latency_ps: LATENCY * 1000,
            // A message takes a few picoseconds more at most.
            bytes_per_s: Ratio::whole(1_000_000_000_000_000),
        },
        ..Case::of(vec![vec![]; RANKS])
    };
    let mut replay = replay_of(&case, program);
    play(&mut replay, false);
    assert!(
        replay.finished(),
        "{:?} {:#?}",
        replay.error(),
        replay.stall_report()
    );
    let outcome = replay.outcomes().remove(0);
    assert!(outcome.complete);
    outcome.execution_ps / 1000
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schedules_take_their_longest_path(
        pieces in prop::collection::vec(any::<[u8; 10]>(), 1..60),
    ) {
        let ops = operations(&pieces);
        let text = text(&ops);
        prop_assert_eq!(replayed(&text), longest_path(&ops), "{}", text);
    }
}
