//! Input buffers that keep hot flows from the others (`docs/model/infiniband.md` §15).
//!
//! With credits of its own a flow takes no credits from another (`ledgers`); if flows are isolated, their senders
//! stop them (`isolating`, `stops`). Both change two things, of which the rest of the fabric knows no more than the
//! functions here: which credits a packet has, and that any head of a VoQ may be granted, not only the first. The deadlocks
//! that are left are in `deadlock`. `state` has either kind of state, `requests` looks for heads with credits.

mod deadlock;
mod isolating;
mod ledgers;
mod requests;
mod state;
mod stops;
mod table;

pub(super) use self::isolating::Isolating;
pub(super) use self::state::Flows;
pub(super) use self::table::{Flow, FlowTable};

use self::stops::Notice;
use super::credit_return::{CreditReturn, DrainRates};
use super::link::Links;
use super::{Event, Fabric};
use crate::engine::bits::push_quickly;
use crate::engine::congestion::MarkerQueue;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::spec::Tick;

impl<V: Variant> Fabric<V> {
    /// Credits that `output` has for packets of `flow`. Of credits of a VL, it applies those that are due only
    /// if the ledger has less than `wanted`.
    pub(super) fn credits_of(&mut self, output: OutputId, flow: Flow, wanted: u16) -> u16 {
        let (to_nic, now) = (self.outputs[output].to.is_nic(), self.kernel.now);
        match self.switches.flows.as_deref_mut() {
            Some(Flows::PerFlow(ledgers)) if !to_nic => {
                ledgers.credits(output, flow, &self.drain, now)
            }
            Some(Flows::Isolating(isolating)) if isolating.stops.has(output, flow) => 0,
            _ => self.credits(output, flow.vl() as u8, wanted),
        }
    }

    /// The tick when `missing` more of these credits arrive, or an earlier one in which to look again. `None` if that
    /// is not known; then `output` is woken.
    pub(super) fn credits_of_due(
        &mut self,
        output: OutputId,
        flow: Flow,
        missing: u32,
    ) -> Option<Tick> {
        let to_nic = self.outputs[output].to.is_nic();
        match self.switches.flows.as_deref_mut() {
            Some(Flows::PerFlow(ledgers)) if !to_nic => {
                ledgers.due(output, flow, missing, &self.drain)
            }
            Some(Flows::Isolating(isolating)) if isolating.stops.has(output, flow) => None,
            _ => self.credits_due(output, flow.vl() as u8, missing),
        }
    }

    /// Takes `credits` for a packet of `flow` at `output`, if the flow has credits of its own there. Returns the credits to
    /// take from its VL.
    #[inline(always)]
    pub(super) fn take_of_flow(&mut self, output: OutputId, flow: Flow, credits: u16) -> u16 {
        let to_nic = self.outputs[output].to.is_nic();
        if let Some(flows) = V::part_mut(&mut self.switches.flows)
            && let Some(ledgers) = flows.ledgers()
            && !to_nic
        {
            ledgers.take(output, flow, credits);
            return 0;
        }
        credits
    }

    /// Phase 4, when all headers have joined.
    pub(super) fn sort_joined(&mut self) {
        self.take_new_heads(|fabric, output| push_quickly(&mut fabric.work.dirty_outputs, output));
    }

    /// The end of phase 6. Outputs look at the new heads from the next tick on.
    pub(super) fn sort_granted(&mut self) {
        self.take_new_heads(Self::wake_idle_output);
    }

    /// FIFOs are sorted. The packets that have become heads join their VoQs, and `look` has their outputs look at them; stops and goes
    /// are sent.
    fn take_new_heads(&mut self, look: impl Fn(&mut Self, OutputId)) {
        let now = self.kernel.now;
        let flows = V::part_mut(&mut self.switches.flows);
        let Some(isolating) = flows.and_then(Flows::isolating) else {
            return;
        };
        isolating.sort(&mut self.kernel.packets);
        let mut new_heads = std::mem::take(&mut isolating.new_heads);
        let mut notices = std::mem::take(&mut isolating.notices);
        for (input, notice) in notices.drain(..) {
            let upstream = self.switches.inputs[input].upstream;
            let at = now + 1 + self.links.latency(upstream);
            if isolating.stops.send(upstream, at, notice) {
                self.kernel.push(at, Event::StopOrGo(upstream));
            }
        }
        isolating.notices = notices;
        for &id in &new_heads {
            let packet = &mut self.kernel.packets[id];
            packet.starts = now;
            let queue = MarkerQueue {
                input: packet.input,
                output: packet.output,
                vl: packet.vl,
            };
            self.join_voq(id, queue);
            look(self, queue.output);
        }
        new_heads.clear();
        if let Some(isolating) = self.switches.isolating() {
            isolating.new_heads = new_heads;
        }
    }

    /// Phase 1: stops and goes reach `output`.
    pub(super) fn see_stops(&mut self, output: OutputId) {
        let now = self.kernel.now;
        while let Some(isolating) = self.switches.isolating() {
            if let Some(notice) = isolating.stops.see(output, now) {
                self.stop_or_go(output, notice);
            } else {
                if let Some(at) = isolating.stops.next_at(output) {
                    self.kernel.push(at, Event::StopOrGo(output));
                }
                return;
            }
        }
    }

    /// Handles a stop or a go at `output`. A stop changes the requests for it. Either changes which of these have credits.
    fn stop_or_go(&mut self, output: OutputId, notice: Notice) {
        if let Some(nic) = output.nic(self.ports) {
            self.mark_nic_dirty(nic);
            return;
        }
        push_quickly(&mut self.work.dirty_outputs, output);
        if !notice.stop {
            return;
        }
        let vl = notice.flow.vl() as u8;
        let first_input = self.outputs[output].first_input;
        let mut in_ports = self.links.vl(output, vl).heads;
        while let Some(in_port) = in_ports.pop() {
            self.sort_stopped(in_port.input(first_input), output, notice.flow);
        }
    }

    /// A stop of `flow` at `output` may concern heads of the normal FIFOs of `input`.
    fn sort_stopped(&mut self, input: InputId, output: OutputId, flow: Flow) {
        let Some(isolating) = self.switches.isolating() else {
            return;
        };
        for came_on in 0..self.vls as u8 {
            if let Some(head) = isolating.head_of_normal(input, came_on) {
                let packet = &self.kernel.packets[head];
                if packet.output == output && Flow::new(packet.vl, packet.dst) == flow {
                    isolating.sort_later(input, came_on);
                }
            }
        }
    }

    /// Packet `id` for `dst`, a head of the (in-port, VL) `at`, is granted. The packet behind it is the next head.
    #[inline(always)]
    pub(super) fn head_granted(&mut self, id: PacketId, at: (InputId, u8), dst: NicId) {
        // Without FIFOs of VLs no packet is behind a head of them.
        let of_vls = &mut self.switches.inputs[at.0].fifos;
        let is_last = of_vls.is_last(at.1);
        if let Some(fifos) = &mut self.switches.fifos
            && !(is_last && (V::IS_PLAIN || fifos.are_of_vls()))
        {
            let next = fifos.head_granted((at.0, at.1, dst), of_vls, &mut self.kernel.packets);
            self.work.new_heads.extend(next);
        }
        if let Some(isolating) = self.switches.isolating() {
            isolating.head_granted(id, at, &mut self.kernel.packets);
        }
    }
}

/// A switch returns credits of `flow` to `upstream`: see [`Links::return_credits`].
#[inline(always)]
pub(super) fn return_credits<V: Variant>(
    flows: Option<&mut Flows<V>>,
    links: &mut Links<V>,
    (upstream, flow): (OutputId, Flow),
    credit_return: CreditReturn<V>,
    drain: &DrainRates,
    now: Tick,
) -> Option<Tick> {
    match flows.and_then(Flows::ledgers) {
        Some(ledgers) => ledgers.return_credits(upstream, flow, credit_return, drain, now),
        None => links.return_credits(upstream, credit_return, drain, now),
    }
}
