//! Which head of a VoQ requests its output, where any of them may (`docs/model/infiniband.md` §15), and which queue
//! pair of a NIC is eligible.

use super::Flow;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::nic::Place;
use crate::engine::pool::PacketId;
use crate::engine::probe::Obstacle;
use crate::engine::variant::Variant;
use crate::engine::voq::Fabric;
use crate::engine::voq::crossbar::Requests;
use crate::engine::voq::nic::RetryConditions;
use crate::engine::voq::ports::InPort;
use crate::engine::voq::state::OutputVl;
use crate::ids::NicId;
use crate::spec::Tick;

/// The heads of a VoQ by the conditions that they wait for.
struct Heads {
    /// The one that requests the output, and the one before it in the VoQ.
    eligible: Option<(PacketId, PacketId)>,
    any_credits: bool,
    /// First tick in which one that lacks credits gets them, as far as known.
    credits_at: Tick,
    /// First tick in which one may have credits and room, as far as known.
    ready_at: Tick,
}

impl<V: Variant> Fabric<V> {
    /// Looks at the heads in the VoQ of `input` for (`output`, `vl`), up to the first one that has credits and
    /// fits into `room` credits of the output buffer.
    fn look_at_heads(
        &mut self,
        input: InputId,
        (output, vl): (OutputId, usize),
        room: u16,
    ) -> Heads {
        let out_port = self.outputs[output].out_port;
        let queue = self.switches.inputs[input].queue(out_port, self.vls, vl);
        let mut heads = Heads {
            eligible: None,
            any_credits: false,
            credits_at: Tick::MAX,
            ready_at: Tick::MAX,
        };
        let (mut before, mut id) = (PacketId::NONE, self.switches.queues[queue].fifo.head);
        while id != PacketId::NONE {
            let packet = &self.kernel.packets[id];
            let (needs, next) = (packet.credits, packet.next);
            let flow = Flow::new(vl as u8, packet.dst);
            let credits = self.credits_of(output, flow, needs);
            heads.any_credits |= credits >= needs;
            if credits.min(room) >= needs {
                heads.eligible = Some((id, before));
                heads.ready_at = 0;
                return heads;
            }
            let mut ready_at = Some(0);
            if credits < needs {
                ready_at = self.credits_of_due(output, flow, u32::from(needs - credits));
                heads.credits_at = heads.credits_at.min(ready_at.unwrap_or(Tick::MAX));
            }
            if let Some(ready_at) = ready_at {
                let mut at = ready_at;
                if room < needs {
                    let missing = u32::from(needs - room);
                    let returns = &self.buffer_returns[output];
                    let due = returns.tick_of(&self.drain, 0, missing);
                    at = at.max(due.unwrap_or(self.kernel.now));
                }
                heads.ready_at = heads.ready_at.min(at);
            }
            (before, id) = (id, next);
        }
        heads
    }

    /// As `first_eligible`, where any head of a VoQ may request the output.
    #[inline(never)]
    pub(in super::super) fn first_eligible_by_flow(
        &mut self,
        output: OutputId,
        vl: usize,
        room: u16,
        requests: &mut Requests,
    ) -> Option<InPort> {
        let now = self.kernel.now;
        let start = now + self.stages.allocation;
        let first_input = self.outputs[output].first_input;
        let OutputVl {
            heads: mut in_ports,
            pointer,
            ..
        } = *self.links.vl(output, vl as u8);
        while let Some(in_port) = in_ports.first_from(pointer) {
            in_ports.remove(in_port);
            let input = in_port.input(first_input);
            let free_at = self.switches.inputs_free[input.index()].tick;
            let heads = self.look_at_heads(input, (output, vl), room);
            requests.any_credits |= heads.any_credits;
            if free_at <= start && heads.eligible.is_some() {
                return Some(in_port);
            }
            let obstacle = match (free_at > start, heads.any_credits) {
                (true, _) => Obstacle::Crossbar,
                (false, false) => Obstacle::Credits,
                (false, true) => Obstacle::Buffer,
            };
            let observers = &mut self.kernel.observers;
            observers.blocked(now, output, 1 << vl, obstacle);
            requests.credits_at = requests.credits_at.min(heads.credits_at);
            if heads.ready_at != Tick::MAX {
                let eligible_at = free_at.saturating_sub(self.stages.allocation);
                requests.retry_at = requests.retry_at.min(eligible_at.max(heads.ready_at));
            }
        }
        None
    }

    /// `input` has accepted the grant of `output`. If not the first head of the VoQ may have requested it: that
    /// which did goes to the front of the VoQ, and takes credits of its flow. Returns how many credits of the VL it takes.
    #[inline(always)]
    pub(in super::super) fn bring_forward(
        &mut self,
        input: InputId,
        output: OutputId,
    ) -> Option<u16> {
        self.switches
            .has_flows()
            .then(|| self.bring_flow_forward(input, output))
    }

    #[inline(never)]
    fn bring_flow_forward(&mut self, input: InputId, output: OutputId) -> u16 {
        let vl = self.outputs[output].grant.vl;
        let room = if self.switches.output_buffer_may_fill() {
            self.room(output, self.largest)
        } else {
            u16::MAX
        };
        let heads = self.look_at_heads(input, (output, vl.into()), room);
        let Some((id, before)) = heads.eligible else {
            debug_assert!(false, "no head for the output that was granted");
            return 0;
        };
        let out_port = self.outputs[output].out_port;
        let queue = self.switches.inputs[input].queue(out_port, self.vls, vl.into());
        let fifo = &mut self.switches.queues[queue].fifo;
        let packets = &mut self.kernel.packets;
        if before != PacketId::NONE {
            packets[before].next = packets[id].next;
            packets[id].next = std::mem::replace(&mut fifo.head, id);
            if fifo.tail == id {
                fifo.tail = before;
            }
        }
        let (dst, credits) = (packets[id].dst, packets[id].credits);
        self.take_of_flow(output, Flow::new(vl, dst), credits)
    }

    /// As `first_eligible_pair`, where each queue pair has its own credits.
    #[inline(never)]
    pub(in super::super) fn first_eligible_pair_by_flow(
        &mut self,
        (nic, output): (NicId, OutputId),
        vl: usize,
        room: u16,
        conditions: &mut RetryConditions,
    ) -> Option<Place> {
        let pointer = self.nics.state[nic].pointers[vl];
        let mut turn = self.nics.queue_pairs.waiting(nic, vl).turn(pointer);
        while let Some(place) = turn.next(self.nics.queue_pairs.waiting(nic, vl)) {
            let pair = self.nics.queue_pairs.waiting(nic, vl).at(place);
            let (dst, _) = self.nics.queue_pairs.dst_and_sl(nic, pair.key());
            let (flow, control) = (Flow::new(vl as u8, dst), pair.flow);
            let needs = pair.credits;
            let credits = self.credits_of(output, flow, needs);
            if credits < needs {
                let due = self.credits_of_due(output, flow, u32::from(needs - credits));
                conditions.held_until = conditions.held_until.min(due.unwrap_or(Tick::MAX));
                continue;
            }
            conditions.any_credits = true;
            if room < needs {
                conditions.room = conditions.room.min(needs);
                continue;
            }
            if let Some(congestion) = &self.congestion
                && let Some(until) = congestion.held_until(control, self.kernel.now)
            {
                conditions.held_until = conditions.held_until.min(until);
                continue;
            }
            return Some(place);
        }
        None
    }
}
