//! Prefetching, for a fabric that does not fit into the caches. Looks some places ahead in a delay
//! line of events, or in the list of the parts that act in a phase, and prefetches the data that these
//! will need. Such hints change no result.

use super::output::fifos_of;
use super::packet::Packet;
use super::{Event, Fabric};
use crate::engine::bits::{first_from, from_on};
use crate::engine::calendar::WheelEvent;
use crate::engine::ids::{CentralId, InputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::prefetch::prefetch;

/// Number of events ahead whose parts are prefetched: far enough to hide a cache miss.
const FAR: usize = 16;
/// Number of events ahead at which the prefetched parts have arrived, so the data to which they
/// refer can be prefetched.
pub(super) const NEAR: usize = 6;
/// The numbers for the lists of parts that act in a phase, which takes longer than an event.
const FAR_PARTS: usize = 12;
const NEAR_PARTS: usize = 6;

impl<V: Variant> Fabric<V> {
    /// Prefetches the parts that the `next` events wake, and the data for the deliveries among these.
    #[inline(always)]
    pub(super) fn prefetch_events(&self, next: &[u32]) {
        match next.get(FAR).map(|&event| Event::unpack(event)) {
            Some(Event::Input(input)) => prefetch(&self.switches.inputs, input.index()),
            Some(Event::Central(central)) => prefetch(&self.switches.centrals, central.index()),
            Some(Event::Output(output)) => prefetch(&self.senders, output.index()),
            Some(Event::Nic(nic)) => prefetch(&self.nics.state, nic.index()),
            Some(Event::Delivery(packet)) => self.kernel.packets.prefetch(packet),
            Some(Event::Arrival(_) | Event::Injection(_)) | None => {}
        }
        if let Some(Event::Delivery(id)) = next.get(NEAR).map(|&event| Event::unpack(event)) {
            self.kernel
                .messages
                .prefetch(self.kernel.packets[id].message);
        }
    }

    /// Prefetches the data for the next headers in input buffers.
    #[inline]
    pub(super) fn prefetch_input(&self, line: usize) {
        let arrivals = &self.input_ready[line];
        if let Some(arrival) = arrivals.peek(FAR) {
            self.prefetch_arrival(arrival);
        }
        self.prefetch_route(arrivals.peek(NEAR));
    }

    /// Prefetches a packet that becomes ready in an input buffer, and that buffer.
    #[inline]
    pub(super) fn prefetch_arrival(&self, &(port, id): &(InputId, PacketId)) {
        self.kernel.packets.prefetch(id);
        prefetch(&self.switches.inputs, port.index());
        self.switches.input_fifos.prefetch_any_push(port.index());
    }

    /// Prefetches the data that decide on the route of a packet.
    #[inline]
    pub(super) fn prefetch_route(&self, arrival: Option<&(InputId, PacketId)>) {
        if let Some(&(port, id)) = arrival {
            let switch = self.switches.inputs[port].switch;
            let dst = self.kernel.packets[id].dst;
            self.next_hops.prefetch(switch, dst);
        }
    }

    /// Prefetches the data for the next headers in central buffers, and the output of packet `id`, which
    /// the allocator will check.
    #[inline]
    pub(super) fn prefetch_central(&self, id: PacketId) {
        if let Some(&(central, queue, id)) = self.central_ready.peek(FAR) {
            self.kernel.packets.prefetch(id);
            prefetch(&self.switches.centrals, central.index());
            self.switches
                .central_buffers
                .fifos
                .prefetch_push(central.index(), queue as usize);
            self.switches
                .central_buffers
                .credits
                .prefetch_ledger(central.index(), queue as usize);
        }
        let output = self.kernel.packets[id].output.index();
        prefetch(&self.switches.outputs, output);
        self.switches
            .output_buffers
            .credits
            .prefetch_ledger(output, 0);
    }

    /// Prefetches the data for the next headers in output buffers.
    #[inline]
    pub(super) fn prefetch_output(&self) {
        if let Some(&(output, id)) = self.output_ready.peek(FAR) {
            self.kernel.packets.prefetch(id);
            prefetch(&self.senders, output.index());
            self.switches
                .output_buffers
                .fifos
                .prefetch_any_push(output.index());
        }
    }

    /// Prefetches the data that the allocator will check for packet `id` at in-port `port`.
    #[inline]
    pub(super) fn prefetch_target(&self, port: InputId, id: PacketId) {
        let Packet { output, vl, .. } = self.kernel.packets[id];
        if port.mport() == output.mport() {
            prefetch(&self.switches.outputs, output.index());
            self.switches
                .output_buffers
                .credits
                .prefetch_ledger(output.index(), 0);
        } else {
            let central = self
                .switches
                .central_links
                .between::<V>(port, output, || id)
                .index();
            prefetch(&self.switches.centrals, central);
            let queue = self.switches.central_queue(output, vl);
            self.switches
                .central_buffers
                .credits
                .prefetch_ledger(central, queue);
        }
    }

    /// Prefetches the data for the NICs behind place `i` of the list of phase 3.
    #[inline]
    pub(super) fn prefetch_nic(&self, i: usize) {
        if let Some(&nic) = self.work.dirty_nics.get(i + FAR_PARTS) {
            prefetch(&self.nics.state, nic.index());
            self.nics
                .send_queues
                .credits
                .prefetch_ledger(nic.index(), 0);
        }
        if let Some(&nic) = self.work.dirty_nics.get(i + NEAR_PARTS) {
            prefetch(&self.nics.state[nic].queues, 0);
        }
        if let Some(&nic) = self.work.dirty_nics.get(i + NEAR_PARTS / 2) {
            let nic = &self.nics.state[nic];
            let first = from_on(nic.waiting_sls, nic.next).trailing_zeros() as usize;
            if let Some(queue) = nic.queues.get(first) {
                self.kernel.messages.prefetch(queue.first());
            }
        }
    }

    /// Prefetches the data for the inputs behind place `i` of the list of phase 5.
    #[inline]
    pub(super) fn prefetch_request(&self, i: usize) {
        if let Some(&port) = self.work.dirty_inputs.get(i + FAR_PARTS) {
            prefetch(&self.switches.inputs, port.index());
            self.switches.input_fifos.prefetch_far_heads(port.index());
        }
        if let Some(&port) = self.work.dirty_inputs.get(i + NEAR_PARTS)
            && let Some(head) = self.first_head(port)
        {
            self.kernel.packets.prefetch(head);
        }
    }

    /// The head that an input buffer looks at first.
    #[inline]
    fn first_head(&self, port: InputId) -> Option<PacketId> {
        let input = &self.switches.inputs[port];
        if input.ready == 0 {
            return None;
        }
        let vl = match self.switches.blocking_vl::<V>(port) {
            Some(vl) => vl as u32,
            None => first_from(input.ready.into(), input.next),
        };
        let head = self
            .switches
            .input_fifos
            .head(&input.heads, port.index(), vl as usize);
        Some(head)
    }

    /// Prefetches the data for the central buffers behind place `i` of the list of phase 5.
    #[inline]
    pub(super) fn prefetch_central_request(&self, i: usize) {
        let fifos = &self.switches.central_buffers.fifos;
        // Only the first queues: a hint need not be right.
        let next = |central: CentralId| {
            let central = &self.switches.centrals[central];
            let pointer = central.next.min(64) as u8;
            (central.ready != 0).then(|| first_from(central.ready, pointer) as usize)
        };
        if let Some(&central) = self.work.dirty_centrals.get(i + FAR_PARTS)
            && let Some(queue) = next(central)
        {
            fifos.prefetch_head(central.index(), queue);
        }
        if let Some(&central) = self.work.dirty_centrals.get(i + NEAR_PARTS)
            && let Some(queue) = next(central)
        {
            let id = fifos.head(&[], central.index(), queue);
            self.kernel.packets.prefetch(id);
        }
    }

    /// Prefetches the data for the outputs behind place `i` of the list of phase 7.
    #[inline]
    pub(super) fn prefetch_sending(&self, i: usize) {
        if let Some(&output) = self.work.dirty_outputs.get(i + FAR_PARTS) {
            let at = output.index();
            prefetch(&self.senders, at);
            prefetch(&self.switches.outputs, at);
            self.schedulers.prefetch(at);
            self.links.prefetch(output);
            let (fifos, buffer) = fifos_of(&self.switches, &self.nics, output);
            fifos.prefetch_far_heads(buffer);
            match output.nic(self.ports) {
                None => self.switches.output_buffers.credits.prefetch_ledger(at, 0),
                Some(nic) => self
                    .nics
                    .send_queues
                    .credits
                    .prefetch_ledger(nic.index(), 0),
            }
        }
        if let Some(&output) = self.work.dirty_outputs.get(i + NEAR_PARTS) {
            // Every one may be a candidate.
            let sender = &self.senders[output];
            let (fifos, buffer) = fifos_of(&self.switches, &self.nics, output);
            let mut ready = sender.ready;
            while ready != 0 {
                let vl = ready.trailing_zeros() as usize;
                ready &= ready - 1;
                let head = fifos.head(&sender.heads, buffer, vl);
                self.kernel.packets.prefetch(head);
            }
        }
        if let Some(&output) = self.work.dirty_outputs.get(i + NEAR_PARTS / 2)
            && let Some(nic) = output.nic(self.ports)
        {
            let sender = &self.senders[output];
            let vl = sender.ready.trailing_zeros() as usize;
            if let Some(&head) = sender.heads.get(vl) {
                let message = self.kernel.packets[head].message;
                self.kernel.messages.prefetch(message);
            }
            prefetch(&self.nics.state, nic.index());
        }
    }
}
