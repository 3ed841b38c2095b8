//! The records of a stream.

use std::ops::Range;

use super::call::{Call, Reference};
use super::function::{Function, How};
use super::header::Overhead;
use super::wire::{Cursor, Fault, Sequence};
use crate::limits::MAX_TASKS;

/// A record of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A call.
    Call(Record<'a>),
    /// A communicator that calls name from here on.
    Communicator(Communicator<'a>),
    /// A text for people.
    Note(&'a str),
    /// The end of the stream.
    End(End),
}

/// A call, or several equal polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Bytes of the file before it.
    pub offset: u64,
    /// The thread that made it.
    pub thread: u32,
    /// The function.
    pub function: &'a Function,
    /// The call.
    pub call: Call<'a>,
    /// The number of equal polls that it stands for, at least 1.
    pub repeats: u64,
    /// Its times, without the overhead of the recorder.
    pub times: Times,
    /// Requests and messages that the thread had made before.
    pub(super) requests: u64,
    pub(super) messages: u64,
}

/// A request of a rank: the n-th one that a thread made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// The thread.
    pub thread: u32,
    /// n, from 0.
    pub n: u64,
}

impl Record<'_> {
    /// The request that this call makes, if it makes one.
    #[must_use]
    pub fn made_request(&self) -> Option<Request> {
        let makes = self.call != Call::Failed && self.function.kind.makes_request();
        let (thread, n) = (self.thread, self.requests);
        makes.then_some(Request { thread, n })
    }

    /// Whether this call makes a request that is started again and again.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        match &self.call {
            Call::Send(.., how) | Call::Receive(_, how, _) => *how == How::Persistent,
            Call::Collective(collective) => collective.how == How::Persistent,
            Call::Partitioned { .. } => true,
            _ => false,
        }
    }

    /// The message that this call takes for `MPI_Mrecv`, if it takes one.
    #[must_use]
    pub fn taken_message(&self) -> Option<Request> {
        let (thread, n) = (self.thread, self.messages);
        self.call.takes_message().then_some(Request { thread, n })
    }

    /// The request that `reference` names; `None` if there is none.
    #[must_use]
    pub fn request(&self, reference: Reference) -> Option<Request> {
        self.named(reference, self.requests)
    }

    /// The message of `MPI_Mprobe` that `reference` names; `None` if there is none.
    #[must_use]
    pub fn message(&self, reference: Reference) -> Option<Request> {
        self.named(reference, self.messages)
    }

    fn named(&self, reference: Reference, made: u64) -> Option<Request> {
        let (thread, n) = match reference {
            Reference::Last(back) => (self.thread, made.checked_sub(back)?.checked_sub(1)?),
            Reference::Nth(n) if n < made => (self.thread, n),
            Reference::Other { thread, n } => (thread, n),
            Reference::Nth(_) | Reference::Null | Reference::Unrecorded => return None,
        };
        Some(Request { thread, n })
    }
}

/// The times of a call, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// CPU time of the thread since its previous call.
    pub cpu_ns: u64,
    /// Wall time since then.
    pub wall_ns: u64,
    /// Wall time inside.
    pub inside_ns: u64,
}

impl Times {
    #[inline]
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let cpu_ns = cursor.number()?;
        let more = cursor.signed()?;
        Ok(Self {
            cpu_ns,
            wall_ns: cpu_ns.saturating_add_signed(more),
            inside_ns: cursor.number()?,
        })
    }

    /// The times of `repeats` calls without the overhead of the recorder.
    pub(super) fn without(&self, overhead: &Overhead, repeats: u64) -> Self {
        let less =
            |ns: u64, overhead: u32| ns.saturating_sub(repeats.saturating_mul(overhead.into()));
        Self {
            cpu_ns: less(self.cpu_ns, overhead.cpu_ns),
            wall_ns: less(self.wall_ns, overhead.wall_ns),
            inside_ns: less(self.inside_ns, overhead.inside_ns),
        }
    }
}

/// A communicator as a process knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Communicator<'a> {
    /// Its id in the process: 0 is `MPI_COMM_WORLD`, 1 `MPI_COMM_SELF`.
    pub id: u32,
    /// The id of the one that it was made from; its own if it was made from none.
    pub parent: u32,
    /// The number of those that were made in the same way before.
    pub nth: u64,
    /// The function that made it.
    pub maker: &'a Function,
    /// Ranks of `MPI_COMM_WORLD`; the number of ranks stands for a process that is not in the recording.
    pub members: Sequence<'a>,
    /// The other group of a communicator between two.
    pub others: Option<Sequence<'a>>,
    /// The neighbours of a communicator with a topology.
    pub neighbours: Option<Neighbours<'a>>,
}

/// Ranks of a communicator; −1 is `MPI_PROC_NULL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours<'a> {
    /// From which a neighbourhood collective receives.
    pub sources: Sequence<'a>,
    /// To which it sends.
    pub destinations: Sequence<'a>,
}

impl<'a> Communicator<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>, functions: &'a [Function]) -> Result<Self, Fault> {
        let ranks = |cursor: &mut Cursor<'a>| cursor.sequence(MAX_TASKS.into());
        let (id, parent) = (cursor.small()?, cursor.small()?);
        let nth = cursor.number()?;
        let flags = cursor.number()?;
        if flags > 3 {
            return cursor.fault("flags of a communicator that are not known");
        }
        let maker = usize::try_from(cursor.number()?).ok();
        let Some(maker) = maker.and_then(|at| functions.get(at)) else {
            return cursor.fault("a communicator of a function without a name");
        };
        Ok(Self {
            id,
            parent,
            nth,
            maker,
            members: ranks(cursor)?,
            others: (flags & 1 != 0).then(|| ranks(cursor)).transpose()?,
            neighbours: match flags & 2 {
                0 => None,
                _ => Some(Neighbours {
                    sources: ranks(cursor)?,
                    destinations: ranks(cursor)?,
                }),
            },
        })
    }
}

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The thread that made it.
    pub thread: u32,
    /// The event that ended it.
    pub reason: Reason,
    /// CPU time of the process since `MPI_Init`, in nanoseconds.
    pub process_cpu_ns: u64,
    /// CPU time of the thread since then.
    pub thread_cpu_ns: u64,
    /// Threads of the process.
    pub threads: u64,
}

/// The event that ended a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// `MPI_Finalize`.
    Finalised,
    /// The end of the thread.
    Thread,
    /// `exit` without `MPI_Finalize`.
    Exit,
    /// `MPI_Abort`.
    Abort,
}

impl End {
    pub(super) fn read(cursor: &mut Cursor<'_>, thread: u32) -> Result<Self, Fault> {
        let here = *cursor;
        let reason = match cursor.number()? {
            0 => Reason::Finalised,
            1 => Reason::Thread,
            2 => Reason::Exit,
            3 => Reason::Abort,
            _ => return here.fault("an end for a reason that is not known"),
        };
        Ok(Self {
            thread,
            reason,
            process_cpu_ns: cursor.number()?,
            thread_cpu_ns: cursor.number()?,
            threads: cursor.number()?,
        })
    }
}

/// The record that a reader has found.
#[derive(Debug)]
pub(super) enum Current {
    Call {
        offset: u64,
        tuple: Tuple,
        repeats: u64,
        times: Times,
    },
    /// Their bytes in the block.
    Communicator(Range<usize>),
    Note(Range<usize>),
    End(End),
}

/// Where a tuple is.
#[derive(Debug)]
pub(super) enum Tuple {
    Slot(usize),
    /// In the block.
    Inline(Range<usize>),
}
