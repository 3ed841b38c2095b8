//! OTF2: archives of events, as Score-P and other recorders write them (`docs/reference/otf2.md`).
//!
//! ```text
//! archive = traces.otf2 (anchor)  traces.def (global definitions)
//!           { traces/LOCATION.def (numbers of the location, clock offsets) }  { traces/LOCATION.evt (events) }
//! file    = { chunk }                             padded with zeros to the size that the anchor says, but for the last one
//! chunk   = 3:u8 order:u8 first:u64 last:u64  { record }  0:u8 | 2:u8 1:u8
//! record  = kind:u8 length values                 length: u8, or 255 and a u64
//!         | kind:u8 number                        events of one number
//!         | 5:u8 time:u64                         the time of the events after it
//! number  = length:u8 bytes                       0: the number 0; 255: undefined
//! ```
//!
//! The order is `B` (little-endian) or `#` (big-endian). Sources: the callbacks and their documentation in the library of
//! OTF2 (3.2), and archives that it wrote; there is no published specification of the bytes. Records that are not known, and
//! values at the end of records, are skipped by their length, as the library does.
//!
//! [`Archive`] finds the files and reads the definitions, [`Reader`] reads the events of a location, any number of times.
//! [`check()`] judges an archive.
//!
//! # Facts for replays
//! - **Events of a rank** are in the order of its clock. [`Reader`] gives the numbers of regions and communicators that the whole
//!   archive uses, and times of the archive's clock.
//! - **The call** is the region around an event. Its name tells a synchronous send, or a poll, from others ([`Called`]).
//! - **Peers** are numbers in the communicator. A receive has the sender and the tag of the message that it got.
//! - **A receive that does not block** says what it got when it is complete, not when it is posted.
//! - **Collectives** have sums of bytes over all members, as Score-P counts them: of `MPI_Bcast` the root sends the message to
//!   n members, all others send nothing; of `MPI_Allreduce` each sends its vector to n members. With `MPI_IN_PLACE` n − 1 count.

mod anchor;
mod archive;
mod called;
pub mod check;
mod clock;
mod comm;
mod definitions;
mod event;
mod files;
mod find;
mod local;
mod rank_check;
mod reader;
mod records;
mod wire;
mod zlib;

pub use anchor::Anchor;
pub use archive::Archive;
pub use called::Called;
pub use check::{Check, Counts, check, check_seen};
pub use comm::{Comm, Comms, Members, Seen, View};
pub use definitions::{Definitions, Location};
pub use event::{Collective, Event, Message, ROOT_SELF, ROOT_THIS_GROUP, RequestNumber};
pub use reader::{Reader, Stamped};

pub use crate::recording::Operation;
