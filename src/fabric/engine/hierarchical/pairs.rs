//! Phase 3 with congestion control: a NIC has a FIFO of messages per queue pair, and holds
//! back the packets of flows that were notified of congestion (`docs/model/infiniband.md`
//! §12). How long it holds them is decided in
//! [`congestion`](crate::engine::congestion).

use super::control::Control;
use super::ledgers::Retry;
use super::nic::NextPacket;
use super::{Event, Fabric};
use crate::engine::nic::WaitingPair;
use crate::engine::pool::MessageId;
use crate::engine::probe::Watcher;
use crate::ids::NicId;
use crate::spec::Tick;
use crate::workload::{AppQueue, Message, Workload};

/// All queue pairs of a NIC are scanned in one order, whatever their VLs.
const GROUP: usize = 0;

impl<C: Control, P: Watcher> Fabric<C, P> {
    /// Adds message `id` to the queue of its queue pair.
    pub(super) fn append_to_pair(&mut self, message: &Message, id: MessageId) {
        let (src, dst, sl) = (message.src, message.dst, message.sl);
        let Some(control) = self.control.get_mut() else {
            return;
        };
        let (policy, sources) = (&self.vl_policy, &mut control.congestion);
        let pair = control.queue_pairs.find(src, sl, dst, || {
            (policy.at_nic(src, dst, sl), sources.flow(src, sl, dst))
        });
        let state = control.queue_pairs.pair_mut(pair);
        control.nics[src.index()].vls |= 1 << state.vl;
        let messages = &mut self.kernel.messages;
        if state.queue.push(id, messages) {
            let credits = messages.next_packet(id).0.credits;
            control.queue_pairs.insert(src, GROUP, pair, credits);
        }
    }

    /// Moves packets to the send queue while the head packet of some queue pair has quota and
    /// is not held back.
    pub(super) fn fill_from_pairs(&mut self, nic: NicId, workload: &mut dyn Workload) {
        while !self.kernel.packets.is_full() {
            let Some(at) = self.next_pair(nic) else {
                break;
            };
            self.move_from_pair(nic, at, workload);
        }
        if let Some(control) = self.control.get_mut()
            && control.queue_pairs.waiting(nic, GROUP).pairs().is_empty()
        {
            control.nics[nic.index()].vls = 0;
        }
    }

    /// Moves a packet of the queue pair at position `at` to the send queue.
    fn move_from_pair(&mut self, nic: NicId, at: usize, workload: &mut dyn Workload) {
        let Some(control) = self.control.get_mut() else {
            return;
        };
        let WaitingPair { key, pair, .. } = control.queue_pairs.waiting(nic, GROUP).pairs()[at];
        control.nics[nic.index()].pointer = key + 1;
        let state = *control.queue_pairs.pair(pair);
        control.queued(state.flow);
        let mut queue = state.queue;
        let (packet, last) = self.kernel.messages.next_packet(queue.first());
        let vl = state.vl;
        self.move_packet(nic, &mut queue, NextPacket { packet, last, vl });
        let kernel = &mut self.kernel;
        if queue.is_empty() {
            let exhausted = AppQueue {
                nic,
                sl: state.sl,
                dst: Some(state.dst),
            };
            let more = workload.replenish(kernel.now, exhausted);
            let more = more.and_then(|message| {
                kernel
                    .messages
                    .create(&message, kernel.now, &mut kernel.observers.counters)
            });
            if let Some(id) = more {
                queue.push(id, &mut kernel.messages);
            }
        }
        let next = (!queue.is_empty()).then(|| kernel.messages.next_packet(queue.first()));
        if let Some(control) = self.control.get_mut() {
            let credits = next.map(|(packet, _)| packet.credits);
            control.queue_pairs.pair_mut(pair).queue = queue;
            control.queue_pairs.advance(nic, GROUP, at, credits);
        }
    }

    /// Position of the queue pair whose head packet moves next. If there is none, the NIC will be
    /// woken.
    fn next_pair(&mut self, nic: NicId) -> Option<usize> {
        let (at, now) = (nic.index(), self.kernel.now);
        let (mut wake_at, mut waits) = (Tick::MAX, false);
        let mut note_retry = |retry: Retry| match retry {
            Retry::At(tick) => wake_at = wake_at.min(tick),
            Retry::AfterCreditReturn => waits = true,
        };
        let control = self.control.get()?;
        let state = &control.nics[at];
        // VLs without a free credit are found first, because there may be many pairs.
        let (mut full, mut vls) = (0u32, state.vls);
        while vls != 0 {
            let vl = vls.trailing_zeros() as usize;
            vls &= vls - 1;
            if !self.send_queues.credits.has_quota(at, vl, 1, now) {
                full |= 1 << vl;
                note_retry(self.send_queues.credits.retry(at, vl, 1));
            }
        }
        let mut held_until = Tick::MAX;
        if full != state.vls {
            let waiting = control.queue_pairs.waiting(nic, GROUP).pairs();
            let first = waiting.partition_point(|pair| pair.key < state.pointer);
            for position in (first..waiting.len()).chain(0..first) {
                let WaitingPair { pair, credits, .. } = waiting[position];
                let pair = control.queue_pairs.pair(pair);
                let (vl, credits) = (usize::from(pair.vl), credits.into());
                if full & (1 << vl) != 0 {
                    continue;
                }
                if let Some(tick) = control.held_until(pair.flow, now) {
                    held_until = held_until.min(tick);
                } else if self.send_queues.credits.has_quota(at, vl, credits, now) {
                    return Some(position);
                } else {
                    note_retry(self.send_queues.credits.retry(at, vl, credits));
                }
            }
        }
        self.nics[at].waiting |= waits;
        let wake_at = wake_at.min(held_until);
        if wake_at != Tick::MAX {
            self.wake(Event::Nic(nic), wake_at);
        }
        None
    }
}
