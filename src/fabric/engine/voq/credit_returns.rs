//! Space that comes back: credits of packets on their way out of a buffer, dated in
//! closed form. Every buffer is emptied by one crossbar port, link or sink, so its packets
//! leave one after the other, and at most one has left in part.
//!
//! The credits of a packet may be held back (`docs/model-infiniband.md` §9). None of a later
//! packet overtakes them: a credit_return gives nothing back before the end of the one before
//! it. That one stays in its place until its end is past, so nothing else must be noted.

use super::schedule::{Rate, Schedule};
use crate::fabric::engine::bits::Divisor;
use crate::fabric::spec::Tick;
use crate::units::Ratio;
use std::collections::VecDeque;

/// What all departures have in common.
#[derive(Debug)]
pub(super) struct DrainRates {
    pub rates: Vec<Rate>,
    pub flits_per_credit: Divisor,
    pub crossbar: Crossbar,
}

/// When the crossbar takes the flits of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossbar {
    /// Its rate is `flits` / `ticks`.
    flits: u64,
    ticks: u64,
    /// The same, in bytes.
    pub rate: Rate,
}

impl Crossbar {
    /// `rate`: flits per tick.
    pub(super) fn new(rate: Ratio, flit_bytes: u32) -> Self {
        Self {
            flits: rate.num().max(1),
            ticks: rate.den(),
            rate: Rate::new(rate, flit_bytes),
        }
    }

    /// Ticks from the header crossing to flit `i`, if nothing delays it.
    #[inline]
    pub(super) fn flit(self, i: u32) -> Tick {
        let ticks = u64::from(i) * self.ticks;
        if self.flits == 1 {
            ticks
        } else {
            ticks / self.flits
        }
    }

    /// Flits that have crossed in the first `ticks` ticks.
    fn flits_in(self, ticks: Tick) -> u64 {
        ticks.saturating_mul(self.flits).div_ceil(self.ticks)
    }
}

/// A packet that leaves a buffer; all schedule are those on which the space may be used.
#[derive(Debug, Clone, Copy)]
pub(super) struct CreditReturn<const L: usize> {
    /// Date of the last credit.
    pub end: Tick,
    /// The crossing begins: flit i goes [`Crossbar::flit`] later, or when it is there.
    pub crossing: Tick,
    pub schedule: Schedule<L>,
    pub flits: u16,
    pub credits: u16,
    /// Credits that have come back.
    pub done: u16,
    pub vl: u8,
}

impl<const L: usize> CreditReturn<L> {
    /// Date of credit `c`, from 0.
    pub(super) fn credit_date(&self, drain: &DrainRates, c: u32) -> Tick {
        if c + 1 >= u32::from(self.credits) {
            return self.end;
        }
        let last = (c + 1) * drain.flits_per_credit.value() - 1;
        let crosses = self.crossing + drain.crossbar.flit(last);
        crosses.max(self.schedule.of(&drain.rates, last))
    }

    /// Credits back by `now`.
    fn credits_by(&self, drain: &DrainRates, now: Tick) -> u32 {
        if now >= self.end {
            return self.credits.into();
        }
        if now < self.crossing {
            return 0;
        }
        let crossed = drain.crossbar.flits_in(now - self.crossing + 1);
        let flits = u32::from(self.flits);
        let flits = self
            .schedule
            .flits_by(&drain.rates, now, flits)
            .min(u32::try_from(crossed).unwrap_or(flits));
        // Not all flits have left, so the partial last credit is still out.
        let whole = drain.flits_per_credit.floor(flits);
        whole.min(u32::from(self.credits) - 1)
    }
}

/// CreditReturns that are kept, at least, before somebody looks which have ended.
const LEAST_DEPARTURES: usize = 8;

/// CreditReturns in their order.
#[derive(Debug)]
pub(super) struct CreditReturns<const L: usize> {
    queue: VecDeque<CreditReturn<L>>,
}

impl<const L: usize> Default for CreditReturns<L> {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
        }
    }
}

impl<const L: usize> CreditReturns<L> {
    /// A packet begins to leave. Now and then, what has come back is given away. Returns the
    /// tick before which it gives nothing back.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        mut credit_return: CreditReturn<L>,
        now: Tick,
        give: impl FnMut(u8, u16),
    ) -> Tick {
        let after = self.queue.back().map_or(0, |last| last.end);
        credit_return.end = credit_return.end.max(after);
        if self.queue.len() == self.queue.capacity() {
            self.make_room(now, give);
        }
        self.queue.push_back(credit_return);
        after
    }

    #[inline(never)]
    fn make_room(&mut self, now: Tick, mut give: impl FnMut(u8, u16)) {
        while let Some(first) = self.queue.front()
            && first.end <= now
        {
            give(first.vl, first.credits - first.done);
            self.queue.pop_front();
        }
        if self.queue.len() == self.queue.capacity() {
            self.queue.reserve(LEAST_DEPARTURES);
        }
    }

    /// Gives away what has come back by `now`.
    #[inline]
    pub(super) fn apply(&mut self, drain: &DrainRates, now: Tick, mut give: impl FnMut(u8, u16)) {
        while let Some(first) = self.queue.front_mut() {
            if first.end <= now {
                give(first.vl, first.credits - first.done);
                self.queue.pop_front();
                continue;
            }
            let by = first.credits_by(drain, now) as u16;
            if by > first.done {
                give(first.vl, by - first.done);
                first.done = by;
            }
            return;
        }
    }

    /// When `missing` more credits of `vl` will have come back, if they are on their hop.
    pub(super) fn date_of(&self, drain: &DrainRates, vl: u8, mut missing: u32) -> Option<Tick> {
        let mut after = 0;
        for credit_return in &self.queue {
            let before = std::mem::replace(&mut after, credit_return.end);
            if credit_return.vl != vl {
                continue;
            }
            let left = u32::from(credit_return.credits - credit_return.done);
            if left >= missing {
                let credit = u32::from(credit_return.done) + missing - 1;
                return Some(credit_return.credit_date(drain, credit).max(before));
            }
            missing -= left;
        }
        None
    }

    /// True if credits of `vl` are on their hop.
    pub(super) fn any_of(&self, vl: u8) -> bool {
        self.queue
            .iter()
            .any(|credit_return| credit_return.vl == vl)
    }
}
