//! The calls of streams.

use super::decode::outcome;
use super::function::{How, Mode, Operation, Outside};
use super::wire::{Cursor, Sequence};

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

/// Most requests of [`Completion::all`].
pub const MOST_DONE: usize = 1024;

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
    /// All of these requests are complete, with what was asked for: at most [`MOST_DONE`].
    #[must_use]
    pub fn all(requests: Sequence<'a>) -> Self {
        const NONE: [u8; MOST_DONE] = [0; MOST_DONE];
        let named = References(requests).iter().count();
        Self {
            requests,
            done: Done::All,
            outcomes: NONE.get(..named).unwrap_or(&NONE),
        }
    }

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
pub(super) fn picked<'a>(
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
    /// The references of these [codes](Reference::code).
    #[must_use]
    pub fn of(codes: Sequence<'a>) -> Self {
        Self(codes)
    }

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
        /// The message, with the data of one partition.
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
    /// A call that no other rank takes part in, such as `MPI_Buffer_detach`.
    Local,
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
