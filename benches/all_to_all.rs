//! The all-to-all of budget 1g as recorded programs: a binary GOAL schedule, and DUMPI files of the calls.

use crate::dumpi_files;
use flitwise_formats::goal::{self, Builder, Dependency, DependencyKind, Op, Task};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Bytes that a rank sends to each other rank.
const BLOCK: u64 = 4096;

/// In which order the ranks of a schedule exchange their blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All at once, as the collective in memory does: a rank sends to all others and receives from all.
    Linear,
    /// In step k rank r sends to rank r + k, and receives from rank r - k before it goes on.
    Pairwise,
}

/// Writes the messages of `rounds` all-to-alls among `ranks` ranks to `path`.
pub fn write_goal(path: &Path, ranks: u32, rounds: u64, order: Order) {
    let mut builder = Builder::new(path, ranks).expect("space");
    for rank in 0..ranks {
        let mut before = Vec::new();
        for _ in 0..rounds {
            match order {
                Order::Pairwise => {
                    for step in 1..ranks {
                        let both = block(rank, step, ranks);
                        before = wave(&mut builder, &both, &before);
                    }
                }
                Order::Linear => {
                    let all: Vec<_> = (1..ranks).map(|step| block(rank, step, ranks)).collect();
                    let sends = all.iter().map(|[send, _]| *send);
                    let receives = all.iter().map(|[_, receive]| *receive);
                    let all: Vec<_> = sends.chain(receives).collect();
                    let exchanged = wave(&mut builder, &all, &before);
                    before = wave(&mut builder, &[Task::Calc { time: 0 }], &exchanged);
                }
            }
        }
        builder.end_rank().expect("space");
    }
    let schedule = builder.finish().expect("space");
    let file = std::fs::File::create(path).expect("a file");
    let mut out = BufWriter::new(file);
    goal::write::binary(&schedule, &mut out).expect("space");
    out.flush().expect("space");
}

/// The send and the receive of rank `rank` whose peers are `step` ranks away.
fn block(rank: u32, step: u32, ranks: u32) -> [Task; 2] {
    [
        Task::Send {
            bytes: BLOCK,
            to: (rank + step) % ranks,
            tag: 0,
        },
        Task::Recv {
            bytes: BLOCK,
            from: Some((rank + ranks - step) % ranks),
            tag: Some(0),
        },
    ]
}

/// Adds operations that start when all of `before` are done.
fn wave(builder: &mut Builder, tasks: &[Task], before: &[u32]) -> Vec<u32> {
    let added: Vec<u32> = (tasks.iter())
        .map(|&task| builder.op(Op::new(task)).expect("space"))
        .collect();
    for (of, &on) in added
        .iter()
        .flat_map(|&of| before.iter().map(move |on| (of, on)))
    {
        let kind = DependencyKind::Done;
        let dependency = Dependency { of, on, kind };
        builder.dependency(dependency).expect("space");
    }
    added
}

/// Writes the files of `ranks` ranks that call `MPI_Alltoall` `rounds` times into the directory `dir`.
pub fn write_dumpi(dir: &Path, ranks: u32, rounds: u64) {
    const BYTE: i64 = 5;
    const WORLD: i64 = 2;
    for rank in 0..ranks {
        let mut file = dumpi_files::File::default();
        let mut call = |name: &str, values: &[dumpi_files::Value], at: u64| {
            let at = (0, at as u32);
            let head = dumpi_files::Head {
                cpu: [at; 2],
                wall: [at; 2],
                ..dumpi_files::Head::default()
            };
            file.record(dumpi_files::function(name), head, values);
        };
        call("MPI_Init", &[dumpi_files::Value::List(Vec::new())], 0);
        for round in 1..=rounds {
            let (count, of) = (|| (BLOCK as i64).into(), || BYTE.into());
            let values = [count(), of(), count(), of(), WORLD.into()];
            call("MPI_Alltoall", &values, round);
        }
        call("MPI_Finalize", &[], rounds + 1);
        let path = dir.join(format!("all-to-all-{rank:04}.bin"));
        std::fs::write(path, file.bytes()).expect("space");
    }
}
