//! Phase 3: messages join the application queues, and NICs cut them into packets while their
//! send queues have quota (`docs/model/fabric.md` §5). With congestion control a NIC chooses
//! among queue pairs instead of SLs ([`pairs`](super::pairs)). Links send the packets in
//! phase 7 ([`output`](super::output)).

use super::ledgers::Retry;
use super::nics::NextOnVl;
use super::packet::Packet;
use super::{Event, Fabric};
use crate::engine::bits::from_on;
use crate::engine::congestion::FlowId;
use crate::engine::ids::OutputId;
use crate::engine::nic::{DataPacket, MessageQueue};
use crate::engine::pool::{InFlight, MessageId, PacketId};
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::spec::Tick;
use crate::workload::{AppQueue, Message, Workload};

/// The next packet of a queue of messages.
pub(super) struct NextPacket {
    pub packet: DataPacket,
    /// It is the last one of its message.
    pub last: bool,
    pub vl: u8,
}

impl<V: Variant> Fabric<V> {
    /// Adds a message to its application queue. Does nothing if there are too many messages.
    #[inline]
    pub(super) fn append(&mut self, message: &Message) {
        let kernel = &mut self.kernel;
        let Some(id) = kernel.create(message) else {
            return;
        };
        let sl = usize::from(message.sl);
        if V::part(&self.control).is_some() {
            self.append_to_pair(message, id);
            return;
        }
        let nic = &mut self.nics.state[message.src];
        if nic.queues.len() <= sl {
            nic.queues.resize(sl + 1, MessageQueue::EMPTY);
        }
        if nic.queues[sl].push(id, &mut kernel.messages) {
            nic.waiting_sls |= 1 << sl;
        }
    }

    /// Every listed NIC fills its send queue.
    #[inline]
    pub(super) fn fill_send_queues(&mut self, workload: &mut dyn Workload) {
        for i in 0..self.work.dirty_nics.len() {
            if self.prefetching {
                self.prefetch_nic(i);
            }
            let nic = self.work.dirty_nics[i];
            self.nics.state[nic].dirty = false;
            if V::part(&self.control).is_some() {
                self.fill_from_pairs(nic, workload);
            } else {
                self.fill(nic, workload);
            }
        }
        self.work.dirty_nics.clear();
    }

    /// Moves packets to the send queue while the head packet of some SL has quota.
    fn fill(&mut self, nic: NicId, workload: &mut dyn Workload) {
        while !self.kernel.packets.is_full() {
            let Some((sl, next)) = self.next_sl(nic) else {
                return;
            };
            let mut queue = self.nics.state[nic].queues[sl];
            let cut = queue.cut(nic, &mut self.kernel.messages, next.last);
            self.move_packet(nic, cut, next);
            let state = &mut self.nics.state[nic];
            state.queues[sl] = queue;
            state.next = sl as u8 + 1;
            state.next_on_vls.remove(sl as u32);
            if queue.is_empty() {
                state.waiting_sls &= !(1 << sl);
                let queue = AppQueue {
                    nic,
                    sl: sl as u8,
                    dst: None,
                };
                if let Some(next) = workload.replenish(self.kernel.now, queue) {
                    self.append(&next);
                }
            }
        }
    }

    /// The SL whose head packet moves next, and that packet. If there is none, the NIC will be
    /// woken.
    #[inline]
    fn next_sl(&mut self, nic: NicId) -> Option<(usize, NextPacket)> {
        let (at, now) = (nic.index(), self.kernel.now);
        let (sls, next) = (self.nics.state[nic].waiting_sls, self.nics.state[nic].next);
        let ahead = from_on(sls, next);
        let (mut wake_at, mut waits) = (Tick::MAX, false);
        for mut bits in [ahead, sls & !ahead] {
            while bits != 0 {
                let sl = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let id = self.nics.state[nic].queues[sl].first();
                let (packet, last) = self.kernel.messages.next_packet(id);
                let dst = self.kernel.messages.dst(id);
                let vl = self.vl_policy.at_nic(nic, dst, sl as u8);
                let head = NextOnVl {
                    key: sl as u32,
                    flow: FlowId::default(),
                    vl,
                    credits: packet.credits,
                };
                let (vl_at, credits) = (usize::from(vl), u32::from(packet.credits));
                let queues = &mut self.nics.send_queues.credits;
                let next = &mut self.nics.state[nic].next_on_vls;
                if queues.has_quota(at, vl_at, credits, now) {
                    if next.yields(head) {
                        continue;
                    }
                    return Some((sl, NextPacket { packet, last, vl }));
                }
                next.add(head);
                match queues.retry(at, vl_at, credits) {
                    Retry::At(tick) => wake_at = wake_at.min(tick),
                    Retry::AfterCreditReturn => waits = true,
                }
            }
        }
        self.nics.state[nic].waiting |= waits;
        if wake_at != Tick::MAX {
            self.wake(Event::Nic(nic), wake_at);
        }
        None
    }

    /// Adds `next`, which has been cut off this message at this position, to the send queue of `nic`.
    /// There must be quota for it.
    #[inline]
    pub(super) fn move_packet(
        &mut self,
        nic: NicId,
        (message, index): (MessageId, u32),
        next: NextPacket,
    ) {
        let (at, kernel) = (nic.index(), &mut self.kernel);
        let NextPacket { packet, last, vl } = next;
        let InFlight { dst, sl, .. } = kernel.messages[message];
        let packet = Packet {
            message,
            dst,
            flits: packet.flits,
            index,
            credits: packet.credits,
            sl,
            vl,
            last,
            ready: kernel.now,
            next: PacketId::NONE,
            ..Packet::default()
        };
        self.nics
            .send_queues
            .credits
            .take(at, vl.into(), packet.credits.into());
        let id = kernel.packets.insert(packet);
        let output = OutputId::of_nic(nic, self.ports);
        let heads = &mut self.senders[output].heads;
        self.nics
            .send_queues
            .fifos
            .push(heads, at, vl.into(), id, &mut kernel.packets);
        self.packet_ready_at_output(output, vl.into());
    }
}
