//! Phase 1: the tail of a packet reaches its NIC (`docs/model/infiniband.md` §8 and §10).
//!
//! The NIC delivers data, creates CNPs and ACKs, and raises the CCTI of a flow for a BECN.
//! It does not empty the receive buffer here: when the sink takes the flits of a packet was
//! decided with the last grant of the packet (`crossbar`).

use super::Fabric;
use super::packet::{Origin, Packet, Purpose};
use crate::engine::counters::Arrived;
use crate::engine::ids::OutputId;
use crate::engine::nic::{Answers, Received};
use crate::engine::pool::{MessageId, PacketId};
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::workload::Workload;

/// A CNP or an ACK.
struct Answer {
    /// Length on the wire.
    bytes: u32,
    is_cnp: bool,
    becn: bool,
}

impl<V: Variant> Fabric<V> {
    /// The tail of packet `id` is at its NIC.
    pub(super) fn arrive(&mut self, id: PacketId, workload: &mut dyn Workload) {
        let (packet, origin) = (self.kernel.packets[id], self.origins[id]);
        self.kernel.packets[id].starts = 0;
        self.kernel.packets.remove(id);
        if origin.purpose == Purpose::Answer {
            let seen = || packet.seen(id);
            let kernel = &mut self.kernel;
            kernel.observers.answer_delivered(kernel.now, seen);
            if origin.becn {
                self.receive_becn(&packet, origin.src);
            }
            return;
        }
        let arrived = Arrived {
            message: origin.message,
            index: origin.index,
            flits: packet.flits.into(),
            units: packet.bytes,
            injected: origin.injected,
            src: Some(origin.src),
        };
        let kernel = &mut self.kernel;
        let messages = &mut kernel.messages;
        let seen = || packet.seen(id);
        kernel
            .observers
            .delivered(kernel.now, &arrived, messages, workload, seen);
        if !V::IS_PLAIN {
            self.answer(&packet, &origin);
        }
    }

    /// Creates the ACK and the CNP that answer a data packet, if it wants any.
    fn answer(&mut self, packet: &Packet<V>, origin: &Origin) {
        let received = Received {
            src: origin.src,
            sl: packet.sl,
            fecn: origin.fecn,
            last: origin.last,
        };
        let Answers { ack, cnp_bytes } = self.nics.answering.answers(packet.dst, received);
        let ack = ack.map(|becn| Answer {
            bytes: self.nics.ack_bytes,
            is_cnp: false,
            becn,
        });
        let cnp = cnp_bytes.map(|bytes| Answer {
            bytes,
            is_cnp: true,
            becn: true,
        });
        for answer in [ack, cnp].into_iter().flatten() {
            self.answer_to(packet, origin.src, answer);
        }
    }

    /// A BECN has reached the source of the flow that it slows down.
    fn receive_becn(&mut self, packet: &Packet<V>, src: NicId) {
        let Some(congestion) = &mut self.congestion else {
            return;
        };
        let flow = congestion.flow(packet.dst, packet.sl, src);
        let is_event = congestion.notified(flow, self.kernel.now);
        self.kernel.observers.counters.count_notified(is_event);
        self.mark_nic_dirty(packet.dst);
    }

    /// Queues a CNP or an ACK, back to `dst`, the sender of `packet`.
    fn answer_to(&mut self, packet: &Packet<V>, dst: NicId, answer: Answer) {
        let Answer {
            bytes,
            is_cnp,
            becn,
        } = answer;
        if self.kernel.packets.is_full() {
            // The run ends with this tick.
            return;
        }
        let (src, sl) = (packet.dst, packet.sl);
        let flits = self.units.flits(bytes);
        let vl = self.routes.vl_at_nic(src, dst, sl);
        let id = self.kernel.packets.insert(Packet {
            waiting_since: self.kernel.now,
            dst,
            bytes,
            flits: flits as u16,
            credits: self.units.credits(flits) as u16,
            sl,
            vl,
            buffer_vl: vl,
            ..Packet::default()
        });
        let origin = Origin {
            injected: 0,
            message: MessageId::NONE,
            index: 0,
            src,
            purpose: Purpose::Answer,
            last: false,
            becn,
            fecn: false,
        };
        self.origins.set(id, origin);
        let state = &mut self.nics.state[src];
        let queue = if is_cnp {
            &mut state.cnps
        } else {
            &mut state.acks
        };
        queue.append(id, |tail| &mut self.kernel.packets[tail].next);
        self.waits_for_link(id, OutputId::of_nic(src, self.ports));
        if becn {
            self.kernel
                .observers
                .counters
                .count(|counts| counts.notifications_sent += 1);
        }
        self.mark_nic_dirty(src);
    }
}
