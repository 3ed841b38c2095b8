//! Flit trains in closed form: when each flit of a packet leaves a buffer, and
//! so when its credits come back, without an event per flit.
//!
//! Flit i leaves at the latest of up to three lines `start + ⌊i / rate⌋`
//! (`docs/model.md` §4: the crossing itself, and the arrival of the flits from
//! the stages before). All lines are non-decreasing in i and each later stage is
//! bounded by the stages before it, so their maximum is exactly what a greedy
//! flit-by-flit transfer does; the oracle is the proof.

use crate::fabric::spec::Tick;

/// The departure of one packet from one buffer, dated when the freed space can
/// be used again. Kept in 24 bytes: every buffer has some.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Train {
    /// Date of the last credit; the other dates lie before it.
    pub end: Tick,
    /// Queue whose credits come back, counted within the buffer.
    pub queue: u16,
    /// The crossing out of this buffer begins so long before `end`.
    start: u16,
    /// The link into the switch, one flit per tick, begins so long before `end`.
    arrival: u16,
    /// The crossing into this buffer begins so long before `end`.
    fed: u16,
    pub credits: u16,
    /// Credits that have come back.
    pub done: u16,
    /// Flits per tick out of this buffer.
    rate: u8,
    /// Flits per tick into this buffer; 0 means that it does not matter.
    fed_rate: u8,
}

/// Most flits of a packet: the distances of a [`Train`] have 16 bits, and one that
/// is cut off at their maximum must still lie before every other date.
pub(super) const MAX_FLITS: u32 = u16::MAX as u32 / 2;
/// Largest crossbar speed-up.
pub(super) const MAX_SPEEDUP: u32 = u8::MAX as u32;

impl Train {
    /// A train that leaves over a link, one flit per tick from `start` on.
    #[inline]
    pub(super) fn link(queue: u32, (flits, credits): (u32, u32), start: Tick) -> Self {
        Self {
            end: start + Tick::from(flits - 1),
            queue: queue as u16,
            start: (flits - 1) as u16,
            arrival: (flits - 1) as u16,
            fed: 0,
            credits: credits as u16,
            done: 0,
            rate: 1,
            fed_rate: 0,
        }
    }

    /// A train that crosses from an input buffer: `rate` flits per tick from
    /// `start` on, flit i not before `arrival + i`.
    #[inline]
    pub(super) fn input(
        queue: u32,
        (flits, credits): (u32, u32),
        (start, rate): (Tick, u32),
        arrival: Tick,
    ) -> Self {
        let last = flits - 1;
        let end = (start + Tick::from(last / rate)).max(arrival + Tick::from(last));
        Self {
            end,
            queue: queue as u16,
            start: (end - start) as u16,
            // The header may have waited for long; what is cut off is long past.
            arrival: (end - arrival).min(u16::MAX.into()) as u16,
            fed: 0,
            credits: credits as u16,
            done: 0,
            rate: rate as u8,
            fed_rate: 0,
        }
    }

    /// A train that crosses from a central buffer, fed by the crossing
    /// `(fed, fed_rate)` before.
    #[inline]
    pub(super) fn central(
        queue: u32,
        (flits, credits): (u32, u32),
        (start, rate): (Tick, u32),
        (fed, fed_rate): (Tick, u32),
        arrival: Tick,
    ) -> Self {
        let last = flits - 1;
        let end = (start + Tick::from(last / rate))
            .max(arrival + Tick::from(last))
            .max(fed + Tick::from(last / fed_rate));
        Self {
            end,
            queue: queue as u16,
            start: (end - start) as u16,
            arrival: (end - arrival).min(u16::MAX.into()) as u16,
            fed: (end - fed).min(u16::MAX.into()) as u16,
            credits: credits as u16,
            done: 0,
            rate: rate as u8,
            fed_rate: fed_rate as u8,
        }
    }

    /// Moves all dates by `delay`: the way of the credits to who uses them.
    #[inline]
    pub(super) fn delayed(mut self, delay: Tick) -> Self {
        self.end += delay;
        self
    }

    /// Date of flit `i`.
    #[inline]
    fn date(&self, i: u32) -> Tick {
        let mut date = self.end - Tick::from(self.start) + Tick::from(i / u32::from(self.rate));
        if i > 0 {
            date = date.max(self.end - Tick::from(self.arrival) + Tick::from(i));
        }
        if self.fed_rate > 0 {
            date = date
                .max(self.end - Tick::from(self.fed) + Tick::from(i / u32::from(self.fed_rate)));
        }
        date
    }

    /// Date of credit `c` (from 0).
    #[inline]
    pub(super) fn credit_date(&self, c: u32, flits_per_credit: u32) -> Tick {
        if c + 1 >= u32::from(self.credits) {
            self.end
        } else {
            self.date((c + 1) * flits_per_credit - 1)
        }
    }

    /// Credits back by tick `now`, at most all.
    #[inline]
    pub(super) fn credits_by(&self, now: Tick, flits_per_credit: u32) -> u32 {
        if now >= self.end {
            return self.credits.into();
        }
        let left = self.end - now;
        let since = |begin: u16| Tick::from(begin).checked_sub(left).map(|ticks| ticks + 1);
        let (Some(crossed), Some(arrived)) = (since(self.start), since(self.arrival)) else {
            return 0;
        };
        let mut flits = arrived.min(crossed * Tick::from(self.rate));
        if self.fed_rate > 0 {
            let Some(fed) = since(self.fed) else { return 0 };
            flits = flits.min(fed * Tick::from(self.fed_rate));
        }
        // Not all flits have left, so the partial last credit is still out.
        ((flits / Tick::from(flits_per_credit)) as u32).min(u32::from(self.credits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Credits counted by date equal credits counted flit by flit with a
        /// greedy transfer out of a buffer that is filled by a greedy transfer.
        #[test]
        fn closed_form_equals_greedy_transfer(
            flits in 1u32..200, fpc in 1u32..9, rate in 1u32..6, fed_rate in 1u32..6,
            wait in 0u64..60, second in 0u64..60, store in 0u64..40,
        ) {
            // Header crosses no earlier than `store` ticks after its arrival at 100.
            let first = 100 + store + wait;
            let greedy = |start: Tick, rate: u32, available: &dyn Fn(u32) -> Tick| {
                let (mut out, mut tick, mut i) = (Vec::new(), start, 0);
                while i < flits {
                    let mut moved = 0;
                    while i < flits && moved < rate && available(i) <= tick {
                        out.push(tick);
                        i += 1;
                        moved += 1;
                    }
                    tick += 1;
                }
                out
            };
            let into = greedy(first, fed_rate, &|i| 100 + store + u64::from(i));
            let start = first + second;
            let dates = greedy(start, rate, &|i| into[i as usize]);
            let credits = flits.div_ceil(fpc);
            let one = Train::input(0, (flits, credits), (first, fed_rate), 100 + store);
            let two = Train::central(
                0, (flits, credits), (start, rate), (first, fed_rate), 100 + store);
            for c in 0..credits {
                let last = ((c + 1) * fpc).min(flits) - 1;
                prop_assert_eq!(one.credit_date(c, fpc), into[last as usize]);
                prop_assert_eq!(two.credit_date(c, fpc), dates[last as usize]);
            }
            for now in 90..two.end + 3 {
                let back = (0..credits)
                    .filter(|&c| dates[(((c + 1) * fpc).min(flits) - 1) as usize] <= now).count();
                prop_assert_eq!(two.credits_by(now, fpc) as usize, back, "at {}", now);
            }
        }
    }
}
