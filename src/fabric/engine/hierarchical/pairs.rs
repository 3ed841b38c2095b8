//! Phase 3 with congestion control: a NIC has a FIFO of messages per queue pair, and holds
//! back the packets of flows that were notified of congestion (`docs/model-infiniband.md`
//! §12). How long it holds them is decided in
//! [`congestion`](crate::fabric::engine::congestion).

use super::Fabric;
use super::buffers::Retry;
use super::control::{Control, NicCongestion};
use super::packet::Packet;
use crate::fabric::engine::congestion::FlowId;
use crate::fabric::engine::pool::{MessageId, NONE};
use crate::fabric::ids::NicId;
use crate::fabric::spec::Tick;
use crate::fabric::workload::{AppQueue, Message, Workload};

/// A queue pair of a NIC: its SL and destination.
pub(super) type Pair = (u8, u32);

/// The messages of a queue pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    pub first: MessageId,
    pub last: MessageId,
    pub flow: FlowId,
}

impl<C: Control> Fabric<C> {
    /// Adds message `id` to the FIFO of its queue pair.
    pub(super) fn append_to_pair(&mut self, message: &Message, id: MessageId) {
        let (src, dst, sl) = (message.src.get(), message.dst.get(), message.sl);
        let vl = self.vl_policy.at_nic(src, dst, sl);
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let flow = congestion.flow(src, sl, dst);
        let state = &mut congestion.nics[src as usize];
        state.vls |= 1 << vl;
        let new = Fifo {
            first: id,
            last: id,
            flow,
        };
        let fifo = state.pairs.entry((sl, dst)).or_insert(new);
        if fifo.last != id {
            self.messages[fifo.last].next = id;
            fifo.last = id;
        }
    }

    /// Moves packets to the send queue while the head packet of some queue pair has quota and
    /// is not held back.
    pub(super) fn fill_from_pairs(&mut self, nic: u32, workload: &mut impl Workload) {
        let at = nic as usize;
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let mut state = std::mem::take(&mut congestion.nics[at]);
        while !self.packets.is_full() {
            let Some((pair, packet)) = self.next_of_pairs(nic, &state) else {
                break;
            };
            let next = self.cut_off(&packet);
            self.put_into_send_queue(nic, packet);
            state.pointer = (pair.0, pair.1 + 1);
            let Some(fifo) = state.pairs.get_mut(&pair) else {
                break;
            };
            if let Some(congestion) = self.control.get_mut() {
                let holder = congestion.sources.holder(fifo.flow);
                congestion.queued[holder] += 1;
            }
            if packet.last {
                fifo.first = next;
                if next == NONE {
                    let (nic, sl) = (NicId::new(nic), pair.0);
                    let dst = Some(NicId::new(pair.1));
                    let more = workload.replenish(self.now, AppQueue { nic, sl, dst });
                    match more.and_then(|message| self.insert_message(&message)) {
                        Some(id) => (fifo.first, fifo.last) = (id, id),
                        None => _ = state.pairs.remove(&pair),
                    }
                }
            }
        }
        if state.pairs.is_empty() {
            state.vls = 0;
        }
        if let Some(congestion) = self.control.get_mut() {
            congestion.nics[at] = state;
        }
    }

    /// The queue pair whose head packet moves next, and that packet. If there is none, the NIC
    /// will be woken.
    fn next_of_pairs(&mut self, nic: u32, state: &NicCongestion) -> Option<(Pair, Packet)> {
        let (at, now) = (nic as usize, self.now);
        let (mut wake_at, mut waits) = (Tick::MAX, false);
        let mut note_retry = |retry: Retry| match retry {
            Retry::At(tick) => wake_at = wake_at.min(tick),
            Retry::AfterCreditReturn => waits = true,
        };
        // VLs without a free credit are found first, because there may be many pairs.
        let (mut full, mut vls) = (0u32, state.vls);
        while vls != 0 {
            let vl = vls.trailing_zeros() as usize;
            vls &= vls - 1;
            if !self.send_queues.has_quota(at, vl, 1, now) {
                full |= 1 << vl;
                note_retry(self.send_queues.retry(at, vl, 1));
            }
        }
        let mut held_until = Tick::MAX;
        if full != state.vls {
            let after = state.pairs.range(state.pointer..);
            for (&pair, fifo) in after.chain(state.pairs.range(..state.pointer)) {
                let packet = self.next_packet(fifo.first);
                let (vl, credits) = (usize::from(packet.vl), packet.credits.into());
                if full & (1 << vl) != 0 {
                    continue;
                }
                let congestion = self.control.get()?;
                if let Some(tick) = congestion.held_until(fifo.flow, now) {
                    held_until = held_until.min(tick);
                } else if self.send_queues.has_quota(at, vl, credits, now) {
                    return Some((pair, packet));
                } else {
                    note_retry(self.send_queues.retry(at, vl, credits));
                }
            }
        }
        self.nics[at].waiting |= waits;
        let wake_at = wake_at.min(held_until);
        if wake_at != Tick::MAX {
            self.wake_nic(nic, wake_at);
        }
        None
    }
}
