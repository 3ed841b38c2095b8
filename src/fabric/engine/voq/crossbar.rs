//! Phases 5 and 6: outputs grant, in-ports accept (`docs/model/infiniband.md` §6), and Port VLs
//! enter or leave the congestion state (§9).
//!
//! The effects of an accepted grant are in `crossing`, routing (phase 4) in `route`, and sending by
//! NICs in `nic`.

use super::Fabric;
use super::arbiter::Pick;
use super::ports::{InPort, OutPort, Ports};
use super::state::OutputVl;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::probe::Obstacle;
use crate::engine::variant::Variant;
use crate::spec::Tick;
use crate::spec::qos::MAX_LEVELS;

/// Whether an in-port may accept while outputs still grant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shortcut {
    Allowed,
    Forbidden,
}

/// The requests of VoQs for an output, as the output finds them.
pub(super) struct Requests {
    /// Bit set of the VLs with an eligible VoQ.
    candidates: u32,
    /// For each candidate VL: the in-port of the first eligible VoQ at or after the pointer.
    in_ports: [InPort; MAX_LEVELS],
    /// Some head has credits.
    pub any_credits: bool,
    /// First tick in which a head that lacks credits gets them, as far as known.
    pub credits_at: Tick,
    /// First tick in which a VoQ may become eligible by the passing of time alone.
    pub retry_at: Tick,
}

impl<V: Variant> Fabric<V> {
    /// Phase 5: outputs grant.
    #[inline]
    pub(super) fn grant(&mut self) {
        for i in 0..self.work.dirty_outputs.len() {
            if self.prefetching {
                self.prefetch_grants(i);
            }
            self.grant_from(self.work.dirty_outputs[i], Shortcut::Allowed);
        }
        self.work.dirty_outputs.clear();
    }

    /// Phase 5 in an iteration but the first: pointers must not move, as a shortcut would.
    pub(super) fn grant_again(&mut self) {
        for i in 0..self.work.dirty_outputs.len() {
            self.grant_from(self.work.dirty_outputs[i], Shortcut::Forbidden);
        }
        self.work.dirty_outputs.clear();
    }

    /// Returns the credits for `vl` at the far end of the link of `output`. Applies the credit
    /// returns that are due only if the ledger has less than `wanted`.
    #[inline]
    pub(super) fn credits(&mut self, output: OutputId, vl: u8, wanted: u16) -> u16 {
        let (drain, now) = (&self.drain, self.kernel.now);
        self.links.credits((output, vl), wanted, drain, now)
    }

    /// Returns the tick when `missing` more credits for `vl` arrive at `output`, or an earlier
    /// one in which it must look again, as far as known.
    #[inline]
    pub(super) fn credits_due(&mut self, output: OutputId, vl: u8, missing: u32) -> Option<Tick> {
        self.links.due((output, vl), missing, &self.drain)
    }

    /// Returns the credits free in the buffer before the link of `output`. Applies the credit
    /// returns that are due only if the ledger has less than `wanted`.
    #[inline]
    pub(super) fn room(&mut self, output: OutputId, wanted: u16) -> u16 {
        let port = &mut self.outputs[output];
        if port.room < wanted {
            let add = |_, credits| port.room += credits;
            self.buffer_returns[output].apply(&self.drain, self.kernel.now, add);
        }
        port.room
    }

    /// `output` grants to one in-port, if it is idle and some VoQ is eligible. Else it is woken
    /// when that may have changed.
    #[inline(always)]
    fn grant_from(&mut self, output: OutputId, shortcut: Shortcut) {
        let now = self.kernel.now;
        let port = &self.outputs[output];
        let start = now + self.stages.allocation;
        if port.waiting_vls == 0 || port.granted_to != InPort::NONE {
            return;
        }
        if port.free_at.tick > start {
            let retry_at = port.free_at.tick - self.stages.allocation;
            let (vls, observers) = (port.waiting_vls, &mut self.kernel.observers);
            observers.blocked(now, output, vls, Obstacle::Crossbar);
            self.wake_output(output, retry_at);
            return;
        }
        let waiting_vls = port.waiting_vls;
        let may_be_sole = shortcut == Shortcut::Allowed && !self.switches.has_flows();
        let is_sole = may_be_sole && waiting_vls.is_power_of_two();
        if is_sole && self.grant_sole_request(output) {
            return;
        }
        let mut requests = self.requests(output, waiting_vls);
        let port = &mut self.outputs[output];
        if requests.any_credits {
            let since = port.end_credit_wait();
            self.kernel
                .credit_wait_ended(&mut port.sent, output, since, now);
        } else {
            port.begin_credit_wait(now);
            requests.retry_at = requests.retry_at.min(requests.credits_at);
        }
        if requests.candidates == 0 {
            if requests.retry_at != Tick::MAX {
                self.wake_output(output, requests.retry_at);
            }
            return;
        }
        let pick = self
            .switches
            .arbiters
            .pick(output.index(), requests.candidates);
        let in_port = requests.in_ports[usize::from(pick.vl)];
        if V::IS_WATCHED {
            self.report_others(output, waiting_vls, pick.vl, in_port);
        }
        self.grant_to(output, in_port, pick);
    }

    /// Tells the probe of the heads that `output` does not grant, as it grants `in_port` on `vl`.
    fn report_others(&mut self, output: OutputId, waiting_vls: u32, vl: u8, in_port: InPort) {
        let mut others = 0;
        for other in (0..self.vls).filter(|other| waiting_vls & (1 << other) != 0) {
            let mut heads = self.links.vl(output, other as u8).heads;
            if other == usize::from(vl) {
                heads.remove(in_port);
            }
            others |= u32::from(!heads.is_empty()) << other;
        }
        if others != 0 {
            let (now, observers) = (self.kernel.now, &mut self.kernel.observers);
            observers.blocked(now, output, others, Obstacle::Arbiter);
        }
    }

    /// Looks at the VoQs that request `output` on any of the VLs of the bit set `waiting_vls`.
    #[inline(always)]
    fn requests(&mut self, output: OutputId, waiting_vls: u32) -> Requests {
        let room = if self.switches.output_buffer_may_fill() {
            self.room(output, self.largest)
        } else {
            u16::MAX
        };
        let mut requests = Requests {
            candidates: 0,
            in_ports: [InPort::NONE; MAX_LEVELS],
            any_credits: false,
            credits_at: Tick::MAX,
            retry_at: Tick::MAX,
        };
        let mut rest = waiting_vls;
        while rest != 0 {
            let vl = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let found = if self.switches.has_flows() {
                self.first_eligible_by_flow(output, vl, room, &mut requests)
            } else {
                self.first_eligible(output, vl, room, &mut requests)
            };
            if let Some(in_port) = found {
                requests.candidates |= 1 << vl;
                requests.in_ports[vl] = in_port;
            }
        }
        requests
    }

    /// Returns the in-port of the first eligible VoQ for `output` on `vl`, at or after the
    /// pointer. `room`: credits free in the output buffer. Notes in `requests` when the other
    /// VoQs that it passes may become eligible.
    #[inline(always)]
    fn first_eligible(
        &mut self,
        output: OutputId,
        vl: usize,
        room: u16,
        requests: &mut Requests,
    ) -> Option<InPort> {
        let now = self.kernel.now;
        let start = now + self.stages.allocation;
        let port = &self.outputs[output];
        let (first_input, out_port) = (port.first_input, port.out_port);
        let credits = self.credits(output, vl as u8, self.largest);
        let fits_all = credits.min(room) >= self.largest;
        let OutputVl {
            mut heads, pointer, ..
        } = *self.links.vl(output, vl as u8);
        while let Some(in_port) = heads.first_from(pointer) {
            heads.remove(in_port);
            let input = in_port.input(first_input);
            let free_at = self.switches.inputs_free[input.index()].tick;
            let needs = if fits_all {
                1
            } else {
                self.head_credits((output, vl), in_port, (input, out_port))
            };
            requests.any_credits |= credits >= needs;
            if free_at <= start && credits.min(room) >= needs {
                return Some(in_port);
            }
            let obstacle = match (free_at > start, credits < needs) {
                (true, _) => Obstacle::Crossbar,
                (false, true) => Obstacle::Credits,
                (false, false) => Obstacle::Buffer,
            };
            let observers = &mut self.kernel.observers;
            observers.blocked(now, output, 1 << vl, obstacle);
            // The tick in which this VoQ is eligible if only time passes till then.
            let mut eligible_at = free_at.saturating_sub(self.stages.allocation);
            if credits < needs {
                let missing = u32::from(needs - credits);
                let Some(due) = self.credits_due(output, vl as u8, missing) else {
                    continue;
                };
                requests.credits_at = requests.credits_at.min(due);
                eligible_at = eligible_at.max(due);
            }
            if room < needs {
                let missing = u32::from(needs - room);
                let due = self.buffer_returns[output].tick_of(&self.drain, 0, missing);
                eligible_at = eligible_at.max(due.unwrap_or(now));
            }
            requests.retry_at = requests.retry_at.min(eligible_at);
        }
        None
    }

    /// Decides at once if a single VoQ requests `output` and there are credits and room for any
    /// packet. If its in-port has no other packet, the in-port accepts at once and the packet
    /// starts to cross: no other part can observe that this happens before phase 6. Returns false,
    /// having done nothing, if that cannot be decided so cheaply.
    #[inline(always)]
    fn grant_sole_request(&mut self, output: OutputId) -> bool {
        let now = self.kernel.now;
        let output_buffer_may_fill = self.switches.output_buffer_may_fill();
        let port = &mut self.outputs[output];
        let vl = port.waiting_vls.trailing_zeros();
        let output_vl = self.links.vl(output, vl as u8);
        let Some(in_port) = output_vl.heads.only() else {
            return false;
        };
        if output_vl.credits < self.largest || output_buffer_may_fill && port.room < self.largest {
            return false;
        }
        let input = in_port.input(port.first_input);
        let reader = &self.switches.inputs[input];
        let free_at = self.switches.inputs_free[input.index()].tick;
        let is_busy = free_at > now + self.stages.allocation;
        let observers = &mut self.kernel.observers;
        if is_busy {
            observers.blocked(now, output, 1 << vl, Obstacle::Crossbar);
        }
        let since = port.end_credit_wait();
        self.kernel
            .credit_wait_ended(&mut port.sent, output, since, now);
        if is_busy {
            self.wake_output(output, free_at - self.stages.allocation);
            return true;
        }
        let pick = self
            .switches
            .arbiters
            .pick(output.index(), port.waiting_vls);
        if reader.queues == 1 {
            port.grant = pick;
            self.start_crossing(input, output);
        } else {
            self.grant_to(output, in_port, pick);
        }
        true
    }

    /// Grants `in_port` on the VL of `pick` for `output`. In phase 6 the in-port may accept.
    #[inline]
    fn grant_to(&mut self, output: OutputId, in_port: InPort, pick: Pick) {
        let port = &mut self.outputs[output];
        (port.grant, port.granted_to) = (pick, in_port);
        let input = in_port.input(port.first_input);
        let grants = &mut self.switches.inputs[input].grants;
        if grants.is_empty() {
            self.work.granted_inputs.push(input);
        }
        grants.insert(port.out_port);
    }

    /// Credits that the head of the VoQ of `in_port`, which is `input`, for an output VL takes. An output that lacks
    /// credits asks for the same heads again and again, so it keeps what it has found.
    #[inline]
    fn head_credits(
        &mut self,
        (output, vl): (OutputId, usize),
        in_port: InPort,
        (input, out_port): (InputId, OutPort),
    ) -> u16 {
        let kept = self.links.head_credits_mut((output, vl as u8), in_port);
        if *kept == 0 {
            let queue = self.switches.inputs[input].queue(out_port, self.vls, vl);
            *kept = self.kernel.packets[self.switches.queues[queue].fifo.head].credits;
        }
        *kept
    }

    /// Phase 6: each in-port with grants accepts the grant of the first output at or after its
    /// pointer. The other outputs look again in the next tick.
    #[inline]
    pub(super) fn accept(&mut self) {
        for i in 0..self.work.granted_inputs.len() {
            let input = self.work.granted_inputs[i];
            let state = &mut self.switches.inputs[input];
            let mut grants = std::mem::replace(&mut state.grants, Ports::NONE);
            let first_output = state.first_output;
            let Some(accepted) = grants.first_from(state.pointer) else {
                continue;
            };
            grants.remove(accepted);
            while let Some(refused) = grants.pop() {
                let output = refused.output(first_output);
                let now = self.kernel.now;
                let port = &mut self.outputs[output];
                port.granted_to = InPort::NONE;
                let (vls, observers) = (1 << port.grant.vl, &mut self.kernel.observers);
                observers.blocked(now, output, vls, Obstacle::Arbiter);
                self.wake_output(output, now + 1);
            }
            self.start_crossing(input, accepted.output(first_output));
        }
        self.work.granted_inputs.clear();
    }

    /// End of phase 6: the marker takes note of this tick.
    pub(super) fn update_congestion_states(&mut self) {
        let Some(mut congestion) = self.congestion.take() else {
            return;
        };
        congestion
            .update(|output, vl| self.credits(output, vl, self.largest) >= self.largest_but_acks);
        self.congestion = Some(congestion);
    }
}
