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
    /// Bit set of the VLs whose request in turn has credits.
    candidates: u32,
    /// By VL: the in-port of the request in turn, if there is one.
    in_turn: [InPort; MAX_LEVELS],
    /// Some head that was looked at has credits.
    pub any_credits: bool,
    /// First tick in which a head that lacks credits gets them, as far as known.
    pub credits_at: Tick,
    /// First tick in which a VL may become a candidate by the passing of time alone.
    pub retry_at: Tick,
    /// First tick in which a busy in-port that was looked at is idle.
    pub idle_at: Tick,
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

    /// `output` grants the request that is picked, if it is idle and has room for the packet. Else it is woken when that
    /// may have changed.
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
        self.count_credit_wait(output, &mut requests, shortcut);
        if requests.candidates != 0 {
            let pick = self
                .switches
                .arbiters
                .pick(output.index(), requests.candidates);
            let in_port = requests.in_turn[usize::from(pick.vl)];
            let Some(room_at) = self.lacks_room(output, pick.vl, in_port) else {
                if V::IS_WATCHED {
                    self.report_others(output, waiting_vls, pick.vl, in_port);
                }
                return self.grant_to(output, in_port, pick);
            };
            let (vls, observers) = (requests.candidates, &mut self.kernel.observers);
            observers.blocked(now, output, vls, Obstacle::Buffer);
            requests.retry_at = requests.retry_at.min(room_at);
            self.watch_turn_for_room(output, waiting_vls, (pick.vl, in_port));
        }
        self.watch_turns(output, waiting_vls, &requests);
        if requests.retry_at != Tick::MAX {
            self.wake_output(output, requests.retry_at);
        }
    }

    /// The output begins or ends to wait for credits. What it finds in an iteration after the first counts from the next tick on.
    #[inline(always)]
    fn count_credit_wait(&mut self, output: OutputId, requests: &mut Requests, shortcut: Shortcut) {
        let from = self.kernel.now + Tick::from(shortcut == Shortcut::Forbidden);
        let port = &mut self.outputs[output];
        if requests.any_credits {
            // Then another request is in turn, perhaps one without credits.
            requests.retry_at = requests.retry_at.min(requests.idle_at);
            let since = port.end_credit_wait();
            self.kernel
                .credit_wait_ended(&mut port.sent, output, since, from);
        } else {
            port.begin_credit_wait(from);
            requests.retry_at = requests.retry_at.min(requests.credits_at);
        }
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

    /// Looks at the VoQs with a head for `output` on any of the VLs of the bit set `waiting_vls`, of each VL up to the request
    /// in turn.
    #[inline(always)]
    fn requests(&mut self, output: OutputId, waiting_vls: u32) -> Requests {
        let mut requests = Requests {
            candidates: 0,
            in_turn: [InPort::NONE; MAX_LEVELS],
            any_credits: false,
            credits_at: Tick::MAX,
            retry_at: Tick::MAX,
            idle_at: Tick::MAX,
        };
        let mut rest = waiting_vls;
        while rest != 0 {
            let vl = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (in_turn, has_credits) = if self.switches.has_flows() {
                self.turn_by_flow(output, vl, &mut requests)
            } else {
                self.turn(output, vl, &mut requests)
            };
            requests.in_turn[vl] = in_turn;
            requests.candidates |= u32::from(has_credits) << vl;
        }
        requests
    }

    /// Returns the in-port of the request in turn for `output` on `vl`, and whether it has credits. Notes in
    /// `requests` when the VoQs before it, and it if it lacks credits, may be granted.
    #[inline(always)]
    fn turn(&mut self, output: OutputId, vl: usize, requests: &mut Requests) -> (InPort, bool) {
        let now = self.kernel.now;
        let start = now + self.stages.allocation;
        let port = &self.outputs[output];
        let (first_input, out_port) = (port.first_input, port.out_port);
        let credits = self.credits(output, vl as u8, self.largest);
        let has_all = credits >= self.largest;
        let OutputVl {
            mut heads, pointer, ..
        } = *self.links.vl(output, vl as u8);
        while let Some(in_port) = heads.first_from(pointer) {
            heads.remove(in_port);
            let input = in_port.input(first_input);
            let free_at = self.switches.inputs_free[input.index()].tick;
            let needs = if has_all {
                0
            } else {
                self.head_credits((output, vl), in_port, (input, out_port))
            };
            let (is_idle, has_credits) = (free_at <= start, credits >= needs);
            requests.any_credits |= has_credits;
            if is_idle && has_credits {
                return (in_port, true);
            }
            let obstacle = if is_idle {
                Obstacle::Credits
            } else {
                Obstacle::Crossbar
            };
            let observers = &mut self.kernel.observers;
            observers.blocked(now, output, 1 << vl, obstacle);
            // The tick in which this VoQ may be granted if only time passes till then.
            let mut may_go_at = free_at.saturating_sub(self.stages.allocation);
            if !is_idle {
                requests.idle_at = requests.idle_at.min(may_go_at);
            }
            if !has_credits {
                let missing = u32::from(needs - credits);
                let due = self.credits_due(output, vl as u8, missing);
                let due = due.unwrap_or(Tick::MAX);
                requests.credits_at = requests.credits_at.min(due);
                may_go_at = may_go_at.max(due);
            }
            requests.retry_at = requests.retry_at.min(may_go_at);
            if is_idle {
                return (in_port, false);
            }
        }
        (InPort::NONE, false)
    }

    /// The tick in which the output buffer has room for the request of `in_port` on `vl`, or an earlier one in which to look
    /// again; `None` if it has room now.
    #[inline(always)]
    fn lacks_room(&mut self, output: OutputId, vl: u8, in_port: InPort) -> Option<Tick> {
        if !self.switches.output_buffer_may_fill() {
            return None;
        }
        let room = self.room(output, self.largest);
        if room >= self.largest {
            return None;
        }
        let needs = self.credits_in_turn(output, vl, in_port);
        (room < needs).then(|| {
            let returns = &self.buffer_returns[output];
            let due = returns.tick_of(&self.drain, 0, u32::from(needs - room));
            due.unwrap_or(self.kernel.now + 1)
        })
    }

    /// Credits that the request of `in_port` takes.
    fn credits_in_turn(&mut self, output: OutputId, vl: u8, in_port: InPort) -> u16 {
        let port = &self.outputs[output];
        let (input, out_port) = (in_port.input(port.first_input), port.out_port);
        if self.switches.has_flows() {
            return self.credits_of_request(input, (output, vl.into()));
        }
        self.head_credits((output, vl.into()), in_port, (input, out_port))
    }

    /// `output` grants nothing, as it has no room for the packet that was picked. When the in-port of that packet
    /// is busy, others may go.
    #[inline(never)]
    fn watch_turn_for_room(
        &mut self,
        output: OutputId,
        waiting_vls: u32,
        (vl, in_port): (u8, InPort),
    ) {
        let needs = self.credits_in_turn(output, vl, in_port);
        if self.switches.has_flows() || self.any_shorter(output, waiting_vls, needs) {
            self.watch_turn(output, in_port);
        }
    }

    /// `output` grants nothing. Where a shorter packet waits behind one in turn that lacks credits, it may go when the in-port
    /// of that one is busy.
    #[inline(always)]
    fn watch_turns(&mut self, output: OutputId, waiting_vls: u32, requests: &Requests) {
        let mut rest = waiting_vls & !requests.candidates;
        while rest != 0 {
            let vl = rest.trailing_zeros();
            rest &= rest - 1;
            let in_port = requests.in_turn[vl as usize];
            if in_port != InPort::NONE {
                let needs = self.credits_in_turn(output, vl as u8, in_port);
                if self.any_shorter(output, 1 << vl, needs) {
                    self.watch_turn(output, in_port);
                }
            }
        }
    }

    /// Whether a head for `output` on one of `vls` takes fewer credits than `needs`.
    fn any_shorter(&mut self, output: OutputId, vls: u32, needs: u16) -> bool {
        let port = &self.outputs[output];
        let (first_input, out_port) = (port.first_input, port.out_port);
        let mut rest = vls;
        while rest != 0 {
            let vl = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let mut heads = self.links.vl(output, vl as u8).heads;
            while let Some(in_port) = heads.pop() {
                let input = in_port.input(first_input);
                if self.head_credits((output, vl), in_port, (input, out_port)) < needs {
                    return true;
                }
            }
        }
        false
    }

    /// `output` looks again when `in_port` is busy.
    fn watch_turn(&mut self, output: OutputId, in_port: InPort) {
        let port = &self.outputs[output];
        let input = in_port.input(port.first_input);
        self.switches.inputs[input].watched_by.insert(port.out_port);
    }

    /// `input` has accepted a grant: the outputs where it was in turn look again.
    #[inline(always)]
    pub(super) fn pass_turns(&mut self, input: InputId, look: impl Fn(&mut Self, OutputId)) {
        let state = &mut self.switches.inputs[input];
        if state.watched_by.is_empty() {
            return;
        }
        let mut outputs = std::mem::replace(&mut state.watched_by, Ports::NONE);
        let first_output = state.first_output;
        while let Some(out_port) = outputs.pop() {
            look(self, out_port.output(first_output));
        }
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
            self.pass_turns(input, Self::look_later);
        }
        self.work.granted_inputs.clear();
    }

    /// `output` looks at its requests again in the next tick.
    pub(super) fn look_later(&mut self, output: OutputId) {
        self.wake_output(output, self.kernel.now + 1);
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
