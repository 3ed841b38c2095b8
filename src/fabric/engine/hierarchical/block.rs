//! The fabric as a [block](crate::engine::blocks) of a larger one: what crosses a cut link, and how soon.

use super::mail::{Arrival, Credits};
use super::schedule::CreditReturn;
use super::{Event, Fabric};
use crate::engine::blocks::Lookahead;
use crate::engine::far_end::FarEnd;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::spec::{FabricSpec, Hierarchical, Tick};

/// The fewest ticks between a cause in one block and its effect in another. A link delays the header of a packet, or
/// its only flit; a credit, which a grant frees, is there a tick later.
pub(in crate::engine) fn lookahead(spec: &FabricSpec, switch: &Hierarchical) -> Lookahead {
    let stages = &switch.timing.stages;
    let between = |latency: Tick| {
        let packet = latency + stages.input_store + stages.routing;
        packet.min(latency + 1 + stages.allocation)
    };
    let [nic, switch] = spec.link_latency.bound(&spec.topology, Tick::min);
    Lookahead {
        to_nics: between(nic).min(nic),
        to_switches: between(switch),
    }
}

impl<V: Variant> Fabric<V> {
    /// Sends packet `id` to the block at the end `to` of its link, if that is another block. In tick `at` its header is ready
    /// in an input buffer there, or its tail reaches its NIC. Returns whether the block is another one.
    #[inline]
    pub(super) fn leaves_block(&mut self, id: PacketId, to: FarEnd, at: Tick) -> bool {
        let Some(post) = &mut self.post else {
            return false;
        };
        let Some(block) = post.elsewhere(to) else {
            return false;
        };
        let mut packet = self.kernel.packets[id];
        if to.is_nic() {
            (packet.output, packet.arrival) = (OutputId::NONE, at);
        } else {
            packet.output = OutputId::new(to.input().get());
        }
        let progress = self.next_hops.progress(id);
        post.send(block, at, Arrival { packet, progress });
        self.kernel.packets.remove(id);
        true
    }

    /// An input buffer gives credits back to `output`, which is woken if it waits for them.
    #[inline]
    pub(super) fn return_credits(&mut self, output: OutputId, leaving: CreditReturn) {
        if let Some(post) = &mut self.post
            && let Some(block) = post.sender_elsewhere(output)
        {
            // The first credit is not back before the one of the header.
            let first = self.links.first_credit_tick(output, leaving);
            let credits = Credits {
                to: output,
                leaving,
            };
            post.return_credits(block, first, credits);
            return;
        }
        self.take_credits_back(output, leaving);
    }

    #[inline]
    fn take_credits_back(&mut self, output: OutputId, leaving: CreditReturn) {
        // Congestion control may have delayed the credits of an earlier packet.
        let keep_order = V::part(&self.control).is_some();
        let now = self.kernel.now;
        let wake_at = self.links.return_credits(output, leaving, keep_order, now);
        if let Some(tick) = wake_at {
            self.wake(Event::Output(output), tick);
        }
    }

    pub(super) fn receive_packet(&mut self, arrival: Arrival) {
        let Arrival { packet, progress } = arrival;
        let at = packet.arrival;
        let id = self.kernel.packets.insert(packet);
        if packet.output == OutputId::NONE {
            return self.kernel.push(at, Event::Delivery(id));
        }
        self.next_hops.set_progress(id, progress);
        let stages = &self.timing.stages;
        let ready_at = at + stages.input_store + stages.routing;
        self.kernel.push(ready_at, Event::Arrival(id));
    }

    pub(super) fn receive_credits(&mut self, credits: Credits) {
        self.take_credits_back(credits.to, credits.leaving);
    }

    /// Phase 1: the header of packet `id`, from another block or over links that differ, becomes ready in this tick.
    #[inline]
    pub(super) fn header_arrived(&mut self, id: PacketId) {
        let port = InputId::new(self.kernel.packets[id].output.get());
        self.work.arrivals.push((port, id));
    }
}
