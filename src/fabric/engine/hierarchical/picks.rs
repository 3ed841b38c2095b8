//! The picks that sources keep while they wait for their target: with blind virtual allocation ([`blind`](super::blind))
//! and with allocation in rounds ([`rounds`](super::rounds)).

use crate::engine::ids::{CentralId, InputId};
use crate::engine::list::List;
use crate::engine::variant::Variant;
use crate::spec::{Hierarchical, Tick};

/// An entry for the pick of each source. Empty if the allocator keeps none.
#[derive(Debug)]
pub(super) struct Picks<T> {
    are_kept: bool,
    none: T,
    pub inputs: List<InputId, T>,
    pub centrals: List<CentralId, T>,
}

impl<T: Copy> Picks<T> {
    /// No source has picked yet: its entry is `none`.
    fn new(are_kept: bool, none: T, sources: (usize, usize)) -> Self {
        let count = |sources: usize| if are_kept { sources } else { 0 };
        Self {
            are_kept,
            none,
            inputs: std::iter::repeat_n(none, count(sources.0)).collect(),
            centrals: std::iter::repeat_n(none, count(sources.1)).collect(),
        }
    }

    /// Whether the allocator keeps picks.
    #[inline(always)]
    pub(super) fn are_kept<V: Variant>(&self) -> bool {
        V::HAS_ANY_RULE && self.are_kept
    }

    /// The pick of an input buffer was granted.
    #[inline(always)]
    pub(super) fn granted_input<V: Variant>(&mut self, port: InputId) {
        if self.are_kept::<V>() {
            self.inputs[port] = self.none;
        }
    }

    /// The pick of a central buffer was granted.
    #[inline(always)]
    pub(super) fn granted_central<V: Variant>(&mut self, central: CentralId) {
        if self.are_kept::<V>() {
            self.centrals[central] = self.none;
        }
    }
}

/// With blind virtual allocation, per source: the last tick whose pick the pointer includes; [`Tick::MAX`] if the source
/// has not picked since its last grant.
pub(super) type Blind = Picks<Tick>;

impl Blind {
    /// `sources`: input buffers, and central buffers.
    pub(super) fn of(switch: &Hierarchical, sources: (usize, usize)) -> Self {
        let is_blind = !switch.allocator.is_in_rounds() && switch.allocates_blindly();
        Self::new(is_blind, Tick::MAX, sources)
    }
}

/// The rounds.
#[derive(Debug)]
pub(super) struct Rounds {
    /// Ticks from one round to the next.
    interval: Tick,
    pub iterations: u32,
    /// Per source: it has picked the queue before its pointer, and was not granted since.
    pub picks: Picks<bool>,
}

impl Rounds {
    /// As [`Blind::of`].
    pub(super) fn of(switch: &Hierarchical, sources: (usize, usize)) -> Self {
        Self {
            interval: switch.timing.stages.allocation,
            iterations: switch.allocator.iterations,
            picks: Picks::new(switch.allocator.is_in_rounds(), false, sources),
        }
    }

    /// Whether allocation is in rounds.
    #[inline(always)]
    pub(super) fn are_used<V: Variant>(&self) -> bool {
        self.picks.are_kept::<V>()
    }

    /// The first round in tick `at` or later.
    #[inline]
    pub(super) fn next(&self, at: Tick) -> Tick {
        at.next_multiple_of(self.interval)
    }
}

/// The queue before `queue` of `queues`, once around.
#[inline]
pub(super) fn queue_before(queue: usize, queues: usize) -> usize {
    queue.checked_sub(1).unwrap_or(queues - 1)
}
