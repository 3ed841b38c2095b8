//! Phase 4: headers become ready and join the FIFOs of their buffers. In input buffers,
//! routing decides the out-port, the SC and the VL (`docs/model/fabric.md` §7). The next hops come
//! from [`NextHops`](crate::engine::next_hop::NextHops). Allocation is in
//! [`allocate`](super::allocate).

use super::Fabric;
use super::buffers::VlBuffers;
use super::packet::Packet;
use super::prefetch::NEAR;
use super::yielding::NEVER;
use crate::engine::choice::Occupancy;
use crate::engine::congestion::MarkerQueue;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::next_hop::Context;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::engine::vls::{Hop, VlAndClass};
use crate::ids::PortId;
use crate::spec::Tick;

impl<V: Variant> Fabric<V> {
    /// Phase 4: routes the headers that become ready now in input buffers. All headers that
    /// become ready join their FIFOs.
    #[inline]
    pub(super) fn complete_routing(&mut self) {
        if self.next_hops.by_others() {
            self.route_in_port_order();
        } else {
            for at in 0..self.work.arrivals.len() {
                let (port, id) = self.work.arrivals[at];
                let vl = self.route(port, id);
                self.join_input(port, id, vl);
            }
            self.work.arrivals.clear();
            for line in 0..2 {
                while let Some((port, id)) = self.input_ready[line].pop(self.kernel.now) {
                    self.kernel.observers.counters.counts.events += 1;
                    if self.prefetching {
                        self.prefetch_input(line);
                    }
                    let vl = self.route(port, id);
                    self.join_input(port, id, vl);
                }
            }
        }
        while let Some((central, queue, id)) = self.central_ready.pop(self.kernel.now) {
            self.kernel.observers.counters.counts.events += 1;
            if self.prefetching {
                self.prefetch_central(id);
            }
            self.catch_up_central(central);
            self.switches.central_buffers.fifos.push(
                &mut [],
                central.index(),
                queue as usize,
                id,
                &mut self.kernel.packets,
            );
            *self.switches.ready_word(central, queue / 64) |= 1 << (queue % 64);
            self.touch_central(central);
        }
        while let Some((output, id)) = self.output_ready.pop(self.kernel.now) {
            self.kernel.observers.counters.counts.events += 1;
            if self.prefetching {
                self.prefetch_output();
            }
            let vl = usize::from(self.kernel.packets[id].vl);
            self.kernel.packets[id].ready = self.kernel.now;
            let heads = &mut self.senders[output].heads;
            self.switches.output_buffers.fifos.push(
                heads,
                output.index(),
                vl,
                id,
                &mut self.kernel.packets,
            );
            self.packet_ready_at_output(output, vl);
        }
    }

    /// Routes headers in the order of their in-ports, on which the choice among candidates
    /// depends.
    fn route_in_port_order(&mut self) {
        let mut arrivals = std::mem::take(&mut self.work.arrivals);
        let from_blocks = arrivals.len();
        for line in 0..2 {
            while let Some(arrival) = self.input_ready[line].pop(self.kernel.now) {
                if self.prefetching {
                    self.prefetch_arrival(&arrival);
                }
                arrivals.push(arrival);
            }
        }
        self.kernel.observers.counters.counts.events += (arrivals.len() - from_blocks) as u64;
        arrivals.sort_unstable();
        for (i, &(port, id)) in arrivals.iter().enumerate() {
            if self.prefetching {
                self.prefetch_route(arrivals.get(i + 1 + NEAR));
            }
            let vl = self.route(port, id);
            self.join_input(port, id, vl);
        }
        arrivals.clear();
        self.work.arrivals = arrivals;
    }

    /// Decides out-port, VL and VL class of packet `id` at in-port `port`. Returns the VL of its
    /// input buffer, which it had before.
    #[inline]
    fn route(&mut self, port: InputId, id: PacketId) -> u8 {
        let switch = self.switches.inputs[port].switch;
        let Packet {
            dst, sl, vl, class, ..
        } = self.kernel.packets[id];
        let next = self.next_hops.decide(Context {
            switch,
            input: port,
            packet: id,
            dst,
            now: self.kernel.now,
            occupancy: Queues {
                buffers: &mut self.switches.output_buffers,
                waiting: &self.switches.waiting,
                now: self.kernel.now,
            },
        });
        let first_port = switch.get() * self.radix;
        let hop = || Hop {
            input: port,
            output: next.output,
            in_port: PortId::new(port.get() - first_port),
            out_port: PortId::new(next.output.get() - first_port),
            first_class: next.first_class,
            leg_begins: next.leg_begins,
        };
        let class = next.class_before(class);
        let behind = self
            .vl_policy
            .behind(hop, sl, dst, VlAndClass { vl, class });
        let packet = &mut self.kernel.packets[id];
        (packet.output, packet.vl, packet.class) = (next.output, behind.vl, behind.class);
        if V::HAS_ANY_RULE {
            self.switches.central_links.routed(port, next.output, id);
        }
        vl
    }

    /// Adds packet `id` to the FIFO of its input buffer, on `vl`.
    #[inline]
    fn join_input(&mut self, port: InputId, id: PacketId, vl: u8) {
        let packet = &mut self.kernel.packets[id];
        packet.ready = NEVER;
        let (output, vl) = (packet.output, usize::from(vl));
        if V::HAS_ANY_RULE {
            self.switches.waiting[output.index()] += u32::from(packet.credits);
        }
        let observers = &mut self.kernel.observers;
        observers.queued(self.kernel.now, output, || packet.seen(id));
        if let Some(control) = V::part_mut(&mut self.control) {
            packet.in_port = port.position() as u8;
            let queue = MarkerQueue {
                input: port,
                output,
                vl: packet.vl,
            };
            control.congestion.joined(queue, packet.flits);
        }
        if self.prefetching {
            self.prefetch_target(port, id);
        }
        self.catch_up_input(port);
        let input = &mut self.switches.inputs[port];
        input.ready |= 1 << vl;
        self.switches.input_fifos.push(
            &mut input.heads,
            port.index(),
            vl,
            id,
            &mut self.kernel.packets,
        );
        self.touch_input(port);
    }
}

/// The fill of the outputs.
struct Queues<'a> {
    buffers: &'a mut VlBuffers,
    waiting: &'a [u32],
    now: Tick,
}

impl Occupancy for Queues<'_> {
    #[inline]
    fn in_buffer(&mut self, output: OutputId) -> u32 {
        self.buffers
            .credits
            .credits_in_use(output.index(), self.now)
    }

    #[inline]
    fn waiting(&self, output: OutputId) -> u32 {
        self.waiting[output.index()]
    }
}
