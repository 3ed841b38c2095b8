//! The clock of constant-rate traffic, in exact integer arithmetic.
//!
//! Messages of m flits at r = p/q flits per tick are m·q/p ticks apart, which is
//! rarely a whole number. Points in time are kept as a whole number of ticks and
//! a rest in units of 1/p tick, so nothing is ever rounded but the result.

use super::background::BackgroundError;
use super::rng::Stream;
use crate::fabric::spec::Tick;

/// A rate of `flits / ticks` flits per tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Numerator, at least 1.
    pub flits: u64,
    /// Denominator, at least 1.
    pub ticks: u64,
}

/// A length of time: `whole + rest / unit` ticks with `rest < unit`, the unit
/// being the [`Period`]'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    whole: Tick,
    rest: u64,
}

/// The exact time between two messages of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    span: Span,
    unit: u64,
}

/// Offset of a source within the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase(Span);

impl Period {
    /// The period of messages of `flits` flits at `rate`.
    ///
    /// # Errors
    /// If there is nothing to send or the period exceeds 2⁶⁴ ticks.
    pub fn new(flits: u64, rate: Rate) -> Result<Self, BackgroundError> {
        if flits == 0 || rate.flits == 0 || rate.ticks == 0 {
            return Err(BackgroundError::Nothing);
        }
        let units = u128::from(flits) * u128::from(rate.ticks);
        let unit = rate.flits;
        match Span::of(units, unit) {
            Some(span) => Ok(Self { span, unit }),
            None => Err(BackgroundError::TooSlow),
        }
    }

    /// `time` one period later; stays at the end of time.
    fn after(&self, time: Span) -> Span {
        self.sum(time, self.span)
    }

    fn sum(&self, a: Span, b: Span) -> Span {
        let rest = u128::from(a.rest) + u128::from(b.rest);
        let unit = u128::from(self.unit);
        let carry = rest >= unit;
        Span {
            whole: a.whole.saturating_add(b.whole).saturating_add(carry.into()),
            rest: (if carry { rest - unit } else { rest }) as u64,
        }
    }
}

impl Span {
    fn of(units: u128, unit: u64) -> Option<Self> {
        let whole = Tick::try_from(units / u128::from(unit)).ok()?;
        let rest = (units % u128::from(unit)) as u64;
        Some(Self { whole, rest })
    }
}

impl Phase {
    /// One of the multiples of 1/p tick below the period, each equally likely.
    #[must_use]
    pub fn draw(period: &Period, stream: &mut Stream) -> Self {
        let unit = u128::from(period.unit);
        let units = u128::from(period.span.whole) * unit + u128::from(period.span.rest);
        let drawn = stream.below_wide(units);
        let zero = Span { whole: 0, rest: 0 };
        Self(Span::of(drawn, period.unit).unwrap_or(zero))
    }
}

/// Whose turn it is among sources with one period and different phases.
///
/// As the phases are below the period, the sources take turns in the order of
/// their phases for ever: finding the next one costs nothing.
#[derive(Debug, Clone)]
pub struct Turns {
    period: Period,
    /// Start of the present period: i·m/r.
    base: Span,
    /// Phase and source, ascending.
    order: Vec<(Phase, u32)>,
    next: usize,
    tick: Tick,
}

impl Turns {
    /// Turns of sources with the given phases, indexed by source; at least one.
    #[must_use]
    pub fn new(period: Period, phases: Vec<Phase>) -> Self {
        let mut order: Vec<(Phase, u32)> = phases.into_iter().zip(0..).collect();
        order.sort_unstable();
        let tick = order.first().map_or(Tick::MAX, |first| first.0.0.whole);
        Self {
            period,
            base: Span { whole: 0, rest: 0 },
            order,
            next: 0,
            tick,
        }
    }

    /// Tick of the next message.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Source of the next message.
    #[must_use]
    pub fn source(&self) -> u32 {
        self.order[self.next].1
    }

    /// Goes on to the message after the next.
    pub fn advance(&mut self) {
        self.next += 1;
        if self.next == self.order.len() {
            self.next = 0;
            self.base = self.period.after(self.base);
        }
        let phase = self.order[self.next].0;
        self.tick = self.period.sum(self.base, phase.0).whole;
    }
}

#[cfg(test)]
mod tests {
    use super::super::rng::Purpose;
    use super::*;
    use proptest::prelude::*;

    fn rate(flits: u64, ticks: u64) -> Rate {
        Rate { flits, ticks }
    }

    #[test]
    fn ten_million_messages_do_not_drift() {
        let period = Period::new(129, rate(31, 997)).unwrap();
        let mut turns = Turns::new(period, vec![Phase(Span { whole: 5, rest: 30 })]);
        for _ in 0..10_000_000 {
            turns.advance();
        }
        let exact = (5 * 31 + 30 + 10_000_000_u128 * 129 * 997) / 31;
        assert_eq!(u128::from(turns.tick()), exact);
    }

    #[test]
    fn several_messages_may_fall_into_one_tick() {
        let period = Period::new(1, rate(3, 1)).unwrap();
        let mut turns = Turns::new(period, vec![Phase(Span { whole: 0, rest: 0 })]);
        let mut ticks = Vec::new();
        for _ in 0..7 {
            ticks.push(turns.tick());
            turns.advance();
        }
        assert_eq!(ticks, [0, 0, 0, 1, 1, 1, 2]);
    }

    #[test]
    fn the_end_of_time_is_not_passed() {
        let period = Period::new(u64::MAX, rate(1, 1)).unwrap();
        let mut turns = Turns::new(period, vec![Phase(Span { whole: 1, rest: 0 })]);
        turns.advance();
        turns.advance();
        assert_eq!(turns.tick(), Tick::MAX);
    }

    proptest! {
        #[test]
        fn every_message_comes_at_its_own_tick(
            flits in 1_u64..300,
            p in 1_u64..1000,
            q in 1_u64..1000,
            seed: u64,
            sources in 1_u32..6,
        ) {
            let period = Period::new(flits, rate(p, q)).unwrap();
            let phases: Vec<Phase> = (0..sources)
                .map(|s| Phase::draw(&period, &mut Stream::new(seed, Purpose::Background, [0, s.into()])))
                .collect();
            let mut turns = Turns::new(period, phases.clone());
            let mut seen = vec![0_u128; sources as usize];
            let mut last = 0;
            for _ in 0..200 {
                let source = turns.source() as usize;
                let Phase(Span { whole, rest }) = phases[source];
                let offset = u128::from(whole) * u128::from(p) + u128::from(rest);
                prop_assert!(offset < u128::from(flits * q));
                let exact = (offset + seen[source] * u128::from(flits * q)) / u128::from(p);
                prop_assert_eq!(u128::from(turns.tick()), exact);
                prop_assert!(turns.tick() >= last);
                last = turns.tick();
                seen[source] += 1;
                turns.advance();
            }
        }
    }
}
