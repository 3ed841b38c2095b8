//! Buffers, and the ledgers of their credits.

use super::packet::{Flit, PacketId};
use crate::delay_line::DelayLine;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::spec::hierarchical::{Pool, Quota};
use std::collections::VecDeque;

/// Credits of one buffer in use, as whoever writes to the buffer knows them.
/// For buffers inside a switch that is the truth; for a buffer at the far end
/// of a link it is late by the way the credits have to come back.
#[derive(Debug, Clone)]
pub struct Ledger {
    total: u32,
    /// `None` for a central queue that does not exist.
    quotas: Vec<Option<Quota>>,
    used: Vec<u32>,
}

impl Ledger {
    /// The ledger of a buffer with one queue per VL.
    pub fn per_vl(pool: &Pool) -> Self {
        Self::with_queues(pool.total, pool.per_vl.iter().copied().map(Some).collect())
    }

    pub fn with_queues(total: u32, quotas: Vec<Option<Quota>>) -> Self {
        let used = vec![0; quotas.len()];
        Self {
            total,
            quotas,
            used,
        }
    }

    /// May a packet of `credits` credits enter `queue`?
    pub fn has_quota(&self, queue: usize, credits: u32) -> bool {
        let quota = self.quotas[queue].expect("a packet heads for a queue that does not exist");
        let mut used = self.used.clone();
        used[queue] += credits;
        let mut exclusive = 0;
        let mut shared = 0;
        for (used, quota) in used.iter().zip(&self.quotas) {
            let Some(quota) = quota else { continue };
            exclusive += quota.exclusive;
            shared += used.saturating_sub(quota.exclusive);
        }
        used[queue] <= quota.max && exclusive + shared <= self.total
    }

    pub fn take(&mut self, queue: usize, credits: u32) {
        assert!(self.has_quota(queue, credits));
        self.used[queue] += credits;
        assert!(
            self.in_use() <= self.total,
            "more credits than the buffer has"
        );
    }

    pub fn give_back_one(&mut self, queue: usize) {
        assert!(
            self.used[queue] > 0,
            "a credit came back that was not taken"
        );
        self.used[queue] -= 1;
    }

    /// The queues that would have to shrink before `credits` more could enter
    /// `queue`: that one if it is at its maximum, else all that use shared credits.
    /// None if there is quota.
    pub fn holders(&self, queue: usize, credits: u32) -> Vec<usize> {
        let Some(quota) = self.quotas[queue].filter(|_| !self.has_quota(queue, credits)) else {
            return Vec::new();
        };
        if self.used[queue] + credits > quota.max {
            return vec![queue];
        }
        let shares = |&other: &usize| {
            let exclusive = self.quotas[other].map_or(0, |quota| quota.exclusive);
            self.used[other] > exclusive || other == queue && self.used[other] > 0
        };
        (0..self.used.len()).filter(shares).collect()
    }

    pub fn in_use(&self) -> u32 {
        self.used.iter().sum()
    }
}

/// Flits in FIFOs, and the headers among them that an arbiter may look at.
#[derive(Debug, Clone)]
pub struct Buffer {
    queues: Vec<Fifo>,
    /// Most flits that the buffer can hold.
    size: usize,
    /// Ticks from a header's arrival until the arbiter sees it.
    header_delay: Tick,
    /// Ticks from a flit's arrival until it may leave.
    flit_delay: Tick,
    /// Headers that the arbiter does not see yet.
    preparing: DelayLine<(usize, PacketId)>,
    /// Packets that it sees, in all queues: most buffers are empty most of the time.
    seen: usize,
}

#[derive(Debug, Clone)]
struct Fifo {
    /// Every flit in the queue, with the tick in which it arrived.
    flits: VecDeque<(Tick, Flit)>,
    /// Packets the arbiter sees and has not granted yet.
    waiting: VecDeque<PacketId>,
}

impl Buffer {
    pub fn new(queues: usize, size: u32, header_delay: Tick, flit_delay: Tick) -> Self {
        let fifo = Fifo {
            flits: VecDeque::new(),
            waiting: VecDeque::new(),
        };
        Self {
            queues: vec![fifo; queues],
            size: size as usize,
            header_delay,
            flit_delay,
            preparing: DelayLine::new(),
            seen: 0,
        }
    }

    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    /// A flit arrives at the tail of `queue`.
    pub fn arrive(&mut self, now: Tick, queue: usize, flit: Flit) {
        if flit.index == 0 {
            let seen = now + self.header_delay;
            self.preparing.push(seen, (queue, flit.packet));
        }
        self.queues[queue].flits.push_back((now, flit));
        assert!(self.flits() <= self.size, "a buffer over its size");
    }

    /// The next header that becomes ready at `now`: it joins the FIFO that the
    /// arbiter sees.
    pub fn next_ready(&mut self, now: Tick) -> Option<PacketId> {
        let (queue, packet) = self.preparing.pop_due(now)?;
        self.queues[queue].waiting.push_back(packet);
        self.seen += 1;
        Some(packet)
    }

    /// The packet at the head of `queue`, as the arbiter sees it.
    pub fn head(&self, queue: usize) -> Option<PacketId> {
        self.queues[queue].waiting.front().copied()
    }

    /// The queues that have a head, with it.
    pub fn heads(&self) -> impl Iterator<Item = (usize, PacketId)> {
        let queues = if self.seen == 0 { 0 } else { self.queues() };
        (0..queues).filter_map(|queue| Some((queue, self.head(queue)?)))
    }

    /// The arbiter has granted the head of `queue`.
    pub fn remove_head(&mut self, queue: usize) -> PacketId {
        self.seen -= 1;
        self.queues[queue]
            .waiting
            .pop_front()
            .expect("a head was granted")
    }

    /// Lets flit `index` of `packet` leave, if it is there and may. It must be
    /// the first of its queue: flits do not overtake.
    pub fn leave(&mut self, now: Tick, queue: usize, packet: PacketId, index: u32) -> Option<Flit> {
        let flits = &mut self.queues[queue].flits;
        let (arrived, flit) = *flits.front()?;
        assert_eq!(
            (flit.packet, flit.index),
            (packet, index),
            "flits do not overtake"
        );
        if arrived + self.flit_delay > now {
            return None;
        }
        flits.pop_front();
        Some(flit)
    }

    /// Flits in the buffer.
    pub fn flits(&self) -> usize {
        self.queues.iter().map(|queue| queue.flits.len()).sum()
    }
}
