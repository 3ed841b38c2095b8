//! Link speeds by name.

use crate::error::error;
use crate::spec::SpecError;
use crate::spec::validate::MAX_LATENCY_TICKS;
use flitwise_base::quote::quoted;
use flitwise_base::units::{PS_PER_S, Rate, Ratio, TickLength, UnitError};
use std::fmt;
use std::str::FromStr;

/// Speed of an InfiniBand link: a generation and a width, written `"QDR x4"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpeed {
    generation: usize,
    lanes: u8,
}

/// Data rate of one lane in bit/s, a fraction: what 8b/10b (SDR 2.5, DDR 5, QDR 10
/// GBd) or 64b/66b encoding (FDR10 10.3125, FDR 14.0625, EDR 25.78125 GBd) leaves of
/// the signalling rate; HDR carries 50, NDR 100, XDR 200 Gb/s.
const GENERATIONS: [(&str, u64, u64); 9] = [
    ("SDR", 2_000_000_000, 1),
    ("DDR", 4_000_000_000, 1),
    ("QDR", 8_000_000_000, 1),
    ("FDR10", 10_000_000_000, 1),
    ("FDR", 150_000_000_000, 11),
    ("EDR", 25_000_000_000, 1),
    ("HDR", 50_000_000_000, 1),
    ("NDR", 100_000_000_000, 1),
    ("XDR", 200_000_000_000, 1),
];
const WIDTHS: [u8; 5] = [1, 2, 4, 8, 12];
/// Lanes of a link without a width.
const USUAL_LANES: u8 = 4;

impl LinkSpeed {
    /// Data rate in bit/s.
    #[must_use]
    pub fn bits_per_second(self) -> Ratio {
        let (_, num, den) = GENERATIONS[self.generation];
        Ratio::new(num * u64::from(self.lanes), den).unwrap_or(Ratio::ZERO)
    }
}

impl FromStr for LinkSpeed {
    type Err = String;

    /// Reads `QDR x4`, in any case, the blank optional; `QDR` alone has the usual four lanes.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{} is no link speed; write SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR and, if not x4, x1, x2, x8 or x12, as in \"QDR x4\"",
                quoted(text)
            )
        };
        let upper = text.trim().to_ascii_uppercase();
        let mut speeds = GENERATIONS
            .iter()
            .enumerate()
            .filter_map(|(generation, (name, ..))| {
                let lanes = match upper.strip_prefix(name)?.trim_start() {
                    "" => USUAL_LANES,
                    width => width.strip_prefix('X')?.parse().ok()?,
                };
                WIDTHS
                    .contains(&lanes)
                    .then_some(Self { generation, lanes })
            });
        speeds.next().ok_or_else(wrong)
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x{}", GENERATIONS[self.generation].0, self.lanes)
    }
}

/// The data rate in bit/s that `text` gives, by a name (`QDR x4`) or as a rate (`34.2Gb/s`).
///
/// # Errors
/// If it is neither, with the forms that there are.
pub fn link_speed(text: &str) -> Result<Ratio, String> {
    if !Rate::names_unit(text) {
        return text.parse().map(LinkSpeed::bits_per_second);
    }
    let rate: Rate = text.parse().map_err(|e: UnitError| e.to_string())?;
    let bits = rate.0.checked_mul(Ratio::whole(8));
    bits.filter(|bits| !bits.is_zero()).ok_or_else(|| {
        let text = quoted(text);
        format!("{text} is no rate of a link; write a link speed such as \"QDR x4\", or a rate such as \"34.2Gb/s\"")
    })
}

/// A rate in bit/s as flits of `flit_bytes` per tick.
///
/// # Errors
/// If a term of the fraction needs more than 64 bits, or the flit has no bytes; `key`
/// names the setting to change.
pub fn flits_per_tick(
    bits_per_second: Ratio,
    tick: TickLength,
    flit_bytes: u32,
    key: &'static str,
) -> Result<Ratio, SpecError> {
    let bytes_per_s = bits_per_second.checked_mul(Ratio::new(1, 8).unwrap_or(Ratio::ONE));
    let flit = Ratio::new(1, u64::from(flit_bytes).saturating_mul(PS_PER_S));
    bytes_per_s
        .and_then(|rate| rate.checked_mul(tick.length_ps()))
        .zip(flit)
        .and_then(|(bytes, flit)| bytes.checked_mul(flit))
        .ok_or_else(|| SpecError {
            key,
            problem: format!(
                "{bits_per_second} bit/s in flits of {flit_bytes} B per tick of {} ps is no \
                 fraction of 64-bit numbers; round the rate or the tick",
                tick.length_ps()
            ),
        })
}

/// Largest term of a rate, so that the moments of servers stay within 128 bits.
const MAX_RATE_TERM: u64 = 1 << 40;

/// Checks that the engine can count with a rate in flits per tick; `key` names the setting to change.
///
/// # Errors
/// If it is 0, above 1, takes too many ticks for a flit, or needs numbers that are too large.
pub fn check_rate(rate: Ratio, key: &'static str) -> Result<(), SpecError> {
    let problem = if rate.is_zero() {
        "a rate of 0 moves nothing".to_owned()
    } else if rate > Ratio::ONE {
        format!("{rate} flits per tick; at most 1 is possible: shorten the tick")
    } else if rate.den().div_ceil(rate.num()) > MAX_LATENCY_TICKS {
        format!(
            "a flit takes more than {MAX_LATENCY_TICKS} ticks; raise the rate or lengthen the tick"
        )
    } else if rate.den() > MAX_RATE_TERM {
        format!("{rate} flits per tick needs numbers above 2^40; round the rate or the tick")
    } else {
        return Ok(());
    };
    error(key, problem)
}
