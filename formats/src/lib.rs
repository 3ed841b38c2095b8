//! Streaming readers and writers for the trace formats that Flitwise replays.
//!
//! A parser opens no files: the caller feeds it bytes, and it returns records
//! ([`vef::Parser`], [`dumpi::Parser`], [`goal::Parser`], [`ti::Parser`], [`recording::Reader`]). A [`Source`] gives the bytes of a plain, gzip or zstd
//! file. A reader joins both. A separate module, the check, verifies the records. The files that make a trace together, one for
//! each rank, are a set ([`dumpi::Set`], [`recording::Set`]).
//!
//! # Examples
//! Counts the operations of a trace of this repository:
//! ```
//! use flitwise_formats::vef::{Reader, Record};
//!
//! let mut trace = Reader::open("../traces/randomaccess-16.vef.gz")?;
//! assert_eq!(trace.header().tasks, 16);
//! let (mut messages, mut members) = (0, 0);
//! while let Some((_line, record)) = trace.next_record()? {
//!     match record {
//!         Record::Message(message) if message.is_marker() => {} // a receive, a wait or the end
//!         Record::Message(_) => messages += 1,
//!         Record::Member(_) => members += 1, // a rank takes part in a collective
//!     }
//! }
//! assert_eq!((messages, members), (925, 528));
//! # Ok::<(), flitwise_formats::Error>(())
//! ```

mod archive;
mod blocks;
pub mod chakra;
pub mod collective;
pub mod dot;
pub mod dumpi;
pub mod error;
pub mod foreign;
pub mod goal;
mod grammar;
pub mod graph;
pub mod idset;
pub mod infiniband;
pub mod inspector;
pub mod limits;
pub mod matching;
mod member;
pub mod otf2;
pub mod recording;
pub mod schedule;
pub mod sink;
pub mod source;
pub mod source_routes;
mod store;
mod tar_head;
pub mod temporary;
pub mod ti;
pub mod traffic;
pub mod vef;

pub use error::Error;
pub(crate) use error::at_line;
pub use flitwise_base::place::{Place, PlaceError, Problem, Problems};
pub use foreign::Foreign;
pub use idset::IdSet;
pub use sink::Sink;
pub use source::Source;
