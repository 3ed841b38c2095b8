//! Communicators of an archive.

use std::sync::Arc;

use hashbrown::HashMap;

/// The members of a group.
#[derive(Debug, Clone)]
pub enum Members {
    /// These ranks of the world, in this order.
    Ranks {
        /// The ranks.
        ranks: Arc<[u32]>,
        /// Whether events name peers by their ranks in the world.
        global: bool,
    },
    /// Each rank by itself.
    Own,
    /// No ranks of MPI.
    Others,
}

impl Members {
    /// The ranks of the group of which `me` is a member.
    #[must_use]
    pub fn ranks(&self, me: u32) -> Option<Arc<[u32]>> {
        match self {
            Self::Ranks { ranks, .. } => Some(Arc::clone(ranks)),
            Self::Own => Some(Arc::new([me])),
            Self::Others => None,
        }
    }

    /// Whether `rank` is a member.
    #[must_use]
    pub fn has(&self, rank: u32) -> bool {
        match self {
            Self::Ranks { ranks, .. } => ranks.contains(&rank),
            Self::Own => true,
            Self::Others => false,
        }
    }
}

/// A communicator.
#[derive(Debug, Clone)]
pub struct Comm {
    /// Its name in the archive; empty if it has none.
    pub name: Box<str>,
    /// Its members; of a communicator between two groups the first one.
    pub first: Members,
    /// The second group.
    pub second: Option<Members>,
}

impl Comm {
    pub(super) fn new(name: Box<str>, [first, second]: [Option<Members>; 2]) -> Self {
        let first = first.unwrap_or(Members::Others);
        Self {
            name,
            first,
            second,
        }
    }
}

/// All communicators.
#[derive(Debug, Default)]
pub struct Comms {
    all: Vec<Comm>,
    by_id: HashMap<u32, u32>,
}

impl Comms {
    pub(super) fn add(&mut self, id: u32, comm: Comm) {
        let place = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.by_id.insert(id, place);
        self.all.push(comm);
    }

    /// The place of the communicator with this number, and the communicator.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<(u32, &Comm)> {
        let place = *self.by_id.get(&id)?;
        Some((place, self.all.get(place as usize)?))
    }

    /// The communicator at this place.
    #[must_use]
    pub fn at(&self, place: u32) -> Option<&Comm> {
        self.all.get(place as usize)
    }

    /// Number of communicators.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// A communicator as one of its members sees it.
#[derive(Debug)]
pub struct Seen {
    /// Its place among the communicators.
    pub place: u32,
    /// The group of the rank.
    pub own: Arc<[u32]>,
    /// The number of the rank in its group.
    pub me: u32,
    /// The other group, and whether it is the first one.
    pub others: Option<(Arc<[u32]>, bool)>,
    /// Whether each rank has a communicator of its own.
    pub is_self: bool,
    global: bool,
    ranks: u32,
}

impl Seen {
    /// The rank that an event names by this number.
    ///
    /// # Errors
    /// If there is none.
    pub fn peer(&self, number: u32) -> Result<u32, String> {
        if self.global && self.others.is_none() {
            return Some(number)
                .filter(|&rank| rank < self.ranks)
                .ok_or_else(|| {
                    format!(
                        "there is no rank {number}: the ranks are 0 to {}",
                        self.ranks - 1
                    )
                });
        }
        let peers = self.others.as_ref().map_or(&self.own, |(others, _)| others);
        peers.get(number as usize).copied().ok_or_else(|| {
            format!(
                "there is no rank {number} in the communicator, which has {} ranks",
                peers.len()
            )
        })
    }

    /// The place in the group of the root that an event of a collective in one group names.
    ///
    /// # Errors
    /// If there is none.
    pub fn root(&self, number: u32) -> Result<u32, String> {
        let rank = self.peer(number)?;
        if !self.global {
            return Ok(number);
        }
        let place = self.own.iter().position(|&member| member == rank);
        place
            .and_then(|place| u32::try_from(place).ok())
            .ok_or_else(|| format!("root {number} is not in the communicator"))
    }
}

/// The communicators as a rank sees them.
#[derive(Debug)]
pub struct View {
    rank: u32,
    ranks: u32,
    seen: HashMap<u32, Arc<Seen>>,
}

impl View {
    /// The view of `rank`, one of `ranks`.
    #[must_use]
    pub fn new(rank: u32, ranks: u32) -> Self {
        Self {
            rank,
            ranks,
            seen: HashMap::new(),
        }
    }

    /// The communicator with this number.
    ///
    /// # Errors
    /// If there is none, or the rank is no member.
    pub fn get(&mut self, comms: &Comms, id: u32) -> Result<&Arc<Seen>, String> {
        if !self.seen.contains_key(&id) {
            let seen = self.look(comms, id)?;
            self.seen.insert(id, Arc::new(seen));
        }
        self.seen.get(&id).ok_or_else(String::new)
    }

    fn look(&self, comms: &Comms, id: u32) -> Result<Seen, String> {
        let undefined = || format!("communicator {id} has no definition with ranks of MPI");
        let (place, comm) = comms.get(id).ok_or_else(undefined)?;
        let first = comm.first.ranks(self.rank).ok_or_else(undefined)?;
        let second = match &comm.second {
            None => None,
            Some(second) => Some(second.ranks(self.rank).ok_or_else(undefined)?),
        };
        let at = |group: &[u32]| group.iter().position(|&member| member == self.rank);
        let (own, others, me) = match (at(&first), second) {
            (Some(me), None) => (first, None, me),
            (Some(me), Some(second)) => (first, Some((second, false)), me),
            (None, Some(second)) if at(&second).is_some() => {
                let me = at(&second).unwrap_or_default();
                (second, Some((first, true)), me)
            }
            (None, _) => {
                return Err(format!(
                    "rank {} is no member of communicator {id}",
                    self.rank
                ));
            }
        };
        Ok(Seen {
            place,
            own,
            me: u32::try_from(me).unwrap_or(u32::MAX),
            others,
            is_self: matches!(comm.first, Members::Own),
            global: matches!(comm.first, Members::Ranks { global: true, .. }),
            ranks: self.ranks,
        })
    }
}
