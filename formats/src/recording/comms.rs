//! Communicators, for which each process has ids of its own: two are the same if maker, members, number and parents agree.

use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::Communicator;
use super::wire::Sequence;
use crate::limits::{MAX_COMM_MEMBERS, MAX_CONSTRUCTIONS};

/// Ranks of `MPI_COMM_WORLD`, in the order of a communicator.
pub type Ranks = Arc<[u32]>;

/// A communicator as a rank sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Its number, the same for all its members: 0 is `MPI_COMM_WORLD`.
    pub number: u32,
    /// The members of the rank's own group. The number of all ranks stands for a process that is not in the recording.
    pub members: Ranks,
    /// The members of the other group of a communicator between two.
    pub others: Option<Ranks>,
    /// The neighbours of the rank: from which it receives and to which it sends; `None` for `MPI_PROC_NULL`.
    pub neighbours: Option<[Box<[Option<u32>]>; 2]>,
    /// The function that made it.
    pub maker: Arc<str>,
}

impl Resolved {
    /// The ranks that the numbers of peers mean.
    #[must_use]
    pub fn peers(&self) -> &Ranks {
        self.others.as_ref().unwrap_or(&self.members)
    }
}

/// The communicators of all ranks, by id.
pub type Communicators = Vec<BTreeMap<u32, Resolved>>;

/// A communicator before its number is known.
#[derive(Debug, PartialEq, Eq)]
struct Defined {
    parent: u32,
    nth: u64,
    maker: Arc<str>,
    members: u32,
    others: Option<u32>,
    neighbours: Option<[Box<[Option<u32>]>; 2]>,
}

/// Gathers the communicators of all ranks.
#[derive(Debug)]
pub struct Matching {
    ranks: u32,
    /// Lists of ranks by the bytes of their runs, as places in `lists`.
    encoded: HashMap<Box<[u8]>, u32>,
    known: HashMap<Ranks, u32>,
    lists: Vec<Ranks>,
    defined: Vec<BTreeMap<u32, Defined>>,
    /// Numbers in all lists, and communicators of all ranks.
    numbers: usize,
    count: usize,
}

/// The call by which communicators of two ranks belong together.
type Key = (Arc<str>, [u32; 2], u64, Option<u32>);

/// Made by a call that was not recorded: nothing tells its number.
const UNKNOWN: &str = "unknown";

impl Matching {
    /// None so far, of `ranks` ranks.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            encoded: HashMap::new(),
            known: HashMap::new(),
            lists: Vec::new(),
            defined: (0..ranks).map(|_| BTreeMap::new()).collect(),
            numbers: 0,
            count: 0,
        }
    }

    /// Adds a communicator of `rank`.
    ///
    /// # Errors
    /// The reason why it makes no sense.
    pub fn add(&mut self, rank: u32, comm: &Communicator<'_>) -> Result<(), String> {
        let members = self.list(comm.members)?;
        let others = comm.others.map(|others| self.list(others)).transpose()?;
        let id = comm.id;
        let list = |at: u32| self.lists.get(at as usize).map_or(&[][..], |list| list);
        let own = list(members);
        if own.iter().filter(|&&member| member == rank).count() != 1 {
            return Err(format!("communicator {id} does not have its own rank once"));
        }
        let is_world =
            own.len() == self.ranks as usize && (0..).zip(own).all(|(at, &member)| at == member);
        if id == 0 && (others.is_some() || !is_world) {
            return Err("MPI_COMM_WORLD does not have all ranks in their order".to_owned());
        }
        if comm.parent > id {
            return Err(format!(
                "communicator {id} is made from communicator {}, which is made later",
                comm.parent
            ));
        }
        let neighbours = match &comm.neighbours {
            None => None,
            Some(neighbours) => {
                let size = own.len();
                let sides = [neighbours.sources, neighbours.destinations];
                let [sources, destinations] = sides.map(|side| ranks_of(side, size));
                Some([sources?, destinations?])
            }
        };
        let lengths = neighbours.iter().flatten().map(|side| side.len());
        self.numbers += lengths.sum::<usize>();
        self.count += 1;
        self.has_room()?;
        let defined = Defined {
            parent: comm.parent,
            nth: comm.nth,
            maker: Arc::clone(&comm.maker.name),
            members,
            others,
            neighbours,
        };
        let Some(of_rank) = self.defined.get_mut(rank as usize) else {
            return Ok(());
        };
        // Each thread describes those that it uses.
        match of_rank.get(&id) {
            Some(before) if *before != defined => {
                Err(format!("communicator {id} is described in two ways"))
            }
            Some(_) => Ok(()),
            None => {
                of_rank.insert(id, defined);
                Ok(())
            }
        }
    }

    fn has_room(&self) -> Result<(), String> {
        if self.count > MAX_CONSTRUCTIONS || self.numbers > MAX_COMM_MEMBERS {
            return Err("there are too many communicators to follow them".to_owned());
        }
        Ok(())
    }

    /// The place of a list of ranks among all lists.
    fn list(&mut self, sequence: Sequence<'_>) -> Result<u32, String> {
        if let Some(&at) = self.encoded.get(sequence.bytes()) {
            return Ok(at);
        }
        let member = |number: i64| {
            let rank = u32::try_from(number)
                .ok()
                .filter(|&rank| rank <= self.ranks);
            rank.ok_or_else(|| format!("a communicator has rank {number}, which does not exist"))
        };
        let list: Ranks = sequence.iter().map(member).collect::<Result<_, _>>()?;
        self.numbers += list.len() + sequence.bytes().len();
        self.has_room()?;
        let next = self.lists.len() as u32;
        let at = *self.known.entry(Arc::clone(&list)).or_insert(next);
        if at == next {
            self.lists.push(list);
        }
        self.encoded.insert(sequence.bytes().into(), at);
        Ok(at)
    }

    /// Matches the communicators of the ranks.
    ///
    /// # Errors
    /// The rank whose communicators make no sense, and why.
    pub fn finish(mut self) -> Result<Communicators, (u32, String)> {
        let mut numbers: HashMap<Key, u32> = HashMap::new();
        let mut made = Vec::with_capacity(self.defined.len());
        let defined = std::mem::take(&mut self.defined);
        for (rank, of_rank) in (0..).zip(defined) {
            let resolved = self.of_rank(of_rank, &mut numbers);
            made.push(resolved.map_err(|why| (rank, why))?);
        }
        Ok(made)
    }

    fn of_rank(
        &self,
        defined: BTreeMap<u32, Defined>,
        numbers: &mut HashMap<Key, u32>,
    ) -> Result<BTreeMap<u32, Resolved>, String> {
        let mut resolved: BTreeMap<u32, Resolved> = BTreeMap::new();
        let mut unknown: HashMap<[u32; 2], u64> = HashMap::new();
        let list = |at: u32| self.lists.get(at as usize).cloned().unwrap_or_default();
        // A parent has a smaller id.
        for (id, comm) in defined {
            let others = comm.others.unwrap_or(u32::MAX);
            let groups = [comm.members.min(others), comm.members.max(others)];
            let by_two = &*comm.maker == "MPI_Intercomm_create";
            let parent = match comm.parent {
                parent if parent == id || by_two => None,
                parent => match resolved.get(&parent) {
                    Some(parent) => Some(parent.number),
                    None => {
                        return Err(format!(
                            "communicator {id} is made from communicator {parent}, which no record describes"
                        ));
                    }
                },
            };
            let nth = match &*comm.maker {
                UNKNOWN => {
                    let before = unknown.entry(groups).or_default();
                    *before += 1;
                    *before
                }
                _ => comm.nth,
            };
            let key = (Arc::clone(&comm.maker), groups, nth, parent);
            // MPI_COMM_WORLD is number 0.
            let next = numbers.len() as u32 + 1;
            let number = match id {
                0 => 0,
                _ => *numbers.entry(key).or_insert(next),
            };
            resolved.insert(
                id,
                Resolved {
                    number,
                    members: list(comm.members),
                    others: comm.others.map(list),
                    neighbours: comm.neighbours,
                    maker: comm.maker,
                },
            );
        }
        Ok(resolved)
    }
}

/// Ranks of a communicator with `size` members; −1 is none.
fn ranks_of(sequence: Sequence<'_>, size: usize) -> Result<Box<[Option<u32>]>, String> {
    let rank = |number: i64| match u32::try_from(number) {
        Ok(rank) if (rank as usize) < size => Ok(Some(rank)),
        Err(_) if number == -1 => Ok(None),
        _ => Err(format!(
            "a communicator of {size} ranks has rank {number} as a neighbour"
        )),
    };
    sequence.iter().map(rank).collect()
}
