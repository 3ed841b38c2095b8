//! The calls of streams.

use super::function::{Function, How, Kind, Mode, Operation, Outside};
use super::wire::{Cursor, Fault, Sequence};
use crate::limits::MAX_RECORDING_LIST;

/// A rank that a call names, in the (remote) group of its communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// `MPI_ANY_SOURCE`.
    Any,
    /// `MPI_PROC_NULL`.
    Null,
    /// `MPI_ROOT`.
    Root,
    /// This rank.
    Rank(u32),
}

/// The envelope and the size of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The id of the communicator in its process.
    pub comm: u32,
    /// The other rank.
    pub peer: Peer,
    /// The tag; `None` for any.
    pub tag: Option<u32>,
    /// The payload.
    pub data: Data,
}

/// A number of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Data {
    /// How many.
    pub count: u64,
    /// Bytes of each.
    pub size: u64,
}

impl Data {
    /// All bytes. [`Record`](super::Record)s have none beyond 64 bits.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.count.saturating_mul(self.size)
    }
}

/// A request or a message of `MPI_Mprobe`, as a call names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// The n-th last one of its thread.
    Last(u64),
    /// The n-th one of its thread.
    Nth(u64),
    /// The n-th one of another thread.
    Other {
        /// The thread.
        thread: u32,
        /// n.
        n: u64,
    },
    /// None, or one that is not active.
    Null,
    /// One that was not recorded.
    Unrecorded,
}

impl Reference {
    pub(super) fn of(code: u64) -> Self {
        let n = code >> 2;
        match code & 3 {
            0 => Self::Last(n),
            1 => Self::Nth(n),
            2 => Self::Other {
                thread: (n & 0xffff) as u32,
                n: n >> 16,
            },
            _ if n == 0 => Self::Null,
            _ => Self::Unrecorded,
        }
    }

    /// Whether it names a request.
    #[must_use]
    pub fn is_some(self) -> bool {
        !matches!(self, Self::Null | Self::Unrecorded)
    }
}

/// The outcome of a receive or a probe, or of another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The sender, if it is not the one that was asked for.
    pub peer: Option<Peer>,
    /// The tag, if it is not the one that was asked for.
    pub tag: Option<u32>,
    /// The bytes, if they are not as many as there was room for.
    pub bytes: Option<u64>,
    /// It was cancelled.
    pub cancelled: bool,
    /// It has an error, such as a message that is too long.
    pub error: bool,
}

/// The part of a member in a collective that it sends, or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Not significant.
    None,
    /// `MPI_IN_PLACE`.
    InPlace,
    /// The same to or from each.
    Even(Data),
    /// Elements of this size, a count for each.
    Counts {
        /// Bytes of an element.
        size: u64,
        /// The counts.
        counts: Sequence<'a>,
    },
    /// Bytes for each.
    Bytes(Sequence<'a>),
}

/// The requests of a call that completes some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion<'a> {
    pub(super) requests: Sequence<'a>,
    pub(super) done: Done<'a>,
    /// The outcomes.
    pub(super) outcomes: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done<'a> {
    None,
    All,
    Some(Sequence<'a>),
}

impl<'a> Completion<'a> {
    /// The requests that the call was given.
    #[must_use]
    pub fn requests(&self) -> References<'a> {
        References(self.requests)
    }

    /// Whether none of them is complete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.done == Done::None
    }

    /// Shows the requests that are complete, and the outcome of each.
    pub fn each(&self, mut see: impl FnMut(Reference, Outcome)) {
        let mut outcomes = Cursor::new(self.outcomes);
        // They were read once.
        let mut see = |reference: Reference| {
            if let (true, Ok(outcome)) = (reference.is_some(), outcome(&mut outcomes)) {
                see(reference, outcome);
            }
        };
        match self.done {
            Done::None => {}
            Done::All => self.requests().iter().for_each(see),
            Done::Some(indices) => picked(self.requests, indices).for_each(&mut see),
        }
    }
}

/// The references of `requests` at these places.
fn picked<'a>(
    requests: Sequence<'a>,
    indices: Sequence<'a>,
) -> impl Iterator<Item = Reference> + use<'a> {
    let codes: Vec<i64> = requests.iter().collect();
    let pick = move |at: i64| codes.get(usize::try_from(at).ok()?).copied();
    let codes = indices.iter().filter_map(pick);
    codes.map(|code| Reference::of(code.cast_unsigned()))
}

/// Requests, as a call names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct References<'a>(pub(super) Sequence<'a>);

impl<'a> References<'a> {
    /// Those that name a request, in order.
    pub fn iter(&self) -> impl Iterator<Item = Reference> + use<'a> {
        // Runs of none of them, which may be long, are passed over.
        let runs = self.0.runs().filter(|run| {
            let none = Reference::of(run.first.cast_unsigned());
            none.is_some() || run.stride % 4 != 0
        });
        let numbers = runs.flat_map(super::wire::Run::numbers);
        let all = numbers.map(|code| Reference::of(code.cast_unsigned()));
        all.filter(|reference| reference.is_some())
    }
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call<'a> {
    /// It returned an error; nothing else is known of it.
    Failed,
    /// Sends a message.
    Send(Message, Mode, How),
    /// Receives a message. Of a blocking call the outcome is known.
    Receive(Message, How, Outcome),
    /// Sends a message and receives another one.
    SendReceive {
        /// The first.
        sent: Message,
        /// The other one.
        received: Message,
        /// When both are complete.
        how: How,
        /// Of a blocking call, the outcome of the receive.
        outcome: Outcome,
    },
    /// Looks for a message, and finds it if there is an outcome.
    Probe {
        /// The message; it has no data.
        message: Message,
        /// The message that was found.
        found: Option<Outcome>,
        /// Whether the call takes it, so that no other call finds it.
        takes: bool,
    },
    /// Receives a message that a probe has taken.
    ReceiveTaken(Reference, Data, How, Outcome),
    /// Makes a request of a message in partitions.
    Partitioned {
        /// The message; its data are those of one partition.
        message: Message,
        /// The number of partitions.
        partitions: u64,
        /// Whether it is sent.
        sends: bool,
    },
    /// Partitions may be sent.
    Ready(Reference, Sequence<'a>),
    /// Asks whether a partition has arrived.
    Arrived(Reference, u64, bool),
    /// Starts persistent requests.
    Start(References<'a>),
    /// Frees requests.
    Free(References<'a>),
    /// Cancels requests.
    Cancel(References<'a>),
    /// Waits for, or asks for, the completion of requests.
    Complete(Completion<'a>),
    /// Asks whether a request is complete.
    Status(Reference, bool),
    /// Takes part in a collective.
    Collective(Collective<'a>),
    /// Makes a communicator from another one, of which the process is a member if it has an id.
    MakeComm {
        /// The id of the other one.
        parent: u32,
        /// Its id.
        made: Option<u32>,
        /// When it may be used.
        how: How,
    },
    /// Frees a communicator.
    FreeComm(u32),
    /// `MPI_Init`, with the level of threads.
    Init(u64),
    /// `MPI_Finalize`.
    Finalize,
    /// `MPI_Abort`.
    Abort,
    /// `MPI_Pcontrol`: its level, and the text of its second argument if it has one.
    Control(i64, &'a str),
    /// A call that a replay has no counterpart of.
    Outside(Outside),
}

/// The part of a process in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective<'a> {
    /// The operation.
    pub operation: Operation,
    /// When it is complete.
    pub how: How,
    /// The id of the communicator.
    pub comm: u32,
    /// The root; [`Peer::Null`] of an operation without one.
    pub root: Peer,
    /// Whether the order in which it combines operands may change; `None` if it combines none.
    pub commutes: Option<bool>,
    /// The data that it sends.
    pub sent: Part<'a>,
    /// The data that it receives.
    pub received: Part<'a>,
}

impl<'a> Call<'a> {
    /// Reads a call of `function` whose tuple continues at `cursor`.
    pub(super) fn read(function: &Function, cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(match function.kind {
            Kind::Send(mode, how) => Self::Send(message(cursor)?, mode, how),
            Kind::Receive(how) => {
                Self::Receive(message(cursor)?, how, outcome_if_blocking(how, cursor)?)
            }
            Kind::SendReceive(how) => {
                let sent = message(cursor)?;
                Self::SendReceive {
                    sent,
                    received: message_on(sent.comm, cursor)?,
                    how,
                    outcome: outcome_if_blocking(how, cursor)?,
                }
            }
            Kind::Probe { polls, takes } => {
                let message = envelope(cursor)?;
                let found = !polls || cursor.flag()?;
                let found = found.then(|| outcome(cursor)).transpose()?;
                Self::Probe {
                    message,
                    found,
                    takes,
                }
            }
            Kind::ReceiveTaken(how) => {
                let taken = Reference::of(cursor.number()?);
                let data = data(cursor)?;
                Self::ReceiveTaken(taken, data, how, outcome_if_blocking(how, cursor)?)
            }
            Kind::Partitioned { sends } => {
                let mut message = envelope(cursor)?;
                let partitions = u64::from(cursor.small()?);
                message.data = data(cursor)?;
                if message.data.bytes().checked_mul(partitions).is_none() {
                    return cursor.fault("data of more than 2^64 bytes");
                }
                Self::Partitioned {
                    message,
                    partitions,
                    sends,
                }
            }
            Kind::Ready => Self::Ready(Reference::of(cursor.number()?), list(cursor)?),
            Kind::Arrived => {
                let request = Reference::of(cursor.number()?);
                Self::Arrived(request, cursor.number()?, cursor.flag()?)
            }
            Kind::Start => Self::Start(References(list(cursor)?)),
            Kind::Free => Self::Free(References(list(cursor)?)),
            Kind::Cancel => Self::Cancel(References(list(cursor)?)),
            Kind::Complete { .. } => Self::Complete(completion(cursor)?),
            Kind::Status => Self::Status(Reference::of(cursor.number()?), cursor.flag()?),
            Kind::Collective(operation, how) => {
                Self::Collective(collective(operation, how, cursor)?)
            }
            Kind::MakeComm(how) => {
                let parent = cursor.small()?;
                let made = Some(cursor.small()?).filter(|&made| made > 0);
                Self::MakeComm { parent, made, how }
            }
            Kind::FreeComm => Self::FreeComm(cursor.small()?),
            Kind::Init => Self::Init(cursor.number()?),
            Kind::Finalize => Self::Finalize,
            Kind::Abort => Self::Abort,
            Kind::Control => Self::Control(cursor.signed()?, cursor.text()?),
            Kind::Outside(outside) => Self::Outside(outside),
        })
    }

    /// The id of the communicator on which it communicates.
    #[must_use]
    pub fn comm(&self) -> Option<u32> {
        match self {
            Self::Send(message, ..)
            | Self::Receive(message, ..)
            | Self::Probe { message, .. }
            | Self::Partitioned { message, .. } => Some(message.comm),
            Self::SendReceive { sent, .. } => Some(sent.comm),
            Self::Collective(collective) => Some(collective.comm),
            _ => None,
        }
    }

    /// Whether it sends, receives or takes part in a collective, with another process than its own.
    #[must_use]
    pub fn communicates(&self) -> bool {
        let has_peer = |message: &Message| message.peer != Peer::Null;
        match self {
            Self::Send(message, ..)
            | Self::Receive(message, ..)
            | Self::Partitioned { message, .. } => has_peer(message),
            Self::SendReceive { sent, received, .. } => has_peer(sent) || has_peer(received),
            Self::Collective(_) => true,
            _ => false,
        }
    }

    /// Whether the call looked for something and found nothing.
    #[must_use]
    pub fn found_nothing(&self) -> bool {
        match self {
            Self::Probe { found, .. } => found.is_none(),
            Self::Complete(completion) => completion.is_empty(),
            Self::Arrived(_, _, is) | Self::Status(_, is) => !is,
            _ => false,
        }
    }

    /// Whether the call takes a message that `MPI_Mrecv` receives later.
    pub(super) fn takes_message(&self) -> bool {
        match self {
            Self::Probe {
                message,
                found,
                takes,
            } => *takes && found.is_some() && message.peer != Peer::Null,
            _ => false,
        }
    }
}

fn peer(cursor: &mut Cursor<'_>) -> Result<Peer, Fault> {
    let here = *cursor;
    Ok(match cursor.number()? {
        0 => Peer::Any,
        1 => Peer::Null,
        2 => Peer::Root,
        code => match u32::try_from(code - 3) {
            Ok(rank) if rank <= i32::MAX.cast_unsigned() => Peer::Rank(rank),
            _ => return here.fault("a rank beyond the range of an int of MPI"),
        },
    })
}

fn tag(cursor: &mut Cursor<'_>) -> Result<Option<u32>, Fault> {
    let here = *cursor;
    let code = cursor.number()?;
    let Some(tag) = code.checked_sub(1) else {
        return Ok(None);
    };
    match u32::try_from(tag) {
        Ok(tag) if tag <= i32::MAX.cast_unsigned() => Ok(Some(tag)),
        _ => here.fault("a tag beyond the range of an int of MPI"),
    }
}

fn data(cursor: &mut Cursor<'_>) -> Result<Data, Fault> {
    let here = *cursor;
    let (count, size) = (cursor.number()?, cursor.number()?);
    if count.checked_mul(size).is_none() {
        return here.fault("data of more than 2^64 bytes");
    }
    Ok(Data { count, size })
}

/// A message without data.
fn envelope(cursor: &mut Cursor<'_>) -> Result<Message, Fault> {
    let comm = cursor.small()?;
    let (peer, tag) = (peer(cursor)?, tag(cursor)?);
    let data = Data::default();
    Ok(Message {
        comm,
        peer,
        tag,
        data,
    })
}

fn message(cursor: &mut Cursor<'_>) -> Result<Message, Fault> {
    let comm = cursor.small()?;
    message_on(comm, cursor)
}

fn message_on(comm: u32, cursor: &mut Cursor<'_>) -> Result<Message, Fault> {
    let (peer, tag) = (peer(cursor)?, tag(cursor)?);
    let data = data(cursor)?;
    Ok(Message {
        comm,
        peer,
        tag,
        data,
    })
}

fn outcome_if_blocking(how: How, cursor: &mut Cursor<'_>) -> Result<Outcome, Fault> {
    match how {
        How::Blocking => outcome(cursor),
        How::Later | How::Persistent => Ok(Outcome::default()),
    }
}

fn outcome(cursor: &mut Cursor<'_>) -> Result<Outcome, Fault> {
    let here = *cursor;
    let flags = cursor.number()?;
    if flags > 31 {
        return here.fault("flags of a result that are not known");
    }
    let has = |flag: u64| flags & flag != 0;
    Ok(Outcome {
        peer: has(1).then(|| peer(cursor)).transpose()?,
        tag: match has(2) {
            true => tag(cursor)?,
            false => None,
        },
        bytes: has(4).then(|| cursor.number()).transpose()?,
        cancelled: has(8),
        error: has(16),
    })
}

fn list<'a>(cursor: &mut Cursor<'a>) -> Result<Sequence<'a>, Fault> {
    cursor.sequence(MAX_RECORDING_LIST)
}

fn completion<'a>(cursor: &mut Cursor<'a>) -> Result<Completion<'a>, Fault> {
    let requests = list(cursor)?;
    let here = *cursor;
    let done = match cursor.number()? {
        0 => Done::None,
        1 => Done::All,
        2 => Done::Some(list(cursor)?),
        _ => return here.fault("a number of done requests that is not 0, 1 or 2"),
    };
    let start = cursor.pos();
    let mut read = |reference: Reference| match reference.is_some() {
        true => outcome(cursor).map(|_| ()),
        false => Ok(()),
    };
    match done {
        Done::None => {}
        Done::All => References(requests).iter().try_for_each(read)?,
        Done::Some(indices) => {
            let len = requests.len().cast_signed();
            if indices.iter().any(|at| !(0..len).contains(&at)) {
                return here.fault("a done request that is not among those of the call");
            }
            picked(requests, indices).try_for_each(&mut read)?;
        }
    }
    let outcomes = cursor.since(start);
    Ok(Completion {
        requests,
        done,
        outcomes,
    })
}

fn part<'a>(cursor: &mut Cursor<'a>) -> Result<Part<'a>, Fault> {
    let here = *cursor;
    let sizes = |sequence: &Sequence<'_>, size: u64| {
        let mut sizes = sequence.iter();
        sizes.try_fold(0_u64, |sum, count| {
            sum.checked_add(u64::try_from(count).ok()?.checked_mul(size)?)
        })
    };
    Ok(match cursor.number()? {
        0 => Part::None,
        1 => Part::InPlace,
        2 => Part::Even(data(cursor)?),
        3 => {
            let size = cursor.number()?;
            let counts = list(cursor)?;
            if sizes(&counts, size).is_none() {
                return here.fault("a negative count, or data of more than 2^64 bytes");
            }
            Part::Counts { size, counts }
        }
        4 => {
            let bytes = list(cursor)?;
            if sizes(&bytes, 1).is_none() {
                return here.fault("a negative size, or data of more than 2^64 bytes");
            }
            Part::Bytes(bytes)
        }
        _ => return here.fault("a part of a kind that is not known"),
    })
}

fn collective<'a>(
    operation: Operation,
    how: How,
    cursor: &mut Cursor<'a>,
) -> Result<Collective<'a>, Fault> {
    let comm = cursor.small()?;
    let root = peer(cursor)?;
    let here = *cursor;
    let commutes = match cursor.number()? {
        0 => None,
        1 => Some(true),
        2 => Some(false),
        _ => return here.fault("an operation that is neither 0, 1 nor 2"),
    };
    Ok(Collective {
        operation,
        how,
        comm,
        root,
        commutes,
        sent: part(cursor)?,
        received: part(cursor)?,
    })
}
