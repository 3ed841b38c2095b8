//! Queue pairs: the queues of messages of each NIC, one per (SL, destination)
//! (`docs/model-infiniband.md` §2, §8 and §12).
//!
//! This module keeps the queue pairs that have a packet in the order in which the NIC scans them,
//! in one or more groups: by VL in a `voq` fabric. The fabric keeps the NIC's pointers, and
//! decides whether a queue pair is eligible.

use super::messages::MessageQueue;
use crate::fabric::engine::congestion::FlowId;
use crate::fabric::ids::NicId;
use std::collections::BTreeMap;

/// Names a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fabric::engine) struct PairId(u32);

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
pub(in crate::fabric::engine) struct QueuePair {
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
pub(in crate::fabric::engine) struct WaitingPair {
    /// sl · NICs + dst: the order of the queue pairs of a NIC.
    pub key: u32,
    pub pair: PairId,
    /// Credits that its first packet takes.
    pub credits: u16,
}

/// Most entries of a table of all possible queue pairs.
const MAX_TABLE: u64 = 1 << 18;

/// Where each queue pair is, by its NIC and key.
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

/// All queue pairs that have been used.
#[derive(Debug)]
pub(in crate::fabric::engine) struct QueuePairs {
    nics: u32,
    groups: usize,
    places: Places,
    pairs: Vec<QueuePair>,
    /// Queue pairs that have a packet to send, sorted by key; per NIC · groups + group.
    waiting: Vec<Vec<WaitingPair>>,
}

impl QueuePairs {
    /// `sls`: service levels of the fabric.
    pub(in crate::fabric::engine) fn new(nics: u32, sls: usize, groups: usize) -> Self {
        Self {
            nics,
            groups,
            places: Places::new(nics, sls),
            pairs: Vec::new(),
            waiting: vec![Vec::new(); nics as usize * groups],
        }
    }

    fn key(&self, sl: u8, dst: NicId) -> u32 {
        u32::from(sl) * self.nics + dst.get()
    }

    /// The queue pair of `nic` for (`sl`, `dst`). If it has not been used before, it is made with
    /// the VL and the flow that `new` returns.
    #[inline]
    pub(in crate::fabric::engine) fn find(
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
            *place = PairId(self.pairs.len() as u32);
            self.pairs.push(QueuePair {
                dst,
                queue: MessageQueue::EMPTY,
                flow,
                sl,
                vl,
            });
        }
        *place
    }

    #[inline]
    pub(in crate::fabric::engine) fn pair(&self, pair: PairId) -> &QueuePair {
        &self.pairs[pair.index()]
    }

    #[inline]
    pub(in crate::fabric::engine) fn pair_mut(&mut self, pair: PairId) -> &mut QueuePair {
        &mut self.pairs[pair.index()]
    }

    /// The queue pairs of a group of `nic` that have a packet to send, sorted by key.
    #[inline]
    pub(in crate::fabric::engine) fn waiting(&self, nic: NicId, group: usize) -> &[WaitingPair] {
        &self.waiting[nic.index() * self.groups + group]
    }

    /// `pair`, which belongs to `group`, has a packet to send again. Its first packet takes
    /// `credits`.
    #[inline]
    pub(in crate::fabric::engine) fn insert(
        &mut self,
        nic: NicId,
        group: usize,
        pair: PairId,
        credits: u16,
    ) {
        let QueuePair { sl, dst, .. } = self.pairs[pair.index()];
        let key = self.key(sl, dst);
        let waiting = &mut self.waiting[nic.index() * self.groups + group];
        let entry = WaitingPair { key, pair, credits };
        if waiting.last().is_none_or(|last| last.key < key) {
            waiting.push(entry);
        } else {
            let at = waiting.partition_point(|other| other.key < key);
            waiting.insert(at, entry);
        }
    }

    /// The first packet of the queue pair at position `at` has been fetched. `next`: credits that
    /// its next packet takes, if there is one. Returns true if no queue pair of the group has
    /// a packet any more.
    #[inline]
    pub(in crate::fabric::engine) fn advance(
        &mut self,
        nic: NicId,
        group: usize,
        at: usize,
        next: Option<u16>,
    ) -> bool {
        let waiting = &mut self.waiting[nic.index() * self.groups + group];
        match next {
            Some(credits) => waiting[at].credits = credits,
            None if at + 1 == waiting.len() => {
                waiting.pop();
            }
            None => {
                waiting.remove(at);
            }
        }
        waiting.is_empty()
    }
}
