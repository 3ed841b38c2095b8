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
use crate::spec::Tick;

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
        if !self.switches.blind.are_kept::<V>() {
            return;
        }
        let input = &mut self.switches.inputs[port];
        let picks = missed_picks(&mut self.switches.blind.inputs[port], self.kernel.now);
        for _ in 0..pointer_steps(picks, input.ready.count_ones()) {
            let vl = first_from(input.ready.into(), input.next);
            input.next = ((vl as usize + 1) % self.vls) as u8;
        }
    }

    /// As [`catch_up_input`](Self::catch_up_input), for a central buffer.
    #[inline(always)]
    pub(super) fn catch_up_central(&mut self, central: CentralId) {
        if self.switches.blind.are_kept::<V>() {
            self.move_pointer_of_central(central);
        }
    }

    fn move_pointer_of_central(&mut self, central: CentralId) {
        let picks = missed_picks(&mut self.switches.blind.centrals[central], self.kernel.now);
        if picks == 0 {
            return;
        }
        let ready = (0..=self.switches.far_words as u32)
            .map(|word| self.switches.ready_word(central, word).count_ones())
            .sum();
        for _ in 0..pointer_steps(picks, ready) {
            let queue = self.switches.next_ready(central);
            self.switches.centrals[central].next = self.switches.queue_after(queue);
        }
    }

    /// Virtual allocation of an idle input buffer: picks a VL, and requests the target of its
    /// head if that can take the packet. Else sets when to wake.
    #[inline(never)]
    pub(super) fn pick_from_input(&mut self, port: InputId) {
        self.catch_up_input(port);
        let input = &self.switches.inputs[port];
        let (ready, pointer) = (u64::from(input.ready), input.next);
        if ready == 0 {
            return;
        }
        self.switches.blind.inputs[port] = self.kernel.now;
        let pick = first_from(ready, pointer);
        let (eligibility, output) = self.check_input_head(port, pick);
        if let Eligibility::Eligible = eligibility {
            return self.request_for_vl(port, pick, output);
        }
        let mut wake_at = eligibility.next_tick(self.kernel.now);
        self.switches.inputs[port].next = ((pick as usize + 1) % self.vls) as u8;
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
        if !self.switches.central_has_ready(central) {
            return;
        }
        self.switches.blind.centrals[central] = self.kernel.now;
        let pick = self.switches.next_ready(central);
        let mut wake_at = Tick::MAX;
        if self.request_for_queue(central, pick, &mut wake_at) {
            return;
        }
        self.switches.centrals[central].next = self.switches.queue_after(pick);
        for word in 0..=self.switches.far_words as u32 {
            let mut bits = *self.switches.ready_word(central, word);
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
