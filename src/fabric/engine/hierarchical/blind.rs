//! Phase 5 with blind virtual allocation: a source picks a head without checking whether
//! the target can take it (`docs/model/fabric.md` §6, `Blind`). Requests and grants are in
//! [`allocate`](super::allocate).
//!
//! An idle source picks the next ready head in every tick. While no target can take any of
//! its heads, only its pointer moves. The engine does not simulate these ticks: it moves the
//! pointer when the source wakes ([`Fabric::catch_up_input`]). So a source that waits
//! costs no events, and a fabric in which nothing can move has none.

use super::eligibility::Eligibility;
use super::{Event, Fabric};
use crate::engine::bits::first_from;
use crate::engine::ids::{CentralId, InputId};
use crate::engine::variant::Variant;
use crate::spec::{Hierarchical, Tick};

/// The moves of the pointers of the sources. Empty with informed virtual allocation.
#[derive(Debug)]
pub(super) struct Blind {
    is_used: bool,
    /// Per source, the last tick whose pick the pointer includes; [`Tick::MAX`] if the source
    /// has not picked since its last grant.
    inputs: Vec<Tick>,
    centrals: Vec<Tick>,
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
fn missed_picks(last_pick: &mut Tick, now: Tick) -> Tick {
    if *last_pick >= now {
        return 0;
    }
    let missed = now - 1 - *last_pick;
    *last_pick = now - 1;
    missed
}

/// Number of steps that move a pointer over `ready` heads as `picks` picks do. It leaves out
/// full rounds, which lead back to the same head.
fn pointer_steps(picks: Tick, ready: u32) -> Tick {
    match picks {
        0 => 0,
        _ => (picks - 1) % Tick::from(ready.max(1)) + 1,
    }
}

impl<V: Variant> Fabric<V> {
    /// Moves the pointer of an input buffer by its picks before the present tick. Must be
    /// called before another of its heads becomes ready.
    #[inline(always)]
    pub(super) fn catch_up_input(&mut self, port: InputId) {
        if !self.blind.is_used::<V>() {
            return;
        }
        let input = &mut self.inputs[port.index()];
        let picks = missed_picks(&mut self.blind.inputs[port.index()], self.kernel.now);
        for _ in 0..pointer_steps(picks, input.ready.count_ones()) {
            let vl = first_from(input.ready.into(), input.next);
            input.next = ((vl as usize + 1) % self.vls) as u8;
        }
    }

    /// As [`catch_up_input`](Self::catch_up_input), for a central buffer.
    #[inline(always)]
    pub(super) fn catch_up_central(&mut self, central: CentralId) {
        if self.blind.is_used::<V>() {
            self.move_pointer_of_central(central);
        }
    }

    fn move_pointer_of_central(&mut self, central: CentralId) {
        let picks = missed_picks(&mut self.blind.centrals[central.index()], self.kernel.now);
        if picks == 0 {
            return;
        }
        let ready = (0..=self.far_words as u32)
            .map(|word| self.ready_word(central, word).count_ones())
            .sum();
        for _ in 0..pointer_steps(picks, ready) {
            let queue = self.next_ready(central);
            self.centrals[central.index()].next = self.queue_after(queue);
        }
    }

    /// The queue after `queue` in a central buffer, in a circle.
    pub(super) fn queue_after(&self, queue: u32) -> u32 {
        (queue + 1) % self.central_buffers.fifos.stride() as u32
    }

    /// The first queue with a ready head at or after the pointer of a central buffer, in a
    /// circle. There must be one.
    pub(super) fn next_ready(&mut self, central: CentralId) -> u32 {
        let words = 1 + self.far_words as u32;
        let next = self.centrals[central.index()].next;
        let first = *self.ready_word(central, next / 64) & (!0 << (next % 64));
        if first != 0 {
            return next / 64 * 64 + first.trailing_zeros();
        }
        // Once around: the part of the word before the pointer comes last.
        let others = (1..=words).map(|step| (next / 64 + step) % words);
        for word in others {
            let bits = *self.ready_word(central, word);
            if bits != 0 {
                return word * 64 + bits.trailing_zeros();
            }
        }
        debug_assert!(false, "asked of a central buffer without a ready head");
        next
    }

    /// Virtual allocation of an idle input buffer: picks a VL, and requests the target of its
    /// head if that can take the packet. Else sets when to wake.
    #[inline(never)]
    pub(super) fn pick_from_input(&mut self, port: InputId) {
        self.catch_up_input(port);
        let at = port.index();
        let (ready, pointer) = (u64::from(self.inputs[at].ready), self.inputs[at].next);
        if ready == 0 {
            return;
        }
        self.blind.inputs[at] = self.kernel.now;
        let pick = first_from(ready, pointer);
        let (eligibility, output) = self.check_input_head(port, pick);
        if let Eligibility::Eligible = eligibility {
            return self.request_for_vl(port, pick, output);
        }
        let mut wake_at = eligibility.next_tick(self.kernel.now);
        self.inputs[at].next = ((pick as usize + 1) % self.vls) as u8;
        let mut others = ready & !(1 << pick);
        while others != 0 {
            let vl = others.trailing_zeros();
            others &= others - 1;
            // Another VL was picked in this tick; this one may be picked in the next.
            let eligibility = self.check_input_head(port, vl).0;
            wake_at = wake_at.min(eligibility.next_tick(self.kernel.now));
        }
        if wake_at != Tick::MAX {
            self.wake(Event::Input(port), wake_at);
        }
    }

    /// As [`pick_from_input`](Self::pick_from_input), for a central buffer.
    #[inline(never)]
    pub(super) fn pick_from_central(&mut self, central: CentralId) {
        self.move_pointer_of_central(central);
        let at = central.index();
        if !self.central_has_ready(central) {
            return;
        }
        self.blind.centrals[at] = self.kernel.now;
        let pick = self.next_ready(central);
        let mut wake_at = Tick::MAX;
        if self.request_for_queue(central, pick, &mut wake_at) {
            return;
        }
        self.centrals[at].next = self.queue_after(pick);
        for word in 0..=self.far_words as u32 {
            let mut bits = *self.ready_word(central, word);
            while bits != 0 {
                let queue = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let eligibility = self.check_central_head(central, queue).0;
                wake_at = wake_at.min(eligibility.next_tick(self.kernel.now));
            }
        }
        if wake_at != Tick::MAX {
            self.wake(Event::Central(central), wake_at);
        }
    }
}
