//! The communicators of a program. Every rank makes all of them at its start: communicators without a common member by one
//! `MPI_Comm_split` of all ranks, whose keys give the order of their members.

use super::super::slice::Step;
use crate::mpi::{Call, CommId};
use crate::program::RankId;
use anyhow::Context;
use flitwise_formats::dumpi::Comm;
use flitwise_formats::dumpi::call::CommSplit;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// `MPI_COMM_WORLD`.
const WORLD: CommId = CommId::new(0);

/// The colour of a rank that gets no communicator: the `MPI_UNDEFINED` of Open MPI.
const UNDEFINED: i32 = -32766;

/// A call of `MPI_Comm_split` by all ranks: by rank its communicator, the colour of this one, and the place in it.
#[derive(Default)]
struct Split {
    of: HashMap<RankId, (CommId, i32, i32)>,
    colors: i32,
}

/// All communicators.
pub(super) struct Communicators {
    splits: Vec<Split>,
    /// The places of ranks in communicators.
    places: HashMap<(CommId, RankId), i32>,
}

impl Communicators {
    /// The communicators of these ranks. One without a collective has all ranks: nothing tells less.
    pub fn of(ranks: &[Vec<Step>]) -> Self {
        let all: Arc<[RankId]> = RankId::all(ranks.len() as u32).collect();
        let mut members: BTreeMap<CommId, Arc<[RankId]>> = BTreeMap::new();
        for call in ranks
            .iter()
            .flatten()
            .filter_map(|step| step.op.action.call())
        {
            match call {
                Call::Collective { comm, .. } => {
                    members.insert(comm.id, Arc::clone(&comm.members));
                }
                Call::Send { comm, .. } | Call::Receive { comm, .. } | Call::Probe { comm, .. } => {
                    members.entry(*comm).or_insert_with(|| Arc::clone(&all));
                }
                Call::Free { .. } | Call::Wait { .. } => {}
            }
        }
        let mut communicators = Self {
            splits: Vec::new(),
            places: HashMap::new(),
        };
        for (id, members) in members {
            communicators.add(id, &members, members == all);
        }
        communicators
    }

    fn add(&mut self, id: CommId, members: &[RankId], is_all: bool) {
        let places = (0..i32::MAX).zip(members.iter().copied());
        (self.places).extend(places.clone().map(|(place, member)| ((id, member), place)));
        if id == WORLD && is_all {
            return;
        }
        let is_free = |split: &Split| !members.iter().any(|member| split.of.contains_key(member));
        let at = self.splits.iter().position(is_free).unwrap_or_else(|| {
            self.splits.push(Split::default());
            self.splits.len() - 1
        });
        if let Some(split) = self.splits.get_mut(at) {
            (split.of).extend(places.map(|(place, member)| (member, (id, split.colors, place))));
            split.colors += 1;
        }
    }

    /// The splits that `rank` makes, in order, and the numbers that its file has for communicators.
    pub fn of_rank(&self, rank: RankId) -> anyhow::Result<(Vec<CommSplit>, HashMap<CommId, Comm>)> {
        let mut handles = HashMap::from([(WORLD, Comm::WORLD)]);
        let mut next = Comm::USER.0;
        let mut splits = Vec::with_capacity(self.splits.len());
        for split in &self.splits {
            let mut made = CommSplit {
                oldcomm: Comm::WORLD,
                color: UNDEFINED,
                key: 0,
                newcomm: Comm::NULL,
            };
            if let Some(&(id, color, key)) = split.of.get(&rank) {
                (made.color, made.key, made.newcomm) = (color, key, Comm(next));
                handles.insert(id, Comm(next));
                next = next.checked_add(1).context("has 2^15 communicators")?;
            }
            splits.push(made);
        }
        Ok((splits, handles))
    }

    /// The place of `member` in `comm`.
    pub fn place(&self, comm: CommId, member: RankId) -> anyhow::Result<i32> {
        let place = self.places.get(&(comm, member)).copied();
        place.with_context(|| format!("rank {member} is not a member of its communicator"))
    }
}
