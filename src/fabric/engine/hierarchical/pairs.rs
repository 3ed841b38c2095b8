//! Phase 3 with congestion control: a NIC has a FIFO of messages per queue pair, and holds
//! the packets of flows that met congestion (`docs/model-infiniband.md` §12).

use super::Fabric;
use super::buffers::Retry;
use super::control::{Adapter, Control};
use super::packet::Packet;
use crate::fabric::engine::congestion::FlowId;
use crate::fabric::engine::pool::{MessageId, NONE};
use crate::fabric::spec::Tick;
use crate::fabric::workload::{AppQueue, Message, Workload};

/// A queue pair of a NIC: SL and destination.
pub(super) type Pair = (u8, u32);

/// The messages of a queue pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    pub first: MessageId,
    pub last: MessageId,
    pub flow: FlowId,
}

impl<C: Control> Fabric<C> {
    /// Phase 3: adds message `id` to the FIFO of its queue pair.
    pub(super) fn append_to_pair(&mut self, message: &Message, id: MessageId) {
        let Message { src, dst, sl, .. } = *message;
        let vl = self.first_vl(sl.into(), dst);
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let flow = congestion.flow(src, sl, dst);
        let adapter = &mut congestion.nics[src as usize];
        adapter.vls |= 1 << vl;
        let new = Fifo {
            first: id,
            last: id,
            flow,
        };
        let fifo = adapter.pairs.entry((sl, dst)).or_insert(new);
        if fifo.last != id {
            self.messages[fifo.last].next = id;
            fifo.last = id;
        }
    }

    /// Phase 3: moves packets to the send queue while the head packet of some queue pair has
    /// quota and is not held.
    pub(super) fn fill_from_pairs(&mut self, nic: u32, workload: &mut impl Workload) {
        let at = nic as usize;
        let Some(congestion) = self.control.get_mut() else {
            return;
        };
        let mut adapter = std::mem::take(&mut congestion.nics[at]);
        while !self.packets.is_full() {
            let Some((pair, packet)) = self.next_of_pairs(nic, &adapter) else {
                break;
            };
            let next = self.cut_off(&packet);
            self.put_into_send_queue(nic, packet);
            adapter.pointer = (pair.0, pair.1 + 1);
            let Some(fifo) = adapter.pairs.get_mut(&pair) else {
                break;
            };
            if let Some(congestion) = self.control.get_mut() {
                let holder = congestion.sources.holder(fifo.flow);
                congestion.queued[holder] += 1;
            }
            if packet.last {
                fifo.first = next;
                if next == NONE {
                    let (sl, dst) = (pair.0, Some(pair.1));
                    let more = workload.replenish(self.now, AppQueue { nic, sl, dst });
                    match more.and_then(|message| self.insert_message(&message)) {
                        Some(id) => (fifo.first, fifo.last) = (id, id),
                        None => _ = adapter.pairs.remove(&pair),
                    }
                }
            }
        }
        if adapter.pairs.is_empty() {
            adapter.vls = 0;
        }
        if let Some(congestion) = self.control.get_mut() {
            congestion.nics[at] = adapter;
        }
    }

    /// The queue pair whose head packet moves next, and the packet; without one, asks for
    /// another look.
    fn next_of_pairs(&mut self, nic: u32, adapter: &Adapter) -> Option<(Pair, Packet)> {
        let (at, now) = (nic as usize, self.now);
        let (mut again, mut waits) = (Tick::MAX, false);
        let mut lacks = |chance: Retry| match chance {
            Retry::At(tick) => again = again.min(tick),
            Retry::AfterCreditReturn => waits = true,
        };
        // VLs without room for anything: there may be many pairs.
        let (mut full, mut vls) = (0u32, adapter.vls);
        while vls != 0 {
            let vl = vls.trailing_zeros() as usize;
            vls &= vls - 1;
            if !self.send_queues.has_quota(at, vl, 1, now) {
                full |= 1 << vl;
                lacks(self.send_queues.retry_at(at, vl, 1));
            }
        }
        let mut held_until = Tick::MAX;
        if full != adapter.vls {
            let after = adapter.pairs.range(adapter.pointer..);
            for (&pair, fifo) in after.chain(adapter.pairs.range(..adapter.pointer)) {
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
                    lacks(self.send_queues.retry_at(at, vl, credits));
                }
            }
        }
        self.nics[at].waiting |= waits;
        let again = again.min(held_until);
        if again != Tick::MAX {
            self.wake_nic(nic, again);
        }
        None
    }
}
