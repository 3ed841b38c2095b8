//! The operations of a GOAL schedule.

use super::graph::{After, Graph, Losses, Node, Task};
use anyhow::Context;
use flitwise_formats::Problem;
use flitwise_formats::goal::{self, Schedule};
use std::sync::Arc;

const PS_PER_UNIT: u64 = 1000;

/// Times are picoseconds in 64 bits.
const TOO_LONG: &str =
    "a calc of more than 18446744073709551 ns is beyond the range of time; correct it";

pub(super) fn graph(schedule: &Schedule, losses: &mut Losses) -> anyhow::Result<Graph> {
    let mut graph = Graph::default();
    for rank in 0..schedule.ranks() {
        let mut block = schedule.rank(rank)?;
        let mut nodes = Vec::with_capacity(block.len() as usize);
        let mut edges = Vec::new();
        for index in 0..block.len() {
            let node = block.node(index)?;
            losses.add(
                u64::from(node.op.nic > 0),
                "messages lose the number of their NIC",
            );
            nodes.push(Node {
                task: task(&node.op.task).with_context(|| Problem {
                    path: Arc::clone(schedule.path()),
                    place: Some(node.place),
                    message: TOO_LONG.into(),
                })?,
                after: Vec::new(),
                cpu: node.op.cpu,
                place: Some(node.place.into()),
                edge: None,
            });
            block.successors(index, &node, |of, kind| edges.push((of, index, kind)))?;
        }
        for (of, on, kind) in edges {
            // The block has made sure of both.
            if let Some(node) = nodes.get_mut(of as usize) {
                node.after.push(After { on, kind });
            }
        }
        graph.ranks.push(nodes);
    }
    Ok(graph)
}

fn task(task: &goal::Task) -> Option<Task> {
    Some(match *task {
        goal::Task::Calc { time } => Task::Calc {
            ps: time.checked_mul(PS_PER_UNIT)?,
        },
        goal::Task::Send { bytes, to, tag } => Task::Send { to, tag, bytes },
        goal::Task::Recv { bytes, from, tag } => Task::Recv { from, tag, bytes },
    })
}
