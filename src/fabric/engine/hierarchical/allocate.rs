//! Phases 5 and 6: two-stage allocation of crossbars (`docs/model.md` §6;
//! OpaSim §2.1, VA-SA).

use super::Fabric;
use super::buffers::Retry;
use super::control::Control;
use crate::fabric::engine::bits::first_from;
use crate::fabric::engine::pool::PacketId;
use crate::fabric::spec::Tick;

/// What a look at the head of a queue gave.
pub(super) enum Eligibility {
    Eligible,
    NotBefore(Tick),
    /// Registered with the target, which wakes the source.
    Waiting,
}

impl<C: Control> Fabric<C> {
    #[inline]
    pub(super) fn allocate(&mut self) {
        // None of these lists grows while it is worked off: looks that are asked
        // for now lie in later ticks.
        for i in 0..self.dirty_inputs.len() {
            self.request_from_input(self.dirty_inputs[i]);
        }
        self.dirty_inputs.clear();
        for i in 0..self.dirty_centrals.len() {
            self.request_from_central(self.dirty_centrals[i]);
        }
        self.dirty_centrals.clear();
        for i in 0..self.requested_centrals.len() {
            self.grant_central(self.requested_centrals[i]);
        }
        self.requested_centrals.clear();
        for i in 0..self.requested_outputs.len() {
            self.grant_output(self.requested_outputs[i]);
        }
        self.requested_outputs.clear();
        self.update_congestion_states();
    }

    /// Virtual allocation of an input buffer: picks a VL and requests its
    /// target, or notes when to look again.
    #[inline]
    fn request_from_input(&mut self, port: u32) {
        let input = &mut self.inputs[port as usize];
        input.dirty = false;
        let input = &*input;
        let idle_at = input
            .free_at
            .saturating_sub(self.timing.allocation_overlap());
        if idle_at > self.now {
            if input.ready != 0 {
                self.wake_input(port, idle_at);
            }
            return;
        }
        if C::BLIND {
            self.pick_from_input(port);
            return;
        }
        let mut again = Tick::MAX;
        let (mut vls, from) = (u64::from(input.ready), input.next);
        while vls != 0 {
            let vl = first_from(vls, from);
            vls &= !(1 << vl);
            let (look, output) = self.look_from_input(port, vl);
            match look {
                Eligibility::Waiting => {}
                Eligibility::NotBefore(tick) => again = again.min(tick),
                Eligibility::Eligible => {
                    self.request_for_vl(port, vl, output);
                    return;
                }
            }
        }
        if again != Tick::MAX {
            self.wake_input(port, again);
        }
    }

    /// Looks at the head of a VL of an input buffer; returns its output as well.
    #[inline(always)]
    pub(super) fn look_from_input(&mut self, port: u32, vl: u32) -> (Eligibility, u32) {
        let heads = &self.inputs[port as usize].heads;
        let id = self.input_buffers.head(heads, port as usize, vl as usize);
        let packet = &self.packets[id];
        let (output, position) = (packet.output, port % 4);
        let credits = u32::from(packet.credits);
        let next_vl = usize::from(packet.vl);
        let look = if port / 4 == output / 4 {
            self.look_at_output(output, next_vl, credits, position)
        } else {
            let central = 2 * (port / 4) + output % 2;
            let queue = self.central_queue(output, packet.vl);
            self.look_at_central(central, queue, credits, position)
        };
        (look, output)
    }

    /// An input buffer picks `vl`, whose head goes to `output`, and requests its target.
    #[inline(always)]
    pub(super) fn request_for_vl(&mut self, port: u32, vl: u32, output: u32) {
        let input = &mut self.inputs[port as usize];
        input.pick = vl as u8;
        input.next = if vl as usize + 1 == self.vls {
            0
        } else {
            vl as u8 + 1
        };
        let position = port % 4;
        if port / 4 == output / 4 {
            self.request_output(output, position);
        } else {
            let central = 2 * (port / 4) + output % 2;
            let to = &mut self.centrals[central as usize];
            if to.requests == 0 {
                self.requested_centrals.push(central);
            }
            to.requests |= 1 << position;
        }
    }

    /// Virtual allocation of a central buffer.
    #[inline]
    fn request_from_central(&mut self, central: u32) {
        let at = central as usize;
        let from = &mut self.centrals[at];
        from.dirty = false;
        let (next, ready) = (from.next, from.ready);
        let idle_at = from
            .free_at
            .saturating_sub(self.timing.allocation_overlap());
        if idle_at > self.now {
            if self.central_has_ready(central) {
                self.wake_central(central, idle_at);
            }
            return;
        }
        if C::BLIND {
            self.pick_from_central(central);
            return;
        }
        let mut again = Tick::MAX;
        if self.far_words == 0 {
            let mut bits = ready;
            while bits != 0 {
                let queue = first_from(bits, next as u8);
                bits &= !(1 << queue);
                if self.request_for_queue(central, queue, &mut again) {
                    return;
                }
            }
        } else {
            // Once around from the pointer: its word comes first, from the pointer
            // on, and last, up to the pointer.
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
                    if self.request_for_queue(central, queue, &mut again) {
                        return;
                    }
                }
            }
        }
        if again != Tick::MAX {
            self.wake_central(central, again);
        }
    }

    /// Looks at the head of a queue of a central buffer; true if it requests its output.
    #[inline]
    pub(super) fn request_for_queue(&mut self, central: u32, queue: u32, again: &mut Tick) -> bool {
        let at = central as usize;
        let (look, id) = self.look_from_central(central, queue);
        match look {
            Eligibility::Waiting => false,
            Eligibility::NotBefore(tick) => {
                *again = (*again).min(tick);
                false
            }
            Eligibility::Eligible => {
                let queues = self.central_buffers.stride() as u32;
                let from = &mut self.centrals[at];
                from.pick = queue;
                from.picked = id;
                from.next = if queue + 1 == queues { 0 } else { queue + 1 };
                let position = from.position.into();
                let output = self.packets[id].output;
                self.request_output(output, position);
                true
            }
        }
    }

    /// Looks at the head of a queue of a central buffer, and returns it as well.
    #[inline(always)]
    pub(super) fn look_from_central(
        &mut self,
        central: u32,
        queue: u32,
    ) -> (Eligibility, PacketId) {
        let at = central as usize;
        let id = self.central_buffers.head(&[], at, queue as usize);
        let packet = &self.packets[id];
        let (output, vl) = (packet.output, packet.vl.into());
        let credits = u32::from(packet.credits);
        let position = u32::from(self.centrals[at].position);
        (self.look_at_output(output, vl, credits, position), id)
    }

    /// Whether a packet can be granted its way into an output buffer now.
    #[inline]
    fn look_at_output(
        &mut self,
        output: u32,
        vl: usize,
        credits: u32,
        position: u32,
    ) -> Eligibility {
        let to = &mut self.outputs[output as usize];
        let idle_at = to
            .port_free_at
            .saturating_sub(self.timing.allocation_overlap());
        if idle_at > self.now {
            return Eligibility::NotBefore(idle_at);
        }
        if self
            .output_buffers
            .has_quota(output as usize, vl, credits, self.now)
        {
            return Eligibility::Eligible;
        }
        match self.output_buffers.retry_at(output as usize, vl, credits) {
            Retry::At(tick) => Eligibility::NotBefore(tick),
            Retry::AfterCreditReturn => {
                to.sources_waiting |= 1 << position;
                Eligibility::Waiting
            }
        }
    }

    /// Whether a packet can be granted its way into a central buffer now.
    #[inline]
    fn look_at_central(
        &mut self,
        central: u32,
        queue: usize,
        credits: u32,
        position: u32,
    ) -> Eligibility {
        let to = &mut self.centrals[central as usize];
        let idle_at = to
            .port_free_at
            .saturating_sub(self.timing.allocation_overlap());
        if idle_at > self.now {
            return Eligibility::NotBefore(idle_at);
        }
        if self
            .central_buffers
            .has_quota(central as usize, queue, credits, self.now)
        {
            return Eligibility::Eligible;
        }
        match self
            .central_buffers
            .retry_at(central as usize, queue, credits)
        {
            Retry::At(tick) => Eligibility::NotBefore(tick),
            Retry::AfterCreditReturn => {
                to.inputs_waiting |= 1 << position;
                Eligibility::Waiting
            }
        }
    }

    #[inline]
    fn request_output(&mut self, output: u32, position: u32) {
        let to = &mut self.outputs[output as usize];
        if to.requests == 0 {
            self.requested_outputs.push(output);
        }
        to.requests |= 1 << position;
    }

    /// Switch allocation of an output buffer.
    #[inline]
    fn grant_output(&mut self, output: u32) {
        let to = &mut self.outputs[output as usize];
        let requests = std::mem::take(&mut to.requests);
        let winner = first_from(requests, to.next_source);
        to.next_source = winner as u8 + 1;
        let first_central = to.first_central;
        let (id, free_at) = if winner < 4 {
            self.leave_input(output / 4 * 4 + winner)
        } else {
            self.leave_central(first_central + winner - 4)
        };
        self.outputs[output as usize].port_free_at = free_at;
        let packet = &mut self.packets[id];
        let credits = u32::from(packet.credits);
        self.output_buffers
            .take(output as usize, packet.vl.into(), credits);
        if let Some(congestion) = self.control.get_mut() {
            let mport = if winner < 4 {
                output / 4
            } else {
                (first_central + winner - 4) / 2
            };
            let queue = (4 * mport + u32::from(packet.in_port), output, packet.vl);
            let joined = packet.arrival + self.timing.input_store + self.timing.routing;
            let bytes = packet.flits * self.timing.flit_bytes;
            let port_vls = &mut congestion.port_vls;
            if port_vls.granted(queue, (packet.flits, bytes), joined == self.now) {
                packet.fecn = true;
                self.counters.count(|counts| counts.marked += 1);
            }
        }
        let ready =
            self.now + self.timing.allocation + self.timing.crossbar + self.timing.output_store;
        self.output_ready.push(&mut self.wheel, ready, (output, id));
        let losers = requests & !(1 << winner);
        if losers != 0 {
            self.wake_sources_of_output(output, losers, self.now + 1);
        }
    }

    /// Switch allocation of a central buffer.
    #[inline]
    fn grant_central(&mut self, central: u32) {
        let to = &mut self.centrals[central as usize];
        let requests = std::mem::take(&mut to.requests);
        let winner = first_from(requests.into(), to.next_source);
        to.next_source = winner as u8 + 1;
        let (id, free_at) = self.leave_input(central / 2 * 4 + winner);
        self.centrals[central as usize].port_free_at = free_at;
        let packet = &self.packets[id];
        let queue = self.central_queue(packet.output, packet.vl);
        self.central_buffers
            .take(central as usize, queue, packet.credits.into());
        let ready = self.now + self.timing.allocation + self.timing.crossbar;
        self.central_ready
            .push(&mut self.wheel, ready, (central, queue as u32, id));
        let mut losers = requests & !(1 << winner);
        while losers != 0 {
            let loser = central / 2 * 4 + losers.trailing_zeros();
            losers &= losers - 1;
            self.wake_input(loser, self.now + 1);
        }
    }

    /// Starts the crossing of the head that an input buffer picked; returns it
    /// and the tick from which the ports it uses are free.
    #[inline]
    fn leave_input(&mut self, port: u32) -> (PacketId, Tick) {
        let at = port as usize;
        let start = self.now + self.timing.allocation;
        let input = &mut self.inputs[at];
        let vl = usize::from(input.pick);
        let id = self.input_buffers.head(&input.heads, at, vl);
        let packet = &mut self.packets[id];
        packet.crossing = start;
        let credit_return = self.input_buffers.drain().credit_return(
            vl as u32,
            (packet.flits, packet.credits.into()),
            start,
            // Flits 1.. may leave the input buffer from here on.
            packet.arrival + self.timing.input_store,
            0,
        );
        let free_at = credit_return.end + 1;
        input.free_at = free_at;
        if C::BLIND {
            self.blind.granted_input(port);
        }
        if self
            .input_buffers
            .pop(&mut input.heads, at, vl, packet.next)
        {
            input.ready &= !(1 << vl);
        }
        // Freed in the tick after, seen upstream a link latency later.
        let latency = if (input.upstream as usize) < self.ports {
            self.timing.link
        } else {
            self.timing.host_link
        };
        let mut credit_return = credit_return.delayed(1 + latency);
        let mut after = 0;
        if let Some(congestion) = self.control.get() {
            credit_return = credit_return.delayed(congestion.return_delay(packet));
            (credit_return, after) = self.input_buffers.in_order(at, credit_return);
        }
        let (upstream, has_more) = (input.upstream, input.ready != 0);
        let upstream_waits = std::mem::take(&mut input.upstream_waits);
        self.input_buffers.depart(at, credit_return, self.now);
        if upstream_waits {
            let first_credit = self.input_buffers.first_credit_of(&credit_return);
            self.wake_output(upstream, first_credit.max(after));
        }
        if has_more {
            self.wake_input(
                port,
                free_at.saturating_sub(self.timing.allocation_overlap()),
            );
        }
        (id, free_at)
    }

    /// Starts the crossing of the head that a central buffer picked.
    #[inline]
    fn leave_central(&mut self, central: u32) -> (PacketId, Tick) {
        let at = central as usize;
        let from = &mut self.centrals[at];
        let queue = from.pick;
        let id = from.picked;
        let packet = &self.packets[id];
        let crossbar = self.timing.crossbar;
        let credit_return = self.central_buffers.drain().credit_return(
            queue,
            (packet.flits, packet.credits.into()),
            self.now + self.timing.allocation,
            packet.arrival + self.timing.input_store + crossbar,
            packet.crossing + crossbar,
        );
        let free_at = credit_return.end + 1;
        from.free_at = free_at;
        if C::BLIND {
            self.blind.granted_central(central);
        }
        let mut waiting = std::mem::take(&mut from.inputs_waiting);
        if self
            .central_buffers
            .pop(&mut [], at, queue as usize, packet.next)
        {
            *self.ready_word(central, queue / 64) &= !(1 << (queue % 64));
        }
        let credit_return = credit_return.delayed(1);
        self.central_buffers.depart(at, credit_return, self.now);
        while waiting != 0 {
            let port = central / 2 * 4 + waiting.trailing_zeros();
            waiting &= waiting - 1;
            self.wake_input(port, self.central_buffers.first_credit_of(&credit_return));
        }
        if self.central_has_ready(central) {
            self.wake_central(
                central,
                free_at.saturating_sub(self.timing.allocation_overlap()),
            );
        }
        (id, free_at)
    }

    /// Wakes sources of an output, given by position, at `at`.
    pub(super) fn wake_sources_of_output(&mut self, output: u32, mut positions: u64, at: Tick) {
        let first_central = self.outputs[output as usize].first_central;
        while positions != 0 {
            let position = positions.trailing_zeros();
            positions &= positions - 1;
            if position < 4 {
                self.wake_input(output / 4 * 4 + position, at);
            } else {
                self.wake_central(first_central + position - 4, at);
            }
        }
    }

    /// A bit for each queue of a central buffer from `64 * word` on: has a ready head.
    #[inline]
    pub(super) fn ready_word(&mut self, central: u32, word: u32) -> &mut u64 {
        if word == 0 {
            &mut self.centrals[central as usize].ready
        } else {
            &mut self.far_ready[central as usize * self.far_words + word as usize - 1]
        }
    }

    #[inline]
    pub(super) fn central_has_ready(&self, central: u32) -> bool {
        let far = central as usize * self.far_words;
        self.centrals[central as usize].ready != 0
            || self.far_ready[far..far + self.far_words]
                .iter()
                .any(|&word| word != 0)
    }
}
