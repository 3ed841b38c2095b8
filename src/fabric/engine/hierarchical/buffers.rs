//! Buffers of one kind: FIFOs of packets and the credits they take.
//!
//! The credits of a buffer are kept as its one writer sees them. They are given
//! back lazily: a packet that leaves adds a [`CreditReturn`], and the credits are only
//! counted back when somebody needs to know.
//!
//! What every packet touches is kept on few cache lines: an [`Ledger`] is one or two,
//! and the heads of the FIFOs lie in the part that reads the buffer ([`Heads`]).

use super::ledger::Ledger;
use super::packet::Packet;
use super::schedule::{CreditReturn, DrainRate};
use crate::fabric::engine::pool::{NONE, PacketId, Pool};
use crate::fabric::prefetch::{prefetch, prefetch_second_line};
use crate::fabric::spec::{Quota, Tick};
use std::collections::VecDeque;

/// VLs whose heads lie in the part that reads the buffer.
pub(super) const NEAR_VLS: usize = 8;
/// Heads of the first FIFOs of a buffer, [`NONE`] if empty.
pub(super) type Heads<const HEADS: usize> = [PacketId; HEADS];

/// Buffers with a queue per VL.
pub(super) type VlBuffers = Buffers<NEAR_VLS, NEAR_VLS>;
/// Buffers with a queue per class and VL; those of one kind of switch with five VLs
/// and eight classes fit into their ledgers.
pub(super) type CentralBuffers = Buffers<0, 40>;

/// All buffers of one kind. The heads of the first `HEADS` queues lie in the parts,
/// the credits of the first `USED` queues in the ledgers.
#[derive(Debug)]
pub(super) struct Buffers<const HEADS: usize, const USED: usize> {
    ledgers: Vec<Ledger<USED>>,
    /// Heads of the other queues of each buffer.
    far_heads: Vec<PacketId>,
    /// Credits in use by the other queues.
    far_used: Vec<u16>,
    /// Last packet of each FIFO, valid if it has more than one.
    tails: Vec<PacketId>,
    /// Departures of each buffer that found no room in its ledger, in order.
    spilled: Vec<VecDeque<CreditReturn>>,
    /// Quota of each queue, the same in every buffer.
    quotas: Vec<Quota>,
    drain: DrainRate,
}

/// When a packet that has no quota now may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// Not before this tick.
    At(Tick),
    /// Only after some packet has started to leave the buffer.
    AfterCreditReturn,
}

impl<const HEADS: usize, const USED: usize> Buffers<HEADS, USED> {
    /// `buffers` buffers with a queue per entry of `quotas`, and no space yet;
    /// packets leave them over `drain`.
    pub(super) fn new(buffers: usize, quotas: Vec<Quota>, drain: DrainRate) -> Self {
        let beyond = |near| buffers * quotas.len().saturating_sub(near);
        Self {
            ledgers: vec![Ledger::new(0); buffers],
            far_heads: vec![NONE; beyond(HEADS)],
            far_used: vec![0; beyond(USED)],
            tails: vec![NONE; buffers * quotas.len()],
            spilled: vec![VecDeque::new(); buffers],
            quotas,
            drain,
        }
    }

    /// Sets the size of `buffer`, in which the queues of `existing` can be used.
    pub(super) fn set_space(
        &mut self,
        buffer: usize,
        total: u32,
        existing: impl Iterator<Item = usize>,
    ) {
        let exclusive: u32 = existing.map(|q| self.quotas[q].exclusive).sum();
        self.ledgers[buffer].shareable = total.saturating_sub(exclusive) as u16;
    }

    /// Number of queues per buffer.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.quotas.len()
    }

    /// What packets leave these buffers over.
    #[inline]
    pub(super) fn drain(&self) -> &DrainRate {
        &self.drain
    }

    /// Place of a head that lies in no part.
    #[inline]
    fn far_head(&self, buffer: usize, q: usize) -> usize {
        buffer * (self.stride() - HEADS) + q - HEADS
    }

    /// Place of the credits of a queue that lie in no ledger.
    #[inline]
    fn far_credits(&self, buffer: usize, q: usize) -> usize {
        buffer * (self.stride() - USED) + q - USED
    }

    /// Prefetches the head of a FIFO, if it lies in no part.
    #[inline]
    pub(super) fn prefetch_head(&self, buffer: usize, q: usize) {
        if q >= HEADS {
            prefetch(&self.far_heads, self.far_head(buffer, q));
        }
    }

    /// Prefetches what decides whether a packet has quota.
    #[inline]
    pub(super) fn prefetch_account(&self, buffer: usize) {
        prefetch(&self.ledgers, buffer);
        if size_of::<Ledger<USED>>() > 64 {
            prefetch_second_line(&self.ledgers, buffer);
        }
    }

    /// Head of a FIFO, or [`NONE`].
    #[inline]
    pub(super) fn head(&self, near: &Heads<HEADS>, buffer: usize, q: usize) -> PacketId {
        if q < HEADS {
            near[q]
        } else {
            self.far_heads[self.far_head(buffer, q)]
        }
    }

    #[inline]
    fn head_mut<'a>(
        &'a mut self,
        near: &'a mut Heads<HEADS>,
        buffer: usize,
        q: usize,
    ) -> &'a mut PacketId {
        if q < HEADS {
            &mut near[q]
        } else {
            let at = self.far_head(buffer, q);
            &mut self.far_heads[at]
        }
    }

    /// Appends a packet.
    #[inline]
    pub(super) fn push(
        &mut self,
        near: &mut Heads<HEADS>,
        buffer: usize,
        q: usize,
        id: PacketId,
        packets: &mut Pool<Packet>,
    ) {
        packets[id].next = NONE;
        let head = self.head_mut(near, buffer, q);
        let first = *head;
        if first == NONE {
            *head = id;
        } else {
            let at = buffer * self.stride() + q;
            let tail = &mut self.tails[at];
            let alone = packets[first].next == NONE;
            let last = if alone { first } else { *tail };
            packets[last].next = id;
            *tail = id;
        }
    }

    /// Removes the head, whose successor is `next`; true if the FIFO is empty now.
    #[inline]
    pub(super) fn pop(
        &mut self,
        near: &mut Heads<HEADS>,
        buffer: usize,
        q: usize,
        next: PacketId,
    ) -> bool {
        *self.head_mut(near, buffer, q) = next;
        next == NONE
    }

    /// Credits in use by queue `q`.
    #[inline]
    fn used(&self, buffer: usize, q: usize) -> u32 {
        if q < USED {
            self.ledgers[buffer].used[q].into()
        } else {
            self.far_used[self.far_credits(buffer, q)].into()
        }
    }

    #[inline]
    fn set_used(&mut self, buffer: usize, q: usize, used: u32) {
        if q < USED {
            self.ledgers[buffer].used[q] = used as u16;
        } else {
            let at = self.far_credits(buffer, q);
            self.far_used[at] = used as u16;
        }
    }

    /// Credits by which queue `q` and the shared space would be exceeded by
    /// `credits` more, counting what has come back so far.
    #[inline]
    fn missing(&self, buffer: usize, q: usize, credits: u32) -> (u32, u32) {
        let used = self.used(buffer, q);
        let ledger = &self.ledgers[buffer];
        let Quota { exclusive, max } = self.quotas[q];
        let after = used + credits;
        let more = after.saturating_sub(exclusive) - used.saturating_sub(exclusive);
        (
            after.saturating_sub(max),
            (u32::from(ledger.shared) + more).saturating_sub(ledger.shareable.into()),
        )
    }

    /// The quota rule of `docs/model.md` §3 at tick `now`.
    #[inline]
    pub(super) fn has_quota(&mut self, buffer: usize, q: usize, credits: u32, now: Tick) -> bool {
        // Credits not yet counted back only make the answer more cautious.
        self.missing(buffer, q, credits) == (0, 0) || {
            self.apply_returns(buffer, now);
            self.missing(buffer, q, credits) == (0, 0)
        }
    }

    /// Takes credits that [`Buffers::has_quota`] granted.
    #[inline]
    pub(super) fn take(&mut self, buffer: usize, q: usize, credits: u32) {
        let Quota { exclusive, max } = self.quotas[q];
        let before = self.used(buffer, q);
        let after = before + credits;
        self.set_used(buffer, q, after);
        let more = after.saturating_sub(exclusive) - before.saturating_sub(exclusive);
        let ledger = &mut self.ledgers[buffer];
        ledger.shared += more as u16;
        debug_assert!(after <= max, "a queue holds more than its maximum");
        debug_assert!(
            ledger.shared <= ledger.shareable,
            "a buffer holds more than its size"
        );
    }

    /// Takes `credits` credits of a queue back.
    #[inline]
    fn give_back(&mut self, buffer: usize, q: usize, credits: u32) {
        let exclusive = self.quotas[q].exclusive;
        let before = self.used(buffer, q);
        debug_assert!(before >= credits, "more credits came back than were taken");
        let after = before - credits;
        self.set_used(buffer, q, after);
        let fewer = before.saturating_sub(exclusive) - after.saturating_sub(exclusive);
        self.ledgers[buffer].shared -= fewer as u16;
    }

    /// A departure that gives nothing back before the end of the last one, which may have
    /// been held back; and that end.
    #[inline]
    pub(super) fn in_order(
        &self,
        buffer: usize,
        credit_return: CreditReturn,
    ) -> (CreditReturn, Tick) {
        let after = self.departures(buffer).last().map_or(0, |last| last.end);
        if after > credit_return.end {
            return (credit_return.at_once(after), after);
        }
        (credit_return, after)
    }

    /// Adds a departure; dates are those of use by the writer.
    #[inline]
    pub(super) fn depart(&mut self, buffer: usize, credit_return: CreditReturn, now: Tick) {
        debug_assert!(
            self.departures(buffer)
                .last()
                .is_none_or(|last| last.end <= credit_return.end),
            "one packet leaves a buffer at a time"
        );
        // Mostly one: the last but one departure is long over.
        while self.ledgers[buffer].first_end() <= now {
            self.finish_first(buffer);
        }
        let ledger = &mut self.ledgers[buffer];
        if ledger.is_full() {
            ledger.spilled = true;
            self.spilled[buffer].push_back(credit_return);
        } else {
            ledger.push(credit_return);
        }
    }

    /// Counts all of the first departure back and removes it.
    #[inline]
    fn finish_first(&mut self, buffer: usize) {
        let ledger = &mut self.ledgers[buffer];
        let Some(CreditReturn { schedule, .. }) = ledger.first() else {
            return;
        };
        ledger.pop();
        if ledger.spilled {
            self.refill(buffer);
        }
        self.give_back(
            buffer,
            schedule.queue.into(),
            (schedule.credits - schedule.done).into(),
        );
    }

    /// Moves the first departure that found no room to its ledger.
    fn refill(&mut self, buffer: usize) {
        let ledger = &mut self.ledgers[buffer];
        if let Some(next) = self.spilled[buffer].pop_front() {
            ledger.push(next);
        }
        ledger.spilled = !self.spilled[buffer].is_empty();
    }

    /// Departures whose credits are not all counted back, in order.
    fn departures(&self, buffer: usize) -> impl Iterator<Item = CreditReturn> {
        let spilled = self.spilled[buffer].iter().copied();
        self.ledgers[buffer].near().chain(spilled)
    }

    /// Date of the first credit that a departure gives back.
    #[inline]
    pub(super) fn first_credit_of(&self, credit_return: &CreditReturn) -> Tick {
        self.drain.credit_date(credit_return, 0)
    }

    /// Counts back all credits dated up to `now`.
    pub(super) fn apply_returns(&mut self, buffer: usize, now: Tick) {
        while let Some(credit_return) = self.ledgers[buffer].first() {
            let back = self.drain.credits_by(&credit_return, now);
            if back == u32::from(credit_return.schedule.credits) {
                self.finish_first(buffer);
                continue;
            }
            let fresh = back - u32::from(credit_return.schedule.done);
            if fresh > 0 {
                self.ledgers[buffer].set_done(back);
                self.give_back(buffer, credit_return.schedule.queue.into(), fresh);
            }
            break;
        }
    }

    /// When `credits` may fit, if they do not now. Every credit that comes back
    /// lowers each side of the rule by at most one, so the count of missing
    /// credits bounds the date from below.
    pub(super) fn retry_at(&self, buffer: usize, q: usize, credits: u32) -> Retry {
        let (own, any) = self.missing(buffer, q, credits);
        let (mut seen_own, mut seen_any) = (0, 0);
        let mut after = 0;
        for credit_return in self.departures(buffer) {
            let before = std::mem::replace(&mut after, credit_return.end);
            let left = u32::from(credit_return.schedule.credits - credit_return.schedule.done);
            let is_own = usize::from(credit_return.schedule.queue) == q;
            // Credits of this credit_return needed to satisfy what is still missing.
            let need = any.saturating_sub(seen_any).max(if is_own {
                own.saturating_sub(seen_own)
            } else {
                0
            });
            let own_after = seen_own + if is_own { need.min(left) } else { 0 };
            if need <= left && own_after >= own {
                let c = u32::from(credit_return.schedule.done) + need.max(1) - 1;
                return Retry::At(self.drain.credit_date(&credit_return, c).max(before));
            }
            seen_any += left;
            if is_own {
                seen_own += left;
            }
        }
        Retry::AfterCreditReturn
    }

    /// Credits in use in all queues of `buffer` at `now`.
    pub(super) fn credits_in_use(&mut self, buffer: usize, now: Tick) -> u32 {
        self.apply_returns(buffer, now);
        (0..self.stride()).map(|q| self.used(buffer, q)).sum()
    }

    /// The queues that hold what `credits` more in queue `q` are missing at `now`
    /// (none if they have quota): those that must shrink before they can fit.
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

    /// True if credits of queue `q` are on their way back.
    pub(super) fn is_draining(&self, buffer: usize, q: usize) -> bool {
        self.departures(buffer)
            .any(|credit_return| usize::from(credit_return.schedule.queue) == q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_stay_in_order_when_they_spill() {
        let quota = Quota {
            exclusive: 0,
            max: 100,
        };
        let mut buffers = VlBuffers::new(1, vec![quota], DrainRate::link(1));
        buffers.set_space(0, 100, 0..1);
        let (mut pushed, mut popped) = (1, 1);
        for step in [3, -1, 2, -4, 1, 5, -6] {
            for _ in 0..i32::max(step, 0) {
                buffers.take(0, 0, 1);
                let credit_return = buffers.drain().credit_return(0, (1, 1), pushed, pushed, 0);
                buffers.depart(0, credit_return, 0);
                pushed += 1;
            }
            for _ in 0..i32::max(-step, 0) {
                assert_eq!(buffers.ledgers[0].first_end(), popped);
                buffers.finish_first(0);
                popped += 1;
            }
            let ends: Vec<_> = buffers.departures(0).map(|t| t.end).collect();
            assert_eq!(ends, (popped..pushed).collect::<Vec<_>>());
        }
        assert_eq!(buffers.credits_in_use(0, 0), 0);
    }
}
