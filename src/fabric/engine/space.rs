//! Buffers of one kind: FIFOs of packets and the credits they take.
//!
//! The credits of a buffer are kept as its one writer sees them. They are given
//! back lazily: a packet that leaves adds a [`Train`], and the credits are only
//! counted back when somebody needs to know.

use super::departures::Departures;
use super::packet::{NONE, Packet, PacketId, Pool};
use super::records::Records;
use super::train::Train;
use crate::fabric::prefetch::prefetch;
use crate::fabric::spec::{Quota, Tick};

/// A queue of packets.
#[derive(Debug, Clone, Copy)]
struct Fifo {
    head: PacketId,
    tail: PacketId,
}

/// All buffers of one kind.
#[derive(Debug)]
pub(super) struct Bank {
    fifos: Vec<Fifo>,
    /// Per buffer: credits taken beyond the exclusive ones, credits that may be,
    /// then the credits in use by each queue, those on their way back included.
    credits: Records,
    /// Per buffer: departures whose credits are not all counted back, in order.
    trains: Vec<Departures>,
    /// Quota of each queue, the same in every buffer.
    quotas: Vec<Quota>,
    flits_per_credit: u32,
}

const SHARED: usize = 0;
const SHAREABLE: usize = 1;
const USED: usize = 2;

/// When a packet that has no quota now may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chance {
    /// Not before this tick.
    At(Tick),
    /// Only after some packet has started to leave the buffer.
    AfterDeparture,
}

impl Bank {
    /// `buffers` buffers with a queue per entry of `quotas`, and no space yet.
    pub(super) fn new(buffers: usize, quotas: Vec<Quota>, flits_per_credit: u32) -> Self {
        Self {
            fifos: vec![
                Fifo {
                    head: NONE,
                    tail: NONE
                };
                buffers * quotas.len()
            ],
            credits: Records::new(buffers, USED + quotas.len()),
            trains: (0..buffers).map(|_| Departures::default()).collect(),
            quotas,
            flits_per_credit,
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
        self.credits.get_mut(buffer)[SHAREABLE] = total.saturating_sub(exclusive);
    }

    /// Number of queues per buffer.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.quotas.len()
    }

    /// Prefetches the FIFO that a packet will join and leave.
    #[inline]
    pub(super) fn prefetch_fifo(&self, buffer: usize, q: usize) {
        prefetch(&self.fifos, buffer * self.stride() + q);
    }

    /// Prefetches what decides whether a packet has quota.
    #[inline]
    pub(super) fn prefetch_account(&self, buffer: usize) {
        self.credits.prefetch(buffer);
    }

    /// Prefetches what a departure changes.
    #[inline]
    pub(super) fn prefetch_departures(&self, buffer: usize) {
        prefetch(&self.trains, buffer);
    }

    /// Head of a FIFO, or [`NONE`].
    #[inline]
    pub(super) fn head(&self, buffer: usize, q: usize) -> PacketId {
        self.fifos[buffer * self.stride() + q].head
    }

    /// Appends a packet.
    #[inline]
    pub(super) fn push(
        &mut self,
        buffer: usize,
        q: usize,
        id: PacketId,
        packets: &mut Pool<Packet>,
    ) {
        packets[id].next = NONE;
        let stride = self.stride();
        let fifo = &mut self.fifos[buffer * stride + q];
        if fifo.head == NONE {
            fifo.head = id;
        } else {
            packets[fifo.tail].next = id;
        }
        fifo.tail = id;
    }

    /// Removes the head, whose successor is `next`; true if the FIFO is empty now.
    #[inline]
    pub(super) fn pop(&mut self, buffer: usize, q: usize, next: PacketId) -> bool {
        let stride = self.stride();
        self.fifos[buffer * stride + q].head = next;
        next == NONE
    }

    /// Credits by which queue `q` and the shared space would be exceeded by
    /// `credits` more, counting what has come back so far.
    #[inline]
    fn missing(&self, buffer: usize, q: usize, credits: u32) -> (u32, u32) {
        let account = self.credits.get(buffer);
        let used = account[USED + q];
        let Quota { exclusive, max } = self.quotas[q];
        let after = used + credits;
        let more = after.saturating_sub(exclusive) - used.saturating_sub(exclusive);
        (
            after.saturating_sub(max),
            (account[SHARED] + more).saturating_sub(account[SHAREABLE]),
        )
    }

    /// The quota rule of `docs/model.md` §3 at tick `now`.
    #[inline]
    pub(super) fn has_quota(&mut self, buffer: usize, q: usize, credits: u32, now: Tick) -> bool {
        // Credits not yet counted back only make the answer more cautious.
        self.missing(buffer, q, credits) == (0, 0) || {
            self.settle(buffer, now);
            self.missing(buffer, q, credits) == (0, 0)
        }
    }

    /// Takes credits that [`Bank::has_quota`] granted.
    #[inline]
    pub(super) fn take(&mut self, buffer: usize, q: usize, credits: u32) {
        let Quota { exclusive, max } = self.quotas[q];
        let account = self.credits.get_mut(buffer);
        let before = account[USED + q].saturating_sub(exclusive);
        account[USED + q] += credits;
        account[SHARED] += account[USED + q].saturating_sub(exclusive) - before;
        debug_assert!(
            account[USED + q] <= max,
            "a queue holds more than its maximum"
        );
        debug_assert!(
            account[SHARED] <= account[SHAREABLE],
            "a buffer holds more than its size"
        );
    }

    /// Adds a departure; dates are those of use by the writer.
    #[inline]
    pub(super) fn depart(&mut self, buffer: usize, train: Train, now: Tick) {
        let trains = &mut self.trains[buffer];
        if let Some(first) = trains.front()
            && first.end <= now
        {
            // The usual case: the last but one departure is long over.
            let (queue, fresh) = (usize::from(first.queue), first.credits - first.done);
            trains.pop();
            let exclusive = self.quotas[queue].exclusive;
            give_back(self.credits.get_mut(buffer), queue, fresh.into(), exclusive);
        }
        self.trains[buffer].push(train);
    }

    /// Date of the first credit that a departure gives back.
    #[inline]
    pub(super) fn first_credit_of(&self, train: &Train) -> Tick {
        train.credit_date(0, self.flits_per_credit)
    }

    /// Counts back all credits dated up to `now`.
    pub(super) fn settle(&mut self, buffer: usize, now: Tick) {
        let account = self.credits.get_mut(buffer);
        let trains = &mut self.trains[buffer];
        while let Some(train) = trains.front() {
            let back = train.credits_by(now, self.flits_per_credit);
            let fresh = back - u32::from(train.done);
            if fresh > 0 {
                train.done = back as u16;
                let queue = usize::from(train.queue);
                give_back(account, queue, fresh, self.quotas[queue].exclusive);
            }
            if back < u32::from(train.credits) {
                break;
            }
            trains.pop();
        }
    }

    /// When `credits` may fit, if they do not now. Every credit that comes back
    /// lowers each side of the rule by at most one, so the count of missing
    /// credits bounds the date from below.
    pub(super) fn chance(&self, buffer: usize, q: usize, credits: u32) -> Chance {
        let (own, any) = self.missing(buffer, q, credits);
        let (mut seen_own, mut seen_any) = (0, 0);
        for train in self.trains[buffer].iter() {
            let left = u32::from(train.credits - train.done);
            let is_own = usize::from(train.queue) == q;
            // Credits of this train needed to satisfy what is still missing.
            let need = any.saturating_sub(seen_any).max(if is_own {
                own.saturating_sub(seen_own)
            } else {
                0
            });
            let own_after = seen_own + if is_own { need.min(left) } else { 0 };
            if need <= left && own_after >= own {
                let c = u32::from(train.done) + need.max(1) - 1;
                return Chance::At(train.credit_date(c, self.flits_per_credit));
            }
            seen_any += left;
            if is_own {
                seen_own += left;
            }
        }
        Chance::AfterDeparture
    }

    /// Credits in use in all queues of `buffer` at `now`.
    pub(super) fn credits_in_use(&mut self, buffer: usize, now: Tick) -> u32 {
        self.settle(buffer, now);
        self.credits.get_mut(buffer)[USED..].iter().sum()
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
        self.settle(buffer, now);
        match self.missing(buffer, q, credits) {
            (0, 0) => Vec::new(),
            (0, _) => {
                let quotas = self.quotas.clone();
                let used = &self.credits.get_mut(buffer)[USED..];
                let above = |&i: &usize| used[i] > quotas[i].exclusive || i == q && used[i] > 0;
                (0..quotas.len()).filter(above).collect()
            }
            _ => vec![q],
        }
    }

    /// True if credits of queue `q` are on their way back.
    pub(super) fn is_draining(&self, buffer: usize, q: usize) -> bool {
        self.trains[buffer]
            .iter()
            .any(|train| usize::from(train.queue) == q)
    }
}

/// Takes `credits` credits of a queue back from an account.
#[inline]
fn give_back(account: &mut [u32], queue: usize, credits: u32, exclusive: u32) {
    let used = &mut account[USED + queue];
    debug_assert!(*used >= credits, "more credits came back than were taken");
    let before = used.saturating_sub(exclusive);
    *used -= credits;
    let after = used.saturating_sub(exclusive);
    account[SHARED] -= before - after;
}
