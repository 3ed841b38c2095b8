//! Phases 5 and 6: two-stage allocation of the crossbars (`docs/model/fabric.md` §6;
//! OpaSim §2.1, VA-SA).
//!
//! In phase 5 (virtual allocation) each listed source picks a queue and requests the
//! target of its head. In phase 6 (switch allocation) each requested target grants one
//! source ([`grant`](super::grant)). A source without an eligible head sleeps until
//! the earliest tick in which one may be eligible. What a blind source picks is in
//! [`blind`](super::blind), allocation in rounds in [`rounds`](super::rounds), and links are scheduled in [`output`](super::output).

use super::eligibility::Eligibility;
use super::{Event, Fabric};
use crate::engine::bits::first_from;
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::variant::Variant;
use crate::prefetch::prefetch;
use crate::spec::Tick;

impl<V: Variant> Fabric<V> {
    /// Phases 5 and 6.
    #[inline]
    pub(super) fn allocate(&mut self) {
        // None of these lists grows while it is processed: a part that is woken now wakes
        // in a later tick.
        for i in 0..self.work.dirty_inputs.len() {
            if self.prefetching {
                self.prefetch_request(i);
            }
            self.request_from_input(self.work.dirty_inputs[i]);
        }
        for i in 0..self.work.dirty_centrals.len() {
            if self.prefetching {
                self.prefetch_central_request(i);
            }
            self.request_from_central(self.work.dirty_centrals[i]);
        }
        self.grant_requests();
        if self.switches.rounds.are_used::<V>() {
            self.iterate();
        }
        self.work.dirty_inputs.clear();
        self.work.dirty_centrals.clear();
        self.update_congestion_states();
    }

    /// End of phase 6: the marker takes note of this tick.
    #[inline]
    fn update_congestion_states(&mut self) {
        let Some(control) = V::part_mut(&mut self.control) else {
            return;
        };
        let now = self.kernel.now;
        let (senders, links) = (&self.senders, &mut self.links);
        let largest = &control.largest;
        control.congestion.update(|output, vl| {
            let (to, vl) = (senders[output].to, usize::from(vl));
            links.has_quota((output, to), vl, largest[vl], now)
        });
    }

    /// Phase 6: every requested target grants one source.
    #[inline(always)]
    pub(super) fn grant_requests(&mut self) {
        for i in 0..self.work.requested_centrals.len() {
            self.grant_central(self.work.requested_centrals[i]);
        }
        self.work.requested_centrals.clear();
        for i in 0..self.work.requested_outputs.len() {
            self.grant_output(self.work.requested_outputs[i]);
        }
        self.work.requested_outputs.clear();
    }

    /// Virtual allocation of an input buffer: picks a VL and requests the target of its
    /// head, or sets when to wake.
    #[inline]
    fn request_from_input(&mut self, port: InputId) {
        self.switches.inputs[port].dirty = false;
        if !self.input_is_idle(port) {
            return;
        }
        if self.switches.blind.are_kept::<V>() {
            self.pick_from_input(port);
        } else if self.switches.rounds.are_used::<V>() {
            self.begin_round_of_input(port);
        } else {
            self.request_eligible_from_input(port);
        }
    }

    /// Whether the port of an input buffer into the crossbar is idle. If not, sets when to wake.
    #[inline(always)]
    pub(super) fn input_is_idle(&mut self, port: InputId) -> bool {
        let input = &self.switches.inputs[port];
        let idle_at = input.free_at.saturating_sub(self.switches.source_overlap);
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
        let input = &self.switches.inputs[port];
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
        let input = &mut self.switches.inputs[port];
        input.pick = vl as u8;
        input.next = if vl as usize + 1 == self.vls {
            0
        } else {
            vl as u8 + 1
        };
        if self.prefetching {
            // The grant will give credits back to it, and count the turn.
            self.links.prefetch(input.upstream);
            self.switches.turns.prefetch(port, output);
            prefetch(
                &self.switches.granted_at,
                port.index() * self.vls + vl as usize,
            );
        }
        let position = port.position();
        if port.mport() == output.mport() {
            self.request_output(output, position);
        } else {
            let central = self
                .switches
                .central_links
                .between::<V>(port, output, || self.switches.picked_of_input(port));
            let to = &mut self.switches.centrals[central];
            if to.requests == 0 {
                self.work.requested_centrals.push(central);
            }
            to.requests |= 1 << position;
        }
    }

    /// Virtual allocation of a central buffer, as for input buffers.
    #[inline]
    fn request_from_central(&mut self, central: CentralId) {
        self.switches.centrals[central].dirty = false;
        if !self.central_is_idle(central) {
            return;
        }
        if self.switches.blind.are_kept::<V>() {
            self.pick_from_central(central);
        } else if self.switches.rounds.are_used::<V>() {
            self.begin_round_of_central(central);
        } else {
            self.request_eligible_from_central(central);
        }
    }

    /// As [`input_is_idle`](Self::input_is_idle), for a central buffer.
    #[inline(always)]
    pub(super) fn central_is_idle(&mut self, central: CentralId) -> bool {
        let free_at = self.switches.centrals[central].free_at;
        let idle_at = free_at.saturating_sub(self.switches.source_overlap);
        if idle_at > self.kernel.now {
            if self.switches.central_has_ready(central) {
                self.wake(Event::Central(central), idle_at);
            }
            return false;
        }
        true
    }

    /// As [`request_eligible_from_input`](Self::request_eligible_from_input), for a central buffer.
    #[inline]
    pub(super) fn request_eligible_from_central(&mut self, central: CentralId) {
        let from = &self.switches.centrals[central];
        let (next, ready) = (from.next, from.ready);
        let mut wake_at = Tick::MAX;
        if self.switches.far_words == 0 {
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
            let words = 1 + self.switches.far_words as u32;
            let (start_word, from_pointer) = (next / 64, !0u64 << (next % 64));
            for step in 0..=words {
                let word = (start_word + step) % words;
                let mut bits = *self.switches.ready_word(central, word);
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
        let (eligibility, id) = self.check_central_head(central, queue);
        match eligibility {
            Eligibility::Waiting => false,
            Eligibility::NotBefore(tick) => {
                *wake_at = (*wake_at).min(tick);
                false
            }
            Eligibility::Eligible => {
                let queues = self.switches.central_buffers.fifos.stride() as u32;
                let from = &mut self.switches.centrals[central];
                from.pick = queue;
                from.picked = id;
                from.next = if queue + 1 == queues { 0 } else { queue + 1 };
                let position = from.position.into();
                if self.prefetching {
                    // The grant will add a credit return to it, and may apply an earlier one.
                    let credits = &self.switches.central_buffers.credits;
                    credits.prefetch_all_of(central.index());
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
        let to = &mut self.switches.outputs[output];
        if to.requests == 0 {
            self.work.requested_outputs.push(output);
        }
        to.requests |= 1 << position;
    }
}
