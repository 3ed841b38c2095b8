//! The calls of a killed program, as far as all ranks have come.

use super::reach::{Reach, is_spare};
use crate::mpi::{Call, CommId, RequestId};
use crate::program::{Action, Op, Program, RankId, RegionId, StreamId};
use hashbrown::HashSet;
use std::sync::Arc;

/// A program without the operations that lack their counterpart.
pub(super) struct Cut<P> {
    program: P,
    reach: Arc<Reach>,
    ranks: Vec<Rank>,
}

#[derive(Default, Clone)]
struct Rank {
    /// The number of its operations so far.
    count: u32,
    ended: bool,
    /// Requests of operations that are left out.
    left_out: HashSet<RequestId>,
}

impl<P: Program> Cut<P> {
    pub fn new(program: P, reach: Arc<Reach>) -> Self {
        Self {
            ranks: vec![Rank::default(); program.ranks() as usize],
            program,
            reach,
        }
    }
}

impl Rank {
    /// The operation without those that are left out.
    fn keep(&mut self, mut op: Op, is_left_out: bool) -> Op {
        let Action::Mpi(call) = &mut op.action else {
            return op;
        };
        let is_empty = match &mut **call {
            Call::Send { request, .. }
            | Call::Receive { request, .. }
            | Call::Collective { request, .. } => {
                if is_left_out {
                    self.left_out.extend(*request);
                }
                is_left_out
            }
            Call::Wait { requests, .. } | Call::Free { requests } => {
                if !self.left_out.is_empty() {
                    let all = requests.iter().copied();
                    *requests = all.filter(|one| !self.left_out.remove(one)).collect();
                }
                requests.is_empty()
            }
            Call::Probe { .. } => false,
        };
        if is_empty {
            op.action = Action::Marker;
        }
        op
    }
}

impl<P: Program> Program for Cut<P> {
    fn ranks(&self) -> u32 {
        self.program.ranks()
    }

    fn next(&mut self, rank: RankId, stream: StreamId) -> anyhow::Result<Option<Op>> {
        let Some(state) = self.ranks.get_mut(rank.index()) else {
            return Ok(None);
        };
        if state.ended {
            return Ok(None);
        }
        let Some(mut op) = self.program.next(rank, stream)? else {
            return Ok(None);
        };
        if is_spare(&op) {
            return Ok(Some(op));
        }
        let number = state.count;
        state.count = number.saturating_add(1);
        let end = self.reach.ends.get(rank.index()).copied().flatten();
        if end.is_some_and(|end| number >= end) {
            state.ended = true;
            op.action = Action::Marker;
            return Ok(Some(op));
        }
        let is_left_out = self.reach.left_out.contains(&(rank, number));
        Ok(Some(state.keep(op, is_left_out)))
    }

    fn communicator(&self, rank: RankId, comm: CommId) -> String {
        self.program.communicator(rank, comm)
    }

    fn region(&self, region: RegionId) -> &str {
        self.program.region(region)
    }

    fn unrecorded_receives(&self) -> Option<&'static str> {
        self.program.unrecorded_receives()
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.ranks.fill(Rank::default());
        self.program.restart()
    }
}
