//! Queue pairs: the queues of messages of each NIC, one per (SL, destination)
//! (`docs/model/infiniband.md` §2, §8 and §12).
//!
//! This module keeps the queue pairs that have a packet in the order in which the NIC scans them,
//! in one or more groups: by VL in a `voq` fabric. The fabric keeps the NIC's pointers, and
//! decides whether a queue pair is eligible.

use super::messages::MessageQueue;
use crate::engine::congestion::FlowId;
use crate::ids::NicId;
use crate::prefetch::prefetch;
use std::collections::{BTreeMap, VecDeque};

/// Names a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct PairId(u32);

impl PairId {
    /// No queue pair.
    const NONE: Self = Self(u32::MAX);

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A queue pair.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct QueuePair {
    pub dst: NicId,
    pub queue: MessageQueue,
    /// Its flow; without congestion control it means nothing.
    pub flow: FlowId,
    pub sl: u8,
    /// VL on which its packets leave the NIC.
    pub vl: u8,
}

/// A queue pair that has a packet to send.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct WaitingPair {
    /// sl · NICs + dst: the order of the queue pairs of a NIC.
    pub key: u32,
    pub pair: PairId,
    /// Credits that its first packet takes.
    pub credits: u16,
}

/// The queue pairs of a group of a NIC that have a packet to send.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Waiting {
    /// Sorted by key. They are served in turns, so most of them leave at the front.
    pairs: VecDeque<WaitingPair>,
    /// No first packet of a queue pair takes fewer credits.
    least: u16,
}

impl Waiting {
    const NONE: Self = Self {
        pairs: VecDeque::new(),
        least: u16::MAX,
    };

    /// The queue pairs, sorted by key.
    #[inline(always)]
    pub(in crate::engine) fn pairs(&self) -> &VecDeque<WaitingPair> {
        &self.pairs
    }

    /// The fewest credits that the first packet of any queue pair takes.
    #[inline(always)]
    pub(in crate::engine) fn least(&self) -> u16 {
        self.least
    }

    fn insert(&mut self, entry: WaitingPair) {
        self.least = self.least.min(entry.credits);
        if self.pairs.back().is_none_or(|last| last.key < entry.key) {
            self.pairs.push_back(entry);
        } else {
            let at = self.pairs.partition_point(|other| other.key < entry.key);
            self.pairs.insert(at, entry);
        }
    }

    /// The queue pair at position `at` has a next packet that takes `next` credits, or none.
    fn advance(&mut self, at: usize, next: Option<u16>) {
        match next {
            Some(credits) => {
                self.pairs[at].credits = credits;
                self.least = self.least.min(credits);
            }
            None => {
                self.pairs.remove(at);
                if self.pairs.is_empty() {
                    self.least = u16::MAX;
                }
            }
        }
    }
}

/// Most entries of a table of all possible queue pairs.
const MAX_TABLE: u64 = 1 << 21;

/// The position of each queue pair, by its NIC and key.
#[derive(Debug)]
enum Places {
    /// A small fabric: the queue pair, or [`PairId::NONE`], per NIC · keys + key.
    Table { keys: usize, pairs: Vec<PairId> },
    /// Per NIC: the queue pair, by key.
    Trees(Vec<BTreeMap<u32, PairId>>),
}

impl Places {
    fn new(nics: u32, sls: usize) -> Self {
        let keys = sls * nics as usize;
        if u64::from(nics) * keys as u64 > MAX_TABLE {
            return Self::Trees(vec![BTreeMap::new(); nics as usize]);
        }
        Self::Table {
            keys,
            pairs: vec![PairId::NONE; nics as usize * keys],
        }
    }

    /// The entry of a queue pair; [`PairId::NONE`] if it is new.
    #[inline]
    fn entry(&mut self, nic: NicId, key: u32) -> &mut PairId {
        match self {
            Self::Table { keys, pairs } => &mut pairs[nic.index() * *keys + key as usize],
            Self::Trees(trees) => trees[nic.index()].entry(key).or_insert(PairId::NONE),
        }
    }
}

/// All queue pairs that have been used, except the [forgotten](QueuePairs::forget) ones.
#[derive(Debug)]
pub(in crate::engine) struct QueuePairs {
    nics: u32,
    groups: usize,
    places: Places,
    pairs: Vec<QueuePair>,
    /// Entries of `pairs` that are not in use.
    free: Vec<PairId>,
    /// Queue pairs that have a packet to send; per NIC · groups + group.
    waiting: Vec<Waiting>,
}

impl QueuePairs {
    /// `sls`: service levels of the fabric.
    pub(in crate::engine) fn new(nics: u32, sls: usize, groups: usize) -> Self {
        Self {
            nics,
            groups,
            places: Places::new(nics, sls),
            pairs: Vec::new(),
            free: Vec::new(),
            waiting: vec![Waiting::NONE; nics as usize * groups],
        }
    }

    fn key(&self, sl: u8, dst: NicId) -> u32 {
        u32::from(sl) * self.nics + dst.get()
    }

    /// The queue pair of `nic` for (`sl`, `dst`). If it has not been used before, it is made with
    /// the VL and the flow that `new` returns.
    #[inline]
    pub(in crate::engine) fn find(
        &mut self,
        nic: NicId,
        sl: u8,
        dst: NicId,
        new: impl FnOnce() -> (u8, FlowId),
    ) -> PairId {
        let key = self.key(sl, dst);
        let place = self.places.entry(nic, key);
        if *place == PairId::NONE {
            let (vl, flow) = new();
            let pair = QueuePair {
                dst,
                queue: MessageQueue::EMPTY,
                flow,
                sl,
                vl,
            };
            if let Some(free) = self.free.pop() {
                *place = free;
                self.pairs[free.index()] = pair;
            } else {
                *place = PairId(self.pairs.len() as u32);
                self.pairs.push(pair);
            }
        }
        *place
    }

    /// Forgets `pair` of `nic`, whose flow means nothing, if it has nothing to send. In a small
    /// fabric it is kept: all its queue pairs take little memory.
    #[inline]
    pub(in crate::engine) fn forget(&mut self, nic: NicId, pair: PairId) {
        let QueuePair { sl, dst, queue, .. } = self.pairs[pair.index()];
        let key = self.key(sl, dst);
        if let Places::Trees(trees) = &mut self.places
            && queue.is_empty()
        {
            trees[nic.index()].remove(&key);
            self.free.push(pair);
        }
    }

    #[inline]
    pub(in crate::engine) fn pair(&self, pair: PairId) -> &QueuePair {
        &self.pairs[pair.index()]
    }

    #[inline]
    pub(in crate::engine) fn pair_mut(&mut self, pair: PairId) -> &mut QueuePair {
        &mut self.pairs[pair.index()]
    }

    /// The queue pairs of a group of `nic` that have a packet to send.
    #[inline]
    pub(in crate::engine) fn waiting(&self, nic: NicId, group: usize) -> &Waiting {
        &self.waiting[nic.index() * self.groups + group]
    }

    /// Prefetches the queue pairs of `nic` that wait in `group`.
    #[inline]
    pub(in crate::engine) fn prefetch(&self, nic: NicId, group: usize) {
        prefetch(
            &self.waiting,
            (nic.index() * self.groups).wrapping_add(group),
        );
    }

    /// `pair`, which belongs to `group`, has a packet to send again. Its first packet takes
    /// `credits`.
    #[inline]
    pub(in crate::engine) fn insert(
        &mut self,
        nic: NicId,
        group: usize,
        pair: PairId,
        credits: u16,
    ) {
        let QueuePair { sl, dst, .. } = self.pairs[pair.index()];
        let key = self.key(sl, dst);
        let waiting = &mut self.waiting[nic.index() * self.groups + group];
        waiting.insert(WaitingPair { key, pair, credits });
    }

    /// The first packet of the queue pair at position `at` has been fetched. `next`: credits that
    /// its next packet takes, if there is one. Returns whether no queue pair of the group has
    /// a packet any more.
    #[inline]
    pub(in crate::engine) fn advance(
        &mut self,
        nic: NicId,
        group: usize,
        at: usize,
        next: Option<u16>,
    ) -> bool {
        let waiting = &mut self.waiting[nic.index() * self.groups + group];
        waiting.advance(at, next);
        waiting.pairs.is_empty()
    }
}
