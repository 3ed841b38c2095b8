//! Prefetching, for a fabric that does not fit into the caches. The events of a tick, and the outputs
//! that may grant in it, are known before the first of them is looked at. They are taken in groups,
//! and the data for a group is prefetched in rounds: each round reads the data of the round before
//! and prefetches the data to which it refers. So the misses of a group overlap. Such hints change no result.

use super::packet::Packet;
use super::{Event, Fabric};
use crate::engine::calendar::WheelEvent;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::prefetch::{prefetch, prefetch_all};

/// Events, or outputs, whose memory is fetched together. The data for them fits into the nearest cache.
const GROUP: usize = 16;

impl<V: Variant> Fabric<V> {
    /// Prefetches for a group of events of a tick, if the event at position `at` is the first of the group.
    #[inline(always)]
    pub(super) fn prefetch_events(&self, due: &[u32], at: usize) {
        if at.is_multiple_of(GROUP) {
            self.prefetch_group(&due[at..due.len().min(at + GROUP)]);
        }
    }

    #[inline(never)]
    fn prefetch_group(&self, group: &[u32]) {
        let events = || group.iter().map(|&event| Event::unpack(event));
        for event in events() {
            match event {
                Event::Join(packet) => self.prefetch_packet(packet),
                Event::Delivery(packet) => {
                    self.prefetch_packet(packet);
                    self.origins.prefetch(packet);
                }
                Event::Output(output) => prefetch_all(&self.outputs, output.index()),
                Event::Nic(nic) => {
                    prefetch_all(&self.nics.state, nic.index());
                    prefetch_all(&self.outputs, self.ports + nic.index());
                }
                Event::Injection(_) | Event::StopOrGo(_) | Event::Announcement(_) => {}
            }
        }
        for event in events() {
            match event {
                Event::Join(packet) => self.prefetch_place(&self.kernel.packets[packet]),
                Event::Delivery(packet) => {
                    self.kernel.messages.prefetch(self.origins[packet].message);
                }
                Event::Nic(nic) => {
                    let vl = self.nics.state[nic].waiting_vls.trailing_zeros();
                    self.nics.queue_pairs.prefetch(nic, vl as usize);
                }
                _ => {}
            }
        }
        for event in events() {
            if let Event::Join(packet) = event {
                self.prefetch_queue(&self.kernel.packets[packet]);
            }
        }
    }

    #[inline(always)]
    fn prefetch_packet(&self, id: PacketId) {
        self.kernel.packets.prefetch(id);
    }

    /// The in-port of `packet`, its FIFO there, and its output.
    #[inline(always)]
    fn prefetch_place(&self, packet: &Packet<V>) {
        prefetch(&self.switches.inputs, packet.input.index());
        if let Some(fifos) = &self.switches.fifos {
            fifos.prefetch(packet.input, packet.buffer_vl);
        }
        if packet.output != OutputId::NONE {
            prefetch_all(&self.outputs, packet.output.index());
            self.links.prefetch_vl(packet.output, packet.vl);
        }
    }

    /// The VoQ of `packet`, if it has been routed.
    #[inline(always)]
    fn prefetch_queue(&self, packet: &Packet<V>) {
        let input = self.switches.inputs.get(packet.input.index());
        let output = self.outputs.get(packet.output.index());
        if let (Some(input), Some(output)) = (input, output) {
            let queue = input.queue(output.out_port, self.vls, packet.vl.into());
            prefetch(&self.switches.queues, queue);
        }
    }

    /// Prefetches for a group of outputs that may grant, if the output at position `at` is the first of the group: the
    /// head that the first VL of each would grant, and the parts that this grant changes.
    #[inline(always)]
    pub(super) fn prefetch_grants(&self, at: usize) {
        if at.is_multiple_of(GROUP) {
            self.prefetch_requests(at);
        }
    }

    #[inline(never)]
    fn prefetch_requests(&self, at: usize) {
        let outputs = &self.work.dirty_outputs[at..self.work.dirty_outputs.len().min(at + GROUP)];
        for &output in outputs {
            let vl = self.first_waiting_vl(output);
            self.links.prefetch_vl(output, vl);
            self.links.prefetch_returns(output);
            if self.switches.output_buffer_may_fill() {
                prefetch_all(&self.buffer_returns, output.index());
            }
        }
        // The VoQs that request, as far as they are known without the packets.
        let mut queues = [(0, OutputId::NONE); GROUP];
        for &output in outputs {
            self.links.prefetch_other_returns(output);
            if let Some(input) = self.likely_input(output) {
                prefetch(&self.switches.inputs, input.index());
            }
        }
        for (&output, (queue, upstream)) in outputs.iter().zip(&mut queues) {
            self.links.prefetch_ends_of_returns(output);
            if let Some(input) = self.likely_input(output) {
                let reader = &self.switches.inputs[input];
                let vl = self.first_waiting_vl(output);
                let out_port = self.outputs[output].out_port;
                *queue = reader.queue(out_port, self.vls, vl.into());
                *upstream = reader.upstream;
                prefetch(&self.switches.queues, *queue);
                self.links.prefetch_returns(*upstream);
            }
        }
        for &(queue, upstream) in &queues {
            if upstream != OutputId::NONE {
                self.prefetch_packet(self.switches.queues[queue].fifo.head);
                self.links.prefetch_other_returns(upstream);
            }
        }
        for (_, upstream) in queues {
            self.links.prefetch_ends_of_returns(upstream);
        }
    }

    /// The in-port that `output` grants on its first VL, if it has credits: the first one in turn that is free.
    #[inline(always)]
    fn likely_input(&self, output: OutputId) -> Option<InputId> {
        let port = &self.outputs[output];
        let vl = self.links.vl(output, self.first_waiting_vl(output));
        let start = self.kernel.now + self.stages.allocation;
        let mut heads = vl.heads;
        let first = heads.first_from(vl.pointer)?.input(port.first_input);
        while let Some(in_port) = heads.first_from(vl.pointer) {
            heads.remove(in_port);
            let input = in_port.input(port.first_input);
            if self.switches.inputs_free[input.index()].tick <= start {
                return Some(input);
            }
        }
        Some(first)
    }

    #[inline(always)]
    fn first_waiting_vl(&self, output: OutputId) -> u8 {
        let vl = self.outputs[output].waiting_vls.trailing_zeros();
        // Without any, a hint for VL 0 does no harm.
        (vl as usize % self.vls) as u8
    }
}
