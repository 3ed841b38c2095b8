//! Deadlocks where any head of a VoQ may be granted: as `super::super::deadlock`, with heads in place of VoQs.
//!
//! A stopped head waits for the congested-flow queue that stopped it, which sends a go when its own head has left.
//! The stopped head is live if that queue is gone, or if its go is under way.

use super::{Flow, Flows};
use crate::engine::deadlock::{Deadlock, dead_cycle};
use crate::engine::ids::InputId;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::engine::voq::Fabric;
use crate::engine::voq::packet::Packet;
use crate::ids::NicId;
use std::collections::BTreeMap;

/// The credits of an (input buffer, VL), or of a flow there: which heads hold them, and how many are held.
type Holders = BTreeMap<(InputId, u8, Option<NicId>), (Vec<usize>, u32)>;

impl<V: Variant> Fabric<V> {
    /// A cycle of packets that can never move, if there is one.
    pub(in super::super) fn find_deadlock_by_flow(&mut self) -> Option<Deadlock> {
        let heads = self.switches.in_voqs(&self.kernel.packets);
        let mut holders = Holders::new();
        for &id in &heads {
            let packet = &self.kernel.packets[id];
            let held = holders.entry(self.place(packet)).or_default();
            held.0.push(id.index());
            held.1 += u32::from(packet.credits);
        }
        for packet in self.switches.behind_heads(&self.kernel.packets) {
            holders.entry(self.place(packet)).or_default().1 += u32::from(packet.credits);
        }
        let mut waiting = BTreeMap::new();
        for &id in &heads {
            if let Some(waits_for) = self.head_waits_for(id, &holders) {
                waiting.insert(id.index(), waits_for);
            }
        }
        dead_cycle(waiting, |at| {
            self.describe_packet(&self.kernel.packets.entries()[at])
        })
    }

    /// Whose credits `packet` holds.
    fn place(&self, packet: &Packet<V>) -> (InputId, u8, Option<NicId>) {
        let dst = self.switches.credits_are_per_flow().then_some(packet.dst);
        (packet.input, packet.buffer_vl, dst)
    }

    /// The heads that hold the credits which head `id` waits for. `None` if it has credits, or if some are
    /// sure to come.
    fn head_waits_for(&mut self, id: PacketId, holders: &Holders) -> Option<Vec<usize>> {
        let Packet {
            output,
            vl,
            dst,
            credits,
            ..
        } = self.kernel.packets[id];
        let port = &self.outputs[output];
        if port.to.is_nic() {
            return None;
        }
        let (peer, flow) = (port.to.input(), Flow::new(vl, dst));
        if let Some(Flows::Isolating(isolating)) = self.switches.flows.as_deref()
            && isolating.stops.has(output, flow)
        {
            let head = isolating.head_of_stopped(peer, vl, dst)?;
            return Some(vec![head.index()]);
        }
        let free = self.credits_of(output, flow, credits);
        let any_on = match self.switches.flows.as_deref() {
            Some(Flows::PerFlow(ledgers)) => ledgers.any_on(output, flow),
            _ => self.links.any_on(output, vl),
        };
        if free >= credits || any_on {
            return None;
        }
        let per_flow = self.switches.credits_are_per_flow();
        let (held_by, held) = holders.get(&(peer, vl, per_flow.then_some(dst)))?;
        // The other credits belong to packets on their way into the buffer.
        let found = u32::from(free) + held;
        (found == self.switches.buffer_credits[usize::from(vl)]).then(|| held_by.clone())
    }
}
