//! DUMPI: binary recordings of MPI calls, a file for each rank, by the library of sst-dumpi.
//!
//! ```text
//! file    = magic  cpu_bias:i32 wall_bias:i32  { call }  293:u16  { record }  index
//! call    = id:u16 mask:u8 [ thread:u16 ] [ cpu times ] [ wall times ] [ counters ] arguments
//! times   = start:u16 start_ns:u32 stop:u16 stop_ns:u32          seconds from the bias
//! record  = header | footer | key values | labels | sizes of datatypes
//! index   = magic  the offsets of these records
//! ```
//!
//! Numbers are big-endian. The arguments of all functions are in [`call`], what versions write differently in
//! [`Layout`]. Source: the layout as documented and written by sst-dumpi (commit a4c8bf5), checked on recordings of the
//! versions 1.0.0, 1.1.0, 11.1.0 and 13.0.0.
pub mod call;
pub mod check;
pub mod handle;
pub mod info;
mod layout;
mod metafile;
mod parse_error;
mod parser;
mod reader;
mod record;
mod set;
mod sizes;
mod trailer;
mod wire;

pub use call::{Call, Collective, Function, Message};
pub use check::{Check, Problem, check};
pub use handle::{Comm, Datatype, Group, IoRequest, Op, Request, Win};
pub use info::Info;
pub use layout::{Layout, Version};
pub use metafile::Metafile;
pub use parse_error::ParseError;
pub use parser::{Parser, Step};
pub use reader::Reader;
pub use record::{Record, Span};
pub use set::Set;
pub use sizes::Types;
pub use trailer::Trailer;
pub use wire::{Array, List, Status, Statuses, Text};
