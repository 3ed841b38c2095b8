//! Communicators, for which each rank has numbers of its own: they are matched by the calls with which their members
//! made them.
//!
//! The k-th constructor that a member calls on a communicator belongs to the k-th of every other member. So the histories of all
//! ranks are walked side by side; a rank waits at a constructor until all members have come to it.

use super::groups::{Groups, Making, Members};
use super::history::{Between, Construction, Event, What};
use super::members::{Made, cart_subs, create, first, settle, split};
use crate::mpi::{CommId, Communicator};
use crate::program::RankId;
use flitwise_formats::Problem;
use flitwise_formats::dumpi::{self, Comm, Set};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// A communicator as a rank that is in it sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The rank's own side.
    pub own: Arc<Communicator>,
    /// Of a communicator between two groups.
    pub others: Option<Others>,
    /// Of a grid.
    pub dims: Option<Box<[i32]>>,
}

/// The part of a communicator between two groups besides the rank's own side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Others {
    /// The other side.
    pub members: Members,
    /// Both sides, in one order for all.
    pub both: Arc<Communicator>,
    /// The rank's own side is the first of both.
    pub are_second: bool,
}

impl Resolved {
    /// The ranks that the numbers of peers mean.
    pub fn peers(&self) -> &Members {
        (self.others.as_ref()).map_or(&self.own.members, |others| &others.members)
    }

    /// Both sides.
    fn size(&self) -> usize {
        self.own.members.len() + self.others.as_ref().map_or(0, |o| o.members.len())
    }
}

/// `MPI_COMM_WORLD` of `n` ranks.
pub(super) fn world(n: u32) -> Arc<Resolved> {
    resolved(0, RankId::all(n).collect())
}

/// `MPI_COMM_SELF` of a rank.
pub(super) fn only(rank: RankId) -> Arc<Resolved> {
    resolved(1 + rank.get(), Arc::new([rank]))
}

fn resolved(id: u32, members: Members) -> Arc<Resolved> {
    let id = CommId::new(id);
    Arc::new(Resolved {
        own: Arc::new(Communicator { id, members }),
        others: None,
        dims: None,
    })
}

/// The number that the file of `rank` has for the communicator with this id.
pub(super) fn name(made: &Constructed, rank: RankId, id: CommId) -> String {
    let ranks = made.len() as u32;
    match id.get() {
        0 => return Comm::WORLD.to_string(),
        id if id <= ranks => return Comm::SELF.to_string(),
        _ => {}
    }
    let of_rank = made.get(rank.index()).into_iter().flatten().flatten();
    let mut of_rank = of_rank.filter(|(_, comm)| comm.own.id == id);
    let handle = of_rank.next().map(|(handle, _)| handle.to_string());
    handle.unwrap_or_else(|| "a communicator of other ranks".to_owned())
}

/// By rank, what each of its constructors made, in order, and how its file calls it; `None` where it is not a member or the
/// members are not known.
pub(super) type Constructed = Vec<Box<[Option<(Comm, Arc<Resolved>)>]>>;

/// The reason why ranks do not agree on a communicator, and the cure.
const OTHER_RUN: &str = "the files are not of one run, or a function that is not recorded made communicators; give files of \
                         one run, or record it again without such functions";

/// Finds the communicators that all ranks made.
///
/// # Errors
/// If the histories do not fit together.
pub(super) fn resolve(histories: Vec<Vec<Event>>, set: &Set) -> Result<Constructed, Box<Problem>> {
    let mut resolver = Resolver::new(histories, set);
    while let Some(rank) = resolver.ready.pop_front() {
        resolver.advance(rank)?;
    }
    resolver.finish()
}

/// The progress of a rank through its history.
struct Walker {
    next: usize,
    comms: HashMap<Comm, Arc<Resolved>>,
    groups: Groups,
    /// Constructors that it has called on each communicator.
    calls: HashMap<CommId, u32>,
    made: Vec<Option<(Comm, Arc<Resolved>)>>,
}

/// One side of a communicator between groups; all its members have called the constructor.
struct Side {
    parent: Arc<Resolved>,
    arrived: Vec<RankId>,
}

struct Resolver<'s> {
    set: &'s Set,
    histories: Vec<Vec<Event>>,
    walkers: Vec<Walker>,
    /// The members that have reached a constructor: the k-th on a communicator.
    meetings: HashMap<(CommId, u32), Vec<RankId>>,
    /// Sides that wait for the other one: by both leaders, ascending, the communicator between them and the tag.
    sides: HashMap<(RankId, RankId, CommId, i32), Side>,
    ready: VecDeque<RankId>,
    next_id: u32,
}

impl<'s> Resolver<'s> {
    fn new(histories: Vec<Vec<Event>>, set: &'s Set) -> Self {
        let n = histories.len() as u32;
        let world = world(n);
        let walker = |rank| Walker {
            next: 0,
            comms: [(Comm::WORLD, Arc::clone(&world)), (Comm::SELF, only(rank))]
                .into_iter()
                .collect(),
            groups: Groups::default(),
            calls: HashMap::new(),
            made: Vec::new(),
        };
        Self {
            set,
            histories,
            walkers: RankId::all(n).map(walker).collect(),
            meetings: HashMap::new(),
            sides: HashMap::new(),
            ready: RankId::all(n).collect(),
            next_id: 1 + n,
        }
    }

    /// The constructor at which a rank waits.
    fn event(&self, rank: RankId) -> Option<&Event> {
        self.histories[rank.index()].get(self.walkers[rank.index()].next)
    }

    /// Advances a rank to its next constructor.
    fn advance(&mut self, rank: RankId) -> Result<(), Box<Problem>> {
        let at = rank.index();
        while let Some(event) = self.histories[at].get(self.walkers[at].next) {
            let walker = &mut self.walkers[at];
            match &event.what {
                What::Group { new, making } => {
                    let of_comm = walker.members_for(making);
                    walker.groups.make(*new, making, of_comm);
                }
                What::Free(comm) => {
                    walker.comms.remove(comm);
                }
                What::Comm { new, construction } => {
                    let parent = construction.parent();
                    match parent.and_then(|parent| walker.comms.get(&parent)) {
                        Some(parent) => {
                            let parent = Arc::clone(parent);
                            return self.meet(rank, parent);
                        }
                        None => {
                            walker.comms.remove(new);
                            walker.made.push(None);
                        }
                    }
                }
            }
            self.walkers[at].next += 1;
        }
        Ok(())
    }

    /// Notes that a rank has reached a constructor on `parent`.
    fn meet(&mut self, rank: RankId, parent: Arc<Resolved>) -> Result<(), Box<Problem>> {
        let id = parent.own.id;
        let number = self.walkers[rank.index()].calls.entry(id).or_default();
        let key = (id, *number);
        *number += 1;
        let arrived = self.meetings.entry(key).or_default();
        arrived.push(rank);
        let Some(Event {
            what: What::Comm { construction, .. },
            ..
        }) = self.event(rank)
        else {
            return Ok(());
        };
        let all = match construction {
            Construction::Between(_) => parent.own.members.len(),
            _ => parent.size(),
        };
        if self
            .meetings
            .get(&key)
            .is_none_or(|arrived| arrived.len() < all)
        {
            return Ok(());
        }
        let arrived = self.meetings.remove(&key).unwrap_or_default();
        self.complete(parent, arrived)
    }

    /// Refuses members that call another function than the first one.
    fn check_functions(&self, arrived: &[RankId]) -> Result<(), Box<Problem>> {
        let of = &arrived[0];
        let function = self.event(*of).map(|event| event.function);
        let other = |rank: &&RankId| self.event(**rank).map(|event| event.function) != function;
        if let (Some(&rank), Some(function)) = (arrived.iter().find(other), function) {
            let message = format!(
                "rank {of} calls {function} in its place, on the same communicator: {OTHER_RUN}"
            );
            return Err(self.problem(rank, message));
        }
        Ok(())
    }

    /// Called when all members have arrived.
    fn complete(
        &mut self,
        parent: Arc<Resolved>,
        mut arrived: Vec<RankId>,
    ) -> Result<(), Box<Problem>> {
        self.check_functions(&arrived)?;
        // In the order of the communicator, its first side first.
        let places: HashMap<RankId, usize> = (parent.own.members.iter())
            .chain(
                parent
                    .others
                    .iter()
                    .flat_map(|others| others.members.iter()),
            )
            .copied()
            .zip(0..)
            .collect();
        arrived.sort_unstable_by_key(|rank| places.get(rank).copied());
        let constructions: Vec<Construction> = (arrived.iter())
            .filter_map(|&rank| match &self.event(rank)?.what {
                What::Comm { construction, .. } => Some(construction.clone()),
                _ => None,
            })
            .collect();
        let made = match &constructions[0] {
            Construction::Between(between) => {
                let between = *between;
                return self.between(between, parent, arrived);
            }
            Construction::Merge { .. } => merge(&parent, &constructions),
            _ if parent.others.is_some() => match constructions[0] {
                Construction::Dup { .. } => Made::both_sides(&parent),
                _ => Made::default(),
            },
            Construction::Dup { .. } => Made::one(parent.own.members.to_vec(), parent.dims.clone()),
            Construction::Split { .. } => split(&parent, &constructions, &self.excluded(&arrived)),
            Construction::Create { .. } => {
                let groups = constructions.iter().zip(&arrived);
                let groups = groups.map(|(construction, rank)| match construction {
                    Construction::Create { group, .. } => {
                        self.walkers[rank.index()].groups.get(*group)
                    }
                    _ => None,
                });
                create(groups.collect(), &arrived, &self.excluded(&arrived))
            }
            Construction::Cart { dims, .. } => first(&parent, dims, Some(dims.clone())),
            Construction::Graph { nodes, .. } => first(&parent, &[*nodes], None),
            Construction::CartSub { keep, .. } => cart_subs(&parent, keep),
            Construction::Foreign => Made::default(),
        };
        self.give(&arrived, made)
    }

    /// For each of these ranks, whether its constructor returned no communicator.
    fn excluded(&self, ranks: &[RankId]) -> Vec<bool> {
        let null = |&rank: &RankId| match self.event(rank).map(|event| &event.what) {
            Some(What::Comm { new, .. }) => *new == Comm::NULL,
            _ => true,
        };
        ranks.iter().map(null).collect()
    }

    /// One side of a communicator between groups is complete.
    fn between(
        &mut self,
        said: Between,
        parent: Arc<Resolved>,
        arrived: Vec<RankId>,
    ) -> Result<(), Box<Problem>> {
        let member = |of: &Members, at: i32| Some(*of.get(usize::try_from(at).ok()?)?);
        // Only the leader says where the other side is.
        let leader = member(&parent.own.members, said.leader);
        let of_leader = leader.and_then(|leader| match &self.event(leader)?.what {
            What::Comm {
                construction: Construction::Between(between),
                ..
            } => Some((leader, *between)),
            _ => None,
        });
        let found = of_leader.and_then(|(leader, said)| {
            let peer = self.walkers[leader.index()].comms.get(&said.peer)?;
            let other = member(peer.peers(), said.remote_leader)?;
            Some((leader.min(other), leader.max(other), peer.own.id, said.tag))
        });
        let Some(key) = found else {
            return self.give(&arrived, Made::default());
        };
        let side = Side { parent, arrived };
        let Some(other) = self.sides.remove(&key) else {
            self.sides.insert(key, side);
            return Ok(());
        };
        let made = Made::between(&other.parent.own.members, &side.parent.own.members);
        let all = [other.arrived, side.arrived].concat();
        self.give(&all, made)
    }

    /// Gives ranks their communicators, and lets them continue.
    fn give(&mut self, arrived: &[RankId], made: Made) -> Result<(), Box<Problem>> {
        let mut of_rank: HashMap<RankId, Arc<Resolved>> = HashMap::new();
        for one in made.0 {
            let id = CommId::new(self.next_id);
            self.next_id = self.next_id.saturating_add(1);
            let sides = [Some(one.members), one.others];
            let mut sides = sides.map(|side| side.map(|side| self.settled(side)).transpose());
            let [own, others] = &mut sides;
            let take = |side: &mut Result<_, _>| std::mem::replace(side, Ok(None));
            let (own, others) = (take(own)?, take(others)?);
            let mut give = |own: &Members, others: Option<Others>| {
                let members = Arc::clone(own);
                let seen = Arc::new(Resolved {
                    own: Arc::new(Communicator { id, members }),
                    others,
                    dims: one.dims.clone(),
                });
                of_rank.extend(own.iter().map(|&rank| (rank, Arc::clone(&seen))));
            };
            let Some(own) = own else { continue };
            let Some(others) = others else {
                give(&own, None);
                continue;
            };
            let members = own.iter().chain(others.iter()).copied().collect();
            let both = Arc::new(Communicator { id, members });
            for (own, members, are_second) in [(&own, &others, true), (&others, &own, false)] {
                let (members, both) = (Arc::clone(members), Arc::clone(&both));
                let others = Others {
                    members,
                    both,
                    are_second,
                };
                give(own, Some(others));
            }
        }
        for &rank in arrived {
            self.go_on(rank, of_rank.remove(&rank));
        }
        Ok(())
    }

    /// The members in their order, found from the answers that they got.
    fn settled(&self, members: Vec<RankId>) -> Result<Members, Box<Problem>> {
        let said = |&rank: &RankId| self.event(rank).and_then(|event| event.rank_said);
        let said: Vec<Option<i32>> = members.iter().map(said).collect();
        for &rank in &members {
            let size = self.event(rank).and_then(|event| event.size_said);
            if let Some(size) = size.filter(|&size| usize::try_from(size) != Ok(members.len())) {
                let message = format!(
                    "makes a communicator of {} ranks, but MPI_Comm_size says {size}: {OTHER_RUN}",
                    members.len()
                );
                return Err(self.problem(rank, message));
            }
        }
        match settle(&members, &said) {
            Ok(members) => Ok(members),
            Err((rank, said)) => {
                let message = format!(
                    "makes a communicator in which two ranks are number {said}: {OTHER_RUN}"
                );
                Err(self.problem(rank, message))
            }
        }
    }

    fn go_on(&mut self, rank: RankId, made: Option<Arc<Resolved>>) {
        let at = rank.index();
        let walker = &mut self.walkers[at];
        if let Some(Event {
            what: What::Comm { new, .. },
            ..
        }) = self.histories[at].get(walker.next)
        {
            match &made {
                Some(made) => walker.comms.insert(*new, Arc::clone(made)),
                None => walker.comms.remove(new),
            };
            walker.made.push(made.map(|made| (*new, made)));
        }
        walker.next += 1;
        self.ready.push_back(rank);
    }

    #[cold]
    fn problem(&self, rank: RankId, message: String) -> Box<Problem> {
        let event = self.event(rank);
        let problem = dumpi::Problem {
            offset: event.map_or(0, |event| event.offset),
            within: event.map(|event| event.function.name()),
            message,
        };
        let file = self.set.file(rank.get()).unwrap_or(self.set.path());
        Box::new(problem.of(rank.get(), &file.into()))
    }

    /// When no rank can continue.
    fn finish(self) -> Result<Constructed, Box<Problem>> {
        let n = self.walkers.len() as u32;
        match RankId::all(n).find(|&rank| self.event(rank).is_some()) {
            None => Ok(self
                .walkers
                .into_iter()
                .map(|walker| walker.made.into())
                .collect()),
            Some(rank) => {
                let message = format!("not all members of its communicator call it: {OTHER_RUN}");
                Err(self.problem(rank, message))
            }
        }
    }
}

impl Walker {
    /// The members of the communicator from which a group is made.
    fn members_for(&self, making: &Making) -> Option<Members> {
        let Making::Of { comm, remote } = making else {
            return None;
        };
        let comm = self.comms.get(comm)?;
        Some(Arc::clone(if *remote {
            comm.peers()
        } else {
            &comm.own.members
        }))
    }
}

/// A communicator that is the same for both sides of another one.
fn merge(parent: &Resolved, constructions: &[Construction]) -> Made {
    let Some(others) = &parent.others else {
        return Made::default();
    };
    let sides = [&parent.own.members, &others.members];
    let high = |at: usize| {
        matches!(
            constructions.get(at),
            Some(Construction::Merge { high: true, .. })
        )
    };
    // The first of each side says where it is.
    let [a, b] = [high(0), high(parent.own.members.len())];
    let b_first = match (a, b) {
        (true, false) => true,
        (false, true) => false,
        // MPI leaves it open.
        _ => sides[1].first() < sides[0].first(),
    };
    let [a, b] = if b_first { [1, 0] } else { [0, 1] };
    Made::one([&sides[a][..], &sides[b][..]].concat(), None)
}
