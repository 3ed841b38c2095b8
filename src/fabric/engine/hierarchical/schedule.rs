//! Flit credit returns in closed form: when each flit of a packet leaves a buffer, and
//! so when its credits come back, without an event per flit.
//!
//! Flit i leaves at the latest of up to three lines `start + ⌊i / rate⌋`
//! (`docs/model.md` §4: the crossing itself, and the arrival of the flits from
//! the stages before). All lines are non-decreasing in i and each later stage is
//! bounded by the stages before it, so their maximum is exactly what a greedy
//! flit-by-flit transfer does; the oracle is the proof.

use crate::fabric::engine::bits::Divisor;
use crate::fabric::spec::Tick;

/// The departure of one packet from one buffer, dated when the freed space can
/// be used again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CreditReturn {
    /// Date of the last credit; the other dates lie before it.
    pub end: Tick,
    pub schedule: CompactSchedule,
}

/// What a credit_return consists of. Kept in 12 bytes: every buffer has some.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CompactSchedule {
    /// Queue whose credits come back, counted within the buffer.
    pub queue: u16,
    /// The crossing out of this buffer begins so long before the end.
    start: u16,
    /// The link into the switch, one flit per tick, begins so long before the end.
    arrival: u16,
    /// The crossing into this buffer begins so long before the end.
    fed: u16,
    pub credits: u16,
    /// Credits that have come back.
    pub done: u16,
}

/// What all credit returns out of the buffers of one kind have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrainRate {
    /// Flits per tick out of the buffer.
    out: Divisor,
    /// Flits per tick into the buffer, where they may hold up what leaves it.
    fed: Option<Divisor>,
    flits_per_credit: Divisor,
}

/// Most flits of a packet: the distances of a credit_return have 16 bits, and one that
/// is cut off at their maximum must still lie before every other date.
pub(super) const MAX_FLITS: u32 = u16::MAX as u32 / 2;
/// Largest crossbar speed-up.
pub(super) const MAX_SPEEDUP: u32 = u8::MAX as u32;

impl DrainRate {
    /// Over a link, from a buffer that never lets it wait.
    pub(super) fn link(flits_per_credit: u32) -> Self {
        Self::crossbar(1, None, flits_per_credit)
    }

    /// Over a crossbar with a speed-up of `out`, from a buffer that was itself filled
    /// over a crossbar (`fed`) or from a link.
    pub(super) fn crossbar(out: u32, fed: Option<u32>, flits_per_credit: u32) -> Self {
        Self {
            out: Divisor::new(out),
            fed: fed.map(Divisor::new),
            // No packet is larger: a larger credit is one credit all the same.
            flits_per_credit: Divisor::new(flits_per_credit.min(MAX_FLITS + 1)),
        }
    }

    /// A credit_return of a packet whose flit i has left its link at `arrival + i` or before.
    ///
    /// `start`: the header leaves; flit i does `⌊i / out⌋` later, but not before
    /// `arrival + i` (i > 0), nor, if it is fed over a crossbar, before `fed + ⌊i / rate⌋`.
    #[inline]
    pub(super) fn credit_return(
        &self,
        queue: u32,
        (flits, credits): (u32, u32),
        start: Tick,
        arrival: Tick,
        fed: Tick,
    ) -> CreditReturn {
        let last = flits - 1;
        let mut end = (start + Tick::from(self.out.floor(last))).max(arrival + Tick::from(last));
        if let Some(rate) = self.fed {
            end = end.max(fed + Tick::from(rate.floor(last)));
        }
        // A header may have waited for long; what is cut off is long past.
        let before = |begin: Tick| (end - begin).min(u16::MAX.into()) as u16;
        CreditReturn {
            end,
            schedule: CompactSchedule {
                queue: queue as u16,
                start: (end - start) as u16,
                arrival: before(arrival),
                fed: if self.fed.is_some() { before(fed) } else { 0 },
                credits: credits as u16,
                done: 0,
            },
        }
    }

    /// Date of flit `i` of a credit_return.
    #[inline]
    fn date(&self, credit_return: &CreditReturn, i: u32) -> Tick {
        let CreditReturn { end, schedule } = credit_return;
        let mut date = end - Tick::from(schedule.start) + Tick::from(self.out.floor(i));
        if i > 0 {
            date = date.max(end - Tick::from(schedule.arrival) + Tick::from(i));
        }
        if let Some(rate) = self.fed {
            date = date.max(end - Tick::from(schedule.fed) + Tick::from(rate.floor(i)));
        }
        date
    }

    /// Date of credit `c` (from 0) of a credit_return.
    #[inline]
    pub(super) fn credit_date(&self, credit_return: &CreditReturn, c: u32) -> Tick {
        if c + 1 >= u32::from(credit_return.schedule.credits) {
            credit_return.end
        } else {
            let date = self.date(credit_return, (c + 1) * self.flits_per_credit.value() - 1);
            date.min(credit_return.end)
        }
    }

    /// Credits of a credit_return back by tick `now`, at most all.
    #[inline]
    pub(super) fn credits_by(&self, credit_return: &CreditReturn, now: Tick) -> u32 {
        let schedule = &credit_return.schedule;
        if now >= credit_return.end {
            return schedule.credits.into();
        }
        let left = credit_return.end - now;
        let since = |begin: u16| Tick::from(begin).checked_sub(left).map(|ticks| ticks + 1);
        let (Some(crossed), Some(arrived)) = (since(schedule.start), since(schedule.arrival))
        else {
            return 0;
        };
        let mut flits = arrived.min(crossed * Tick::from(self.out.value()));
        if let Some(rate) = self.fed {
            let Some(fed) = since(schedule.fed) else {
                return 0;
            };
            flits = flits.min(fed * Tick::from(rate.value()));
        }
        // Not all flits have left, so the partial last credit is still out.
        let whole = self
            .flits_per_credit
            .floor(flits.min(MAX_FLITS.into()) as u32);
        whole.min(u32::from(schedule.credits) - 1)
    }
}

impl CreditReturn {
    /// Moves all dates by `delay`: the way of the credits to who uses them.
    #[inline]
    pub(super) fn delayed(mut self, delay: Tick) -> Self {
        self.end += delay;
        self
    }

    /// All dates are `date`.
    #[inline]
    pub(super) fn at_once(mut self, date: Tick) -> Self {
        self.end = date;
        (
            self.schedule.start,
            self.schedule.arrival,
            self.schedule.fed,
        ) = (0, 0, 0);
        self
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
            let input = DrainRate::crossbar(fed_rate, None, fpc);
            let central = DrainRate::crossbar(rate, Some(fed_rate), fpc);
            let one = input.credit_return(0, (flits, credits), first, 100 + store, 0);
            let two = central.credit_return(0, (flits, credits), start, 100 + store, first);
            for c in 0..credits {
                let last = ((c + 1) * fpc).min(flits) - 1;
                prop_assert_eq!(input.credit_date(&one, c), into[last as usize]);
                prop_assert_eq!(central.credit_date(&two, c), dates[last as usize]);
            }
            for now in 90..two.end + 3 {
                let back = (0..credits)
                    .filter(|&c| dates[(((c + 1) * fpc).min(flits) - 1) as usize] <= now).count();
                prop_assert_eq!(central.credits_by(&two, now) as usize, back, "at {}", now);
            }
        }
    }
}
