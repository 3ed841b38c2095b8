//! Which head of a VoQ requests its output, where any of them may (`docs/model/infiniband.md` §15), and which queue
//! pair of a NIC is in turn.

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
    request: Option<(PacketId, PacketId)>,
    /// First tick in which one of those before it, or of all, has credits, as far as known.
    credits_at: Tick,
}

impl<V: Variant> Fabric<V> {
    /// Looks at the heads in the VoQ of `input` for (`output`, `vl`), up to the first one that has credits.
    fn look_at_heads(&mut self, input: InputId, (output, vl): (OutputId, usize)) -> Heads {
        let out_port = self.outputs[output].out_port;
        let queue = self.switches.inputs[input].queue(out_port, self.vls, vl);
        let mut heads = Heads {
            request: None,
            credits_at: Tick::MAX,
        };
        let (mut before, mut id) = (PacketId::NONE, self.switches.queues[queue].fifo.head);
        while id != PacketId::NONE {
            let packet = &self.kernel.packets[id];
            let (needs, next) = (packet.credits, packet.next);
            let flow = Flow::new(vl as u8, packet.dst);
            let credits = self.credits_of(output, flow, needs);
            if credits >= needs {
                heads.request = Some((id, before));
                return heads;
            }
            let due = self.credits_of_due(output, flow, u32::from(needs - credits));
            heads.credits_at = heads.credits_at.min(due.unwrap_or(Tick::MAX));
            (before, id) = (id, next);
        }
        heads
    }

    /// As `turn`, where any head of a VoQ may request the output, and only those with credits do.
    #[inline(never)]
    pub(in super::super) fn turn_by_flow(
        &mut self,
        output: OutputId,
        vl: usize,
        requests: &mut Requests,
    ) -> (InPort, bool) {
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
            let heads = self.look_at_heads(input, (output, vl));
            let has_credits = heads.request.is_some();
            requests.any_credits |= has_credits;
            if free_at <= start && has_credits {
                // Without room, another head of this VoQ may be first then.
                requests.retry_at = requests.retry_at.min(heads.credits_at);
                return (in_port, true);
            }
            let obstacle = if free_at > start {
                Obstacle::Crossbar
            } else {
                Obstacle::Credits
            };
            let observers = &mut self.kernel.observers;
            observers.blocked(now, output, 1 << vl, obstacle);
            let mut may_go_at = free_at.saturating_sub(self.stages.allocation);
            if !has_credits {
                requests.credits_at = requests.credits_at.min(heads.credits_at);
                may_go_at = may_go_at.max(heads.credits_at);
            }
            requests.retry_at = requests.retry_at.min(may_go_at);
        }
        (InPort::NONE, false)
    }

    /// Credits that the request of `input` for (`output`, `vl`) takes.
    #[inline(never)]
    pub(in super::super) fn credits_of_request(
        &mut self,
        input: InputId,
        at: (OutputId, usize),
    ) -> u16 {
        let request = self.look_at_heads(input, at).request;
        request.map_or(0, |(id, _)| self.kernel.packets[id].credits)
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
        let heads = self.look_at_heads(input, (output, vl.into()));
        let Some((id, before)) = heads.request else {
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

    /// As `pair_in_turn`, where each queue pair has its own credits, and those without are passed over.
    #[inline(never)]
    pub(in super::super) fn pair_in_turn_by_flow(
        &mut self,
        (nic, output): (NicId, OutputId),
        vl: usize,
        conditions: &mut RetryConditions,
    ) -> Option<Place> {
        let pointer = self.nics.state[nic].pointers[vl];
        let mut turn = self.nics.queue_pairs.waiting(nic, vl).turn(pointer);
        while let Some(place) = turn.next(self.nics.queue_pairs.waiting(nic, vl)) {
            let pair = self.nics.queue_pairs.waiting(nic, vl).at(place);
            let (dst, _) = self.nics.queue_pairs.dst_and_sl(nic, pair.key());
            let flow = Flow::new(vl as u8, dst);
            let needs = pair.credits;
            let credits = self.credits_of(output, flow, needs);
            if credits < needs {
                let due = self.credits_of_due(output, flow, u32::from(needs - credits));
                conditions.held_until = conditions.held_until.min(due.unwrap_or(Tick::MAX));
                continue;
            }
            conditions.any_credits = true;
            if !self.is_held(pair.flow, conditions) {
                return Some(place);
            }
        }
        None
    }
}
