//! Congestion notification packets (CNPs) at NICs (`docs/model/infiniband.md` §10 and §12).
//!
//! A NIC creates a CNP in phase 1, when a marked packet arrives, and sends it before data
//! in phase 7. In between, a CNP is routed like data. Which packets are marked is decided
//! in [`allocate`](super::allocate).

use super::ledgers::Retry;
use super::output::NextPacket;
use super::packet::Packet;
use super::{Event, Fabric};
use crate::engine::ids::OutputId;
use crate::engine::nic::Received;
use crate::engine::pool::{MessageId, PacketId};
use crate::engine::variant::Variant;
use crate::ids::NicId;

impl<V: Variant> Fabric<V> {
    /// Phase 1: the tail of `packet` has arrived at its NIC. A CNP lowers the rate of the flow;
    /// a marked data packet is answered with a CNP.
    pub(super) fn notify(&mut self, packet: &Packet) {
        let nic = packet.dst;
        if packet.message == MessageId::NONE {
            let Some(control) = V::part_mut(&mut self.control) else {
                return;
            };
            let flow = control
                .congestion
                .flow(nic, packet.sl, NicId::new(packet.index));
            let is_event = control.congestion.notified(flow, self.kernel.now);
            self.kernel.observers.counters.count_notified(is_event);
            // The entries of the CCT need not rise, so the delay may be shorter now.
            self.touch_nic(nic);
            return;
        }
        let received = Received {
            src: self.kernel.messages[packet.message].src,
            sl: packet.sl,
            fecn: packet.fecn,
            last: packet.last,
        };
        let answers = self.nics.answering.answers(nic, received);
        if let Some(bytes) = answers.cnp_bytes
            && !self.kernel.packets.is_full()
        {
            self.create_cnp(nic, received, bytes);
        }
    }

    /// Creates a CNP of `bytes` bytes from `nic` to the source of a packet that it received.
    fn create_cnp(&mut self, nic: NicId, received: Received, bytes: u32) {
        let (dst, sl) = (received.src, received.sl);
        let vl = self.vl_policy.at_nic(nic, dst, sl);
        let Some(control) = V::part_mut(&mut self.control) else {
            return;
        };
        let flits = self.units.flits(bytes);
        let id = self.kernel.packets.insert(Packet {
            message: MessageId::NONE,
            index: nic.get(),
            dst,
            sl,
            vl,
            flits,
            credits: self.units.credits(flits) as u16,
            ready: self.kernel.now,
            next: PacketId::NONE,
            ..Packet::default()
        });
        control.nics[nic.index()].cnps.push_back(id);
        let counters = &mut self.kernel.observers.counters;
        counters.count(|counts| counts.notifications_sent += 1);
        let output = OutputId::of_nic(nic, self.ports);
        self.packet_waits(output);
        // Phase 7 wakes the output later if its link is busy.
        self.work.dirty_outputs.push(output);
    }

    /// Phase 7: sends a CNP, if `output` is a NIC that has one. Returns whether the link is
    /// busy, so that data must wait.
    pub(super) fn send_cnp(&mut self, output: OutputId) -> bool {
        let now = self.kernel.now;
        let Some(nic) = output.nic(self.ports) else {
            return false;
        };
        let free_at = self.link_free_at(output);
        let was_idle = self.was_idle_until(now, output);
        let Some(control) = V::part_mut(&mut self.control) else {
            return false;
        };
        let state = &mut control.nics[nic.index()];
        let Some(&id) = state.cnps.front() else {
            return false;
        };
        let sender = &self.senders[output];
        let to = sender.to;
        if free_at > now {
            self.wake(Event::Output(output), free_at);
            return true;
        }
        let packet = &self.kernel.packets[id];
        let (link, vl) = ((output, to), usize::from(packet.vl));
        let credits = u32::from(packet.credits);
        if !self.links.has_quota(link, vl, credits, now) {
            match self.links.retry(link, vl, credits) {
                Retry::At(tick) => self.wake(Event::Output(output), tick),
                Retry::AfterCreditReturn => self.links.await_return(output),
            }
            return false;
        }
        state.cnps.pop_front();
        state.was_idle |= was_idle;
        let has_more = !state.cnps.is_empty();
        self.transmit(output, NextPacket::Cnp(id, vl));
        if has_more {
            let free_at = self.senders[output].free_at;
            self.wake(Event::Output(output), free_at);
        }
        true
    }
}
