//! Deadlocks: which VoQs wait for each other's credits.
//!
//! The head of a VoQ waits for credits of a (next input buffer, VL). It is *live* if it has the
//! credits, if some of them are on their way back, or if a packet is on its way into that buffer.
//! It is also live if that buffer holds, on that VL, a packet of a VoQ with a live head. A head for
//! a NIC is live, because the NIC's sink takes everything. All other heads can never move. The search
//! is no phase of a tick: the engine makes it now and then, and when no event is left.
//!
//! A head with credits may wait behind one in turn that has none. It is live as long as anything moves, since the
//! in-port of that one may become busy. When no event is left, it waits for the heads of that in-port.

use super::Fabric;
use super::packet::Packet;
use crate::engine::deadlock::{Deadlock, Place, Waiting, dead_cycle};
use crate::engine::ids::InputId;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::ids::SwitchPort;
use std::collections::{BTreeMap, BTreeSet};

/// Per (input buffer, VL): the VoQs with a packet in it, and the credits that their packets hold.
pub(in crate::engine) type Holders = BTreeMap<(InputId, u8), (BTreeSet<usize>, u32)>;

impl<V: Variant> Fabric<V> {
    /// A cycle of packets that can never move, if there is one.
    pub(super) fn find_deadlock(&mut self, at_rest: bool) -> Option<Deadlock> {
        if self.switches.has_flows() {
            return self.find_deadlock_by_flow();
        }
        let (mut holders, mut waiting) = (Holders::new(), BTreeMap::new());
        self.add_held(&mut holders);
        self.add_waiting(&holders, at_rest, &mut waiting);
        dead_cycle(waiting, |queue| self.describe_head(queue))
    }

    /// Adds the credits that packets hold.
    pub(super) fn add_held(&self, holders: &mut Holders) {
        for queue in 0..self.switches.queues.len() {
            let input = self.switches.input_of(queue);
            let mut at = self.switches.queues[queue].fifo.head;
            while at != PacketId::NONE {
                let packet = &self.kernel.packets[at];
                let held = holders.entry((input, packet.buffer_vl)).or_default();
                held.0.insert(queue);
                held.1 += u32::from(packet.credits);
                at = packet.next;
            }
        }
        // A packet behind the head of a FIFO waits for that head, which is in one of these VoQs.
        for packet in self.switches.behind_heads(&self.kernel.packets) {
            let held = holders.entry((packet.input, packet.buffer_vl)).or_default();
            held.1 += u32::from(packet.credits);
        }
    }

    /// Adds the VoQs whose head is not live by itself, each with the VoQs that hold its credits.
    pub(super) fn add_waiting(
        &mut self,
        holders: &Holders,
        at_rest: bool,
        waiting: &mut BTreeMap<usize, Vec<usize>>,
    ) {
        for queue in 0..self.switches.queues.len() {
            if self.switches.queues[queue].fifo.head == PacketId::NONE {
                continue;
            }
            let mut waits_for = self.waits_for(queue, holders);
            if at_rest && waits_for.is_none() {
                waits_for = self.waits_behind(queue);
            }
            if let Some(waits_for) = waits_for {
                waiting.insert(queue, waits_for);
            }
        }
    }

    /// The VoQs with a head at the in-port that is in turn before `queue` when all in-ports are idle. `None` if `queue` is in
    /// turn itself, or leads to a NIC.
    fn waits_behind(&self, queue: usize) -> Option<Vec<usize>> {
        let packet = &self.kernel.packets[self.switches.queues[queue].fifo.head];
        let port = &self.outputs[packet.output];
        let output_vl = self.links.vl(packet.output, packet.vl);
        let in_turn = output_vl.heads.first_from(output_vl.pointer)?;
        let input = in_turn.input(port.first_input);
        if port.to.is_nic() || input == packet.input {
            return None;
        }
        let first = self.switches.inputs[input].first_queue as usize;
        let all = first..self.switches.queues.len();
        let queues = all.take_while(|&queue| self.switches.input_of(queue) == input);
        let has_head = |&queue: &usize| self.switches.queues[queue].fifo.head != PacketId::NONE;
        Some(queues.filter(has_head).collect())
    }

    /// The VoQs that hold the credits which the head of `queue` waits for. `None` if the head has
    /// credits, or if some are sure to come.
    fn waits_for(&mut self, queue: usize, holders: &Holders) -> Option<Vec<usize>> {
        let packet = self.kernel.packets[self.switches.queues[queue].fifo.head];
        let (output, vl) = (packet.output, packet.vl);
        let port = &self.outputs[output];
        if port.to.is_nic() {
            return None;
        }
        let peer = port.to.input();
        let free = self.credits(output, vl, packet.credits);
        if free >= packet.credits || self.links.any_on(output, vl) {
            return None;
        }
        let (held_by, held) = holders.get(&(peer, vl))?;
        // The other credits belong to packets on their way into the buffer.
        let found = u32::from(free) + held;
        (found == self.switches.buffer_credits[usize::from(vl)])
            .then(|| held_by.iter().copied().collect())
    }

    /// The head of `queue`, for the report.
    pub(super) fn describe_head(&self, queue: usize) -> Waiting {
        self.describe_packet(&self.kernel.packets[self.switches.queues[queue].fifo.head])
    }

    /// `packet`, which waits in an input buffer, for the report.
    pub(super) fn describe_packet(&self, packet: &Packet<V>) -> Waiting {
        let SwitchPort { switch, port } = packet.input.at(self.radix);
        Waiting {
            place: Place::Input,
            switch,
            port,
            vl: packet.buffer_vl.into(),
            dst: packet.dst,
            flits: packet.flits.into(),
        }
    }
}
