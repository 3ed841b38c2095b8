//! The fabric as a [block](crate::engine::blocks) of a larger one: what crosses a cut link, and how soon.

use super::credit_return::CreditReturn;
use super::flows::{self, Flow};
use super::mail::{Arrival, Credits};
use super::{Event, Fabric};
use crate::engine::blocks::Lookahead;
use crate::engine::far_end::FarEnd;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::spec::{FabricSpec, Tick, Voq};

/// The fewest ticks between a cause in one block and its effect in another. The cause is a grant: it decides when a packet
/// leaves by the link, and when its credits are back.
pub(in crate::engine) fn lookahead(spec: &FabricSpec, switch: &Voq) -> Lookahead {
    let stages = &switch.stages;
    let between = |latency: Tick| {
        let tail = stages.crossbar + stages.output_store;
        stages.allocation + latency + tail.min(1)
    };
    let [nic, switch] = spec.link_latency.bound(&spec.topology, Tick::min);
    Lookahead {
        to_nics: between(nic),
        to_switches: between(switch),
    }
}

impl<V: Variant> Fabric<V> {
    /// Packet `id` joins its VoQ in tick `at`, or its tail reaches its NIC if that is where it goes. Sends it to the block
    /// where that is, if it is another.
    #[inline(always)]
    pub(super) fn leaves_block(&mut self, id: PacketId, at: Tick) -> bool {
        let Some(post) = &mut self.post else {
            return false;
        };
        let packet = &mut self.kernel.packets[id];
        let to = match packet.input {
            InputId::NONE => FarEnd::of_nic(packet.dst),
            input => FarEnd::of_input(input),
        };
        let Some(block) = post.elsewhere(to) else {
            return false;
        };
        let arrival = Arrival {
            at,
            packet: *packet,
            origin: self.origins[id],
            progress: self.routes.progress(id),
        };
        post.send(block, at, arrival);
        packet.starts = 0;
        self.kernel.packets.remove(id);
        true
    }

    /// Returns credits of `flow` to `upstream`. Returns the tick in which `upstream` must be woken, if it waits for them.
    #[inline(always)]
    pub(super) fn return_credits(
        &mut self,
        (upstream, flow): (OutputId, Flow),
        credit_return: CreditReturn<V>,
    ) -> Option<Tick> {
        if let Some(post) = &mut self.post
            && let Some(block) = post.sender_elsewhere(upstream)
        {
            let first = credit_return.credit_tick(&self.drain, 0);
            let credits = Credits {
                to: upstream,
                credit_return,
            };
            post.return_credits(block, first, credits);
            return None;
        }
        let apart = V::part_mut(&mut self.switches.flows);
        let (links, drain, now) = (&mut self.links, &self.drain, self.kernel.now);
        flows::return_credits(apart, links, (upstream, flow), credit_return, drain, now)
    }

    pub(super) fn receive_packet(&mut self, arrival: Arrival<V>) {
        let Arrival {
            at,
            packet,
            origin,
            progress,
        } = arrival;
        let event = if packet.input == InputId::NONE {
            Event::Delivery
        } else {
            Event::Join
        };
        let id = self.kernel.packets.insert(packet);
        self.origins.set(id, origin);
        self.routes.set_progress(id, progress);
        self.kernel.push(at, event(id));
    }

    pub(super) fn receive_credits(&mut self, credits: Credits<V>) {
        let Credits { to, credit_return } = credits;
        let now = self.kernel.now;
        let wake_at = self
            .links
            .return_credits(to, credit_return, &self.drain, now);
        if let Some(at) = wake_at {
            self.wake_sender(to, at);
        }
    }
}
