//! Queue pairs: what each adapter has to send, per (SL, destination).

use crate::fabric::engine::congestion::FlowId;
use crate::fabric::engine::pool::{MessageId, NONE};
use std::collections::BTreeMap;

/// A queue pair, and its FIFO of messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueuePair {
    pub dst: u32,
    pub head: MessageId,
    pub tail: MessageId,
    /// With congestion control only.
    pub flow: FlowId,
    pub sl: u8,
    /// VL on which its packets leave the adapter.
    pub vl: u8,
}

/// A queue pair that has a packet to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// sl · NICs + dst: the order of the queue pairs of an adapter.
    pub key: u32,
    pub pair: u32,
    /// Credits of its first packet.
    pub credits: u16,
}

/// All queue pairs that have been used.
#[derive(Debug)]
pub(super) struct QueuePairs {
    nics: u32,
    vls: usize,
    /// By key, per adapter.
    by_key: Vec<BTreeMap<u32, u32>>,
    pairs: Vec<QueuePair>,
    /// Those that have a packet to send, per adapter · VLs + VL, in their order.
    waiting: Vec<Vec<Waiting>>,
}

impl QueuePairs {
    pub(super) fn new(nics: u32, vls: usize) -> Self {
        Self {
            nics,
            vls,
            by_key: vec![BTreeMap::new(); nics as usize],
            pairs: Vec::new(),
            waiting: vec![Vec::new(); nics as usize * vls],
        }
    }

    fn key(&self, sl: u8, dst: u32) -> u32 {
        u32::from(sl) * self.nics + dst
    }

    /// The queue pair of `nic` for (`sl`, `dst`), made by `new` (its VL, its flow) if it is
    /// not there yet.
    #[inline]
    pub(super) fn find(
        &mut self,
        nic: u32,
        (sl, dst): (u8, u32),
        new: impl FnOnce() -> (u8, FlowId),
    ) -> u32 {
        let key = self.key(sl, dst);
        let pairs = &mut self.pairs;
        *self.by_key[nic as usize].entry(key).or_insert_with(|| {
            let (vl, flow) = new();
            pairs.push(QueuePair {
                dst,
                head: NONE,
                tail: NONE,
                flow,
                sl,
                vl,
            });
            pairs.len() as u32 - 1
        })
    }

    #[inline]
    pub(super) fn pair(&self, pair: u32) -> &QueuePair {
        &self.pairs[pair as usize]
    }

    #[inline]
    pub(super) fn pair_mut(&mut self, pair: u32) -> &mut QueuePair {
        &mut self.pairs[pair as usize]
    }

    /// What waits at `nic` for `vl`.
    #[inline]
    pub(super) fn waiting(&self, nic: u32, vl: usize) -> &[Waiting] {
        &self.waiting[nic as usize * self.vls + vl]
    }

    /// `pair` has a packet again: its first one takes `credits`.
    #[inline]
    pub(super) fn insert(&mut self, nic: u32, pair: u32, credits: u16) {
        let QueuePair { sl, dst, vl, .. } = self.pairs[pair as usize];
        let key = self.key(sl, dst);
        let waiting = &mut self.waiting[nic as usize * self.vls + usize::from(vl)];
        let at = waiting.partition_point(|other| other.key < key);
        waiting.insert(at, Waiting { key, pair, credits });
    }

    /// The packet of the queue pair at position `at` is sent; `next`: credits of the one
    /// behind it, if there is one. True if nothing waits on the VL any more.
    #[inline]
    pub(super) fn advance(&mut self, nic: u32, vl: usize, at: usize, next: Option<u16>) -> bool {
        let waiting = &mut self.waiting[nic as usize * self.vls + vl];
        match next {
            Some(credits) => waiting[at].credits = credits,
            None => {
                waiting.remove(at);
            }
        }
        waiting.is_empty()
    }
}
