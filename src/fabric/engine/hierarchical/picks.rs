//! The picks of sources that wait for their target: with blind virtual allocation ([`blind`](super::blind)) and with
//! allocation in rounds ([`rounds`](super::rounds)).

use crate::engine::ids::{CentralId, InputId};
use crate::engine::variant::Variant;
use crate::spec::{Hierarchical, Tick};

/// The moves of the pointers of the sources. Empty with informed virtual allocation.
#[derive(Debug)]
pub(super) struct Blind {
    is_used: bool,
    /// Per source, the last tick whose pick the pointer includes; [`Tick::MAX`] if the source
    /// has not picked since its last grant.
    pub inputs: Vec<Tick>,
    pub centrals: Vec<Tick>,
}

impl Blind {
    pub(super) fn new(switch: &Hierarchical, inputs: usize, centrals: usize) -> Self {
        let is_used = !switch.allocator.is_in_rounds() && switch.allocates_blindly();
        let no_picks = |sources: usize| vec![Tick::MAX; if is_used { sources } else { 0 }];
        Self {
            is_used,
            inputs: no_picks(inputs),
            centrals: no_picks(centrals),
        }
    }

    /// Whether virtual allocation is blind, in every tick.
    #[inline(always)]
    pub(super) fn is_used<V: Variant>(&self) -> bool {
        V::ANY_RULE && self.is_used
    }

    /// Notes that the pick of an input buffer was granted, so that it is not idle.
    pub(super) fn granted_input(&mut self, port: InputId) {
        self.inputs[port.index()] = Tick::MAX;
    }

    /// Notes that the pick of a central buffer was granted, so that it is not idle.
    pub(super) fn granted_central(&mut self, central: CentralId) {
        self.centrals[central.index()] = Tick::MAX;
    }
}

/// Number of picks before tick `now` that a pointer does not include yet. `last_pick` is
/// the tick of the last pick that it includes, and becomes `now - 1`.
#[inline]
pub(super) fn missed_picks(last_pick: &mut Tick, now: Tick) -> Tick {
    if *last_pick >= now {
        return 0;
    }
    let missed = now - 1 - *last_pick;
    *last_pick = now - 1;
    missed
}

/// Number of steps that move a pointer over `ready` heads as `picks` picks do. It leaves out
/// full rounds, which lead back to the same head.
#[inline]
pub(super) fn pointer_steps(picks: Tick, ready: u32) -> Tick {
    match picks {
        0 => 0,
        _ => (picks - 1) % Tick::from(ready.max(1)) + 1,
    }
}

/// The rounds, and which sources keep a pick. Empty with other allocators.
#[derive(Debug)]
pub(super) struct Rounds {
    are_used: bool,
    /// Ticks from one round to the next.
    interval: Tick,
    pub iterations: u32,
    /// Per source: it has picked the queue before its pointer, and was not granted since.
    pub inputs: Vec<bool>,
    pub centrals: Vec<bool>,
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

/// The queue before `queue` of `queues`, once around.
#[inline]
pub(super) fn queue_before(queue: usize, queues: usize) -> usize {
    queue.checked_sub(1).unwrap_or(queues - 1)
}
