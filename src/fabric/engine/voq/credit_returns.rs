//! The credit returns of a buffer, in their order (`docs/model/infiniband.md` §3). `credit_return` has the ticks of each.
//!
//! One crossbar port, link or sink empties a buffer. So its packets leave one after the other,
//! and at most one of them has left in part. A credit costs no event: an output that counts its
//! credits applies the returns that are due (phases 1 and 2). This module does not know which
//! ledger the credits belong to, and wakes no output.
//!
//! The credits of a packet may be delayed (§9). Credits of later packets do not overtake them: a
//! credit return yields nothing before the end of the one before it. The earlier one stays in
//! the queue until its end is past, so the queue alone keeps this order.

use super::credit_return::{CreditReturn, DrainRates};
use crate::engine::variant::Variant;
use crate::spec::Tick;
use std::collections::VecDeque;

/// Entries of a queue that lie beside its counters. Most buffers need two; more go elsewhere.
const SHORT: usize = 3;

/// The credit returns of a buffer, in the order in which packets leave it.
///
/// A link on which many packets are under way has more of them than fit beside the counters, although packets of one
/// credit share them. The last one is always beside the counters, because the next one may not end before it. Past
/// returns stay among the others until their memory is full. So most packets write only one entry there, and the past
/// ones are read in a row.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct CreditReturns<V: Variant> {
    /// All of them, `count` in all, if there are no others; else the first ones, and the last.
    short: [CreditReturn<V>; SHORT],
    /// Credits of the first one that have been applied.
    applied: u16,
    count: u8,
    /// The next credit return must wake the sender.
    pub sender_waits: bool,
    /// Ticks that a credit takes to the sender.
    pub latency: u32,
    /// The returns between the last but one and the last of `short`, if there have ever been any.
    #[expect(clippy::box_collection, reason = "a pointer fits into the cache line")]
    others: Option<Box<VecDeque<CreditReturn<V>>>>,
}

impl<V: Variant> Default for CreditReturns<V> {
    fn default() -> Self {
        Self {
            short: [CreditReturn::default(); SHORT],
            applied: 0,
            count: 0,
            sender_waits: false,
            latency: 0,
            others: None,
        }
    }
}

impl<V: Variant> CreditReturns<V> {
    /// Credits return over a link with this latency in ticks.
    pub(super) fn over(latency: Tick) -> Self {
        Self {
            latency: latency as u32,
            ..Self::default()
        }
    }

    /// The returns that lie elsewhere, if there have ever been any.
    #[inline]
    pub(super) fn others(&self) -> Option<&VecDeque<CreditReturn<V>>> {
        self.others.as_deref()
    }

    /// All credit returns in their order.
    fn iter(&self) -> impl Iterator<Item = &CreditReturn<V>> {
        let count = usize::from(self.count);
        let (first, last) = self.short[..count].split_at(count.min(SHORT - 1));
        let others = self.others.iter().flat_map(|others| others.iter());
        first.iter().chain(others).chain(last)
    }

    /// A packet begins to leave. Returns the tick before which none of its credits is back: the
    /// end of the credit return before it. If the short queue is full, credit returns that are
    /// past are applied by `add(vl, credits)` and removed.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        credit_return: CreditReturn<V>,
        now: Tick,
        mut add: impl FnMut(u8, u16),
    ) -> Tick {
        // A packet usually finds two others here, of which the first is past: this branch is easier
        // to predict than when the queue is full.
        if self.count == 2 && self.short[0].end() <= now {
            self.remove_first(&mut add);
        }
        let mut count = usize::from(self.count);
        let (mut after, mut end) = (0, credit_return.end());
        if let Some(last) = count.checked_sub(1) {
            let last = &mut self.short[last.min(SHORT - 1)];
            after = last.end();
            end = end.max(after);
            if let Some(both) = last.followed_by(&credit_return, end) {
                *last = both;
                return after;
            }
        }
        if count == SHORT {
            self.make_room(now, add);
            count = usize::from(self.count);
        }
        if let Some(entry) = self.short.get_mut(count) {
            *entry = credit_return.ending(end);
            self.count += 1;
        }
        after
    }

    /// The short queue is full: removes past returns, or moves the last one to the others.
    #[inline(never)]
    fn make_room(&mut self, now: Tick, add: impl FnMut(u8, u16)) {
        let is_full = |others: &VecDeque<_>| others.len() == others.capacity();
        let others = self.others.as_deref();
        if others.is_none_or(|others| others.is_empty() || is_full(others)) {
            self.remove_past(now, add);
        }
        if usize::from(self.count) == SHORT {
            let others = self.others.get_or_insert_default();
            if is_full(others) {
                // None was past.
                others.reserve(others.capacity().max(8));
            }
            others.push_back(self.short[SHORT - 1]);
            self.count -= 1;
        }
    }

    /// Applies the first credit return and removes it.
    #[inline(always)]
    fn remove_first(&mut self, add: &mut impl FnMut(u8, u16)) {
        let CreditReturn { vl, credits, .. } = self.short[0];
        add(vl, credits - std::mem::take(&mut self.applied));
        // Unused entries are shifted as well, which takes no loop.
        for at in 1..SHORT {
            self.short[at - 1] = self.short[at];
        }
        self.count -= 1;
    }

    /// Applies the credit returns that have ended by tick `now`, and removes them.
    #[inline(always)]
    fn remove_past(&mut self, now: Tick, mut add: impl FnMut(u8, u16)) {
        if usize::from(self.count) == SHORT && self.short[SHORT - 1].end() <= now {
            // Often all are past: then nothing is shifted.
            let mut applied = std::mem::take(&mut self.applied);
            self.iter().for_each(|&CreditReturn { vl, credits, .. }| {
                add(vl, credits - std::mem::take(&mut applied));
            });
            self.count = 0;
            if let Some(others) = &mut self.others {
                others.clear();
            }
            return;
        }
        while self.count > 0 && self.short[0].end() <= now {
            let last = self.short[SHORT - 1];
            self.remove_first(&mut add);
            if usize::from(self.count) == SHORT - 1
                && let Some(others) = &mut self.others
                && let Some(next) = others.pop_front()
            {
                self.short[SHORT - 2] = next;
                self.short[SHORT - 1] = last;
                self.count += 1;
            }
        }
    }

    /// Applies the credits that are back by tick `now`: calls `add(vl, credits)`.
    #[inline]
    pub(super) fn apply(&mut self, drain: &DrainRates, now: Tick, mut add: impl FnMut(u8, u16)) {
        self.remove_past(now, &mut add);
        if self.count > 0 {
            let first = &self.short[0];
            let by = first.credits_by(drain, now) as u16;
            if by > self.applied {
                add(first.vl, by - self.applied);
                self.applied = by;
            }
        }
    }

    /// Returns the tick in which `missing` more credits for `vl` will be back; `None` if the
    /// returns under way are too few.
    pub(super) fn tick_of(&self, drain: &DrainRates, vl: u8, mut missing: u32) -> Option<Tick> {
        let (mut previous_end, mut applied) = (0, u32::from(self.applied));
        for credit_return in self.iter() {
            let not_before = std::mem::replace(&mut previous_end, credit_return.end());
            let applied = std::mem::take(&mut applied);
            if credit_return.vl != vl {
                continue;
            }
            let left = u32::from(credit_return.credits) - applied;
            if left >= missing {
                let credit = applied + missing - 1;
                return Some(credit_return.credit_tick(drain, credit).max(not_before));
            }
            missing -= left;
        }
        None
    }

    /// Whether credits for `vl` are on their way.
    pub(super) fn any_on(&self, vl: u8) -> bool {
        self.iter().any(|credit_return| credit_return.vl == vl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::bits::Divisor;
    use crate::engine::variant::Plain;
    use crate::engine::voq::credit_return::Crossbar;
    use crate::engine::voq::rate::{Length, Rate, SubTick};
    use crate::engine::voq::schedule::Schedule;
    use flitwise_base::units::Ratio;
    use proptest::prelude::*;

    proptest! {
        /// However many credit returns there are, every credit is back in its own tick, but not
        /// before the end of the credit return before it. When they are applied changes nothing.
        #[test]
        fn every_credit_returns_once(
            packets in prop::collection::vec(
                (
                    0u64..40,
                    prop_oneof![0u64..20, 250u64..260, 0u64..600],
                    prop_oneof![3 => Just(1u32), 1 => 1u32..6],
                    prop_oneof![4 => Just(0u8), 1 => Just(1u8)],
                ),
                1..60,
            ),
            looks in prop::collection::vec(any::<bool>(), 1..40),
        ) {
            let rate = Ratio::new(1, 2).unwrap();
            let drain = DrainRates {
                rates: vec![Rate::new(rate, 8)],
                flits_per_credit: Divisor::new(1),
                crossbar: Crossbar::new(rate, 8),
            };
            let mut returns = CreditReturns::<Plain>::default();
            // The ticks of all credits, by VL, and the credits applied.
            let (mut ticks, mut applied) = ([Vec::new(), Vec::new()], [0usize; 2]);
            let (mut now, mut last_end, mut look) = (0, 0, looks.iter().cycle());
            for (wait, delay, flits, vl) in packets {
                for tick in now..now + wait {
                    if *look.next().unwrap() {
                        let add = |vl: u8, credits| applied[usize::from(vl)] += usize::from(credits);
                        returns.apply(&drain, tick, add);
                        for (ticks, applied) in ticks.iter().zip(applied) {
                            let back = ticks.iter().filter(|&&at| at <= tick).count();
                            prop_assert_eq!(back, applied);
                        }
                        for (vl, ticks) in (0..).zip(&ticks) {
                            let next = ticks.iter().filter(|&&at| at > tick).min().copied();
                            prop_assert_eq!(returns.tick_of(&drain, vl, 1), next);
                        }
                    }
                }
                now += wait;
                let length = Length { bytes: flits * 8, flits };
                let blank = Schedule::<Plain>::at_once();
                let (leaves, _) =
                    blank.served(&drain.rates, 0, SubTick::default(), now + 1 + delay, length);
                let credit_return = CreditReturn::leaving(&leaves, flits as u16, vl);
                let after = returns.push(credit_return, now, |vl, credits| {
                    applied[usize::from(vl)] += usize::from(credits);
                });
                prop_assert!(after == last_end || after <= now && last_end <= now);
                let of_flits = (0..u64::from(flits)).map(|i| leaves.header() + 2 * i);
                ticks[usize::from(vl)].extend(of_flits.map(|tick| tick.max(last_end)));
                last_end = last_end.max(leaves.tail());
            }
        }
    }
}
