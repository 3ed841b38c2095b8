//! Converts quantities as people write them (`"64KiB"`, `"12.5GB/s"`, `"1.5us"`)
//! into exact integers and fractions. This module never rounds: a text that is not a
//! whole number of bytes or picoseconds is an error.

mod parse;
mod ratio;
mod schema;
mod serde_impls;
mod tick;

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

/// Picoseconds as a human would write them: `"1.250 us"`.
#[must_use]
pub fn human_time(ps: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (PS_PER_S, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1_000, "ns"),
    ];
    for (size, unit) in UNITS {
        if ps >= size {
            return format!("{:.3} {unit}", ps as f64 / size as f64);
        }
    }
    format!("{ps} ps")
}

/// Picoseconds with three significant digits: `"1.25 us"`.
#[must_use]
pub fn short_time(ps: u64) -> String {
    let text = human_time(ps);
    let Some((number, unit)) = text.split_once(' ') else {
        return text;
    };
    match number.split_once('.') {
        Some((whole, part)) => {
            let digits = 3_usize.saturating_sub(whole.len());
            match digits {
                0 => format!("{whole} {unit}"),
                _ => format!("{whole}.{} {unit}", &part[..digits.min(part.len())]),
            }
        }
        None => text,
    }
}

/// Bytes as a human would write them: `"1.5 MiB"`.
#[must_use]
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    for (size, unit) in UNITS {
        if bytes >= size {
            return format!("{:.1} {unit}", bytes as f64 / size as f64);
        }
    }
    format!("{bytes} B")
}

/// The indefinite article of a spoken number: "an" 8, 11, 18, 80 to 89, 800, 11,000; else "a".
#[must_use]
pub fn article(number: u64) -> &'static str {
    let mut leading = number;
    while leading >= 1000 {
        leading /= 1000;
    }
    match leading {
        8 | 11 | 18 | 80..=89 | 800..=899 => "an",
        _ => "a",
    }
}

/// A count with thin groups of three digits: `"12,345,678"`.
#[must_use]
pub fn human_count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
