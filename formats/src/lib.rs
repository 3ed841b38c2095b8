//! Streaming readers and writers for the trace formats that Flitwise replays.
//!
//! A parser knows no files: it is fed bytes and gives records ([`vef::Parser`]). A
//! [`Source`] gives the bytes of a plain, gzip or zstd file. A reader joins both, and a
//! check, which is a module of its own, judges what was read.

pub mod error;
pub mod infiniband;
pub mod limits;
pub mod sink;
pub mod source;
pub mod vef;

pub use error::Error;
pub use sink::Sink;
pub use source::Source;
