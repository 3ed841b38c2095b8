//! The communicators of an archive, as the replay numbers them.

use crate::mpi::{CommId, Communicator};
use crate::program::RankId;
use flitwise_formats::otf2::{Archive, Members, Seen};
use hashbrown::HashMap;
use std::sync::Arc;

/// A communicator that several ranks have.
#[derive(Debug)]
struct SharedComm {
    /// Of one group: it; of two, both, the first one first.
    members: Arc<Communicator>,
    id: CommId,
}

/// All communicators. Both sides of one between two groups know its messages by one number, and its collectives by another.
#[derive(Debug)]
pub(super) struct Communicators {
    shared: HashMap<u32, SharedComm>,
    /// Numbers of the communicators that each rank has for itself, by place: the first rank's.
    own: HashMap<u32, u32>,
}

/// The reason why communicators can't be numbered.
const TOO_MANY: &str = "has more communicators than are told apart";

impl Communicators {
    /// The communicators of an archive.
    pub fn of(archive: &Archive) -> Result<Self, &'static str> {
        let comms = archive.comms();
        let mut found = Self {
            shared: HashMap::new(),
            own: HashMap::new(),
        };
        let mut next = 0_u32;
        let mut take = |n: u32| {
            let first = next;
            next = next.checked_add(n).ok_or(TOO_MANY)?;
            Ok(first)
        };
        let mut ids = |place: u32| -> Option<Result<(), &'static str>> {
            let comm = comms.at(place)?;
            let ranks = |members: &Members| match members {
                Members::Ranks { ranks, .. } => Some(Arc::clone(ranks)),
                Members::Own | Members::Others => None,
            };
            if matches!(comm.first, Members::Own) {
                let first = take(archive.ranks());
                return Some(first.map(|first| {
                    found.own.insert(place, first);
                }));
            }
            let mut all = ranks(&comm.first)?.to_vec();
            if let Some(second) = &comm.second {
                all.extend(ranks(second)?.iter());
            }
            Some(take(2).map(|id| {
                let members = all.into_iter().map(RankId::new).collect();
                let shared = SharedComm {
                    members: Arc::new(Communicator {
                        id: CommId::new(id),
                        members,
                    }),
                    id: CommId::new(id + 1),
                };
                found.shared.insert(place, shared);
            }))
        };
        for place in 0..comms.len() as u32 {
            ids(place).transpose()?;
        }
        Ok(found)
    }

    /// The number by which the messages of `rank` on a communicator are known.
    pub fn of_messages(&self, seen: &Seen, rank: RankId) -> CommId {
        match self.shared.get(&seen.place) {
            Some(shared) => shared.id,
            None => self.of_own(seen.place, rank),
        }
    }

    fn of_own(&self, place: u32, rank: RankId) -> CommId {
        let first = self.own.get(&place).copied().unwrap_or(u32::MAX);
        CommId::new(first.saturating_add(rank.get()))
    }

    /// The communicator of a collective.
    pub fn of_collectives(&self, seen: &Seen, rank: RankId) -> Arc<Communicator> {
        match self.shared.get(&seen.place) {
            Some(shared) => Arc::clone(&shared.members),
            None => Arc::new(Communicator {
                id: self.of_own(seen.place, rank),
                members: Arc::new([rank]),
            }),
        }
    }

    /// The place of the communicator that the replay knows by this number.
    pub fn place(&self, id: CommId, ranks: u32) -> Option<u32> {
        let shared = self.shared.iter();
        let mut shared = shared.filter(|(_, comm)| comm.id == id || comm.members.id == id);
        if let Some((&place, _)) = shared.next() {
            return Some(place);
        }
        let mut own = self.own.iter();
        own.find_map(|(&place, &first)| {
            let at = id.get().checked_sub(first)?;
            (at < ranks).then_some(place)
        })
    }
}
