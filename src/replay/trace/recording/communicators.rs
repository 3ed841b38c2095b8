//! Communicators as a replay knows them.

use crate::mpi::{CommId, Communicator};
use crate::program::RankId;
use flitwise_formats::recording::{Communicators, Ranks, Resolved};
use hashbrown::HashMap;
use std::sync::Arc;

/// A communicator as a rank sees it.
#[derive(Debug)]
pub(super) struct Comm {
    pub id: CommId,
    /// All members, of both groups if there are two, in one order for all.
    pub all: Arc<Communicator>,
    /// The ranks that the numbers of peers mean.
    pub peers: Arc<[RankId]>,
    /// Of a communicator between two groups, whether the other one is the second of all members.
    pub others_are_second: Option<bool>,
    /// The neighbours of the rank, from which it receives and to which it sends.
    pub neighbours: Option<[Box<[Option<u32>]>; 2]>,
    /// Whether all members are in the recording.
    pub is_whole: bool,
}

/// The messages that share a communicator without meeting one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Messages = 0,
    Neighbours = 1,
    Partitioned = 2,
}

/// The communicators of all ranks.
pub(super) struct Comms {
    /// By rank and id.
    of_rank: Vec<HashMap<u32, Arc<Comm>>>,
    /// The function that made each, by rank and id.
    made: Communicators,
    /// How many there are: as many numbers has each [context](Context).
    count: u32,
}

impl Comms {
    /// The communicators of all ranks.
    pub fn new(made: Communicators) -> Self {
        let ranks = made.len() as u32;
        let numbers = made.iter().flat_map(|of_rank| of_rank.values());
        let most = numbers.map(|comm| comm.number).max().unwrap_or(0);
        let mut interner = Interner::default();
        let of_rank = (made.iter())
            .map(|of_rank| {
                let comms = of_rank.iter();
                let comms = comms.map(|(&id, comm)| (id, Arc::new(interner.comm(comm, ranks))));
                comms.collect()
            })
            .collect();
        Self {
            of_rank,
            made,
            count: most.saturating_add(1),
        }
    }

    /// The communicator with this id in the process of `rank`.
    pub fn get(&self, rank: RankId, id: u32) -> Option<&Arc<Comm>> {
        self.of_rank.get(rank.index())?.get(&id)
    }

    /// Whether calls on some of them may be impossible to replay.
    pub fn are_odd(&self) -> bool {
        let mut all = self.of_rank.iter().flat_map(HashMap::values);
        all.any(|comm| !comm.is_whole || comm.others_are_second.is_some())
    }

    /// The number of messages on a communicator in a context.
    pub fn within(&self, comm: CommId, context: Context) -> CommId {
        let first = self.count.saturating_mul(context as u32);
        CommId::new(first.saturating_add(comm.get()))
    }

    /// The name of a communicator of `rank` in messages.
    pub fn name(&self, rank: RankId, comm: CommId) -> String {
        let number = comm.get() % self.count;
        let of_rank = self.made.get(rank.index()).into_iter().flatten();
        let mut of_rank = of_rank.filter(|(_, comm)| comm.number == number);
        match of_rank.next() {
            Some((0, _)) => "MPI_COMM_WORLD".to_owned(),
            Some((1, _)) => "MPI_COMM_SELF".to_owned(),
            Some((id, comm)) => format!("communicator {id} of {}", comm.maker),
            None => "a communicator of other ranks".to_owned(),
        }
    }
}

/// Lists of members that communicators and ranks share.
#[derive(Default)]
struct Interner {
    /// By the list of the recording.
    lists: HashMap<usize, Arc<[RankId]>>,
    all: HashMap<u32, Arc<Communicator>>,
}

impl Interner {
    fn list(&mut self, ranks: &Ranks) -> Arc<[RankId]> {
        let key = ranks.as_ptr().addr();
        let list = self.lists.entry(key);
        let list = list.or_insert_with(|| ranks.iter().copied().map(RankId::new).collect());
        Arc::clone(list)
    }

    fn comm(&mut self, comm: &Resolved, ranks: u32) -> Comm {
        let (own, peers) = (self.list(&comm.members), self.list(comm.peers()));
        let others_are_second = comm.others.as_ref().map(|others| comm.members < *others);
        let all = self.all.entry(comm.number).or_insert_with(|| {
            let members = match others_are_second {
                None => Arc::clone(&own),
                Some(true) => [&own[..], &peers[..]].concat().into(),
                Some(false) => [&peers[..], &own[..]].concat().into(),
            };
            let id = CommId::new(comm.number);
            Arc::new(Communicator { id, members })
        });
        Comm {
            id: all.id,
            is_whole: all.members.iter().all(|member| member.get() < ranks),
            all: Arc::clone(all),
            peers,
            others_are_second,
            neighbours: comm.neighbours.clone(),
        }
    }
}
