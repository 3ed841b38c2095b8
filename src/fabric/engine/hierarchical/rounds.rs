//! Phases 5 and 6 with allocation in rounds (`docs/model/fabric.md` §6, `rounds`): sources and targets act
//! only in ticks that are divisible by the allocation time. Requests and grants are in
//! [`allocate`](super::allocate).
//!
//! A part that is woken between two rounds wakes in the next one. A source keeps its pick until it
//! is granted. It is the queue before its pointer, so the pick of a source that waits never
//! changes, and the source sleeps until the head of that queue may be eligible.

use super::eligibility::Eligibility;
use super::picks::queue_before;
use super::{Event, Fabric};
use crate::engine::bits::first_from;
use crate::engine::ids::{CentralId, InputId};
use crate::engine::variant::Variant;
use crate::spec::Tick;

impl<V: Variant> Fabric<V> {
    /// The first iteration for an idle input buffer: it picks a VL unless it keeps one, and requests
    /// the target of its head if that can take the packet. Else sets when to wake.
    pub(super) fn begin_round_of_input(&mut self, port: InputId) {
        let input = &self.switches.inputs[port];
        let (ready, next) = (u64::from(input.ready), input.next);
        if ready == 0 {
            return;
        }
        let keeps = std::mem::replace(&mut self.switches.rounds.picks.inputs[port], true);
        let from = if keeps {
            queue_before(next.into(), self.vls) as u8
        } else {
            next
        };
        let vl = first_from(ready, from);
        self.switches.inputs[port].next = ((vl as usize + 1) % self.vls) as u8;
        let (eligibility, output) = self.check_input_head(port, vl);
        if let Eligibility::Eligible = eligibility {
            return self.request_for_vl(port, vl, output);
        }
        let wake_at = eligibility.next_tick(self.kernel.now);
        if wake_at != Tick::MAX {
            self.wake(Event::Input(port), wake_at);
        }
    }

    /// As [`begin_round_of_input`](Self::begin_round_of_input), for a central buffer.
    pub(super) fn begin_round_of_central(&mut self, central: CentralId) {
        if !self.switches.central_has_ready(central) {
            return;
        }
        let queues = self.switches.central_buffers.fifos.stride();
        if std::mem::replace(&mut self.switches.rounds.picks.centrals[central], true) {
            let next = self.switches.centrals[central].next as usize;
            self.switches.centrals[central].next = queue_before(next, queues) as u32;
        }
        let queue = self.switches.next_ready(central);
        self.switches.centrals[central].next = self.switches.queue_after(queue);
        let mut wake_at = Tick::MAX;
        let requests = self.request_for_queue(central, queue, &mut wake_at);
        if !requests && wake_at != Tick::MAX {
            self.wake(Event::Central(central), wake_at);
        }
    }

    /// The iterations after the first one. Only sources that are listed can have an eligible head.
    pub(super) fn iterate(&mut self) {
        for _ in 1..self.switches.rounds.iterations {
            for i in 0..self.work.dirty_inputs.len() {
                let port = self.work.dirty_inputs[i];
                if self.input_is_idle(port) {
                    self.request_eligible_from_input(port);
                }
            }
            for i in 0..self.work.dirty_centrals.len() {
                let central = self.work.dirty_centrals[i];
                if self.central_is_idle(central) {
                    self.request_eligible_from_central(central);
                }
            }
            if self.work.requested_centrals.is_empty() && self.work.requested_outputs.is_empty() {
                return;
            }
            self.grant_requests();
        }
    }
}
