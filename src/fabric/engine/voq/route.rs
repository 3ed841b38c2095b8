//! Phase 4: routing decides output, SC and VL of each packet whose header becomes ready, and the
//! packet joins its VoQ (`docs/model/infiniband.md` §7), or its FIFO: see `fifos` and `flows`.
//!
//! If a route depends on no other packet, it is looked up as soon as a grant or a NIC sends the
//! packet to the switch, so that it is at hand when the header is ready.
//!
//! Headers at the head of output buffers need no phase: `crossing` has decided when they leave.

use super::Fabric;
use super::packet::Packet;
use super::ports::OutPort;
use super::state::Output;
use crate::engine::bits::push_quickly;
use crate::engine::choice::Occupancy;
use crate::engine::congestion::MarkerQueue;
use crate::engine::ids::OutputId;
use crate::engine::next_hop::{Context, NextHops, Progress};
use crate::engine::pool::PacketId;
use crate::engine::probe::Obstacle;
use crate::engine::variant::Variant;
use crate::engine::vls::{Hop, VlAndClass, Vls};
use crate::ids::{NicId, PortId, SwitchId};
use crate::routing::Router;
use crate::spec::{FabricSpec, SpecError, Tick, Voq};
use std::sync::Arc;

/// The tables of routing: next hops and VLs.
#[derive(Debug)]
pub(super) struct Routes {
    radix: u32,
    next_hops: NextHops,
    depends_on_order: bool,
    vls: Vls,
    /// Credits of an output buffer.
    buffer: u32,
    /// Credits of the packets in the VoQs for each output, if up-ports are chosen by their queues. Such
    /// a fabric is not plain.
    waiting: Option<Vec<u32>>,
}

impl Routes {
    /// `router` is the one of `spec`.
    pub(super) fn new(
        spec: &FabricSpec,
        voq: &Voq,
        router: &Arc<Router>,
    ) -> Result<Self, SpecError> {
        let next_hops = NextHops::new(spec, router);
        Ok(Self {
            radix: spec.topology.radix(),
            depends_on_order: next_hops.by_others(),
            next_hops,
            vls: Vls::new(spec)?,
            buffer: voq.buffers.output,
            waiting: spec
                .routing
                .asks_for_waiting()
                .then(|| vec![0; (spec.topology.switches() * spec.topology.radix()) as usize]),
        })
    }

    /// Whether the order in which packets are routed changes their routes.
    #[inline]
    pub(super) fn depends_on_order(&self) -> bool {
        self.depends_on_order
    }

    /// A packet of `credits` joins a VoQ for `output`.
    #[inline(always)]
    fn joined(&mut self, output: OutputId, credits: u16) {
        if let Some(waiting) = &mut self.waiting {
            waiting[output.index()] += u32::from(credits);
        }
    }

    /// A packet of `credits` in a VoQ for `output` is granted.
    #[inline(always)]
    pub(super) fn granted(&mut self, output: OutputId, credits: u16) {
        if let Some(waiting) = &mut self.waiting {
            waiting[output.index()] -= u32::from(credits);
        }
    }

    /// VL of a packet of `sl` for `dst` that leaves `nic`.
    #[inline]
    pub(super) fn vl_at_nic(&self, nic: NicId, dst: NicId, sl: u8) -> u8 {
        self.vls.at_nic(nic, dst, sl)
    }

    /// Routes `packet`, which has number `id` and is on its way to `switch`, already when the device
    /// before sends it, unless the order in which packets are routed matters.
    #[inline(always)]
    pub(super) fn route_ahead<V: Variant>(
        &mut self,
        packet: &mut Packet<V>,
        id: PacketId,
        switch: SwitchId,
    ) {
        if !self.depends_on_order {
            // Without that order, neither room nor time matters.
            self.route(packet, id, (switch, 0), |_| 0);
        }
    }

    /// See [`NextHops::progress`].
    pub(super) fn progress(&self, id: PacketId) -> Option<Progress> {
        self.next_hops.progress(id)
    }

    /// See [`NextHops::set_progress`].
    pub(super) fn set_progress(&mut self, id: PacketId, progress: Option<Progress>) {
        self.next_hops.set_progress(id, progress);
    }

    /// The next output of a packet to `dst` at `switch`, if the destination alone decides.
    pub(super) fn by_destination(&self, switch: SwitchId, dst: NicId) -> OutputId {
        self.next_hops.by_destination(switch, dst)
    }

    /// Decides in tick `now` output, VL and VL class of `packet`, which has number `id`, at `switch`.
    /// `room(output)`: credits free in the output buffer of `output`.
    #[inline(always)]
    fn route<V: Variant>(
        &mut self,
        packet: &mut Packet<V>,
        id: PacketId,
        (switch, now): (SwitchId, Tick),
        room: impl FnMut(OutputId) -> u32,
    ) {
        let Packet { input, dst, sl, .. } = *packet;
        let (buffer, waiting) = (self.buffer, self.waiting.as_deref());
        let next = self.next_hops.decide(Context {
            switch,
            input,
            packet: id,
            dst,
            now,
            occupancy: Queues {
                room,
                buffer,
                waiting,
            },
        });
        let before = VlAndClass {
            vl: packet.vl,
            class: next.class_before(packet.class),
        };
        let output = next.output;
        let first_port = switch.get() * self.radix;
        let hop = || Hop {
            input,
            output,
            in_port: PortId::new(input.get() - first_port),
            out_port: PortId::new(output.get() - first_port),
            first_class: next.first_class,
            leg_begins: next.leg_begins,
        };
        let VlAndClass { vl, class } = self.vls.behind(hop, sl, dst, before);
        (packet.output, packet.vl, packet.class) = (output, vl, class);
    }
}

/// The fill of the outputs.
struct Queues<'a, R> {
    room: R,
    buffer: u32,
    waiting: Option<&'a [u32]>,
}

impl<R: FnMut(OutputId) -> u32> Occupancy for Queues<'_, R> {
    #[inline]
    fn in_buffer(&mut self, output: OutputId) -> u32 {
        self.buffer - (self.room)(output)
    }

    #[inline]
    fn waiting(&self, output: OutputId) -> u32 {
        self.waiting.map_or(0, |waiting| waiting[output.index()])
    }
}

impl<V: Variant> Fabric<V> {
    /// Phase 4: the headers that become ready in this tick are routed and join their VoQs, in the
    /// order of their in-ports.
    #[inline(never)]
    pub(super) fn complete_routing(&mut self) {
        if self.work.joining.len() > 1 {
            let packets = &self.kernel.packets;
            // Stable: short packets of one in-port may become ready in the same tick.
            self.work.joining.sort_by_key(|&id| packets[id].input);
        }
        for at in 0..self.work.joining.len() {
            let id = self.work.joining[at];
            self.route(id);
            self.join(id);
        }
        self.work.joining.clear();
    }

    /// Routes packet `id`, which no switch before has done: see [`Routes::route_ahead`].
    fn route(&mut self, id: PacketId) {
        let now = self.kernel.now;
        let packet = &mut self.kernel.packets[id];
        let (outputs, returns, drain) = (&mut self.outputs, &mut self.buffer_returns, &self.drain);
        let room = |output: OutputId| {
            let port: &mut Output = &mut outputs[output];
            returns[output].apply(drain, now, |_, credits| port.room += credits);
            u32::from(port.room)
        };
        let switch = self.switches.inputs[packet.input].switch;
        self.routes.route(packet, id, (switch, now), room);
    }

    /// Appends packet `id`, which has been routed, to its VoQ, or to its FIFO if it is not the head
    /// there.
    #[inline(always)]
    pub(super) fn join(&mut self, id: PacketId) {
        let now = self.kernel.now;
        let output_buffer_may_fill = self.switches.output_buffer_may_fill();
        let packet = &mut self.kernel.packets[id];
        let (input, output, vl) = (packet.input, packet.output, packet.vl);
        if output_buffer_may_fill {
            self.routes.joined(output, packet.credits);
        }
        packet.waiting_since = now;
        packet.next = PacketId::NONE;
        let (flits, at) = (packet.flits, (input, packet.buffer_vl, packet.dst));
        let observers = &mut self.kernel.observers;
        observers.queued(now, output, || packet.seen(id));

        let queue = MarkerQueue { input, output, vl };
        let packets = &mut self.kernel.packets;
        if let Some(flows) = V::part_mut(&mut self.switches.flows)
            && let Some(waits) = flows.join(id, packets)
        {
            if waits {
                observers.blocked(now, output, 1 << vl, Obstacle::HeadOfLine);
            }
        } else if self
            .switches
            .join_behind_head(id, at, &mut self.kernel.packets)
        {
            let observers = &mut self.kernel.observers;
            observers.blocked(now, output, 1 << vl, Obstacle::HeadOfLine);
        } else if self.join_voq(id, queue) || self.switches.has_flows() {
            push_quickly(&mut self.work.dirty_outputs, output);
        }
        if let Some(congestion) = V::part_mut(&mut self.congestion) {
            congestion.joined(queue, flits.into());
        }
        self.waits_for_link(id, output);
    }

    /// Appends packet `id` to the VoQ that `queue` names. Returns whether it is the head there.
    #[inline(always)]
    pub(super) fn join_voq(&mut self, id: PacketId, queue: MarkerQueue) -> bool {
        let MarkerQueue { input, output, vl } = queue;
        let state = &mut self.switches.inputs[input];
        let out_port = OutPort::within(output, state.first_output);
        let queue = &mut self.switches.queues[state.queue(out_port, self.vls, vl.into())].fifo;
        let is_head = queue.head == PacketId::NONE;
        if is_head {
            queue.head = id;
            state.queues += 1;
            self.links.vl_mut(output, vl).heads.insert(state.in_port);
            self.outputs[output].waiting_vls |= 1 << vl;
        } else {
            self.kernel.packets[queue.tail].next = id;
        }
        queue.tail = id;
        is_head
    }

    /// Has `output` look at its VoQs from the next tick on, when it is idle.
    pub(super) fn wake_idle_output(&mut self, output: OutputId) {
        let idle_from = self.outputs[output].free_at.tick;
        let at = idle_from.saturating_sub(self.stages.allocation);
        self.wake_output(output, at.max(self.kernel.now + 1));
    }

    /// End of phase 6: the packets behind heads of FIFOs that were granted in this tick join their
    /// VoQs. Their outputs look at them from the next tick on.
    pub(super) fn join_behind_heads(&mut self) {
        let mut new_heads = std::mem::take(&mut self.work.new_heads);
        for id in new_heads.drain(..) {
            let Packet {
                input, output, vl, ..
            } = self.kernel.packets[id];
            self.kernel.packets[id].starts = self.kernel.now;
            if self.join_voq(id, MarkerQueue { input, output, vl }) || self.switches.has_flows() {
                self.wake_idle_output(output);
            }
        }
        self.work.new_heads = new_heads;
    }
}
