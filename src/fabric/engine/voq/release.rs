//! Space that comes back: credits of packets on their way out of a buffer, dated in
//! closed form. Every buffer is emptied by one crossbar port, link or sink, so its packets
//! leave one after the other, and at most one has left in part.
//!
//! The credits of a packet may be held back (`docs/model-infiniband.md` §9). None of a later
//! packet overtakes them: a departure gives nothing back before the end of the one before
//! it. That one stays in its place until its end is past, so nothing else must be noted.

use super::line::{Dates, Rate};
use crate::fabric::engine::bits::Divisor;
use crate::fabric::spec::Tick;
use crate::units::Ratio;
use std::collections::VecDeque;

/// What all departures have in common.
#[derive(Debug)]
pub(super) struct Pace {
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

/// A packet that leaves a buffer; all dates are those on which the space may be used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departure<const L: usize> {
    /// Date of the last credit.
    pub end: Tick,
    /// The crossing begins: flit i goes [`Crossbar::flit`] later, or when it is there.
    pub crossing: Tick,
    pub dates: Dates<L>,
    pub flits: u16,
    pub credits: u16,
    /// Credits that have come back.
    pub done: u16,
    pub vl: u8,
}

impl<const L: usize> Departure<L> {
    /// Date of credit `c`, from 0.
    pub(super) fn credit_date(&self, pace: &Pace, c: u32) -> Tick {
        if c + 1 >= u32::from(self.credits) {
            return self.end;
        }
        let last = (c + 1) * pace.flits_per_credit.value() - 1;
        let crosses = self.crossing + pace.crossbar.flit(last);
        crosses.max(self.dates.of(&pace.rates, last))
    }

    /// Credits back by `now`.
    fn credits_by(&self, pace: &Pace, now: Tick) -> u32 {
        if now >= self.end {
            return self.credits.into();
        }
        if now < self.crossing {
            return 0;
        }
        let crossed = pace.crossbar.flits_in(now - self.crossing + 1);
        let flits = u32::from(self.flits);
        let flits = self
            .dates
            .flits_by(&pace.rates, now, flits)
            .min(u32::try_from(crossed).unwrap_or(flits));
        // Not all flits have left, so the partial last credit is still out.
        let whole = pace.flits_per_credit.floor(flits);
        whole.min(u32::from(self.credits) - 1)
    }
}

/// Departures that are kept, at least, before somebody looks which have ended.
const LEAST_DEPARTURES: usize = 8;

/// Departures in their order.
#[derive(Debug)]
pub(super) struct Departures<const L: usize> {
    queue: VecDeque<Departure<L>>,
}

impl<const L: usize> Default for Departures<L> {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
        }
    }
}

impl<const L: usize> Departures<L> {
    /// A packet begins to leave. Now and then, what has come back is given away. Returns the
    /// tick before which it gives nothing back.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        mut departure: Departure<L>,
        now: Tick,
        give: impl FnMut(u8, u16),
    ) -> Tick {
        let after = self.queue.back().map_or(0, |last| last.end);
        departure.end = departure.end.max(after);
        if self.queue.len() == self.queue.capacity() {
            self.make_room(now, give);
        }
        self.queue.push_back(departure);
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
    pub(super) fn settle(&mut self, pace: &Pace, now: Tick, mut give: impl FnMut(u8, u16)) {
        while let Some(first) = self.queue.front_mut() {
            if first.end <= now {
                give(first.vl, first.credits - first.done);
                self.queue.pop_front();
                continue;
            }
            let by = first.credits_by(pace, now) as u16;
            if by > first.done {
                give(first.vl, by - first.done);
                first.done = by;
            }
            return;
        }
    }

    /// When `missing` more credits of `vl` will have come back, if they are on their way.
    pub(super) fn date_of(&self, pace: &Pace, vl: u8, mut missing: u32) -> Option<Tick> {
        let mut after = 0;
        for departure in &self.queue {
            let before = std::mem::replace(&mut after, departure.end);
            if departure.vl != vl {
                continue;
            }
            let left = u32::from(departure.credits - departure.done);
            if left >= missing {
                let credit = u32::from(departure.done) + missing - 1;
                return Some(departure.credit_date(pace, credit).max(before));
            }
            missing -= left;
        }
        None
    }

    /// True if credits of `vl` are on their way.
    pub(super) fn any_of(&self, vl: u8) -> bool {
        self.queue.iter().any(|departure| departure.vl == vl)
    }
}
