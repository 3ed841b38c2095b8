//! Recordings of MPI programs by `flitwise record`: a directory with a stream for each thread of each rank, and a
//! description.
//!
//! ```text
//! stream = header { block }
//! header = "FLITREC\n" version rank thread ranks run:16 time:8 overhead:4×4 processors:4 0:8 crc:4
//! block  = length:4 crc:4 time:8 { record }
//! record = call | repeated call | name of a function | communicator | end | note
//! ```
//!
//! `docs/reference/recording.md` describes all of it. [`Set`] finds the streams of a recording, [`RankReader`] reads the
//! calls of a rank, [`Reader`] a stream from anywhere. [`check()`] judges a recording and sums it up, [`Matching`] tells which
//! communicators of the ranks are the same.
//!
//! # Facts for replays of calls
//! - **Times.** What a thread computed is the time between its calls, by the CPU or by the wall clock. The overhead of
//!   the recorder is subtracted in each [`Record`].
//! - **Threads** of a rank overlap. [`RankReader`] shows the begin and the end of each of their calls in the order of time.
//! - **Requests** have names of their own: the n-th one that a thread made. None is used twice.
//! - **What a receive got** is in the call that completed it, where it differs from what was asked for.
//! - **A killed program** has streams without an end, which are sound up to their last whole block.

mod call;
mod check;
mod comms;
mod decode;
mod description;
mod encode;
mod function;
mod header;
mod rank;
mod reader;
mod record;
mod set;
mod slots;
mod wire;
mod write;

pub use call::{
    Call, Collective, Completion, Data, MOST_DONE, Message, Outcome, Part, Peer, Reference,
    References,
};
pub use check::{Check, RankInfo, Refusal, check, check_seen};
pub use comms::{Communicators, Matching, Ranks, Resolved};
pub use description::{Clock, Description};
pub use function::{Function, How, Mode, Operation, Outside};
pub use header::{Header, Overhead};
pub use rank::{Phase, RankReader};
pub use reader::Reader;
pub use record::{Communicator, End, Item, Neighbours, Reason, Record, Request, Times};
pub use set::Set;
pub use wire::{Numbers, Sequence};
pub use write::{Archive, Writer};
