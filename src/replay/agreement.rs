//! Whether the ranks of a trace of MPI calls agree: each message is sent and received, and all members of a communicator call
//! the same collectives on it.
//!
//! A replay finds out, too, but stalls at the first one, and it takes collectives of different sizes as they are.
//!
//! Memory: the messages that lack their counterpart so far, and the collectives of one member of each communicator.

use super::collectives::Plan;
use super::collectives::decide::Choices;
use super::mpi::{Call, CommId, Communicator, Tag};
use super::program::{
    Action, CollectiveKind, Contribution, Place, Program, RankId, RootedBlocks, StreamId,
};
use flitwise_formats::limits::{MAX_PROBLEMS, MAX_TRACKED_COLLECTIVES};
use flitwise_formats::matching::{Matching, Unmatched};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Something that ranks do not agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// The rank that is at odds with others.
    pub rank: RankId,
    /// The call of it; `None` if it lacks one.
    pub place: Option<Place>,
    /// What is wrong, and what to do.
    pub message: String,
}

/// What the ranks of a trace do not agree on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disagreements {
    /// Because of them a replay stalls or fails: the first 100.
    pub errors: Vec<Disagreement>,
    /// How many there are.
    pub error_total: u64,
    /// The replay takes each rank as it says: the first 100.
    pub warnings: Vec<Disagreement>,
    /// How many there are.
    pub warning_total: u64,
}

impl Disagreements {
    fn error(&mut self, rank: RankId, place: Option<Place>, message: String) {
        self.error_total += 1;
        keep(&mut self.errors, rank, place, message);
    }

    fn warning(&mut self, rank: RankId, place: Option<Place>, message: String) {
        self.warning_total += 1;
        keep(&mut self.warnings, rank, place, message);
    }
}

fn keep(list: &mut Vec<Disagreement>, rank: RankId, place: Option<Place>, message: String) {
    if list.len() < MAX_PROBLEMS {
        list.push(Disagreement {
            rank,
            place,
            message,
        });
    }
}

/// Compares the calls of all ranks of a program from its start. It looks at the first stream of each rank, in the order of the
/// ranks; operations other than calls of MPI do not count.
///
/// # Errors
/// If the trace can't be read.
///
/// # Examples
/// ```
/// use flitwise::replay::agreement::disagreements;
/// use flitwise::replay::program::StopCheck;
/// use flitwise::replay::trace::{Reading, check_file};
/// use std::path::Path;
///
/// let recording = Path::new("traces/dumpi/nas_dt_WH_W-11");
/// let file = check_file(recording, &mut || true)?.expect("nothing stops it");
/// let mut program = file.open(&Reading::default(), StopCheck::never())?;
/// assert!(disagreements(&mut *program)?.errors.is_empty());
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn disagreements(program: &mut dyn Program) -> anyhow::Result<Disagreements> {
    let mut checker = Checker::new(program.ranks());
    for rank in RankId::all(program.ranks()) {
        while let Some(op) = program.next(rank, StreamId::new(0))? {
            if let Action::Mpi(call) = &op.action {
                checker.call(rank, call, op.place);
            }
        }
    }
    Ok(checker.finish())
}

/// What a collective is, as far as its members have to agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    root: Option<u32>,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.root {
            Some(root) => write!(f, "{} with root {root}", self.name),
            None => f.write_str(self.name),
        }
    }
}

/// The collectives of a communicator as its first member calls them.
struct Called {
    members: Arc<[RankId]>,
    by: RankId,
    /// With the bytes that all have to know, and the place.
    calls: Vec<(Kind, u64, Place)>,
    /// Number of calls and the last one of each member that calls any.
    counts: BTreeMap<RankId, (u32, Place)>,
    /// A member calls other ones.
    differs: bool,
}

struct Checker {
    messages: Matching<Place>,
    /// What members of collectives send each other of which nobody else knows.
    exchanges: Matching<Place>,
    comms: BTreeMap<CommId, Called>,
    /// Members call different collectives, so that they also exchange different blocks.
    differ: bool,
    found: Disagreements,
}

impl Checker {
    fn new(ranks: u32) -> Self {
        Self {
            messages: Matching::new(ranks),
            exchanges: Matching::new(ranks),
            comms: BTreeMap::new(),
            differ: false,
            found: Disagreements::default(),
        }
    }

    fn call(&mut self, rank: RankId, call: &Call, place: Place) {
        match call {
            Call::Send { to, comm, tag, .. } => {
                let key = of_tag(*comm, *tag);
                self.messages.send(rank.get(), to.get(), key, place);
            }
            Call::Receive {
                from, comm, tag, ..
            } => {
                let key = tag.map(|tag| of_tag(*comm, tag));
                let from = from.map(RankId::get);
                self.messages.receive(from, rank.get(), key, place);
            }
            Call::Collective {
                comm, contribution, ..
            } => self.collective(rank, comm, contribution, place),
            Call::Probe { .. } | Call::Free { .. } | Call::Wait { .. } => {}
        }
    }

    fn collective(
        &mut self,
        rank: RankId,
        comm: &Communicator,
        contribution: &Contribution,
        place: Place,
    ) {
        let me = comm.members.iter().position(|&member| member == rank);
        let me = me.map_or(u32::MAX, |at| at as u32);
        let plan = Plan::of_member(contribution, me, comm.members.len(), &Choices::default());
        if let Err(e) = plan {
            self.differ = true;
            self.found.error(rank, Some(place), e.to_string());
        }
        let called = self.comms.entry(comm.id).or_insert_with(|| Called {
            members: Arc::clone(&comm.members),
            by: rank,
            calls: Vec::new(),
            counts: BTreeMap::new(),
            differs: false,
        });
        let (count, last) = called.counts.entry(rank).or_insert((0, place));
        let number = *count;
        *count += 1;
        *last = place;
        self.exchange(me, comm, number, contribution, place);
        self.compare(rank, comm.id, number, contribution, place);
    }

    /// Compares the collective with that of the first member.
    fn compare(
        &mut self,
        rank: RankId,
        comm: CommId,
        number: u32,
        contribution: &Contribution,
        place: Place,
    ) {
        let Some(called) = self.comms.get_mut(&comm) else {
            return;
        };
        let (kind, bytes) = agreed(contribution);
        if called.by == rank {
            if called.calls.len() < MAX_TRACKED_COLLECTIVES {
                called.calls.push((kind, bytes, place));
            }
            return;
        }
        let by = called.by;
        let Some(&(theirs, their_bytes, at)) = called.calls.get(number as usize) else {
            return;
        };
        if called.differs {
            return;
        }
        if theirs != kind {
            called.differs = true;
            self.differ = true;
            let message = format!(
                "collective {number} of communicator {comm} is {kind} here, but {theirs} at rank {by} ({at}); all members must \
                 call the same: the files are not of one run, or a function was not recorded"
            );
            self.found.error(rank, Some(place), message);
        } else if their_bytes != bytes {
            let message = format!(
                "collective {number} of communicator {comm}, {kind}, is of {bytes} bytes here, but of {their_bytes} at rank {by} \
                 ({at}); the replay takes each as its rank says"
            );
            self.found.warning(rank, Some(place), message);
        }
    }

    /// What the member sends to others and expects of them in a collective whose sizes not all know.
    fn exchange(
        &mut self,
        me: u32,
        comm: &Communicator,
        number: u32,
        contribution: &Contribution,
        place: Place,
    ) {
        let key = u64::from(comm.id.get()) << 32 | u64::from(number);
        let member = |at: u32| Some(comm.members.get(at as usize)?.get());
        let Some(rank) = member(me) else { return };
        let exchanges = &mut self.exchanges;
        let mut sends = |to: u32, bytes: u64| {
            if let Some(to) = member(to).filter(|_| to != me && bytes > 0) {
                exchanges.send(rank, to, key, place);
            }
        };
        match contribution {
            Contribution::Alltoallv { send, .. } => {
                (0..).zip(send).for_each(|(to, &bytes)| sends(to, bytes));
            }
            Contribution::Gatherv {
                root,
                blocks: RootedBlocks::Own(bytes),
            } => sends(*root, *bytes),
            Contribution::Scatterv {
                blocks: RootedBlocks::All(all),
                ..
            } => (0..).zip(all).for_each(|(to, &bytes)| sends(to, bytes)),
            _ => {}
        }
        let mut receives = |from: u32, bytes: u64| {
            if let Some(from) = member(from).filter(|_| from != me && bytes > 0) {
                exchanges.receive(Some(from), rank, Some(key), place);
            }
        };
        match contribution {
            Contribution::Alltoallv { receive, .. } => {
                (0..)
                    .zip(receive)
                    .for_each(|(from, &bytes)| receives(from, bytes));
            }
            Contribution::Scatterv {
                root,
                blocks: RootedBlocks::Own(bytes),
            } => receives(*root, *bytes),
            Contribution::Gatherv {
                blocks: RootedBlocks::All(all),
                ..
            } => (0..)
                .zip(all)
                .for_each(|(from, &bytes)| receives(from, bytes)),
            _ => {}
        }
    }

    fn finish(mut self) -> Disagreements {
        let messages = std::mem::replace(&mut self.messages, Matching::new(0)).finish();
        for unmatched in messages {
            self.unmatched(unmatched);
        }
        for (comm, called) in std::mem::take(&mut self.comms) {
            self.count(comm, &called);
        }
        if !self.differ {
            let exchanges = std::mem::replace(&mut self.exchanges, Matching::new(0)).finish();
            for unmatched in exchanges {
                self.unexchanged(unmatched);
            }
        }
        self.found
    }

    fn unmatched(&mut self, unmatched: Unmatched<Place>) {
        match unmatched {
            Unmatched::Sends {
                src,
                dst,
                tag,
                count,
                place,
            } => {
                let (comm, tag) = tag_of(tag);
                let message = format!(
                    "sends {count} more to rank {dst} with tag {tag} on communicator {comm} than it receives; this is the last \
                     one: record the program to its end"
                );
                self.found.error(RankId::new(src), Some(place), message);
            }
            Unmatched::Receives {
                src,
                dst,
                tag,
                count,
                place,
            } => {
                let (comm, tag) = tag_of(tag);
                let message = format!(
                    "receives {count} more from rank {src} with tag {tag} on communicator {comm} than are sent; this is the \
                     last one: record the program to its end"
                );
                self.found.error(RankId::new(dst), Some(place), message);
            }
            Unmatched::Numbers {
                dst,
                sends,
                receives,
            } => {
                let message = format!(
                    "receives {receives} messages, but {sends} are sent to it; record the program to its end"
                );
                self.found.error(RankId::new(dst), None, message);
            }
        }
    }

    fn unexchanged(&mut self, unmatched: Unmatched<Place>) {
        let (rank, place, message) = match unmatched {
            Unmatched::Sends {
                src,
                dst,
                tag,
                place,
                ..
            } => {
                let (comm, number) = ((tag >> 32) as u32, tag as u32);
                let message = format!(
                    "sends a block to rank {dst} in collective {number} of communicator {comm}, but that expects nothing of it"
                );
                (src, Some(place), message)
            }
            Unmatched::Receives {
                src,
                dst,
                tag,
                place,
                ..
            } => {
                let (comm, number) = ((tag >> 32) as u32, tag as u32);
                let message = format!(
                    "expects a block of rank {src} in collective {number} of communicator {comm}, but that sends it nothing"
                );
                (dst, Some(place), message)
            }
            Unmatched::Numbers {
                dst,
                sends,
                receives,
            } => {
                let message = format!(
                    "expects {receives} blocks of others in its collectives, but they send {sends}"
                );
                (dst, None, message)
            }
        };
        self.found.error(RankId::new(rank), place, message);
    }

    /// All members have to call as many collectives.
    fn count(&mut self, comm: CommId, called: &Called) {
        if called.differs {
            return;
        }
        let of = |rank: RankId| called.counts.get(&rank).map_or(0, |&(count, _)| count);
        let members = || called.members.iter().copied();
        let (Some(most), Some(fewest)) = (
            members().rev().max_by_key(|&m| of(m)),
            members().min_by_key(|&m| of(m)),
        ) else {
            return;
        };
        if of(most) == of(fewest) {
            return;
        }
        let collectives = match of(most) {
            1 => String::from("1 collective"),
            n => format!("{n} collectives"),
        };
        let message = format!(
            "calls {collectives} on communicator {comm}, of which this is the last, but rank {fewest} calls {}; all members must \
             call all: record the program to its end",
            of(fewest)
        );
        self.differ = true;
        let place = called.counts.get(&most).map(|&(_, place)| place);
        self.found.error(most, place, message);
    }
}

/// The key of messages with a tag on a communicator.
fn of_tag(comm: CommId, tag: Tag) -> u64 {
    u64::from(comm.get()) << 32 | u64::from(tag.0.cast_unsigned())
}

/// Communicator and tag of a key.
fn tag_of(key: u64) -> (u32, i32) {
    ((key >> 32) as u32, (key as u32).cast_signed())
}

/// What all members have to agree on, and bytes that all know: of blocks their sum.
fn agreed(contribution: &Contribution) -> (Kind, u64) {
    let kind = match contribution {
        Contribution::Known(kind) => kind,
        Contribution::Gatherv { root, .. } => return (rooted("gatherv", *root), 0),
        Contribution::Scatterv { root, .. } => return (rooted("scatterv", *root), 0),
        Contribution::Alltoallv { .. } => return (of_all("alltoallv"), 0),
    };
    let sum = |blocks: &[u64]| blocks.iter().fold(0, |sum: u64, &b| sum.saturating_add(b));
    match kind {
        CollectiveKind::Bcast { root, bytes } => (rooted("bcast", *root), *bytes),
        CollectiveKind::Reduce { root, bytes } => (rooted("reduce", *root), *bytes),
        CollectiveKind::Allreduce { bytes } => (of_all("allreduce"), *bytes),
        CollectiveKind::Gather { root, blocks } => (rooted("gather", *root), sum(blocks)),
        CollectiveKind::Scatter { root, blocks } => (rooted("scatter", *root), sum(blocks)),
        CollectiveKind::Allgather { blocks } => (of_all("allgather"), sum(blocks)),
        CollectiveKind::ReduceScatter { blocks } => (of_all("reduce_scatter"), sum(blocks)),
        CollectiveKind::Scan { bytes } => (of_all("scan"), *bytes),
        CollectiveKind::Exscan { bytes } => (of_all("exscan"), *bytes),
        CollectiveKind::Barrier => (of_all("barrier"), 0),
        CollectiveKind::Alltoall { blocks } => {
            let each = blocks.iter().map(|block| block.to(0));
            (of_all("alltoall"), each.fold(0, u64::saturating_add))
        }
    }
}

fn rooted(name: &'static str, root: u32) -> Kind {
    let root = Some(root);
    Kind { name, root }
}

fn of_all(name: &'static str) -> Kind {
    Kind { name, root: None }
}
