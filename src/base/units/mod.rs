//! Converts quantities as people write them (`"64KiB"`, `"12.5GB/s"`, `"1.5us"`)
//! into exact integers and fractions. This module never rounds: a text that is not a
//! whole number of bytes or picoseconds is an error.

mod human;
mod parse;
mod ratio;
mod schema;
mod serde_impls;
mod tick;

pub use human::{
    article, byte_unit, counted, four_digits, human_bytes, human_count, human_time, number,
    percent, percent_of, short_time, time_unit,
};
pub use ratio::Ratio;
pub use tick::TickLength;

use crate::quote::quoted;
use std::fmt;
use thiserror::Error;

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A text that is not the expected quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} {problem}", quoted(text))]
#[non_exhaustive]
pub struct UnitError {
    /// The text.
    pub text: String,
    /// The problem, and the text that is expected.
    pub problem: String,
}

/// A size in bytes; written `"64KiB"`, `"1024B"`, `"1MB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A time in picoseconds; written `"100ns"`, `"1.5us"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Picoseconds(pub u64);

/// A data rate in bytes per second, exact; written `"12.5GB/s"`, `"100Gb/s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub Ratio);

/// A cost in picoseconds per byte, exact; written `"0.25ns/B"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostPerByte(pub Ratio);

/// A pipeline latency; written `"8 ticks"` or as a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// Whole ticks.
    Ticks(u64),
    /// A time in picoseconds, rounded up to whole ticks when resolved.
    Time(u64),
}

/// Part of a buffer; written `"4 packets"`, `"48 credits"`, `"4KiB"`, `"3/4"` or
/// `"75%"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferPart {
    /// Packets of the largest MTU.
    Packets(u64),
    /// Credits.
    Credits(u64),
    /// Bytes.
    Bytes(u64),
    /// A fraction of the buffer.
    Share(Ratio),
}

impl Latency {
    /// The latency in whole ticks, rounded up.
    #[must_use]
    pub fn ticks(self, tick: TickLength) -> u64 {
        match self {
            Self::Ticks(ticks) => ticks,
            Self::Time(ps) => tick.ticks(ps),
        }
    }
}

impl fmt::Display for Rate {
    /// Bytes per second, as a decimal number or a fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B/s", self.0)
    }
}
