//! Phases 5 and 6 with allocation in rounds (`docs/model/fabric.md` §6, `rounds`): sources and targets act
//! only in ticks that are divisible by the allocation time. Requests and grants are in
//! [`allocate`](super::allocate).
//!
//! A part that is woken between two rounds wakes in the next one. A source keeps its pick until it
//! is granted. It is the queue before its pointer, so the pick of a source that waits never
//! changes, and the source sleeps until the head of that queue may be eligible.

use super::eligibility::Eligibility;
use super::{Event, Fabric};
use crate::engine::bits::first_from;
use crate::engine::ids::{CentralId, InputId};
use crate::engine::variant::Variant;
use crate::spec::{Hierarchical, Tick};

/// The rounds, and which sources keep a pick. Empty with other allocators.
#[derive(Debug)]
pub(super) struct Rounds {
    are_used: bool,
    /// Ticks from one round to the next.
    interval: Tick,
    iterations: u32,
    /// Per source: it has picked the queue before its pointer, and was not granted since.
    inputs: Vec<bool>,
    centrals: Vec<bool>,
}

impl Rounds {
    pub(super) fn new(switch: &Hierarchical, inputs: usize, centrals: usize) -> Self {
        let are_used = switch.allocator.is_in_rounds();
        let no_picks = |sources: usize| vec![false; if are_used { sources } else { 0 }];
        Self {
            are_used,
            interval: switch.timing.stages.allocation,
            iterations: switch.allocator.iterations,
            inputs: no_picks(inputs),
            centrals: no_picks(centrals),
        }
    }

    /// Whether allocation is in rounds.
    #[inline(always)]
    pub(super) fn are_used<V: Variant>(&self) -> bool {
        V::ANY_RULE && self.are_used
    }

    /// The first round in tick `at` or later.
    #[inline]
    pub(super) fn next(&self, at: Tick) -> Tick {
        at.next_multiple_of(self.interval)
    }

    /// Notes that the pick of an input buffer was granted.
    pub(super) fn granted_input(&mut self, port: InputId) {
        self.inputs[port.index()] = false;
    }

    /// Notes that the pick of a central buffer was granted.
    pub(super) fn granted_central(&mut self, central: CentralId) {
        self.centrals[central.index()] = false;
    }
}

impl<V: Variant> Fabric<V> {
    /// The VL that the other VLs of an input buffer wait for: its pick, if the source requests nothing
    /// else.
    pub(super) fn blocking_vl(&self, port: InputId) -> Option<usize> {
        let keeps = self.rounds.are_used::<V>()
            && self.rounds.iterations == 1
            && self.rounds.inputs[port.index()];
        let next = usize::from(self.inputs[port.index()].next);
        keeps.then(|| queue_before(next, self.vls))
    }

    /// As [`blocking_vl`](Self::blocking_vl), for a queue of a central buffer.
    pub(super) fn blocking_queue(&self, central: CentralId) -> Option<usize> {
        let at = central.index();
        let keeps =
            self.rounds.are_used::<V>() && self.rounds.iterations == 1 && self.rounds.centrals[at];
        let next = self.centrals[at].next as usize;
        keeps.then(|| queue_before(next, self.central_buffers.fifos.stride()))
    }

    /// The first iteration for an idle input buffer: it picks a VL unless it keeps one, and requests
    /// the target of its head if that can take the packet. Else sets when to wake.
    pub(super) fn begin_round_of_input(&mut self, port: InputId) {
        let at = port.index();
        let (ready, next) = (u64::from(self.inputs[at].ready), self.inputs[at].next);
        if ready == 0 {
            return;
        }
        let keeps = std::mem::replace(&mut self.rounds.inputs[at], true);
        let from = if keeps {
            queue_before(next.into(), self.vls) as u8
        } else {
            next
        };
        let vl = first_from(ready, from);
        self.inputs[at].next = ((vl as usize + 1) % self.vls) as u8;
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
        let at = central.index();
        if !self.central_has_ready(central) {
            return;
        }
        let queues = self.central_buffers.fifos.stride();
        if std::mem::replace(&mut self.rounds.centrals[at], true) {
            let next = self.centrals[at].next as usize;
            self.centrals[at].next = queue_before(next, queues) as u32;
        }
        let queue = self.next_ready(central);
        self.centrals[at].next = self.queue_after(queue);
        let mut wake_at = Tick::MAX;
        let requests = self.request_for_queue(central, queue, &mut wake_at);
        if !requests && wake_at != Tick::MAX {
            self.wake(Event::Central(central), wake_at);
        }
    }

    /// The iterations after the first one. Only sources that are listed can have an eligible head.
    pub(super) fn iterate(&mut self) {
        for _ in 1..self.rounds.iterations {
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

/// The queue before `queue` of `queues`, once around.
fn queue_before(queue: usize, queues: usize) -> usize {
    queue.checked_sub(1).unwrap_or(queues - 1)
}
