//! When the operations of the ranks begin on an ideal network.

use super::super::expand::{Ends, expand};
use super::super::from_program::{self, Firsts, Marks};
use super::super::graph::{Graph, Losses, Task};
use super::super::ideal::{self, Calcs, Course};
use super::super::{endless, to_vef};
use super::Step;
use crate::mpi::{Call, CommId, RequestId};
use crate::program::{Listed, Op, RankId};
use crate::trace::TraceFile;
use anyhow::{Context, anyhow};
use hashbrown::HashMap;
use std::path::Path;

/// A message that a receive takes.
pub struct Taken {
    pub from: u32,
    pub tag: u32,
    pub bytes: u64,
    pub sent_ps: u64,
}

/// The operations of all ranks on an ideal network.
pub struct Timed {
    graph: Graph,
    firsts: Firsts,
    ends: Ends,
    course: Course,
}

impl Timed {
    pub fn of(
        file: &dyn TraceFile,
        name: &Path,
        ranks: &[Vec<Step>],
        calcs: Calcs,
    ) -> anyhow::Result<Self> {
        let mut losses = Losses::default();
        let op = |rank: RankId, at: usize| Some(ranks.get(rank.index())?.get(at)?.op.clone());
        let mut listed = Listed::new(ranks.len(), op);
        let (graph, firsts) = from_program::graph(&mut listed, name, Marks::All, &mut losses)?;
        // As VEF has them: collectives that it lacks are as fast as their messages.
        let kept = to_vef::kept(&graph, &mut losses);
        let (graph, ends) =
            expand(graph, &kept, &mut losses).with_context(|| name.display().to_string())?;
        let course = ideal::run(&graph, calcs, u64::MAX)
            .map_err(|stalled| anyhow!("{}: {}", name.display(), endless(file, name, &stalled)))?;
        Ok(Self {
            graph,
            firsts,
            ends,
            course,
        })
    }

    /// The start and the end of an operation of the graph.
    fn times(&self, rank: u32, node: u32) -> [u64; 2] {
        let (first, last) = self.ends.of(rank, node);
        let of_rank = self.course.times.get(rank as usize);
        let at = |node: u32| of_rank.and_then(|times| times.get(node as usize)).copied();
        let ([start, _], [_, end]) = (at(first).unwrap_or_default(), at(last).unwrap_or_default());
        [start, end]
    }

    /// The operation of the graph that is the computation of a step, or its first one.
    fn first(&self, rank: u32, step: usize) -> u32 {
        let of_rank = self.firsts.get(rank as usize);
        of_rank
            .and_then(|firsts| firsts.get(step))
            .copied()
            .unwrap_or(0)
    }

    /// The operation of the graph behind the computation of a step.
    fn node(&self, rank: u32, step: usize, op: &Op) -> u32 {
        self.first(rank, step) + u32::from(op.compute_ps > 0)
    }

    /// How long the computation of a step takes.
    pub fn computes_ps(&self, rank: u32, step: usize, op: &Op) -> u64 {
        if op.compute_ps == 0 {
            return 0;
        }
        let [start, end] = self.times(rank, self.first(rank, step));
        end - start
    }

    /// The message that a step takes, if it takes one.
    pub fn taken(&self, rank: u32, step: usize, op: &Op) -> Option<Taken> {
        let (node, _) = self.ends.of(rank, self.node(rank, step, op));
        let &(from, send) = self.course.taken.get(rank as usize)?.get(&node)?;
        let sends = self.graph.ranks.get(from as usize)?;
        match sends.get(send as usize)?.task {
            Task::Send { tag, bytes, .. } => Some(Taken {
                from,
                tag,
                bytes,
                sent_ps: self.course.times.get(from as usize)?.get(send as usize)?[0],
            }),
            _ => None,
        }
    }

    /// By rank and step: when it begins, after its computation.
    pub fn starts(&self, ranks: &[Vec<Step>]) -> Vec<Vec<u64>> {
        let ranks = (0..).zip(ranks);
        ranks
            .map(|(rank, steps)| self.starts_of(rank, steps))
            .collect()
    }

    fn starts_of(&self, rank: u32, steps: &[Step]) -> Vec<u64> {
        let mut now = 0;
        // When the operation of each request is complete.
        let mut open: HashMap<RequestId, u64> = HashMap::new();
        let mut starts = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            if step.op.compute_ps > 0 {
                now = self.times(rank, self.first(rank, at))[1];
            }
            starts.push(now);
            match step.op.action.call() {
                Some(
                    Call::Send { request, .. }
                    | Call::Receive { request, .. }
                    | Call::Collective { request, .. },
                ) => {
                    let [_, end] = self.times(rank, self.node(rank, at, &step.op));
                    match request {
                        Some(request) => drop(open.insert(*request, end)),
                        None => now = now.max(end),
                    }
                }
                Some(Call::Wait { requests, .. }) => {
                    let ends = requests.iter().filter_map(|one| open.remove(one));
                    now = ends.fold(now, u64::max);
                }
                Some(Call::Free { requests }) => requests.iter().for_each(|one| {
                    open.remove(one);
                }),
                Some(Call::Probe { .. }) | None => {}
            }
        }
        starts
    }
}

/// Counts the collectives of a rank on each communicator: the n-th calls of its members are one collective.
#[derive(Default)]
pub(super) struct Counted(HashMap<CommId, u32>);

impl Counted {
    /// The number of the next one on `comm`.
    pub fn next(&mut self, comm: CommId) -> (CommId, u32) {
        let count = self.0.entry(comm).or_default();
        *count += 1;
        (comm, *count - 1)
    }
}
