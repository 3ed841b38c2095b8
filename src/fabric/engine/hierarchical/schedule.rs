//! Flit schedules in closed form: in which tick each flit of a packet leaves a buffer, and
//! so in which tick each of its credits returns. This takes the place of phase 8, in which
//! flits leave buffers: there is no event per flit. The credits themselves are counted in
//! [`ledgers`](super::ledgers).
//!
//! Flit i leaves at the maximum of up to three lines `start + ⌊i / rate⌋`
//! (`docs/model/fabric.md` §4). One line is the crossing itself; the others are the arrival of
//! the flits from earlier stages. Every line is non-decreasing in i, and each stage is
//! bounded by the stages before it. So the maximum is exactly what a greedy transfer,
//! flit by flit, does. A test below and the comparison with the oracle check this.

use crate::engine::bits::Divisor;
use crate::spec::Tick;

/// The credits of one packet on their way back from one buffer. A credit returns in the tick
/// from which the sender can use it again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CreditReturn {
    /// Tick of the last credit. No other credit returns later.
    pub end: Tick,
    pub schedule: CompactSchedule,
}

/// Which credits return, and the lines of the flit schedule in ticks before its end. It
/// takes 12 bytes, because every buffer stores some.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CompactSchedule {
    /// Queue of the credits within the buffer.
    pub queue: u16,
    /// Ticks from the start of the transfer out of this buffer to the end.
    start: u16,
    /// Ticks from the arrival of the header over the link into the switch to the end. The
    /// link carries one flit per tick.
    arrival: u16,
    /// Ticks from the start of the crossing into this buffer to the end.
    inflow: u16,
    pub credits: u16,
    /// Credits that have been applied to the ledger.
    pub applied: u16,
}

impl CompactSchedule {
    /// Credits that have not been applied to the ledger.
    #[inline]
    pub(super) fn left(&self) -> u32 {
        (self.credits - self.applied).into()
    }
}

/// The rate at which packets leave the buffers of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrainRate {
    /// Flits per tick out of the buffer.
    out: Divisor,
    /// Flits per tick over the crossbar into the buffer; `None` if a link fills it. A slow
    /// crossbar delays the flits that leave.
    inflow: Option<Divisor>,
    flits_per_credit: Divisor,
}

/// Most flits of a packet. A [`CompactSchedule`] has 16 bits for each line, and a line that
/// is clipped to them must still lie below the others.
pub(super) const MAX_FLITS: u32 = u16::MAX as u32 / 2;
/// Largest crossbar speed-up.
pub(super) const MAX_SPEEDUP: u32 = u8::MAX as u32;

impl DrainRate {
    /// The rate over a link: one flit per tick, without delay by the buffer.
    pub(super) fn link(flits_per_credit: u32) -> Self {
        Self::crossbar(1, None, flits_per_credit)
    }

    /// The rate over a crossbar with a speed-up of `out` flits per tick. `inflow` is the
    /// speed-up of the crossbar that fills the buffer; `None` if a link fills it.
    pub(super) fn crossbar(out: u32, inflow: Option<u32>, flits_per_credit: u32) -> Self {
        Self {
            out: Divisor::new(out),
            inflow: inflow.map(Divisor::new),
            // No packet has more flits, so a credit of more flits changes nothing.
            flits_per_credit: Divisor::new(flits_per_credit.min(MAX_FLITS + 1)),
        }
    }

    /// The credit return of a packet whose header leaves the buffer in tick `start`.
    ///
    /// Flit i leaves `⌊i / out⌋` ticks after the header. A flit i > 0 does not leave before
    /// `arrival + i`, when the link has delivered it. Behind a crossbar it does not leave
    /// before `inflow + ⌊i / rate⌋` either, where `inflow` is the tick in which that
    /// crossing starts.
    #[inline]
    pub(super) fn credit_return(
        &self,
        queue: u32,
        (flits, credits): (u32, u32),
        start: Tick,
        arrival: Tick,
        inflow: Tick,
    ) -> CreditReturn {
        let last = flits - 1;
        let mut end = (start + Tick::from(self.out.floor(last))).max(arrival + Tick::from(last));
        if let Some(rate) = self.inflow {
            end = end.max(inflow + Tick::from(rate.floor(last)));
        }
        // After a long wait of the header the distance is clipped. That line is then
        // below the others all the same.
        let before = |begin: Tick| (end - begin).min(u16::MAX.into()) as u16;
        CreditReturn {
            end,
            schedule: CompactSchedule {
                queue: queue as u16,
                start: (end - start) as u16,
                arrival: before(arrival),
                inflow: if self.inflow.is_some() {
                    before(inflow)
                } else {
                    0
                },
                credits: credits as u16,
                applied: 0,
            },
        }
    }

    /// Tick of flit `i` of a credit return.
    #[inline]
    fn flit_tick(&self, credit_return: &CreditReturn, i: u32) -> Tick {
        let CreditReturn { end, schedule } = credit_return;
        let mut tick = end - Tick::from(schedule.start) + Tick::from(self.out.floor(i));
        if i > 0 {
            tick = tick.max(end - Tick::from(schedule.arrival) + Tick::from(i));
        }
        if let Some(rate) = self.inflow {
            tick = tick.max(end - Tick::from(schedule.inflow) + Tick::from(rate.floor(i)));
        }
        tick
    }

    /// Tick of credit `c` (from 0) of a credit return.
    #[inline]
    pub(super) fn credit_tick(&self, credit_return: &CreditReturn, c: u32) -> Tick {
        if c + 1 >= u32::from(credit_return.schedule.credits) {
            credit_return.end
        } else {
            let tick = self.flit_tick(credit_return, (c + 1) * self.flits_per_credit.value() - 1);
            tick.min(credit_return.end)
        }
    }

    /// Number of credits of a credit return that have returned by tick `now`.
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
        if let Some(rate) = self.inflow {
            let Some(entered) = since(schedule.inflow) else {
                return 0;
            };
            flits = flits.min(entered * Tick::from(rate.value()));
        }
        // Not all flits have left, so the last credit, which may be partial, has not
        // returned.
        let whole = self
            .flits_per_credit
            .floor(flits.min(MAX_FLITS.into()) as u32);
        whole.min(u32::from(schedule.credits) - 1)
    }
}

impl CreditReturn {
    /// Moves all ticks by `delay` ticks, which the credits take to reach their sender.
    #[inline]
    pub(super) fn delayed(mut self, delay: Tick) -> Self {
        self.end += delay;
        self
    }

    /// Moves all credits to the same tick.
    #[inline]
    pub(super) fn all_at(mut self, tick: Tick) -> Self {
        self.end = tick;
        (
            self.schedule.start,
            self.schedule.arrival,
            self.schedule.inflow,
        ) = (0, 0, 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Credits returned by closed form equal credits counted flit by flit, with a
        /// greedy transfer out of a buffer that is filled by a greedy transfer.
        #[test]
        fn closed_form_equals_greedy_transfer(
            flits in 1u32..200, fpc in 1u32..9, rate in 1u32..6, inflow_rate in 1u32..6,
            wait in 0u64..60, second in 0u64..60, store in 0u64..40,
        ) {
            // The header crosses no earlier than `store` ticks after its arrival at 100.
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
            let into = greedy(first, inflow_rate, &|i| 100 + store + u64::from(i));
            let start = first + second;
            let ticks = greedy(start, rate, &|i| into[i as usize]);
            let credits = flits.div_ceil(fpc);
            let input = DrainRate::crossbar(inflow_rate, None, fpc);
            let central = DrainRate::crossbar(rate, Some(inflow_rate), fpc);
            let one = input.credit_return(0, (flits, credits), first, 100 + store, 0);
            let two = central.credit_return(0, (flits, credits), start, 100 + store, first);
            for c in 0..credits {
                let last = ((c + 1) * fpc).min(flits) - 1;
                prop_assert_eq!(input.credit_tick(&one, c), into[last as usize]);
                prop_assert_eq!(central.credit_tick(&two, c), ticks[last as usize]);
            }
            for now in 90..two.end + 3 {
                let back = (0..credits)
                    .filter(|&c| ticks[(((c + 1) * fpc).min(flits) - 1) as usize] <= now).count();
                prop_assert_eq!(central.credits_by(&two, now) as usize, back, "at {}", now);
            }
        }
    }
}
