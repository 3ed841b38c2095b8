//! Injection processes: when a source creates its messages, in exact integer arithmetic. The
//! offered load is exact; nothing here knows of queues or destinations.

use super::BackgroundError;
use flitwise_base::random::Stream;
use flitwise_fabric::spec::Tick;
use serde::{Deserialize, Serialize};

/// A rate of `units / ticks`, in units of link time per tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Numerator; with 0 nothing is ever sent.
    pub units: u64,
    /// Denominator, at least 1.
    pub ticks: u64,
}

/// Kind of an injection process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Injection {
    /// Constant bit rate: after a message of m units the next one follows in m / rate ticks.
    Cbr,
    /// In every tick a message is created with the same probability, which is the rate over
    /// the mean number of units of a message.
    Bernoulli,
}

/// Sub-tick time of a source, `tick + parts / parts_per_tick` in ticks. With
/// [`Injection::Cbr`] a tick has as many parts as the numerator of the rate. With
/// [`Injection::Bernoulli`] `parts` is always 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SubTick {
    /// Tick in which the message is created.
    pub tick: Tick,
    parts: u64,
}

/// The process that creates the messages of one flow.
#[derive(Debug, Clone)]
pub(super) enum InjectionProcess {
    /// A rate of 0: there is no first message.
    Silent,
    Cbr {
        parts_per_tick: u64,
        /// Time from a message to the next one, by the size of the first.
        spans: Vec<SubTick>,
    },
    Bernoulli(Geometric),
}

impl InjectionProcess {
    /// The injection process of messages with `sizes` (units of link time, weight) at `rate`.
    ///
    /// # Errors
    /// If a message has no unit or the time between two messages exceeds 2⁶⁴ ticks.
    pub(super) fn new(
        injection: Injection,
        sizes: &[(u64, u64)],
        rate: Rate,
    ) -> Result<Self, BackgroundError> {
        let nothing = sizes
            .iter()
            .any(|&(units, weight)| units == 0 || weight == 0);
        if sizes.is_empty() || nothing || rate.ticks == 0 {
            return Err(BackgroundError::Nothing);
        }
        if rate.units == 0 {
            return Ok(Self::Silent);
        }
        match injection {
            Injection::Cbr => {
                let parts_per_tick = rate.units;
                let span = |&(units, _): &(u64, u64)| {
                    let parts = u128::from(units) * u128::from(rate.ticks);
                    SubTick::of(parts, parts_per_tick).ok_or(BackgroundError::TooSlow)
                };
                let spans = sizes.iter().map(span).collect::<Result<_, _>>()?;
                Ok(Self::Cbr {
                    parts_per_tick,
                    spans,
                })
            }
            Injection::Bernoulli => {
                // p / q = rate / (Σ units × weight / Σ weight)
                let units = sizes.iter().try_fold(0_u128, |sum, &(units, weight)| {
                    sum.checked_add(u128::from(units) * u128::from(weight))
                });
                let weights: u128 = sizes.iter().map(|&(_, weight)| u128::from(weight)).sum();
                let p = u128::from(rate.units).checked_mul(weights);
                let q = units.and_then(|units| units.checked_mul(rate.ticks.into()));
                let (Some(p), Some(q)) = (p, q) else {
                    return Err(BackgroundError::TooSlow);
                };
                if p > q {
                    return Err(BackgroundError::TooFast);
                }
                Ok(Self::Bernoulli(
                    Geometric::new(p, q).ok_or(BackgroundError::TooSlow)?,
                ))
            }
        }
    }

    /// Time of the first message of a source that starts in tick `start`. The message has size
    /// number `size`.
    pub(super) fn first(&self, start: Tick, size: usize, stream: &mut Stream) -> SubTick {
        let start = SubTick {
            tick: start,
            parts: 0,
        };
        match self {
            Self::Silent => SubTick::NEVER,
            Self::Cbr {
                parts_per_tick,
                spans,
            } => {
                let span = spans[size].total_parts(*parts_per_tick);
                let phase = SubTick::of(stream.below_wide(span), *parts_per_tick);
                phase.map_or(start, |phase| start.plus(phase, *parts_per_tick))
            }
            Self::Bernoulli(gap) => start.later(gap.draw(stream)),
        }
    }

    /// Time of the message after one of size number `size` at `time`; at most
    /// [`SubTick::NEVER`].
    #[inline]
    pub(super) fn after(&self, time: SubTick, size: usize, stream: &mut Stream) -> SubTick {
        match self {
            Self::Silent => SubTick::NEVER,
            Self::Cbr {
                parts_per_tick,
                spans,
            } => time.plus(spans[size], *parts_per_tick),
            Self::Bernoulli(gap) => time.later(gap.draw(stream).saturating_add(1)),
        }
    }

    /// Number of messages from the one at `time` on that are created up to tick `end`. `None`
    /// unless it is known without drawing: with messages of one size at constant rate.
    pub(super) fn count(&self, time: SubTick, end: Tick) -> Option<u64> {
        match self {
            Self::Silent => Some(0),
            Self::Cbr {
                parts_per_tick,
                spans,
            } if spans.len() == 1 => {
                if time.tick > end {
                    return Some(0);
                }
                let span = spans[0].total_parts(*parts_per_tick);
                // Message i counts if ⌊time + i × span⌋ ≤ end; all in parts of a tick.
                let left = (u128::from(end - time.tick) + 1) * u128::from(*parts_per_tick)
                    - u128::from(time.parts);
                u64::try_from(left.div_ceil(span)).ok()
            }
            _ => None,
        }
    }

    /// Passes over the messages from the one at `time` on that are created up to tick `last` and
    /// before tick `stop`: their number, and the time of the one after them. `None` where
    /// [`InjectionProcess::count`] does not know it without drawing.
    pub(super) fn skip(&self, time: SubTick, last: Tick, stop: Tick) -> Option<(u64, SubTick)> {
        let messages = self.count(time, last.min(stop.saturating_sub(1)))?;
        let next = match self {
            Self::Cbr {
                parts_per_tick,
                spans,
            } => {
                let span = spans.first()?.total_parts(*parts_per_tick);
                let passed = u128::from(messages).checked_mul(span);
                let passed = passed.and_then(|passed| SubTick::of(passed, *parts_per_tick));
                passed.map_or(SubTick::NEVER, |passed| time.plus(passed, *parts_per_tick))
            }
            Self::Silent | Self::Bernoulli(_) => SubTick::NEVER,
        };
        Some((messages, next))
    }
}

impl SubTick {
    /// Later than every message.
    pub(super) const NEVER: Self = Self {
        tick: Tick::MAX,
        parts: 0,
    };

    /// The time of `parts` parts; `None` beyond the range of ticks.
    fn of(parts: u128, parts_per_tick: u64) -> Option<Self> {
        let tick = Tick::try_from(parts / u128::from(parts_per_tick)).ok()?;
        let parts = (parts % u128::from(parts_per_tick)) as u64;
        Some(Self { tick, parts })
    }

    /// The whole time in parts.
    fn total_parts(self, parts_per_tick: u64) -> u128 {
        u128::from(self.tick) * u128::from(parts_per_tick) + u128::from(self.parts)
    }

    /// The time `ticks` whole ticks later.
    fn later(self, ticks: Tick) -> Self {
        Self {
            tick: self.tick.saturating_add(ticks),
            parts: self.parts,
        }
    }

    /// The time `span` later.
    #[inline]
    fn plus(self, span: Self, parts_per_tick: u64) -> Self {
        let (parts, overflows) = self.parts.overflowing_add(span.parts);
        let carry = overflows || parts >= parts_per_tick;
        Self {
            tick: self
                .tick
                .saturating_add(span.tick)
                .saturating_add(carry.into()),
            parts: if carry {
                parts.wrapping_sub(parts_per_tick)
            } else {
                parts
            },
        }
    }
}

/// Draws the number of failures before the first success, each trial of probability p.
///
/// The bits of a geometric variate are independent: bit j is set with probability q / (1 + q),
/// where q = (1 − p)^(2^j). The powers are computed in 128 bits, and the probabilities are
/// stored in 64 bits.
#[derive(Debug, Clone)]
pub(super) struct Geometric {
    /// Probability that bit j is set, times 2⁶⁴.
    bits: Vec<u64>,
}

impl Geometric {
    /// For p = `num / den` ≤ 1; `None` below 2⁻⁶⁰.
    fn new(num: u128, den: u128) -> Option<Self> {
        // 1 − p as a fraction of 2^128, by long division.
        let mut power = long_division(den - num, den)?;
        let mut bits = Vec::new();
        // Once q is below 2^-64 no further bit is ever set.
        while power >> 64 != 0 {
            if bits.len() == 64 {
                return None;
            }
            let q = power >> 64;
            bits.push(u64::try_from((q << 64) / ((1 << 64) + q)).unwrap_or(u64::MAX));
            power = square(power);
        }
        (num >= den >> 60 && num > 0).then_some(Self { bits })
    }

    /// Draws a variate.
    fn draw(&self, stream: &mut Stream) -> u64 {
        let ones = (0..).zip(&self.bits);
        ones.map(|(j, &bit)| u64::from(stream.bits() < bit) << j)
            .sum()
    }
}

/// ⌊2^128 × num / den⌋ for num ≤ den, at most 2^128 − 1; `None` if `den` is so large that
/// twice a remainder overflows.
fn long_division(num: u128, den: u128) -> Option<u128> {
    if den >> 127 != 0 {
        return None;
    }
    if num == den {
        return Some(u128::MAX);
    }
    let (mut remainder, mut quotient) = (num, 0_u128);
    for _ in 0..128 {
        remainder *= 2;
        quotient = quotient << 1 | u128::from(remainder >= den);
        if remainder >= den {
            remainder -= den;
        }
    }
    Some(quotient)
}

/// The upper 128 bits of x².
fn square(x: u128) -> u128 {
    let (high, low) = (x >> 64, x & u128::from(u64::MAX));
    let cross = high * low;
    let carry = ((low * low) >> 64) + ((cross << 1) & u128::from(u64::MAX));
    high * high + (cross >> 63) + (carry >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitwise_base::random::Purpose;
    use proptest::prelude::*;

    fn stream(seed: u64) -> Stream {
        Stream::new(seed, Purpose::Background, [0, 0])
    }

    fn cbr(units: u64, (p, q): (u64, u64)) -> InjectionProcess {
        let rate = Rate { units: p, ticks: q };
        InjectionProcess::new(Injection::Cbr, &[(units, 1)], rate).unwrap()
    }

    #[test]
    fn ten_million_messages_do_not_drift() {
        let process = cbr(129, (31, 997));
        let mut time = SubTick { tick: 5, parts: 30 };
        for _ in 0..10_000_000 {
            time = process.after(time, 0, &mut stream(1));
        }
        let exact = (5 * 31 + 30 + 10_000_000_u128 * 129 * 997) / 31;
        assert_eq!(u128::from(time.tick), exact);
    }

    #[test]
    fn times_do_not_pass_the_last_tick() {
        let process = cbr(u64::MAX, (1, 1));
        let start = SubTick { tick: 1, parts: 0 };
        let late = process.after(process.after(start, 0, &mut stream(1)), 0, &mut stream(1));
        assert_eq!(late.tick, Tick::MAX);
    }

    proptest! {
        #[test]
        fn every_message_comes_at_its_own_tick(
            units in 1_u64..300,
            p in 1_u64..1000,
            q in 1_u64..1000,
            start in 0_u64..100,
            seed: u64,
        ) {
            let process = cbr(units, (p, q));
            let mut random = stream(seed);
            let first = process.first(start, 0, &mut random);
            let phase = first.total_parts(p) - u128::from(start * p);
            prop_assert!(phase < u128::from(units * q));
            let mut time = first;
            for i in 0..200_u128 {
                let exact = (first.total_parts(p) + i * u128::from(units * q)) / u128::from(p);
                prop_assert_eq!(u128::from(time.tick), exact);
                // By its own tick there are i + 1, or more if several are in one tick.
                let counted = process.count(first, time.tick).unwrap();
                let next = process.after(time, 0, &mut random);
                if next.tick > time.tick {
                    prop_assert_eq!(u128::from(counted), i + 1);
                }
                time = next;
            }
        }

        #[test]
        fn the_upper_half_of_a_square(x: u128) {
            // By digits of 32 bits.
            let digits: Vec<u128> = (0..4).map(|i| x >> (32 * i) & 0xffff_ffff).collect();
            let mut columns = [0_u128; 8];
            for (i, a) in digits.iter().enumerate() {
                for (j, b) in digits.iter().enumerate() {
                    columns[i + j] += a * b;
                }
            }
            for i in 0..7 {
                columns[i + 1] += columns[i] >> 32;
                columns[i] &= 0xffff_ffff;
            }
            let upper = (0..4).fold(0, |sum, i| sum | columns[4 + i] << (32 * i));
            prop_assert_eq!(square(x), upper);
        }
    }

    #[test]
    fn gaps_are_geometric() {
        for (num, den) in [(1_u128, 1_u128), (1, 2), (2, 5), (1, 40), (1, 5000)] {
            let gap = Geometric::new(num, den).unwrap();
            let mut random = stream(5);
            let draws: Vec<u64> = (0..100_000).map(|_| gap.draw(&mut random)).collect();
            let p = num as f64 / den as f64;
            let mean = draws.iter().sum::<u64>() as f64 / 1e5;
            let expected = (1.0 - p) / p;
            let error = 5.0 * ((1.0 - p) / (p * p) / 1e5).sqrt();
            assert!(
                (mean - expected).abs() <= error,
                "{p}: {mean} for {expected}"
            );
            let zeros = draws.iter().filter(|&&d| d == 0).count() as f64 / 1e5;
            assert!((zeros - p).abs() <= 5.0 * (p * (1.0 - p) / 1e5).sqrt());
        }
    }

    #[test]
    fn rare_messages_keep_their_mean() {
        let gap = Geometric::new(1, 1 << 50).unwrap();
        let mut random = stream(9);
        let mean = (0..10_000)
            .map(|_| gap.draw(&mut random) as f64)
            .sum::<f64>()
            / 1e4;
        let expected = 2_f64.powi(50);
        assert!((mean / expected - 1.0).abs() < 0.05, "{}", mean / expected);
        assert!(Geometric::new(1, 1 << 61).is_none());
    }
}
