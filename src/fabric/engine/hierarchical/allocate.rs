//! Phases 5 and 6: two-stage allocation of the crossbars (`docs/model.md` §6;
//! OpaSim §2.1, VA-SA).
//!
//! In phase 5 (virtual allocation) each listed source picks a queue and requests the
//! target of its head. In phase 6 (switch allocation) each requested target grants one
//! source, and the packet starts to cross. A source without an eligible head sleeps until
//! the earliest tick in which one may be eligible. What a blind source picks is in
//! [`blind`](super::blind), allocation in rounds in [`rounds`](super::rounds), and links are scheduled in [`output`](super::output).

use super::control::Control;
use super::eligibility::Eligibility;
use super::{Event, Fabric};
use crate::engine::bits::first_from;
use crate::engine::congestion::{MarkerQueue, PacketLength};
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::probe::{Obstacle, Watcher};
use crate::prefetch::prefetch;
use crate::spec::Tick;

impl<C: Control, P: Watcher> Fabric<C, P> {
    /// Phases 5 and 6.
    #[inline]
    pub(super) fn allocate(&mut self) {
        // None of these lists grows while it is processed: a part that is woken now wakes
        // in a later tick.
        for i in 0..self.dirty_inputs.len() {
            if self.prefetching {
                self.prefetch_request(i);
            }
            self.request_from_input(self.dirty_inputs[i]);
        }
        for i in 0..self.dirty_centrals.len() {
            if self.prefetching {
                self.prefetch_central_request(i);
            }
            self.request_from_central(self.dirty_centrals[i]);
        }
        self.grant_requests();
        if C::ROUNDS {
            self.iterate();
        }
        self.dirty_inputs.clear();
        self.dirty_centrals.clear();
        self.update_congestion_states();
    }

    /// Phase 6: every requested target grants one source.
    #[inline(always)]
    pub(super) fn grant_requests(&mut self) {
        for i in 0..self.requested_centrals.len() {
            self.grant_central(self.requested_centrals[i]);
        }
        self.requested_centrals.clear();
        for i in 0..self.requested_outputs.len() {
            self.grant_output(self.requested_outputs[i]);
        }
        self.requested_outputs.clear();
    }

    /// Virtual allocation of an input buffer: picks a VL and requests the target of its
    /// head, or sets when to wake.
    #[inline]
    fn request_from_input(&mut self, port: InputId) {
        self.inputs[port.index()].dirty = false;
        if !self.input_is_idle(port) {
            return;
        }
        if C::BLIND {
            self.pick_from_input(port);
        } else if C::ROUNDS {
            self.begin_round_of_input(port);
        } else {
            self.request_eligible_from_input(port);
        }
    }

    /// Whether the port of an input buffer into the crossbar is idle. If not, sets when to wake.
    #[inline(always)]
    pub(super) fn input_is_idle(&mut self, port: InputId) -> bool {
        let input = &self.inputs[port.index()];
        let idle_at = input.free_at.saturating_sub(self.source_overlap);
        if idle_at > self.kernel.now {
            if input.ready != 0 {
                self.wake(Event::Input(port), idle_at);
            }
            return false;
        }
        true
    }

    /// An idle input buffer picks the next VL whose head is eligible, and requests the target of that
    /// head. Without such a head it sets when to wake.
    #[inline]
    pub(super) fn request_eligible_from_input(&mut self, port: InputId) {
        let input = &self.inputs[port.index()];
        let mut wake_at = Tick::MAX;
        let (mut vls, pointer) = (u64::from(input.ready), input.next);
        while vls != 0 {
            let vl = first_from(vls, pointer);
            vls &= !(1 << vl);
            let (eligibility, output) = self.check_input_head(port, vl);
            match eligibility {
                Eligibility::Waiting => {}
                Eligibility::NotBefore(tick) => wake_at = wake_at.min(tick),
                Eligibility::Eligible => {
                    self.request_for_vl(port, vl, output);
                    return;
                }
            }
        }
        if wake_at != Tick::MAX {
            self.wake(Event::Input(port), wake_at);
        }
    }

    /// Phase 5: an input buffer picks `vl` and requests the target of its head, which goes to
    /// `output`.
    #[inline(always)]
    pub(super) fn request_for_vl(&mut self, port: InputId, vl: u32, output: OutputId) {
        let input = &mut self.inputs[port.index()];
        input.pick = vl as u8;
        input.next = if vl as usize + 1 == self.vls {
            0
        } else {
            vl as u8 + 1
        };
        if self.prefetching {
            // The grant will give credits back to it, and count the turn.
            self.links.prefetch(input.upstream);
            self.turns.prefetch(port, output);
            prefetch(&self.granted_at, port.index() * self.vls + vl as usize);
        }
        let position = port.position();
        if port.mport() == output.mport() {
            self.request_output(output, position);
        } else {
            let central = self.central_between(port, output, || self.picked_of_input(port));
            let to = &mut self.centrals[central.index()];
            if to.requests == 0 {
                self.requested_centrals.push(central);
            }
            to.requests |= 1 << position;
        }
    }

    /// Virtual allocation of a central buffer, as for input buffers.
    #[inline]
    fn request_from_central(&mut self, central: CentralId) {
        self.centrals[central.index()].dirty = false;
        if !self.central_is_idle(central) {
            return;
        }
        if C::BLIND {
            self.pick_from_central(central);
        } else if C::ROUNDS {
            self.begin_round_of_central(central);
        } else {
            self.request_eligible_from_central(central);
        }
    }

    /// As [`input_is_idle`](Self::input_is_idle), for a central buffer.
    #[inline(always)]
    pub(super) fn central_is_idle(&mut self, central: CentralId) -> bool {
        let free_at = self.centrals[central.index()].free_at;
        let idle_at = free_at.saturating_sub(self.source_overlap);
        if idle_at > self.kernel.now {
            if self.central_has_ready(central) {
                self.wake(Event::Central(central), idle_at);
            }
            return false;
        }
        true
    }

    /// As [`request_eligible_from_input`](Self::request_eligible_from_input), for a central buffer.
    #[inline]
    pub(super) fn request_eligible_from_central(&mut self, central: CentralId) {
        let from = &self.centrals[central.index()];
        let (next, ready) = (from.next, from.ready);
        let mut wake_at = Tick::MAX;
        if self.far_words == 0 {
            let mut bits = ready;
            while bits != 0 {
                let queue = first_from(bits, next as u8);
                bits &= !(1 << queue);
                if self.request_for_queue(central, queue, &mut wake_at) {
                    return;
                }
            }
        } else {
            // Once around from the pointer. The first step takes the upper part of the word
            // of the pointer, the last step its lower part.
            let words = 1 + self.far_words as u32;
            let (start_word, from_pointer) = (next / 64, !0u64 << (next % 64));
            for step in 0..=words {
                let word = (start_word + step) % words;
                let mut bits = *self.ready_word(central, word);
                if step == 0 {
                    bits &= from_pointer;
                } else if step == words {
                    bits &= !from_pointer;
                }
                while bits != 0 {
                    let queue = word * 64 + bits.trailing_zeros();
                    bits &= bits - 1;
                    if self.request_for_queue(central, queue, &mut wake_at) {
                        return;
                    }
                }
            }
        }
        if wake_at != Tick::MAX {
            self.wake(Event::Central(central), wake_at);
        }
    }

    /// Phase 5: checks the head of a queue of a central buffer. If it is eligible, the
    /// central buffer picks the queue, requests the output, and true is returned. Else
    /// lowers `wake_at` to the tick in which the head may be eligible.
    #[inline]
    pub(super) fn request_for_queue(
        &mut self,
        central: CentralId,
        queue: u32,
        wake_at: &mut Tick,
    ) -> bool {
        let at = central.index();
        let (eligibility, id) = self.check_central_head(central, queue);
        match eligibility {
            Eligibility::Waiting => false,
            Eligibility::NotBefore(tick) => {
                *wake_at = (*wake_at).min(tick);
                false
            }
            Eligibility::Eligible => {
                let queues = self.central_buffers.fifos.stride() as u32;
                let from = &mut self.centrals[at];
                from.pick = queue;
                from.picked = id;
                from.next = if queue + 1 == queues { 0 } else { queue + 1 };
                let position = from.position.into();
                if self.prefetching {
                    // The grant will add a credit return to it, and may apply an earlier one.
                    self.central_buffers.credits.prefetch_all_of(at);
                }
                let output = self.kernel.packets[id].output;
                self.request_output(output, position);
                true
            }
        }
    }

    /// Phase 5: the source at `position` requests an output.
    #[inline]
    fn request_output(&mut self, output: OutputId, position: u32) {
        let to = &mut self.outputs[output.index()];
        if to.requests == 0 {
            self.requested_outputs.push(output);
        }
        to.requests |= 1 << position;
    }

    /// Switch allocation of an output buffer: grants one source. The others wake in the next
    /// tick.
    #[inline]
    fn grant_output(&mut self, output: OutputId) {
        let to = &mut self.outputs[output.index()];
        let requests = std::mem::take(&mut to.requests);
        let winner = first_from(requests, to.next_source);
        to.next_source = winner as u8 + 1;
        let first_central = to.first_central;
        let (id, free_at) = if winner < 4 {
            self.leave_input(output.mport().input(winner))
        } else {
            self.leave_central(first_central.plus(winner - 4))
        };
        self.outputs[output.index()].port_free_at = free_at;
        let packet = &mut self.kernel.packets[id];
        let credits = u32::from(packet.credits);
        self.output_buffers
            .credits
            .take(output.index(), packet.vl.into(), credits);
        if C::ADAPTIVE {
            self.waiting[output.index()] -= credits;
        }
        let seen = || packet.seen(id);
        self.kernel.observers.granted(self.kernel.now, output, seen);
        if let Some(control) = self.control.get_mut() {
            let mport = if winner < 4 {
                output.mport()
            } else {
                first_central.plus(winner - 4).mport()
            };
            let queue = MarkerQueue {
                input: mport.input(packet.in_port.into()),
                output,
                vl: packet.vl,
            };
            let ready_at =
                packet.arrival + self.timing.stages.input_store + self.timing.stages.routing;
            let flits = packet.flits;
            let bytes = flits * self.units.flit_bytes;
            let length = PacketLength { flits, bytes };
            let joined_now = ready_at == self.kernel.now;
            if control.congestion.granted(queue, length, joined_now) {
                packet.fecn = true;
                let seen = packet.seen(id);
                let now = self.kernel.now;
                self.kernel.observers.marked(now, output, || seen);
            }
        }
        let ready = self.kernel.now
            + self.timing.stages.allocation
            + self.timing.stages.crossbar
            + self.timing.stages.output_store;
        self.output_ready
            .push(&mut self.kernel.wheel, ready, (output, id));
        let losers = requests & !(1 << winner);
        if losers != 0 {
            if P::WATCHES {
                self.report_losers(output, losers);
            }
            self.wake_sources_of_output(output, losers, self.kernel.now + 1);
        }
    }

    /// Switch allocation of a central buffer: grants one input buffer. The others wake in the
    /// next tick.
    #[inline]
    fn grant_central(&mut self, central: CentralId) {
        let to = &mut self.centrals[central.index()];
        let requests = std::mem::take(&mut to.requests);
        let winner = first_from(requests.into(), to.next_source);
        to.next_source = winner as u8 + 1;
        let (id, free_at) = self.leave_input(central.mport().input(winner));
        self.centrals[central.index()].port_free_at = free_at;
        let packet = &self.kernel.packets[id];
        let queue = self.central_queue(packet.output, packet.vl);
        self.central_buffers
            .credits
            .take(central.index(), queue, packet.credits.into());
        let ready = self.kernel.now + self.timing.stages.allocation + self.timing.stages.crossbar;
        self.central_ready
            .push(&mut self.kernel.wheel, ready, (central, queue as u32, id));
        let mut losers = requests & !(1 << winner);
        while losers != 0 {
            let loser = central.mport().input(losers.trailing_zeros());
            losers &= losers - 1;
            if P::WATCHES {
                self.report_loser(self.picked_of_input(loser));
            }
            self.wake(Event::Input(loser), self.kernel.now + 1);
        }
    }

    /// The packet that an input buffer picked in this tick.
    fn picked_of_input(&self, port: InputId) -> PacketId {
        let input = &self.inputs[port.index()];
        let vl = usize::from(input.pick);
        self.input_fifos.head(&input.heads, port.index(), vl)
    }

    /// Tells the probe that a packet requested to cross and was not granted.
    fn report_loser(&mut self, id: PacketId) {
        let packet = &self.kernel.packets[id];
        let (now, observers) = (self.kernel.now, &mut self.kernel.observers);
        observers.blocked(now, packet.output, 1 << packet.vl, Obstacle::Arbiter);
    }

    /// Tells the probe so of the packets that the sources of `output` at `positions` picked.
    fn report_losers(&mut self, output: OutputId, mut positions: u64) {
        let first_central = self.outputs[output.index()].first_central;
        while positions != 0 {
            let position = positions.trailing_zeros();
            positions &= positions - 1;
            let id = match position.checked_sub(4) {
                None => self.picked_of_input(output.mport().input(position)),
                Some(central) => self.centrals[first_central.plus(central).index()].picked,
            };
            self.report_loser(id);
        }
    }

    /// Starts the crossing of the head that an input buffer picked. Returns the packet, and
    /// the tick from which the ports of the crossing are free.
    #[inline]
    fn leave_input(&mut self, port: InputId) -> (PacketId, Tick) {
        let at = port.index();
        let start = self.kernel.now + self.timing.stages.allocation;
        let input = &mut self.inputs[at];
        let vl = usize::from(input.pick);
        let id = self.input_fifos.head(&input.heads, at, vl);
        let packet = &mut self.kernel.packets[id];
        packet.crossing = start;
        let credit_return = self.links.drain_rate().credit_return(
            vl as u32,
            (packet.flits, packet.credits.into()),
            start,
            // Flit i > 0 may leave i ticks after this one.
            packet.arrival + self.timing.stages.input_store,
            0,
        );
        let free_at = credit_return.end + 1;
        input.free_at = free_at;
        if C::BLIND {
            self.blind.granted_input(port);
        }
        if C::ROUNDS {
            self.rounds.granted_input(port);
        }
        let (output, flits, next) = (packet.output, packet.flits, packet.next);
        let granted_before = &mut self.granted_at[at * self.vls + vl];
        let waited = self.kernel.now - packet.ready.max(*granted_before);
        *granted_before = self.kernel.now;
        if self.input_fifos.pop(&mut input.heads, at, vl, next) {
            input.ready &= !(1 << vl);
        }
        self.turns.at(port, output).granted(flits, waited);
        let mut credit_return = credit_return;
        let control = self.control.get();
        if let Some(control) = control {
            credit_return = credit_return.delayed(control.return_delay(packet));
        }
        let (upstream, has_more) = (input.upstream, input.ready != 0);
        let keep_order = control.is_some();
        let wake_at =
            self.links
                .return_credits(upstream, credit_return, keep_order, self.kernel.now);
        if let Some(tick) = wake_at {
            self.wake(Event::Output(upstream), tick);
        }
        if has_more {
            self.wake(
                Event::Input(port),
                free_at.saturating_sub(self.source_overlap),
            );
        }
        (id, free_at)
    }

    /// Starts the crossing of the head that a central buffer picked. Returns the packet, and
    /// the tick from which the ports of the crossing are free.
    #[inline]
    fn leave_central(&mut self, central: CentralId) -> (PacketId, Tick) {
        let at = central.index();
        let from = &mut self.centrals[at];
        let queue = from.pick;
        let id = from.picked;
        let packet = &self.kernel.packets[id];
        let crossbar = self.timing.stages.crossbar;
        let credit_return = self.central_buffers.credits.drain_rate().credit_return(
            queue,
            (packet.flits, packet.credits.into()),
            self.kernel.now + self.timing.stages.allocation,
            packet.arrival + self.timing.stages.input_store + crossbar,
            packet.crossing + crossbar,
        );
        let free_at = credit_return.end + 1;
        from.free_at = free_at;
        if C::BLIND {
            self.blind.granted_central(central);
        }
        if C::ROUNDS {
            self.rounds.granted_central(central);
        }
        let mut waiting = std::mem::take(&mut from.inputs_waiting);
        if self
            .central_buffers
            .fifos
            .pop(&mut [], at, queue as usize, packet.next)
        {
            *self.ready_word(central, queue / 64) &= !(1 << (queue % 64));
        }
        let credit_return = credit_return.delayed(1);
        self.central_buffers
            .credits
            .add_return(at, credit_return, self.kernel.now);
        while waiting != 0 {
            let port = central.mport().input(waiting.trailing_zeros());
            waiting &= waiting - 1;
            self.wake(
                Event::Input(port),
                self.central_buffers
                    .credits
                    .first_credit_tick(&credit_return),
            );
        }
        if self.central_has_ready(central) {
            self.wake(
                Event::Central(central),
                free_at.saturating_sub(self.source_overlap),
            );
        }
        (id, free_at)
    }

    /// Wakes the sources of an output at `positions`, a bit each, in tick `at`.
    pub(super) fn wake_sources_of_output(
        &mut self,
        output: OutputId,
        mut positions: u64,
        at: Tick,
    ) {
        let first_central = self.outputs[output.index()].first_central;
        while positions != 0 {
            let position = positions.trailing_zeros();
            positions &= positions - 1;
            if position < 4 {
                self.wake(Event::Input(output.mport().input(position)), at);
            } else {
                self.wake(Event::Central(first_central.plus(position - 4)), at);
            }
        }
    }

    /// Which of the queues from `64 * word` on of a central buffer have a ready head, a bit
    /// each.
    #[inline]
    pub(super) fn ready_word(&mut self, central: CentralId, word: u32) -> &mut u64 {
        if word == 0 {
            &mut self.centrals[central.index()].ready
        } else {
            &mut self.far_ready[central.index() * self.far_words + word as usize - 1]
        }
    }

    /// Whether a queue of a central buffer has a ready head.
    #[inline]
    pub(super) fn central_has_ready(&self, central: CentralId) -> bool {
        let far = central.index() * self.far_words;
        self.centrals[central.index()].ready != 0
            || self.far_ready[far..far + self.far_words]
                .iter()
                .any(|&word| word != 0)
    }
}
