//! The gate through which threads pass together, step by step.
//!
//! One thread opens it; the others wait in front of it, pass, and say when they have arrived at the end of the step. A
//! step takes microseconds, so a thread that waits spins for about as long. Then it sleeps: other processes may want
//! the cores.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks at a number that another thread changes, before a thread sleeps. A look takes some nanoseconds; after half of
/// them a thread leaves its core to others between two looks.
const LOOKS: u32 = 4000;

/// A value with cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Apart<T>(pub T);

/// The gate.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The step that is open, from 1 on.
    step: Apart<AtomicU64>,
    /// Threads that sleep, or are about to.
    sleepers: Apart<AtomicUsize>,
    /// A thread ended by a panic.
    broken: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Gate {
    /// Opens the gate for `step`. All others must have arrived at the end of the step before.
    pub(super) fn open(&self, step: u64) {
        self.step.0.store(step, SeqCst);
        self.wake();
    }

    /// Waits until `step` is open.
    pub(super) fn pass(&self, step: u64) {
        self.wait(|| self.step.0.load(SeqCst) >= step);
    }

    /// A thread has ended a step: says so in `ended`, the number of its last step.
    pub(super) fn arrive(&self, ended: &AtomicU64, step: u64) {
        ended.store(step, SeqCst);
        self.wake();
    }

    /// Waits until the others have ended `step`.
    ///
    /// # Panics
    /// If one of them has panicked.
    pub(super) fn wait_for<'e>(
        &self,
        ended: impl Iterator<Item = &'e AtomicU64> + Clone,
        step: u64,
    ) {
        self.wait(|| {
            let mut ended = ended.clone();
            ended.all(|ended| ended.load(SeqCst) >= step) || self.broken.load(SeqCst)
        });
        assert!(
            !self.broken.load(SeqCst),
            "a thread of the simulation panicked"
        );
    }

    /// A thread panics: no other may wait for it.
    pub(super) fn break_down(&self) {
        self.broken.store(true, SeqCst);
        self.wake();
    }

    /// Waits until `is_over`, which becomes true before a call of [`Gate::wake`].
    #[inline]
    fn wait(&self, is_over: impl Fn() -> bool) {
        for look in 0..LOOKS {
            if is_over() {
                return;
            }
            if look < LOOKS / 2 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        self.sleep(is_over);
    }

    #[cold]
    fn sleep(&self, is_over: impl Fn() -> bool) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // From now on a thread that changes something either sees this sleeper and waits for the lock, or has made its
        // change before the look below.
        self.sleepers.0.fetch_add(1, SeqCst);
        while !is_over() {
            lock = self
                .changed
                .wait(lock)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.0.fetch_sub(1, SeqCst);
    }

    /// Wakes the threads that sleep.
    #[inline]
    fn wake(&self) {
        if self.sleepers.0.load(SeqCst) > 0 {
            let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three threads take turns: each step, every one of two others adds to a sum that the first one reads. On one or two
    /// cores they must sleep and wake each other as well.
    #[test]
    fn nobody_passes_early_and_nobody_sleeps_for_ever() {
        const STEPS: u64 = 20_000;
        let (gate, sum) = (&Gate::default(), &AtomicU64::new(0));
        let ended: &[AtomicU64; 2] = &Default::default();
        std::thread::scope(|scope| {
            for ended in ended {
                scope.spawn(move || {
                    for step in 1..=STEPS {
                        gate.pass(step);
                        sum.fetch_add(step, SeqCst);
                        gate.arrive(ended, step);
                    }
                });
            }
            let mut expected = 0;
            for step in 1..=STEPS {
                assert_eq!(sum.load(SeqCst), expected);
                gate.open(step);
                gate.wait_for(ended.iter(), step);
                expected += 2 * step;
            }
        });
    }

    #[test]
    fn a_broken_gate_lets_nobody_wait() {
        let gate = Gate::default();
        gate.break_down();
        let waits = std::panic::AssertUnwindSafe(|| gate.wait_for([AtomicU64::new(0)].iter(), 1));
        assert!(std::panic::catch_unwind(waits).is_err());
    }
}
