//! Writes operations as a GOAL schedule.

use super::graph::{Graph, Losses, Node, Task};
use super::ideal::Course;
use anyhow::bail;
use flitwise_formats::goal::{self, Builder, Dependency, Op, Schedule};
use std::path::Path;

const PS_PER_UNIT: u64 = 1000;

/// The schedule of operations without collectives. Receives get the size of the message that they take in `course`.
pub(super) fn schedule(
    name: &Path,
    graph: &Graph,
    course: &Course,
    losses: &mut Losses,
) -> anyhow::Result<Schedule> {
    let mut builder = Builder::new(name, graph.ranks.len() as u32)?;
    for (nodes, taken) in graph.ranks.iter().zip(&course.taken) {
        for (index, node) in (0..).zip(nodes) {
            let sent = taken
                .get(&index)
                .map(|&(rank, send)| bytes(graph, rank, send));
            let mut op = Op::new(task(node, sent.unwrap_or(0), losses)?);
            op.cpu = node.cpu;
            builder.op(op)?;
        }
        for (of, node) in (0..).zip(nodes) {
            for after in &node.after {
                builder.dependency(Dependency {
                    of,
                    on: after.on,
                    kind: after.kind,
                })?;
            }
        }
        builder.end_rank()?;
    }
    Ok(builder.finish()?)
}

/// Size of a send.
fn bytes(graph: &Graph, rank: u32, send: u32) -> u64 {
    let nodes = graph.ranks.get(rank as usize);
    match nodes.and_then(|nodes| nodes.get(send as usize)) {
        Some(Node {
            task: Task::Send { bytes, .. },
            ..
        }) => *bytes,
        _ => 0,
    }
}

fn task(node: &Node, sent: u64, losses: &mut Losses) -> anyhow::Result<goal::Task> {
    Ok(match node.task {
        Task::Calc { ps } => {
            losses.add(
                u64::from(!ps.is_multiple_of(PS_PER_UNIT)),
                "computations are rounded to nanoseconds",
            );
            let time = ps / PS_PER_UNIT + u64::from(ps % PS_PER_UNIT >= PS_PER_UNIT / 2);
            goal::Task::Calc { time }
        }
        Task::Send { to, tag, bytes, .. } => goal::Task::Send { bytes, to, tag },
        Task::Recv { from, tag, .. } => {
            let bytes = sent;
            goal::Task::Recv { bytes, from, tag }
        }
        Task::Collective(_) => bail!("a schedule has no collectives"),
    })
}
