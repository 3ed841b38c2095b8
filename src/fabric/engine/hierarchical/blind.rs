//! Virtual allocation that does not ask whether a target can take a packet
//! (`docs/model.md` §6, `Blind`).
//!
//! An idle source picks the next ready head in every tick. While no target can take any of
//! its heads, all that moves is its pointer, which is made up for when the source looks
//! again ([`Fabric::catch_up_input`]). So a source that waits costs no events, and a fabric in
//! which nothing can move has none.

use super::Fabric;
use super::allocate::Eligibility;
use super::control::Control;
use crate::fabric::engine::bits::first_from;
use crate::fabric::spec::Tick;

/// Since when sources have been picking in vain; empty if they are informed.
#[derive(Debug)]
pub(super) struct Blind {
    /// Last tick whose pick is in the pointer, per source; [`Tick::MAX`] if the source has
    /// not picked since its last grant.
    inputs: Vec<Tick>,
    centrals: Vec<Tick>,
}

impl Blind {
    pub(super) fn new(is_blind: bool, inputs: usize, centrals: usize) -> Self {
        let picked = |sources: usize| vec![Tick::MAX; if is_blind { sources } else { 0 }];
        Self {
            inputs: picked(inputs),
            centrals: picked(centrals),
        }
    }

    /// The pick of an input buffer was granted: it is not idle.
    pub(super) fn granted_input(&mut self, port: u32) {
        self.inputs[port as usize] = Tick::MAX;
    }

    /// The pick of a central buffer was granted.
    pub(super) fn granted_central(&mut self, central: u32) {
        self.centrals[central as usize] = Tick::MAX;
    }
}

/// Picks of ticks before `now` that are not in a pointer, the last one that is being of tick
/// `picked`.
fn missed(picked: &mut Tick, now: Tick) -> Tick {
    if *picked >= now {
        return 0;
    }
    let missed = now - 1 - *picked;
    *picked = now - 1;
    missed
}

/// Steps that take a pointer over `ready` heads as far as `picks` picks do: once around
/// leads back to the same head.
fn steps(picks: Tick, ready: u32) -> Tick {
    match picks {
        0 => 0,
        _ => (picks - 1) % Tick::from(ready.max(1)) + 1,
    }
}

impl<C: Control> Fabric<C> {
    /// Moves the pointer of an input buffer by its picks before the present tick. To be
    /// called before another of its heads becomes ready.
    #[inline(always)]
    pub(super) fn catch_up_input(&mut self, port: u32) {
        if !C::BLIND {
            return;
        }
        let input = &mut self.inputs[port as usize];
        let picks = missed(&mut self.blind.inputs[port as usize], self.now);
        for _ in 0..steps(picks, input.ready.count_ones()) {
            let vl = first_from(input.ready.into(), input.next);
            input.next = ((vl as usize + 1) % self.vls) as u8;
        }
    }

    /// The same for a central buffer.
    #[inline(always)]
    pub(super) fn catch_up_central(&mut self, central: u32) {
        if C::BLIND {
            self.move_pointer_of_central(central);
        }
    }

    fn move_pointer_of_central(&mut self, central: u32) {
        let picks = missed(&mut self.blind.centrals[central as usize], self.now);
        if picks == 0 {
            return;
        }
        let ready = (0..=self.far_words as u32)
            .map(|word| self.ready_word(central, word).count_ones())
            .sum();
        for _ in 0..steps(picks, ready) {
            let queue = self.next_ready(central);
            self.centrals[central as usize].next = self.after(queue);
        }
    }

    /// The queue after `queue` in a central buffer.
    fn after(&self, queue: u32) -> u32 {
        (queue + 1) % self.central_buffers.stride() as u32
    }

    /// The first queue with a ready head from the pointer of a central buffer on; there is one.
    fn next_ready(&mut self, central: u32) -> u32 {
        let words = 1 + self.far_words as u32;
        let next = self.centrals[central as usize].next;
        let first = *self.ready_word(central, next / 64) & (!0 << (next % 64));
        if first != 0 {
            return next / 64 * 64 + first.trailing_zeros();
        }
        // Once around: what lies before the pointer in its word comes last.
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

    /// Virtual allocation of an idle input buffer: picks a VL, and requests its target if
    /// that can take the packet. Else notes when to look again.
    #[inline(never)]
    pub(super) fn pick_from_input(&mut self, port: u32) {
        self.catch_up_input(port);
        let at = port as usize;
        let (ready, from) = (u64::from(self.inputs[at].ready), self.inputs[at].next);
        if ready == 0 {
            return;
        }
        self.blind.inputs[at] = self.now;
        let pick = first_from(ready, from);
        let (look, output) = self.look_from_input(port, pick);
        let mut again = match look {
            Eligibility::Eligible => return self.request_for_vl(port, pick, output),
            Eligibility::NotBefore(tick) => tick,
            Eligibility::Waiting => Tick::MAX,
        };
        self.inputs[at].next = ((pick as usize + 1) % self.vls) as u8;
        let mut others = ready & !(1 << pick);
        while others != 0 {
            let vl = others.trailing_zeros();
            others &= others - 1;
            again = again.min(match self.look_from_input(port, vl).0 {
                // It is the turn of another; this one may be next.
                Eligibility::Eligible => self.now + 1,
                Eligibility::NotBefore(tick) => tick,
                Eligibility::Waiting => Tick::MAX,
            });
        }
        if again != Tick::MAX {
            self.wake_input(port, again);
        }
    }

    /// The same for a central buffer.
    #[inline(never)]
    pub(super) fn pick_from_central(&mut self, central: u32) {
        self.move_pointer_of_central(central);
        let at = central as usize;
        if !self.central_has_ready(central) {
            return;
        }
        self.blind.centrals[at] = self.now;
        let pick = self.next_ready(central);
        let mut again = Tick::MAX;
        if self.request_for_queue(central, pick, &mut again) {
            return;
        }
        self.centrals[at].next = self.after(pick);
        for word in 0..=self.far_words as u32 {
            let mut bits = *self.ready_word(central, word);
            while bits != 0 {
                let queue = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                again = again.min(match self.look_from_central(central, queue).0 {
                    Eligibility::Eligible => self.now + 1,
                    Eligibility::NotBefore(tick) => tick,
                    Eligibility::Waiting => Tick::MAX,
                });
            }
        }
        if again != Tick::MAX {
            self.wake_central(central, again);
        }
    }
}
