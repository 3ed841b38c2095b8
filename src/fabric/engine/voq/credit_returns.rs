//! Credit returns in closed form: in which tick each credit of a packet that leaves a buffer may
//! be used again (`docs/model-infiniband.md` §3).
//!
//! One crossbar port, link or sink empties a buffer. So its packets leave one after the other,
//! and at most one of them has left in part. A credit costs no event: an output that counts its
//! credits applies the returns that are due (phases 1 and 2). This module does not know which
//! ledger the credits belong to, and wakes no output.
//!
//! The credits of a packet may be delayed (§9). Credits of later packets do not overtake them: a
//! credit return yields nothing before the end of the one before it. The earlier one stays in
//! the queue until its end is past, so the queue alone keeps this order.

use super::packet::Packet;
use super::schedule::{Rate, Schedule};
use crate::fabric::engine::bits::Divisor;
use crate::fabric::spec::Tick;
use crate::units::Ratio;
use std::collections::VecDeque;

/// The rates at which packets leave buffers, which all credit returns share.
#[derive(Debug)]
pub(super) struct DrainRates {
    /// Rates of links, send engines and sinks, by their index.
    pub rates: Vec<Rate>,
    pub flits_per_credit: Divisor,
    pub crossbar: Crossbar,
}

/// The rate of the crossbar: in which ticks the flits of a packet cross.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossbar {
    /// `flits` cross in `ticks` ticks; the fraction is reduced.
    flits: u64,
    ticks: u64,
    /// The same rate, exact to the byte.
    pub rate: Rate,
}

impl Crossbar {
    /// A crossbar of `rate` flits per tick.
    pub(super) fn new(rate: Ratio, flit_bytes: u32) -> Self {
        Self {
            flits: rate.num().max(1),
            ticks: rate.den(),
            rate: Rate::new(rate, flit_bytes),
        }
    }

    /// Ticks between the crossing of the header and the crossing of flit `i`, if flit `i` is
    /// available in time.
    #[inline]
    pub(super) fn flit(self, i: u32) -> Tick {
        let ticks = u64::from(i) * self.ticks;
        if self.flits == 1 {
            ticks
        } else {
            ticks / self.flits
        }
    }

    /// Flits that can cross in the first `ticks` ticks.
    fn flits_in(self, ticks: Tick) -> u64 {
        ticks.saturating_mul(self.flits).div_ceil(self.ticks)
    }
}

/// The credits of a packet that leaves a buffer. All ticks are shifted to when the sender may use
/// the credits: later than the flits leave, by the ticks that a credit takes to the sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct CreditReturn<const L: usize> {
    /// Tick of the last credit.
    pub end: Tick,
    /// Tick in which the crossbar takes the header; 0 if a link or a sink empties the buffer.
    /// Flit i leaves [`Crossbar::flit`] later, or when it is available.
    pub crossing: Tick,
    /// From which tick each flit is available to the crossbar, or leaves by the link or sink.
    pub schedule: Schedule<L>,
    pub flits: u16,
    pub credits: u16,
    /// Credits already applied.
    pub applied: u16,
    /// VL of the buffer; 0 for buffers that count without regard to VLs.
    pub vl: u8,
}

impl<const L: usize> CreditReturn<L> {
    /// Of `packet`, which a link or a sink takes out of a buffer, with credits of `vl`. `leaves`:
    /// in which ticks its flits leave. The sender may use a credit `delay` ticks later.
    #[inline(always)]
    pub(super) fn without_crossing(
        leaves: Schedule<L>,
        delay: Tick,
        packet: &Packet<L>,
        vl: u8,
    ) -> Self {
        Self {
            end: leaves.tail() + delay,
            crossing: 0,
            schedule: leaves.later(delay),
            flits: packet.flits,
            credits: packet.credits,
            applied: 0,
            vl,
        }
    }

    /// Tick of credit `c`, counted from 0.
    pub(super) fn credit_tick(&self, drain: &DrainRates, c: u32) -> Tick {
        if c + 1 >= u32::from(self.credits) {
            return self.end;
        }
        let last_flit = (c + 1) * drain.flits_per_credit.value() - 1;
        let crosses = self.crossing + drain.crossbar.flit(last_flit);
        crosses.max(self.schedule.tick_of(&drain.rates, last_flit))
    }

    /// Credits that are back by tick `now`, including credits already applied.
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
        // Not all flits have left, so the last credit, which may be a part of one, is not back.
        let whole = drain.flits_per_credit.floor(flits);
        whole.min(u32::from(self.credits) - 1)
    }
}

/// Entries for which a queue has room at first. Entries that are past are removed only when the
/// queue is full.
const MIN_CAPACITY: usize = 8;

/// The credit returns of a buffer, in the order in which packets leave it.
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
    /// A packet begins to leave. Returns the tick before which none of its credits is back: the
    /// end of the credit return before it. If the queue is full, credit returns that are past
    /// are applied by `add(vl, credits)` and removed.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        mut credit_return: CreditReturn<L>,
        now: Tick,
        add: impl FnMut(u8, u16),
    ) -> Tick {
        let after = self.queue.back().map_or(0, |last| last.end);
        credit_return.end = credit_return.end.max(after);
        if self.queue.len() == self.queue.capacity() {
            self.make_room(now, add);
        }
        self.queue.push_back(credit_return);
        after
    }

    #[inline(never)]
    fn make_room(&mut self, now: Tick, mut add: impl FnMut(u8, u16)) {
        while let Some(first) = self.queue.front()
            && first.end <= now
        {
            add(first.vl, first.credits - first.applied);
            self.queue.pop_front();
        }
        if self.queue.len() == self.queue.capacity() {
            self.queue.reserve(MIN_CAPACITY);
        }
    }

    /// Applies the credits that are back by tick `now`: calls `add(vl, credits)`.
    #[inline]
    pub(super) fn apply(&mut self, drain: &DrainRates, now: Tick, mut add: impl FnMut(u8, u16)) {
        while let Some(first) = self.queue.front_mut() {
            if first.end <= now {
                add(first.vl, first.credits - first.applied);
                self.queue.pop_front();
                continue;
            }
            let by = first.credits_by(drain, now) as u16;
            if by > first.applied {
                add(first.vl, by - first.applied);
                first.applied = by;
            }
            return;
        }
    }

    /// Returns the tick in which `missing` more credits for `vl` will be back; `None` if the
    /// returns under way are too few.
    pub(super) fn tick_of(&self, drain: &DrainRates, vl: u8, mut missing: u32) -> Option<Tick> {
        let mut previous_end = 0;
        for credit_return in &self.queue {
            let not_before = std::mem::replace(&mut previous_end, credit_return.end);
            if credit_return.vl != vl {
                continue;
            }
            let left = u32::from(credit_return.credits - credit_return.applied);
            if left >= missing {
                let credit = u32::from(credit_return.applied) + missing - 1;
                return Some(credit_return.credit_tick(drain, credit).max(not_before));
            }
            missing -= left;
        }
        None
    }

    /// True if credits for `vl` are on their way.
    pub(super) fn any_on(&self, vl: u8) -> bool {
        self.queue
            .iter()
            .any(|credit_return| credit_return.vl == vl)
    }
}
