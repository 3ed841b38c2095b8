//! The credits of buffers of one kind, as their senders know them (`docs/model/fabric.md` §3). Phases 3
//! to 7 use them. The packets in the buffers are in [`fifos`](super::fifos).
//!
//! A credit ledger shows what the sender into the buffer sees: credits are free from the tick
//! in which they reach the sender. When a packet starts to leave the buffer, a
//! [`CreditReturn`] is added to the ledger. Returned credits are applied lazily, when the
//! sender next needs more than the ledger shows as free.
//!
//! The fields of a [`Ledger`] that a packet needs lie in one or two cache lines, so the engine touches
//! few lines per packet.

use super::ledger::Ledger;
use super::schedule::{CreditReturn, DrainRate};
use crate::prefetch::{prefetch, prefetch_at};
use crate::spec::Tick;
use crate::spec::hierarchical::{Pool, Quota};
use std::collections::VecDeque;
use std::mem::offset_of;

/// The ledgers of all buffers of one kind. The credits in use by the first `USED` queues of a
/// buffer lie in its ledger.
#[derive(Debug)]
pub(super) struct Ledgers<const USED: usize> {
    ledgers: Vec<Ledger<USED>>,
    /// Credits in use by the other queues.
    far_used: Vec<u16>,
    /// Pending returns of each buffer that do not fit into its ledger, in order.
    spilled: Vec<VecDeque<CreditReturn>>,
    /// Quota of each queue, the same in every buffer.
    quotas: Vec<Quota>,
    drain_rate: DrainRate,
}

/// The time at which to check a packet again that has no quota now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// In this tick: the packet cannot have quota earlier.
    At(Tick),
    /// After another packet has started to leave the buffer: the pending credit returns
    /// do not suffice.
    AfterCreditReturn,
}

impl<const USED: usize> Ledgers<USED> {
    /// `buffers` buffers with a queue per entry of `quotas`. They have no credits before
    /// [`set_size`](Self::set_size).
    pub(super) fn new(buffers: usize, quotas: Vec<Quota>, drain_rate: DrainRate) -> Self {
        Self {
            ledgers: vec![Ledger::new(0); buffers],
            far_used: vec![0; buffers * quotas.len().saturating_sub(USED)],
            spilled: vec![VecDeque::new(); buffers],
            quotas,
            drain_rate,
        }
    }

    /// Sets the size of `buffer` to `total` credits; `existing` are the queues that packets
    /// can use.
    pub(super) fn set_size(
        &mut self,
        buffer: usize,
        total: u32,
        existing: impl Iterator<Item = usize>,
    ) {
        let exclusive: u32 = existing.map(|q| self.quotas[q].exclusive).sum();
        self.ledgers[buffer].shareable = total.saturating_sub(exclusive) as u16;
    }

    /// `count` buffers of one size.
    pub(super) fn of_pool(count: usize, pool: &Pool, drain_rate: DrainRate) -> Self {
        let mut ledgers = Self::new(count, pool.per_vl.clone(), drain_rate);
        for buffer in 0..count {
            ledgers.set_size(buffer, pool.total, 0..pool.per_vl.len());
        }
        ledgers
    }

    /// The next credit return of `buffer` must wake its sender.
    #[inline]
    pub(super) fn await_return(&mut self, buffer: usize) {
        self.ledgers[buffer].sender_waits = true;
    }

    /// Whether the sender into `buffer` waited to be woken. From now on it does not.
    #[inline]
    pub(super) fn take_waiting(&mut self, buffer: usize) -> bool {
        std::mem::take(&mut self.ledgers[buffer].sender_waits)
    }

    /// Number of queues per buffer.
    #[inline]
    fn stride(&self) -> usize {
        self.quotas.len()
    }

    /// The rate at which packets leave these buffers.
    #[inline]
    pub(super) fn drain_rate(&self) -> &DrainRate {
        &self.drain_rate
    }

    /// Index in `far_used` of the credits in use by queue `q`.
    #[inline]
    fn far_used_index(&self, buffer: usize, q: usize) -> usize {
        buffer * (self.stride() - USED) + q - USED
    }

    /// Prefetches the part of the ledger of a buffer for queue `q`, and the counts of the queues behind the first ones.
    #[inline]
    pub(super) fn prefetch_ledger(&self, buffer: usize, q: usize) {
        prefetch(&self.ledgers, buffer);
        if self.stride() > USED {
            prefetch(&self.far_used, self.far_used_index(buffer, q.max(USED)));
        }
        if size_of::<Ledger<USED>>() > 64 {
            let of_queue = offset_of!(Ledger<USED>, used) + q * size_of::<u16>();
            prefetch_at(&self.ledgers, buffer, of_queue);
        }
    }

    /// Prefetches the ledger of a buffer.
    #[inline]
    pub(super) fn prefetch_all_of(&self, buffer: usize) {
        for offset in (0..size_of::<Ledger<USED>>()).step_by(64) {
            prefetch_at(&self.ledgers, buffer, offset);
        }
    }

    /// Credits in use by queue `q`, as the ledger shows it.
    #[inline]
    fn used(&self, buffer: usize, q: usize) -> u32 {
        if q < USED {
            self.ledgers[buffer].used[q].into()
        } else {
            self.far_used[self.far_used_index(buffer, q)].into()
        }
    }

    /// Credits that are missing for `credits` more in queue `q`: to the maximum of the
    /// queue, and to the shared credits of the buffer. Both are 0 if there is quota.
    /// Counts the credit returns applied so far.
    #[inline(always)]
    fn missing(&self, buffer: usize, q: usize, credits: u32) -> (u32, u32) {
        let ledger = &self.ledgers[buffer];
        let used = match ledger.used.get(q) {
            Some(&used) => used.into(),
            None => self.used(buffer, q),
        };
        let quota = self.quotas[q];
        let after = used + credits;
        let more = at_least_exclusive(after, quota) - at_least_exclusive(used, quota);
        (
            after.saturating_sub(quota.max),
            (u32::from(ledger.shared) + more).saturating_sub(ledger.shareable.into()),
        )
    }

    /// Whether a packet of `credits` has quota in queue `q` at tick `now` (`docs/model/fabric.md`
    /// §3).
    #[inline]
    pub(super) fn has_quota(&mut self, buffer: usize, q: usize, credits: u32, now: Tick) -> bool {
        // Returned credits that are not applied yet only make the first check stricter.
        self.shows_quota(buffer, q, credits) || self.has_quota_now(buffer, q, credits, now)
    }

    /// [`has_quota`](Self::has_quota) by the credit returns applied so far.
    #[inline(always)]
    fn shows_quota(&self, buffer: usize, q: usize, credits: u32) -> bool {
        let (own, any) = self.missing(buffer, q, credits);
        // Both numbers are at hand, so one branch will do.
        own | any == 0
    }

    /// [`has_quota`](Self::has_quota) by all credits that have returned by tick `now`.
    #[inline(never)]
    fn has_quota_now(&mut self, buffer: usize, q: usize, credits: u32, now: Tick) -> bool {
        self.apply_returns(buffer, now);
        self.shows_quota(buffer, q, credits)
    }

    /// Credits in use by queue `q`, and shared ones in use by all queues, to be changed.
    #[inline(always)]
    fn counts_mut(&mut self, buffer: usize, q: usize) -> (&mut u16, &mut u16) {
        let far = buffer * self.quotas.len().saturating_sub(USED);
        let Ledger { used, shared, .. } = &mut self.ledgers[buffer];
        let used = match used.get_mut(q) {
            Some(used) => used,
            None => &mut self.far_used[far + q - USED],
        };
        (used, shared)
    }

    /// Takes `credits` credits of queue `q`, for which there must be quota.
    #[inline]
    pub(super) fn take(&mut self, buffer: usize, q: usize, credits: u32) {
        let quota = self.quotas[q];
        let (used, shared) = self.counts_mut(buffer, q);
        let before = u32::from(*used);
        let after = before + credits;
        *used = after as u16;
        *shared += (at_least_exclusive(after, quota) - at_least_exclusive(before, quota)) as u16;
        debug_assert!(after <= quota.max, "a queue holds more than its maximum");
        debug_assert!(
            self.ledgers[buffer].shared <= self.ledgers[buffer].shareable,
            "a buffer holds more than its size"
        );
    }

    /// Marks `credits` credits of queue `q` as free again.
    #[inline]
    fn free(&mut self, buffer: usize, q: usize, credits: u32) {
        let quota = self.quotas[q];
        let (used, shared) = self.counts_mut(buffer, q);
        let before = u32::from(*used);
        debug_assert!(before >= credits, "more credits came back than were taken");
        let after = before - credits;
        *used = after as u16;
        *shared -= (at_least_exclusive(before, quota) - at_least_exclusive(after, quota)) as u16;
    }

    /// Delays `credit_return` so that it does not end before the last pending return, which
    /// congestion control may have delayed. Returns it with the end of that last return.
    #[inline]
    pub(super) fn in_order(
        &self,
        buffer: usize,
        credit_return: CreditReturn,
    ) -> (CreditReturn, Tick) {
        let last_end = self.pending(buffer).last().map_or(0, |last| last.end);
        if last_end > credit_return.end {
            return (credit_return.all_at(last_end), last_end);
        }
        (credit_return, last_end)
    }

    /// Adds the credit return of a packet that starts to leave in tick `now`.
    #[inline]
    pub(super) fn add_return(&mut self, buffer: usize, credit_return: CreditReturn, now: Tick) {
        debug_assert!(
            self.pending(buffer)
                .last()
                .is_none_or(|last| last.end <= credit_return.end),
            "one packet leaves a buffer at a time"
        );
        let ledger = &mut self.ledgers[buffer];
        if ledger.is_full() {
            if ledger.spilled || ledger.first_end() > now {
                self.add_to_full(buffer, credit_return, now);
                return;
            }
            // Once per call, in a buffer in use: the return before the last has mostly ended.
            // That is easier to predict than to apply all that have.
            let first = ledger.pop();
            self.free(buffer, first.queue.into(), first.left());
        }
        self.ledgers[buffer].push(credit_return);
    }

    /// [`Ledgers::add_return`] where the ledger has no room at first.
    #[inline(never)]
    fn add_to_full(&mut self, buffer: usize, credit_return: CreditReturn, now: Tick) {
        while self.ledgers[buffer].first_end() <= now {
            self.apply_first(buffer);
        }
        let ledger = &mut self.ledgers[buffer];
        if ledger.is_full() {
            ledger.spilled = true;
            self.spilled[buffer].push_back(credit_return);
        } else {
            ledger.push(credit_return);
        }
    }

    /// Applies all credits of the first pending return, and removes it. There must be one.
    #[inline]
    fn apply_first(&mut self, buffer: usize) {
        let ledger = &mut self.ledgers[buffer];
        let first = ledger.pop();
        if ledger.spilled {
            self.refill_ledger(buffer);
        }
        self.free(buffer, first.queue.into(), first.left());
    }

    /// Moves the first spilled return to the ledger.
    fn refill_ledger(&mut self, buffer: usize) {
        let ledger = &mut self.ledgers[buffer];
        if let Some(next) = self.spilled[buffer].pop_front() {
            ledger.push(next);
        }
        ledger.spilled = !self.spilled[buffer].is_empty();
    }

    /// The pending returns of `buffer`, in order.
    fn pending(&self, buffer: usize) -> impl Iterator<Item = CreditReturn> {
        let spilled = self.spilled[buffer].iter().copied();
        self.ledgers[buffer].returns().chain(spilled)
    }

    /// Tick of the first credit of `credit_return`.
    #[inline]
    pub(super) fn first_credit_tick(&self, credit_return: &CreditReturn) -> Tick {
        self.drain_rate.credit_tick(credit_return, 0)
    }

    /// Applies all credits that have returned by tick `now`.
    pub(super) fn apply_returns(&mut self, buffer: usize, now: Tick) {
        while let Some(credit_return) = self.ledgers[buffer].first() {
            let returned = self.drain_rate.credits_by(&credit_return, now);
            if returned == u32::from(credit_return.schedule.credits) {
                self.apply_first(buffer);
                continue;
            }
            let new = returned - u32::from(credit_return.schedule.applied);
            if new > 0 {
                self.ledgers[buffer].set_applied(returned);
                self.free(buffer, credit_return.schedule.queue.into(), new);
            }
            break;
        }
    }

    /// Returns when to check again whether a packet of `credits` has quota in queue `q`. It has none
    /// now. The tick is a lower bound: each returned credit lowers each number of
    /// [`missing`](Self::missing) credits by at most one.
    pub(super) fn retry(&self, buffer: usize, q: usize, credits: u32) -> Retry {
        let (own, any) = self.missing(buffer, q, credits);
        // Credits of the returns passed so far: of queue `q`, and of all queues.
        let (mut passed_own, mut passed_any) = (0, 0);
        let mut passed_end = 0;
        for credit_return in self.pending(buffer) {
            let earliest = std::mem::replace(&mut passed_end, credit_return.end);
            let left = credit_return.schedule.left();
            let is_own = usize::from(credit_return.schedule.queue) == q;
            // Credits of this return that are still needed.
            let need = any.saturating_sub(passed_any).max(if is_own {
                own.saturating_sub(passed_own)
            } else {
                0
            });
            let own_after = passed_own + if is_own { need.min(left) } else { 0 };
            if need <= left && own_after >= own {
                let c = u32::from(credit_return.schedule.applied) + need.max(1) - 1;
                let tick = self.drain_rate.credit_tick(&credit_return, c);
                return Retry::At(tick.max(earliest));
            }
            passed_any += left;
            if is_own {
                passed_own += left;
            }
        }
        Retry::AfterCreditReturn
    }

    /// Credits in use by all queues of `buffer` at tick `now`.
    pub(super) fn credits_in_use(&mut self, buffer: usize, now: Tick) -> u32 {
        self.apply_returns(buffer, now);
        (0..self.stride()).map(|q| self.used(buffer, q)).sum()
    }

    /// The queues that hold the credits which a packet of `credits` in queue `q` lacks at
    /// tick `now`: one of them must return credits before the packet can have quota. Empty
    /// if it has quota.
    pub(super) fn holders(
        &mut self,
        buffer: usize,
        q: usize,
        credits: u32,
        now: Tick,
    ) -> Vec<usize> {
        self.apply_returns(buffer, now);
        match self.missing(buffer, q, credits) {
            (0, 0) => Vec::new(),
            (0, _) => {
                let above = |&i: &usize| {
                    let used = self.used(buffer, i);
                    used > self.quotas[i].exclusive || i == q && used > 0
                };
                (0..self.stride()).filter(above).collect()
            }
            _ => vec![q],
        }
    }

    /// Whether a credit return of queue `q` is pending.
    pub(super) fn has_pending_return(&self, buffer: usize, q: usize) -> bool {
        self.pending(buffer)
            .any(|credit_return| usize::from(credit_return.schedule.queue) == q)
    }
}

/// The larger of `used` and the exclusive credits of a queue. It grows by the shared credits that the
/// queue takes.
#[inline(always)]
fn at_least_exclusive(used: u32, quota: Quota) -> u32 {
    used.max(quota.exclusive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_stay_in_order_when_they_spill() {
        let quota = Quota {
            exclusive: 0,
            max: 100,
        };
        let mut buffers = Ledgers::<8>::new(1, vec![quota], DrainRate::link(1));
        buffers.set_size(0, 100, 0..1);
        let (mut pushed, mut popped) = (1, 1);
        for step in [3, -1, 2, -4, 1, 5, -6] {
            for _ in 0..i32::max(step, 0) {
                buffers.take(0, 0, 1);
                let credit_return =
                    buffers
                        .drain_rate()
                        .credit_return(0, (1, 1), pushed, pushed, 0);
                buffers.add_return(0, credit_return, 0);
                pushed += 1;
            }
            for _ in 0..i32::max(-step, 0) {
                assert_eq!(buffers.ledgers[0].first_end(), popped);
                buffers.apply_first(0);
                popped += 1;
            }
            let ends: Vec<_> = buffers.pending(0).map(|r| r.end).collect();
            assert_eq!(ends, (popped..pushed).collect::<Vec<_>>());
        }
        assert_eq!(buffers.credits_in_use(0, 0), 0);
    }
}
