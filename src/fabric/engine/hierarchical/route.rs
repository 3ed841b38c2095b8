//! Phase 4: headers become ready and join the FIFOs of their buffers. In input buffers,
//! routing decides the out-port, the SC and the VL (`docs/model.md` §7). The next hops come
//! from the [`Router`](crate::fabric::routing::Router). Allocation is in
//! [`allocate`](super::allocate).

use super::Fabric;
use super::buffers::VlBuffers;
use super::control::Control;
use crate::fabric::engine::choice::{Choice, Occupancy};
use crate::fabric::engine::congestion::MarkerQueue;
use crate::fabric::engine::pool::PacketId;
use crate::fabric::engine::probe::Probe;
use crate::fabric::engine::vls::{Hop, VlAndClass};
use crate::fabric::ids::{NicId, SwitchId};
use crate::fabric::spec::Tick;

impl<C: Control, P: Probe> Fabric<C, P> {
    /// Phase 4: routes the headers that become ready now in input buffers. All headers that
    /// become ready join their FIFOs.
    #[inline]
    pub(super) fn complete_routing(&mut self) {
        if self.choice.by_others() {
            self.route_in_port_order();
        } else {
            for line in 0..2 {
                while let Some((port, id)) = self.input_ready[line].pop(self.kernel.now) {
                    self.kernel.observers.counters.events += 1;
                    if self.prefetching {
                        self.prefetch_input(line);
                    }
                    let output = self.output_of(port, id);
                    self.join_input(port, id, output);
                }
            }
        }
        while let Some((central, queue, id)) = self.central_ready.pop(self.kernel.now) {
            self.kernel.observers.counters.events += 1;
            if self.prefetching {
                self.prefetch_central(id);
            }
            self.catch_up_central(central);
            self.central_buffers.fifos.push(
                &mut [],
                central as usize,
                queue as usize,
                id,
                &mut self.kernel.packets,
            );
            *self.ready_word(central, queue / 64) |= 1 << (queue % 64);
            self.touch_central(central);
        }
        while let Some((output, id)) = self.output_ready.pop(self.kernel.now) {
            self.kernel.observers.counters.events += 1;
            if self.prefetching {
                self.prefetch_output();
            }
            let vl = usize::from(self.kernel.packets[id].vl);
            self.kernel.packets[id].ready = self.kernel.now;
            let heads = &mut self.senders[output as usize].heads;
            self.output_buffers.fifos.push(
                heads,
                output as usize,
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
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for line in 0..2 {
            while let Some(arrival) = self.input_ready[line].pop(self.kernel.now) {
                arrivals.push(arrival);
            }
        }
        self.kernel.observers.counters.events += arrivals.len() as u64;
        arrivals.sort_unstable();
        for &(port, id) in &arrivals {
            let output = self.output_of(port, id);
            self.join_input(port, id, output);
        }
        arrivals.clear();
        self.arrivals = arrivals;
    }

    /// Out-port, numbered over all switches, of packet `id` at in-port `port`.
    #[inline]
    fn output_of(&mut self, port: u32, id: PacketId) -> u32 {
        let (switch, dst) = (
            self.inputs[port as usize].switch,
            self.kernel.packets[id].dst,
        );
        let first = self
            .router
            .first_port(SwitchId::new(switch), NicId::new(dst));
        let first = switch * self.radix + first.get();
        match self.choice {
            Choice::Only => first,
            _ => self.choose(switch, first, dst),
        }
    }

    /// The out-port of a packet for `dst` at `switch`, where `first` is not the only candidate. Out
    /// of the way of fabrics without a choice.
    #[inline(never)]
    fn choose(&mut self, switch: u32, first: u32, dst: u32) -> u32 {
        let queues = Queues {
            buffers: &mut self.output_buffers,
            waiting: &self.waiting,
            now: self.kernel.now,
        };
        self.choice.output(switch, first, dst, queues)
    }

    /// Adds packet `id` to the FIFO of its input buffer; it will leave by `output`.
    #[inline]
    fn join_input(&mut self, port: u32, id: PacketId, output: u32) {
        let packet = &mut self.kernel.packets[id];
        packet.output = output;
        if C::ADAPTIVE {
            self.waiting[output as usize] += u32::from(packet.credits);
        }
        let vl = usize::from(packet.vl);
        let before = VlAndClass {
            vl: packet.vl,
            class: packet.class,
        };
        let (inputs, radix) = (&self.inputs, self.radix);
        let hop = || {
            let first_port = inputs[port as usize].switch * radix;
            Hop {
                input: port,
                output,
                in_port: port - first_port,
                out_port: output - first_port,
            }
        };
        let behind = self.vl_policy.behind(hop, packet.sl, packet.dst, before);
        (packet.vl, packet.class) = (behind.vl, behind.class);
        let observers = &mut self.kernel.observers;
        observers.queued(self.kernel.now, output, || packet.seen(id));
        if let Some(control) = self.control.get_mut() {
            packet.in_port = (port % 4) as u8;
            let queue = MarkerQueue {
                input: port,
                output,
                vl: packet.vl,
            };
            control.congestion.joined(queue, packet.flits);
        }
        if self.prefetching {
            self.prefetch_target(port, output, behind.vl);
        }
        self.catch_up_input(port);
        let input = &mut self.inputs[port as usize];
        input.ready |= 1 << vl;
        self.input_fifos.push(
            &mut input.heads,
            port as usize,
            vl,
            id,
            &mut self.kernel.packets,
        );
        self.touch_input(port);
    }
}

/// How full the outputs are.
struct Queues<'a> {
    buffers: &'a mut VlBuffers,
    waiting: &'a [u32],
    now: Tick,
}

impl Occupancy for Queues<'_> {
    #[inline]
    fn in_buffer(&mut self, output: u32) -> u32 {
        self.buffers
            .credits
            .credits_in_use(output as usize, self.now)
    }

    #[inline]
    fn waiting(&self, output: u32) -> u32 {
        self.waiting[output as usize]
    }
}
