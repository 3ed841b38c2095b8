//! The one internal form of every trace: per rank, lazy streams of operations with explicit
//! dependencies.

pub(crate) mod collective;

pub use collective::{AlltoallBlocks, Collective, CollectiveKind, Contribution, RootedBlocks};

pub use super::ids::{RankId, RegionId, StreamId};
use super::mpi::{Call, CommId, RequestId};
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Pieces of work between two checks whether the user stops the run: some milliseconds.
pub(crate) const STOP_EVERY: u32 = 1 << 14;

/// One operation of a stream. It starts `compute_ps` after both the previous
/// operation of the stream is done and all events in `after` have happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Events that must have happened before the computation starts.
    pub after: After,
    /// Local computation in picoseconds.
    pub compute_ps: u64,
    /// The action of the operation.
    pub action: Action,
    /// Name under which other operations of the rank may wait for this one.
    pub label: Option<Label>,
    /// Its place in the trace, for messages to the user.
    pub place: Place,
}

impl Op {
    /// An operation that waits for its predecessor alone and that no other one names.
    pub(crate) fn next(compute_ps: u64, action: Action, place: Place) -> Self {
        Self {
            after: After::Previous,
            compute_ps,
            action,
            label: None,
            place,
        }
    }
}

/// Name of an operation, unique among the operations of its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label(NonZeroU64);

impl Label {
    /// The label with this number, from 0 to 2⁶⁴ − 2; `None` for 2⁶⁴ − 1.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        number.checked_add(1).and_then(NonZeroU64::new).map(Self)
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get() - 1
    }
}

/// Place of an operation in its trace: a line or the offset of a byte. Lines and offsets have
/// the order of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u64);

impl Place {
    /// Set in the offset of a byte.
    const BYTE: u64 = 1 << 63;

    /// A line, from 1; below 2⁶³.
    #[must_use]
    pub fn line(line: u64) -> Self {
        Self(line & !Self::BYTE)
    }

    /// The offset of a byte, from 0; below 2⁶³.
    #[must_use]
    pub fn byte(offset: u64) -> Self {
        Self(offset | Self::BYTE)
    }
}

impl From<flitwise_formats::Place> for Place {
    fn from(place: flitwise_formats::Place) -> Self {
        match place {
            flitwise_formats::Place::Line(line) => Self::line(line),
            flitwise_formats::Place::Byte(offset) => Self::byte(offset),
        }
    }
}

impl From<Place> for flitwise_formats::Place {
    fn from(place: Place) -> Self {
        match place.0 & Place::BYTE {
            0 => Self::Line(place.0),
            _ => Self::Byte(place.0 & !Place::BYTE),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        flitwise_formats::Place::from(*self).fmt(f)
    }
}

/// Events that an operation waits for, besides the end of its predecessor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum After {
    /// Nothing more.
    #[default]
    Previous,
    /// One event.
    Event(Event),
    /// All of these, each once.
    All(Box<[Event]>),
}

impl After {
    /// These events, each once.
    #[must_use]
    pub fn of(events: Vec<Event>) -> Self {
        match events[..] {
            [] => Self::Previous,
            [event] => Self::Event(event),
            _ => Self::All(events.into()),
        }
    }

    /// The events.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        match self {
            Self::Previous => &[],
            Self::Event(event) => std::slice::from_ref(event),
            Self::All(events) => events,
        }
    }
}

/// Something that happens to a rank, for which its operations may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The message with this id arrived. At most one operation waits for a message, and its
    /// [send](Action::Send) says that one does.
    Received(u64),
    /// This rank completed the collective with this id, which it has
    /// [entered](Action::Collective) before.
    Completed(u64),
    /// The operation with this label started.
    Started(Label),
    /// The operation with this label is done.
    Done(Label),
}

/// The action of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing: computation alone, the entry of a receive, a wait or the end.
    Marker,
    /// Sends `bytes` to rank `to`; the message is known as `id` in the trace.
    Send {
        /// Message id, unique in the trace.
        id: u64,
        /// Receiving rank.
        to: RankId,
        /// Payload.
        bytes: u64,
        /// Whether an operation of the receiver waits for the message.
        awaited: bool,
    },
    /// Takes part in a collective; the number is the rank's position among its members.
    Collective(Arc<Collective>, u32),
    /// A call of MPI.
    Mpi(Box<Call>),
    /// Enters a region of the program.
    EnterRegion(RegionId),
    /// Leaves the latest entry of a region, if there is one.
    LeaveRegion(RegionId),
}

impl Action {
    /// The call of MPI, if it is one.
    #[must_use]
    pub fn call(&self) -> Option<&Call> {
        match self {
            Self::Mpi(call) => Some(call),
            Self::Marker
            | Self::Send { .. }
            | Self::Collective(..)
            | Self::EnterRegion(_)
            | Self::LeaveRegion(_) => None,
        }
    }
}

/// A trace, read lazily stream by stream.
pub trait Program {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Number of streams of `rank`, at least 1.
    fn streams(&self, rank: RankId) -> u32 {
        let _ = rank;
        1
    }

    /// The next operation of a stream of `rank` in program order; `None` at its end.
    ///
    /// # Errors
    /// If the trace is broken at a place not read before; [`Stopped`](flitwise_base::stop::Stopped) if the user stops the run
    /// before it is found.
    fn next(&mut self, rank: RankId, stream: StreamId) -> anyhow::Result<Option<Op>>;

    /// The number of the operation that [`next`](Self::next) last returned of a stream of `rank`, unique in the stream, if
    /// events decide the order of the stream; else `None`.
    fn number(&self, rank: RankId, stream: StreamId) -> Option<u64> {
        let _ = (rank, stream);
        None
    }

    /// The name of a communicator of `rank` in messages.
    fn communicator(&self, rank: RankId, comm: CommId) -> String {
        let _ = rank;
        format!("communicator {comm}")
    }

    /// The name of a region.
    fn region(&self, region: RegionId) -> &str {
        let _ = region;
        ""
    }

    /// The calls that receive messages and that the recorder of the program does not know, and which recorder that is.
    fn unrecorded_receives(&self) -> Option<&'static str> {
        None
    }

    /// Whether a stream of `rank` for which [`next`](Self::next) has nothing now pauses, rather than being over. It
    /// resumes when it is [woken](Self::woken).
    fn pauses(&self, rank: RankId, stream: StreamId) -> bool {
        let _ = (rank, stream);
        false
    }

    /// Whether the program follows its requests itself: it is told of each [complete](Self::completed) one, no call
    /// waits for or frees any, and none is used twice.
    fn follows_requests(&self) -> bool {
        false
    }

    /// Tells the program that the operation of this request of `rank` is complete. Called only for programs that
    /// [follow](Self::follows_requests) their requests.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    fn completed(&mut self, rank: RankId, request: RequestId) -> anyhow::Result<()> {
        let _ = (rank, request);
        Ok(())
    }

    /// The place in the trace of the operation of this request of `rank`, if the program
    /// [follows](Self::follows_requests) its requests and knows.
    fn place_of(&self, rank: RankId, request: RequestId) -> Option<Place> {
        let _ = (rank, request);
        None
    }

    /// Returns the next [paused](Self::pauses) stream of `rank` to resume, each once. Call it after `next` and
    /// [`completed`](Self::completed).
    fn woken(&mut self, rank: RankId) -> Option<StreamId> {
        let _ = rank;
        None
    }

    /// Starts over: every stream is at its first operation again.
    ///
    /// # Errors
    /// If the trace cannot be read again.
    fn restart(&mut self) -> anyhow::Result<()>;
}

/// Operations in memory, one stream per rank, as a program.
pub struct Listed<F> {
    get: F,
    /// By rank, how many operations were taken.
    taken: Vec<usize>,
}

impl<F: Fn(RankId, usize) -> Option<Op>> Listed<F> {
    /// A program of `ranks` ranks. `get` returns an operation of a rank by its number.
    pub fn new(ranks: usize, get: F) -> Self {
        Self {
            get,
            taken: vec![0; ranks],
        }
    }
}

impl<F: Fn(RankId, usize) -> Option<Op>> Program for Listed<F> {
    fn ranks(&self) -> u32 {
        self.taken.len() as u32
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let Some(taken) = self.taken.get_mut(rank.index()) else {
            return Ok(None);
        };
        *taken += 1;
        Ok((self.get)(rank, *taken - 1))
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.taken.fill(0);
        Ok(())
    }
}
