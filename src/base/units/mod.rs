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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_have_three_digits() {
        for (ps, text) in [
            (0, "0 ps"),
            (999, "999 ps"),
            (1_000, "1.00 ns"),
            (83_812_345_678, "83.8 ms"),
            (162_900_000_000_000, "162 s"),
            (100_000_000_000_000_000, "100000 s"),
        ] {
            assert_eq!(short_time(ps), text);
        }
    }

    #[test]
    fn bytes_decimal_and_binary() {
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1024B".parse(), Ok(Bytes(1024)));
        assert_eq!("1MB".parse(), Ok(Bytes(1_000_000)));
        assert_eq!(" 1.5 KiB ".parse(), Ok(Bytes(1536)));
        for bad in [
            "",
            "64",
            "KiB",
            "1.0001KiB",
            "-1B",
            "64Kb",
            "1e3B",
            "99999999999999999999B",
            "20000000TB",
        ] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_exact() {
        let rate = |text: &str| text.parse::<Rate>().map(|r| r.0);
        assert_eq!(rate("12.5GB/s"), Ok(Ratio::whole(12_500_000_000)));
        assert_eq!(rate("100Gb/s"), Ok(Ratio::whole(12_500_000_000)));
        assert_eq!(rate("1b/s").ok(), Ratio::new(1, 8));
        for same in [
            "100Gbit/s",
            "100 Gbps",
            "100000Mbps",
            "0.1Tbit/s",
            "0.1Tbps",
            "100000000kbit/s",
        ] {
            assert_eq!(rate(same), Ok(Ratio::whole(12_500_000_000)), "{same}");
            assert!(Rate::names_unit(same));
        }
        // A capital B is a byte, and bytes are per second.
        assert!(rate("100GBps").is_err() && rate("100gbps").is_err());
        assert!(!Rate::names_unit("1/3") && !Rate::names_unit("QDR x4"));
        assert!(rate("12.5GB").is_err());
    }

    #[test]
    fn times_are_whole_picoseconds() {
        assert_eq!("100ns".parse(), Ok(Picoseconds(100_000)));
        assert_eq!("1.5us".parse(), Ok(Picoseconds(1_500_000)));
        assert_eq!("2s".parse(), Ok(Picoseconds(2 * PS_PER_S)));
        assert_eq!("0s".parse(), Ok(Picoseconds(0)));
        assert!("0.5ps".parse::<Picoseconds>().is_err());
        let error = "3 lightyears"
            .parse::<Picoseconds>()
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "`3 lightyears` has the unknown unit `lightyears`; write a time such as \"100ns\" (ps, ns, us, ms, s)"
        );
    }

    #[test]
    fn latencies_round_up_to_ticks() {
        assert_eq!("8 ticks".parse(), Ok(Latency::Ticks(8)));
        assert_eq!(
            "100ns"
                .parse::<Latency>()
                .map(|l| l.ticks(TickLength::whole(640))),
            Ok(157)
        );
        assert_eq!(
            "5120ps"
                .parse::<Latency>()
                .map(|l| l.ticks(TickLength::whole(640))),
            Ok(8)
        );
    }

    #[test]
    fn buffer_parts_and_costs() {
        assert_eq!("4 packets".parse(), Ok(BufferPart::Packets(4)));
        assert_eq!("48 credits".parse(), Ok(BufferPart::Credits(48)));
        assert_eq!("4KiB".parse(), Ok(BufferPart::Bytes(4096)));
        assert_eq!("3/4".parse().ok(), Ratio::new(3, 4).map(BufferPart::Share));
        assert_eq!("75%".parse().ok(), Ratio::new(3, 4).map(BufferPart::Share));
        assert_eq!("0.25ns/B".parse(), Ok(CostPerByte(Ratio::whole(250))));
    }

    #[test]
    fn articles_are_as_spoken() {
        for number in [8, 11, 18, 80, 85, 89, 800, 8_000, 11_500, 18_000, 8_000_000] {
            assert_eq!(article(number), "an", "{number}");
        }
        for number in [
            0, 1, 2, 7, 9, 10, 12, 79, 90, 100, 110, 118, 180, 1_000, 1_800, 110_000,
        ] {
            assert_eq!(article(number), "a", "{number}");
        }
    }

    #[test]
    fn human_forms() {
        assert_eq!(human_time(0), "0 ps");
        assert_eq!(human_time(1_250_000), "1.250 us");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_count(1_234_567), "1,234,567");
        assert_eq!(human_count(12), "12");
    }
}
