//! Grammar of a quantity: `quantity = decimal [blank] unit`,
//! `decimal = digits ["." digits]`.

use super::{BufferPart, Bytes, CostPerByte, Latency, Picoseconds, Rate, Ratio, UnitError};
use crate::quote::quoted;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{digit1, multispace0};
use nom::combinator::{all_consuming, opt};
use nom::sequence::preceded;
use nom::{IResult, Parser};
use std::str::FromStr;

/// Most digits before and after the point: as many as the largest 64-bit number has, so that
/// a printed fraction reads back the same.
const MAX_DIGITS: usize = 20;

/// A unit and its size in base units, as a fraction.
pub(super) type Unit = (&'static str, u128, u128);

pub(super) const BYTES: &[Unit] = &[
    ("B", 1, 1),
    ("kB", 1_000, 1),
    ("KB", 1_000, 1),
    ("MB", 1_000_000, 1),
    ("GB", 1_000_000_000, 1),
    ("TB", 1_000_000_000_000, 1),
    ("KiB", 1 << 10, 1),
    ("MiB", 1 << 20, 1),
    ("GiB", 1 << 30, 1),
    ("TiB", 1 << 40, 1),
];
pub(super) const TIMES: &[Unit] = &[
    ("ps", 1, 1),
    ("ns", 1_000, 1),
    ("us", 1_000_000, 1),
    ("µs", 1_000_000, 1),
    ("ms", 1_000_000_000, 1),
    ("s", 1_000_000_000_000, 1),
];
pub(super) const RATES: &[Unit] = &[
    ("B/s", 1, 1),
    ("kB/s", 1_000, 1),
    ("MB/s", 1_000_000, 1),
    ("GB/s", 1_000_000_000, 1),
    ("TB/s", 1_000_000_000_000, 1),
    ("KiB/s", 1 << 10, 1),
    ("MiB/s", 1 << 20, 1),
    ("GiB/s", 1 << 30, 1),
    ("b/s", 1, 8),
    ("kb/s", 125, 1),
    ("Mb/s", 125_000, 1),
    ("Gb/s", 125_000_000, 1),
    ("Tb/s", 125_000_000_000, 1),
    ("bit/s", 1, 8),
    ("kbit/s", 125, 1),
    ("Mbit/s", 125_000, 1),
    ("Gbit/s", 125_000_000, 1),
    ("Tbit/s", 125_000_000_000, 1),
    ("bps", 1, 8),
    ("kbps", 125, 1),
    ("Mbps", 125_000, 1),
    ("Gbps", 125_000_000, 1),
    ("Tbps", 125_000_000_000, 1),
];
pub(super) const COSTS: &[Unit] = &[("ps/B", 1, 1), ("ns/B", 1_000, 1), ("us/B", 1_000_000, 1)];

pub(super) const BYTES_HELP: &str =
    "a size such as \"64KiB\" (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)";
pub(super) const TIME_HELP: &str = "a time such as \"100ns\" (ps, ns, us, ms, s)";
pub(super) const RATE_HELP: &str =
    "a rate such as \"12.5GB/s\" or \"100Gb/s\" (b/s, bit/s or bps; k, M, G or T before it)";
pub(super) const COST_HELP: &str = "a cost such as \"0.25ns/B\" (ps/B, ns/B, us/B)";
pub(super) const LATENCY_HELP: &str = "a latency such as \"8 ticks\" or \"100ns\"";
pub(super) const BUFFER_HELP: &str =
    "a part of a buffer such as \"4 packets\", \"48 credits\", \"4KiB\" or \"3/4\"";
pub(super) const RATIO_HELP: &str = "a fraction such as 0.05, \"5%\" or \"1/3\"";

/// An unsigned decimal number, `mantissa / 10^scale`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    mantissa: u128,
    scale: u32,
}

fn decimal(input: &str) -> IResult<&str, Option<Decimal>> {
    let (input, (whole, fraction)) = (digit1, opt(preceded(tag("."), digit1))).parse(input)?;
    let fraction: &str = fraction.unwrap_or("");
    let value = if whole.len() > MAX_DIGITS || fraction.len() > MAX_DIGITS {
        None
    } else {
        format!("{whole}{fraction}")
            .parse()
            .ok()
            .map(|mantissa| Decimal {
                mantissa,
                scale: fraction.len() as u32,
            })
    };
    Ok((input, value))
}

fn quantity(input: &str) -> IResult<&str, (Option<Decimal>, &str)> {
    let unit = take_while1(|c: char| c.is_alphabetic() || c == '/' || c == '%');
    all_consuming((
        preceded(multispace0, decimal),
        preceded(multispace0, opt(unit)),
        multispace0,
    ))
    .parse(input)
    .map(|(rest, (number, unit, _))| (rest, (number, unit.unwrap_or(""))))
}

#[cold]
fn wrong(text: &str, problem: String) -> UnitError {
    UnitError {
        text: text.to_owned(),
        problem,
    }
}

/// Splits a text into number and unit; `help` is the expected form.
fn split<'a>(text: &'a str, help: &str) -> Result<(Decimal, &'a str), UnitError> {
    match quantity(text) {
        Ok((_, (Some(number), unit))) => Ok((number, unit)),
        Ok((_, (None, _))) => Err(wrong(text, format!("has too many digits; write {help}"))),
        Err(_) => Err(wrong(text, format!("is not a quantity; write {help}"))),
    }
}

fn scaled(
    text: &str,
    number: Decimal,
    unit: &str,
    units: &[Unit],
    help: &str,
) -> Result<(u128, u128), UnitError> {
    let Some(&(_, num, den)) = units.iter().find(|u| u.0 == unit) else {
        let problem = if unit.is_empty() {
            format!("has no unit; write {help}")
        } else {
            format!("has the unknown unit {}; write {help}", quoted(unit))
        };
        return Err(wrong(text, problem));
    };
    // 39 digits times 40 bits may overflow.
    number
        .mantissa
        .checked_mul(num)
        .map(|num| (num, den * 10u128.pow(number.scale)))
        .ok_or_else(|| wrong(text, format!("is too large; write {help}")))
}

fn whole(text: &str, units: &[Unit], help: &str, base: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text, help)?;
    let (num, den) = scaled(text, number, unit, units, help)?;
    if num % den != 0 {
        return Err(wrong(text, format!("is not a whole number of {base}")));
    }
    u64::try_from(num / den).map_err(|_| wrong(text, format!("is 2^64 {base} or more")))
}

fn fraction(text: &str, units: &[Unit], help: &str) -> Result<Ratio, UnitError> {
    let (number, unit) = split(text, help)?;
    let (num, den) = scaled(text, number, unit, units, help)?;
    Ratio::reduced(num, den).ok_or_else(|| wrong(text, "has too many digits".to_owned()))
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        whole(text, BYTES, BYTES_HELP, "bytes").map(Self)
    }
}

impl FromStr for Picoseconds {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        whole(text, TIMES, TIME_HELP, "picoseconds").map(Self)
    }
}

impl Rate {
    /// Whether `text` ends like a rate with its unit: neither a number nor a fraction does.
    #[must_use]
    pub fn names_unit(text: &str) -> bool {
        let text = text.trim_end();
        text.ends_with("/s") || text.ends_with("bps")
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        fraction(text, RATES, RATE_HELP).map(Self)
    }
}

impl FromStr for CostPerByte {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        fraction(text, COSTS, COST_HELP).map(Self)
    }
}

/// The number in front of one of `names`, if the unit is one of them.
fn counted(number: Decimal, unit: &str, names: [&str; 2]) -> Option<u64> {
    (names.contains(&unit) && number.scale == 0).then(|| u64::try_from(number.mantissa).ok())?
}

impl FromStr for Latency {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text, LATENCY_HELP)?;
        match counted(number, unit, ["tick", "ticks"]) {
            Some(ticks) => Ok(Self::Ticks(ticks)),
            None => whole(text, TIMES, LATENCY_HELP, "picoseconds").map(Self::Time),
        }
    }
}

impl FromStr for BufferPart {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.contains('/') || text.contains('%') {
            return Self::share(text.parse()?)
                .ok_or_else(|| wrong(text, "is more than the whole buffer".into()));
        }
        let (number, unit) = split(text, BUFFER_HELP)?;
        if let Some(packets) = counted(number, unit, ["packet", "packets"]) {
            return Ok(Self::Packets(packets));
        }
        if let Some(credits) = counted(number, unit, ["credit", "credits"]) {
            return Ok(Self::Credits(credits));
        }
        whole(text, BYTES, BUFFER_HELP, "bytes").map(Self::Bytes)
    }
}

impl BufferPart {
    /// A fraction of the buffer; `None` if it is more than all of it.
    pub(super) fn share(ratio: Ratio) -> Option<Self> {
        (ratio <= Ratio::ONE).then_some(Self::Share(ratio))
    }
}

impl FromStr for Ratio {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (first, second): (&str, &str) = text.split_once('/').unwrap_or((text, "1"));
        let (number, unit) = split(first, RATIO_HELP).map_err(|part| wrong(text, part.problem))?;
        let percent: u128 = match unit {
            "" => 1,
            "%" => 100,
            _ => return Err(wrong(text, format!("has a unit; write {RATIO_HELP}"))),
        };
        let denominator = second.trim().parse::<u64>().unwrap_or(0);
        let den = u128::from(denominator) * percent;
        den.checked_mul(10u128.pow(number.scale))
            .and_then(|den| Self::reduced(number.mantissa, den))
            .ok_or_else(|| {
                wrong(
                    text,
                    format!("is no fraction of 64-bit numbers; write {RATIO_HELP}"),
                )
            })
    }
}
