//! The operations of a schedule.

use super::graph::{After, Brings, Entry, Graph, Key, Losses, NO_COMM, Node, Task};
use crate::program::RankId;
use crate::trace::goal::Scheduled;
use anyhow::Context;
use flitwise_formats::Problem;
use flitwise_formats::goal;
use hashbrown::HashMap;
use std::sync::Arc;

/// Times are picoseconds in 64 bits.
const TOO_LONG: &str =
    "a calc of more than 18446744073709551 ns is beyond the range of time; correct it";

pub(super) fn graph(scheduled: &Scheduled, losses: &mut Losses) -> anyhow::Result<Graph> {
    let mut graph = Graph {
        has_rendezvous: true,
        ..Graph::default()
    };
    let schedule = &scheduled.schedule;
    for rank in 0..schedule.ranks() {
        let mut block = schedule.rank(rank)?;
        let mut nodes = Vec::with_capacity(block.len() as usize);
        let mut edges = Vec::new();
        let mut calls = HashMap::new();
        for index in 0..block.len() {
            let node = block.node(index)?;
            losses.add(
                u64::from(node.op.nic > 0),
                "messages lose the number of their NIC",
            );
            nodes.push(Node {
                task: task(scheduled, rank, &node.op.task, &mut calls).with_context(|| {
                    Problem {
                        path: Arc::clone(schedule.path_of(rank)),
                        place: Some(node.place),
                        message: TOO_LONG.into(),
                    }
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

/// A task of `rank`, with the number of its calls of collectives on each communicator.
fn task(
    scheduled: &Scheduled,
    rank: u32,
    task: &goal::Task,
    calls: &mut HashMap<u32, u32>,
) -> Option<Task> {
    Some(match *task {
        goal::Task::Calc { .. } | goal::Task::Work { .. } => Task::Calc {
            ps: scheduled.compute_ps(task)?,
        },
        goal::Task::Send { bytes, to, tag } => Task::Send {
            to,
            comm: NO_COMM,
            tag,
            bytes,
        },
        goal::Task::Recv { bytes, from, tag } => Task::Recv {
            from,
            comm: NO_COMM,
            tag,
            bytes,
        },
        goal::Task::Collective { .. } => {
            let (comm, contribution) = scheduled.collective(task)?;
            let number = calls.entry(comm.id.get()).or_default();
            let key = Key::Call(comm.id.get(), *number);
            *number += 1;
            let me = RankId::new(rank);
            let me = comm.members.iter().position(|member| *member == me)?;
            Task::Collective(Arc::new(Entry {
                key,
                members: Arc::clone(&comm.members),
                me: me as u32,
                brings: Brings::Own(contribution),
            }))
        }
    })
}
