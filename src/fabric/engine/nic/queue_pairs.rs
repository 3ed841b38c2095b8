//! Queue pairs: the queues of messages of each NIC, one per (SL, destination)
//! (`docs/model/infiniband.md` §2, §8 and §12).
//!
//! This module keeps the queue pairs that have a packet in the order in which the NIC scans them,
//! in one or more groups: by VL in a `voq` fabric. The fabric keeps the NIC's pointers, and
//! decides which queue pair is next.

use super::messages::{MessageQueue, Messages};
use super::waiting::{Place, Waiting, WaitingPair};
use crate::engine::congestion::FlowId;
use crate::engine::pool::MessageId;
use crate::ids::NicId;
use crate::prefetch::prefetch_all;
use crate::workload::{AppQueue, Message};
use std::collections::BTreeMap;

/// Most entries of a table of all possible queue pairs.
const MAX_TABLE: u64 = 1 << 21;

/// The flow of each queue pair, by its NIC and key.
#[derive(Debug)]
enum Flows {
    /// Without congestion control all flows have the same name.
    None,
    /// A small fabric: per NIC · keys + key.
    Table {
        keys: usize,
        flows: Vec<Option<FlowId>>,
    },
    /// Per NIC, by key.
    Trees(Vec<BTreeMap<u32, FlowId>>),
}

impl Flows {
    fn new(nics: u32, sls: usize) -> Self {
        let keys = sls * nics as usize;
        if u64::from(nics) * keys as u64 > MAX_TABLE {
            return Self::Trees(vec![BTreeMap::new(); nics as usize]);
        }
        Self::Table {
            keys,
            flows: vec![None; nics as usize * keys],
        }
    }

    /// The flow of the queue pair with `key`; `new` names it when it is used for the first time.
    #[inline]
    fn flow(&mut self, nic: NicId, key: u32, new: impl FnOnce() -> FlowId) -> FlowId {
        match self {
            Self::None => FlowId::default(),
            Self::Table { keys, flows } => {
                *flows[nic.index() * *keys + key as usize].get_or_insert_with(new)
            }
            Self::Trees(trees) => *trees[nic.index()].entry(key).or_insert_with(new),
        }
    }
}

/// All queue pairs that have a message.
#[derive(Debug)]
pub(in crate::engine) struct QueuePairs {
    nics: u32,
    groups: usize,
    flows: Flows,
    /// Per NIC · groups + group.
    waiting: Vec<Waiting>,
}

/// A packet that was cut off the first message of a queue pair.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Cut {
    pub message: MessageId,
    /// Position of the packet within the message.
    pub index: u32,
    /// The queue pair has no further message.
    pub exhausted: bool,
}

impl QueuePairs {
    /// `sls`: service levels of the fabric. `has_flows`: there is congestion control, which names flows.
    pub(in crate::engine) fn new(nics: u32, sls: usize, groups: usize, has_flows: bool) -> Self {
        Self {
            nics,
            groups,
            flows: if has_flows {
                Flows::new(nics, sls)
            } else {
                Flows::None
            },
            waiting: vec![Waiting::NONE; nics as usize * groups],
        }
    }

    /// The queue that belongs to the queue pair of `nic` with this key.
    #[inline]
    pub(in crate::engine) fn queue(&self, nic: NicId, key: u32) -> AppQueue {
        let (dst, sl) = self.dst_and_sl(nic, key);
        AppQueue {
            nic,
            sl,
            dst: Some(dst),
        }
    }

    /// The key of the queue pair of `nic` to `dst`, another NIC. A NIC serves its queue pairs in the order of their keys.
    /// The first one is to the NIC behind it: if all NICs began with the same one, a burst would fall upon it.
    #[inline]
    fn key(&self, nic: NicId, dst: NicId, sl: u8) -> u32 {
        let (first, dst) = (nic.get() + 1, dst.get());
        let distance = if dst >= first {
            dst - first
        } else {
            dst + self.nics - first
        };
        u32::from(sl) * self.nics + distance
    }

    /// Receiving NIC and service level of the queue pair of `nic` with this key.
    #[inline]
    pub(in crate::engine) fn dst_and_sl(&self, nic: NicId, key: u32) -> (NicId, u8) {
        let (mut distance, mut sl) = (key, 0);
        // Most fabrics have one service level, and few have many: cheaper than a division.
        while distance >= self.nics {
            distance -= self.nics;
            sl += 1;
        }
        let dst = nic.get() + 1 + distance;
        let dst = if dst >= self.nics {
            dst - self.nics
        } else {
            dst
        };
        (NicId::new(dst), sl)
    }

    /// The queue pairs of a group of `nic` that have a packet to send.
    #[inline]
    pub(in crate::engine) fn waiting(&self, nic: NicId, group: usize) -> &Waiting {
        &self.waiting[nic.index() * self.groups + group]
    }

    #[inline]
    fn waiting_mut(&mut self, nic: NicId, group: usize) -> &mut Waiting {
        &mut self.waiting[nic.index() * self.groups + group]
    }

    /// Prefetches the queue pairs of `nic` that wait in `group`.
    #[inline]
    pub(in crate::engine) fn prefetch(&self, nic: NicId, group: usize) {
        prefetch_all(
            &self.waiting,
            (nic.index() * self.groups).wrapping_add(group),
        );
    }

    /// The first message of `pair`.
    #[inline]
    pub(in crate::engine) fn first(&self, pair: WaitingPair, messages: &Messages) -> MessageId {
        MessageQueue::of_ring(pair.last, messages).first()
    }

    /// Message `id` joins the queue of its queue pair in `group`, whose packets leave on `vl`. `flow`: its flow, if the
    /// queue pair has not been used before. Returns whether the queue was empty.
    #[inline]
    pub(in crate::engine) fn append(
        &mut self,
        (message, id): (&Message, MessageId),
        (group, vl): (usize, u8),
        messages: &mut Messages,
        flow: impl FnOnce() -> FlowId,
    ) -> bool {
        let nic = message.src;
        let key = self.key(nic, message.dst, message.sl);
        let waiting = &mut self.waiting[nic.index() * self.groups + group];
        if let Some(place) = waiting.find(key) {
            let pair = waiting.at_mut(place);
            let mut queue = MessageQueue::of_ring(pair.last, messages);
            queue.push(id, messages);
            pair.last = queue.into_ring(messages);
            return false;
        }
        let flow = self.flows.flow(nic, key, flow);
        let credits = messages.next_packet(id).0.credits;
        let mut pair = WaitingPair::new(key, vl, flow, credits);
        messages.link(id, id);
        pair.last = id;
        waiting.insert(pair);
        true
    }

    /// Cuts the next packet off the first message of the queue pair at `place` in `group` of `nic`. `last`: it is the last
    /// packet of the message. A queue pair without a further message stays until it [gets one](Self::refill) or is
    /// [removed](Self::remove).
    #[inline]
    pub(in crate::engine) fn cut(
        &mut self,
        (nic, group, place): (NicId, usize, Place),
        messages: &mut Messages,
        last: bool,
    ) -> Cut {
        let waiting = self.waiting_mut(nic, group);
        let pair = waiting.at_mut(place);
        let mut queue = MessageQueue::of_ring(pair.last, messages);
        let (message, index) = queue.cut(nic, messages, last);
        let exhausted = queue.is_empty();
        if !exhausted {
            pair.last = queue.into_ring(messages);
            let credits = messages.next_packet(queue.first()).0.credits;
            waiting.set_credits(place, credits);
        }
        Cut {
            message,
            index,
            exhausted,
        }
    }

    /// The queue pair at `place`, which has no message, gets message `id`.
    #[inline]
    pub(in crate::engine) fn refill(
        &mut self,
        (nic, group, place): (NicId, usize, Place),
        messages: &mut Messages,
        id: MessageId,
    ) {
        messages.link(id, id);
        let credits = messages.next_packet(id).0.credits;
        let waiting = self.waiting_mut(nic, group);
        waiting.at_mut(place).last = id;
        waiting.set_credits(place, credits);
    }

    /// Removes the queue pair at `place`, which has no message. Returns whether none is left in `group`.
    #[inline]
    pub(in crate::engine) fn remove(&mut self, nic: NicId, group: usize, place: Place) -> bool {
        let waiting = self.waiting_mut(nic, group);
        waiting.remove(place);
        waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_destination_and_service_level() {
        for nics in 2..6 {
            let pairs = QueuePairs::new(nics, 3, 1, false);
            for (nic, dst) in
                NicId::all(nics).flat_map(|nic| NicId::all(nics).map(move |dst| (nic, dst)))
            {
                if nic != dst {
                    for sl in 0..3 {
                        assert_eq!(pairs.dst_and_sl(nic, pairs.key(nic, dst, sl)), (dst, sl));
                    }
                }
            }
            assert_eq!(pairs.key(NicId::new(nics - 1), NicId::new(0), 0), 0);
        }
    }
}
