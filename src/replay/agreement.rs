//! Whether the ranks of a trace of MPI calls agree: each message is sent and received, and all members of a communicator call
//! the same collectives on it.
//!
//! A replay finds out, too, but stalls at the first one, and it takes collectives of different sizes as they are.
//!
//! Memory: the messages that lack their counterpart so far, and the collectives of one member of each communicator.

use super::collectives::Plan;
use super::collectives::decide::Choices;
use super::mpi::{Call, CommId, Communicator, RequestId};
use super::program::{
    Action, CollectiveKind, Contribution, Place, Program, RankId, RootedBlocks, STOP_EVERY,
    StreamId,
};
use super::spares::{Spare, Spares};
use flitwise_base::stop::Stop;
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
    /// The problem, and its remedy.
    pub message: String,
}

/// The disagreements of the ranks of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disagreements {
    /// Because of them a replay stalls or fails: the first 100.
    pub errors: Vec<Disagreement>,
    /// Their number, including the omitted ones.
    pub error_total: u64,
    /// The number of them that are messages without a counterpart: if no rank waits for these, a replay ends.
    pub unmatched_total: u64,
    /// The replay takes each rank as it says: the first 100.
    pub warnings: Vec<Disagreement>,
    /// Their number, including the omitted ones.
    pub warning_total: u64,
    /// The [spare](SPARE) receives that take a message which no other one takes: rank and number.
    pub taken: Vec<(RankId, u64)>,
}

pub use super::spares::SPARE;

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

/// Compares the calls of all ranks of a program from its start. It looks at the first stream of each rank, in the order
/// of the ranks; operations other than calls of MPI do not count.
///
/// # Errors
/// If the trace can't be read.
///
/// # Examples
/// ```
/// use flitwise_replay::agreement::disagreements;
/// use flitwise_base::stop::Stop;
/// use flitwise_replay::trace::{Reading, check_file};
/// use std::path::Path;
///
/// let recording = Path::new("../../traces/dumpi/nas_dt_WH_W-11");
/// let file = check_file(recording, Stop::never())?;
/// let mut program = file.open(&Reading::default(), Stop::never())?;
/// assert!(disagreements(&mut *program)?.errors.is_empty());
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn disagreements(program: &mut dyn Program) -> anyhow::Result<Disagreements> {
    compare(program, Stop::never())
}

/// As [`disagreements`], unless the user stops the comparison.
pub(super) fn compare(program: &mut dyn Program, stop: Stop<'_>) -> anyhow::Result<Disagreements> {
    let mut checker = Checker::new(program);
    for rank in RankId::all(checker.program.ranks()) {
        stop.check()?;
        let mut stop = stop.every(STOP_EVERY);
        while let Some(op) = checker.program.next(rank, StreamId::new(0))? {
            stop.check()?;
            if let Action::Mpi(call) = &op.action {
                checker.call(rank, call, op.place);
            }
        }
    }
    Ok(checker.finish())
}

/// The problem of files of ranks that do not fit together, and a remedy.
const OTHER_RUN: &str = "the files are not of one run, or one is damaged: record the program again";

/// The properties of a collective on which its members must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CallKind {
    name: &'static str,
    /// Members have sizes of their own, as in a gatherv.
    uneven: bool,
    root: Option<u32>,
}

impl CallKind {
    fn of(contribution: &Contribution) -> Self {
        Self {
            name: contribution.name(),
            uneven: !matches!(contribution, Contribution::Known(_)),
            root: contribution.root(),
        }
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = if self.uneven { "v" } else { "" };
        write!(f, "{}{v}", self.name)?;
        match self.root {
            Some(root) => write!(f, " with root {root}"),
            None => Ok(()),
        }
    }
}

/// The collectives of a communicator as its first member calls them.
struct Called {
    members: Arc<[RankId]>,
    by: RankId,
    /// With the bytes that all have to know, and the place.
    calls: Vec<(CallKind, u64, Place)>,
    /// Number of calls and the last one of each member that calls any.
    counts: BTreeMap<RankId, (u32, Place)>,
    /// A member calls other ones.
    differs: bool,
}

struct Checker<'a> {
    program: &'a mut dyn Program,
    messages: Matching<Place>,
    /// The blocks that members of a gatherv, scatterv or alltoallv send each other.
    exchanges: Matching<Place>,
    comms: BTreeMap<CommId, Called>,
    /// Members call different collectives, so that they also exchange different blocks.
    differ: bool,
    spares: Spares,
    found: Disagreements,
}

impl<'a> Checker<'a> {
    fn new(program: &'a mut dyn Program) -> Self {
        let ranks = program.ranks();
        Self {
            program,
            messages: Matching::new(ranks),
            exchanges: Matching::new(ranks),
            comms: BTreeMap::new(),
            differ: false,
            spares: Spares::default(),
            found: Disagreements::default(),
        }
    }

    fn call(&mut self, rank: RankId, call: &Call, place: Place) {
        match call {
            Call::Send { to, comm, tag, .. } => {
                let key = key(*comm, tag.0.cast_unsigned());
                self.messages.send(rank.get(), to.get(), key, place);
            }
            Call::Receive {
                from,
                comm,
                tag,
                request,
            } => {
                let key = tag.map(|tag| key(*comm, tag.0.cast_unsigned()));
                let from = from.map(RankId::get);
                let number = request.and_then(|RequestId(number)| number.checked_sub(SPARE));
                if let Some(number) = number {
                    let spare = Spare {
                        rank,
                        number,
                        from,
                        key,
                    };
                    return self.spares.add(spare);
                }
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
            let message = format!("{e}; {OTHER_RUN}");
            self.found.error(rank, Some(place), message);
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

    /// Compares a collective with the one that the first member calls in its place.
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
        let (kind, bytes) = (CallKind::of(contribution), bytes(contribution));
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
        let named = || self.program.communicator(rank, comm);
        if theirs != kind {
            called.differs = true;
            self.differ = true;
            let message = format!(
                "collective {number} of {} is {kind} here, but {theirs} at rank {by} ({at}); all members must call the same: \
                 the files are not of one run, or a function was not recorded",
                named()
            );
            self.found.error(rank, Some(place), message);
        } else if their_bytes != bytes {
            let message = format!(
                "collective {number} of {}, {kind}, is of {bytes} bytes here, but of {their_bytes} at rank {by} ({at}); the replay uses the size at each rank",
                named()
            );
            self.found.warning(rank, Some(place), message);
        }
    }

    /// Counts the blocks that the member sends to others and expects of them, where not all know their sizes.
    fn exchange(
        &mut self,
        me: u32,
        comm: &Communicator,
        number: u32,
        contribution: &Contribution,
        place: Place,
    ) {
        let listed = |all: &[u64]| (0..).zip(all.iter().copied()).collect::<Vec<(u32, u64)>>();
        let (sends, receives) = match contribution {
            Contribution::Known(_) => return,
            Contribution::Alltoallv { send, receive } => (listed(send), listed(receive)),
            Contribution::Gatherv { root, blocks } => match blocks {
                RootedBlocks::All(all) => (Vec::new(), listed(all)),
                RootedBlocks::Own(bytes) => (vec![(*root, *bytes)], Vec::new()),
            },
            Contribution::Scatterv { root, blocks } => match blocks {
                RootedBlocks::All(all) => (listed(all), Vec::new()),
                RootedBlocks::Own(bytes) => (Vec::new(), vec![(*root, *bytes)]),
            },
        };
        let member = |at: u32| Some(comm.members.get(at as usize)?.get());
        let Some(rank) = member(me) else { return };
        let key = key(comm.id, number);
        let others = |blocks: Vec<(u32, u64)>| {
            let others = blocks
                .into_iter()
                .filter(move |&(at, bytes)| at != me && bytes > 0);
            others.filter_map(|(at, _)| member(at))
        };
        for to in others(sends) {
            self.exchanges.send(rank, to, key, place);
        }
        for from in others(receives) {
            self.exchanges.receive(Some(from), rank, Some(key), place);
        }
    }

    fn finish(mut self) -> Disagreements {
        let messages = std::mem::replace(&mut self.messages, Matching::new(0)).finish();
        for mut unmatched in messages {
            if self.spares.leave(&mut unmatched) {
                self.unmatched(unmatched);
            }
        }
        self.found.taken = std::mem::take(&mut self.spares.taken);
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
        let rank = RankId::new(unmatched.rank());
        let shown = |key| {
            let (comm, tag) = parts(key);
            let comm = self.program.communicator(rank, comm);
            format!("{} on {comm}", tag.cast_signed())
        };
        const TO_ITS_END: &str = "record the program to its end";
        let sent = match self.program.unrecorded_receives() {
            Some(what) => format!("{TO_ITS_END}, or without {what}"),
            None => TO_ITS_END.to_owned(),
        };
        let cures = [&sent, TO_ITS_END, TO_ITS_END];
        let message = unmatched.says(shown, cures);
        self.found.unmatched_total += 1;
        self.found.error(rank, unmatched.place(), message);
    }

    fn unexchanged(&mut self, unmatched: Unmatched<Place>) {
        let rank = RankId::new(unmatched.rank());
        let of = |key| {
            let (comm, number) = parts(key);
            let comm = self.program.communicator(rank, comm);
            format!("in collective {number} of {comm}")
        };
        let message = match unmatched {
            Unmatched::Sends { dst, tag, .. } => {
                let of = of(tag);
                format!("sends a block to rank {dst} {of}, but that expects nothing of it")
            }
            Unmatched::Receives { src, tag, .. } => {
                let of = of(tag);
                format!("expects a block of rank {src} {of}, but that sends it nothing")
            }
            Unmatched::Numbers {
                sends, receives, ..
            } => format!(
                "expects {receives} blocks of others in its collectives, but they send {sends}"
            ),
        };
        let message = format!("{message}; {OTHER_RUN}");
        self.found.error(rank, unmatched.place(), message);
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
            "calls {collectives} on {}, of which this is the last, but rank {fewest} calls {}; all members must call all: record \
             the program to its end",
            self.program.communicator(most, comm),
            of(fewest)
        );
        self.differ = true;
        let place = called.counts.get(&most).map(|&(_, place)| place);
        self.found.error(most, place, message);
    }
}

/// The key of messages on a communicator: with this tag, or of the collective with this number.
fn key(comm: CommId, number: u32) -> u64 {
    u64::from(comm.get()) << 32 | u64::from(number)
}

/// Communicator and number of a key.
fn parts(key: u64) -> (CommId, u32) {
    (CommId::new((key >> 32) as u32), key as u32)
}

/// The bytes of a collective that all members know: of blocks their sum.
fn bytes(contribution: &Contribution) -> u64 {
    let Contribution::Known(kind) = contribution else {
        return 0;
    };
    let sum = |blocks: &[u64]| blocks.iter().fold(0, |sum: u64, &b| sum.saturating_add(b));
    match kind {
        CollectiveKind::Bcast { bytes, .. }
        | CollectiveKind::Reduce { bytes, .. }
        | CollectiveKind::Allreduce { bytes }
        | CollectiveKind::Scan { bytes }
        | CollectiveKind::Exscan { bytes } => *bytes,
        CollectiveKind::Gather { blocks, .. }
        | CollectiveKind::Scatter { blocks, .. }
        | CollectiveKind::Allgather { blocks }
        | CollectiveKind::ReduceScatter { blocks } => sum(blocks),
        CollectiveKind::Barrier => 0,
        CollectiveKind::Alltoall { blocks } => {
            let each = blocks.iter().map(|block| block.to(0));
            each.fold(0, u64::saturating_add)
        }
    }
}
