//! When things happen: a wheel for events at any near tick and lines for
//! events that all have the same delay.

use crate::fabric::spec::Tick;
use std::collections::VecDeque;

/// Events are numbers: what they are in the top three bits, of what below.
pub(super) const EVENT_SHIFT: u32 = 29;
/// The part that says of what.
pub(super) const EVENT_ID: u32 = (1 << EVENT_SHIFT) - 1;

/// A bucketed calendar, one bucket per tick. Events lie at most
/// [`Wheel::horizon`] ticks ahead; what would lie further is clipped, which is
/// safe for events that only ask for another look.
#[derive(Debug)]
pub(super) struct Wheel {
    buckets: Vec<Vec<u32>>,
    /// One bit per bucket: not empty, or marked.
    occupied: Vec<u64>,
    mask: u64,
}

impl Wheel {
    /// A wheel that can look at least `reach` ticks ahead.
    pub(super) fn new(reach: u64) -> Self {
        let size = (reach + 2).next_power_of_two().max(64);
        Self {
            buckets: (0..size).map(|_| Vec::new()).collect(),
            occupied: vec![0; (size / 64) as usize],
            mask: size - 1,
        }
    }

    /// Furthest distance that is kept exactly.
    pub(super) fn horizon(&self) -> u64 {
        self.mask
    }

    #[inline]
    pub(super) fn push(&mut self, now: Tick, at: Tick, event: u32) {
        debug_assert!(at > now, "an event must lie in the future");
        let at = at.min(now + self.mask);
        let slot = (at & self.mask) as usize;
        self.buckets[slot].push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Notes that something happens at `at`, at most the horizon ahead, that is
    /// kept elsewhere.
    #[inline]
    pub(super) fn mark(&mut self, at: Tick) {
        let slot = (at & self.mask) as usize;
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// The first tick after `now` that has an event or a mark.
    #[inline]
    pub(super) fn next_after(&self, now: Tick) -> Option<Tick> {
        let start = (now + 1) & self.mask;
        let words = self.occupied.len();
        let mut word = (start / 64) as usize;
        let mut bits = self.occupied[word] & (!0 << (start % 64));
        for _ in 0..=words {
            if bits != 0 {
                let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return Some(now + 1 + (slot.wrapping_sub(start) & self.mask));
            }
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = self.occupied[word];
        }
        None
    }

    /// Moves the events of tick `at` to `into`, which must be empty; its
    /// storage takes the bucket's place.
    #[inline]
    pub(super) fn take(&mut self, at: Tick, into: &mut Vec<u32>) {
        debug_assert!(into.is_empty());
        let slot = (at & self.mask) as usize;
        let bit = 1 << (slot % 64);
        if self.occupied[slot / 64] & bit != 0 {
            self.occupied[slot / 64] &= !bit;
            std::mem::swap(&mut self.buckets[slot], into);
        }
    }
}

/// The earliest look that a part has asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake(Tick);

impl Default for Wake {
    /// None.
    fn default() -> Self {
        Self(Tick::MAX)
    }
}

impl Wake {
    /// Puts a look at `at` on the wheel, unless one comes earlier. A look that
    /// finds nothing to do is harmless.
    #[inline]
    pub(super) fn ask(&mut self, wheel: &mut Wheel, now: Tick, at: Tick, kind: u32, id: u32) {
        let at = at.max(now + 1).min(now + wheel.horizon());
        if at < self.0 {
            self.0 = at;
            wheel.push(now, at, kind << EVENT_SHIFT | id);
        }
    }

    /// A look of tick `now` takes place.
    #[inline]
    pub(super) fn arrived(&mut self, now: Tick) {
        if self.0 == now {
            self.0 = Tick::MAX;
        }
    }
}

/// Events of one constant delay: they come out in the order they went in. Their
/// ticks are marked on the wheel.
#[derive(Debug)]
pub(super) struct DelayLine<T> {
    events: VecDeque<(Tick, T)>,
}

impl<T> DelayLine<T> {
    pub(super) fn new() -> Self {
        Self {
            events: VecDeque::new(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, wheel: &mut Wheel, at: Tick, event: T) {
        wheel.mark(at);
        debug_assert!(self.events.back().is_none_or(|&(last, _)| last <= at));
        self.events.push_back((at, event));
    }

    /// The event `ahead` places after the next one, whatever its date.
    #[inline]
    pub(super) fn peek(&self, ahead: usize) -> Option<&T> {
        self.events.get(ahead).map(|(_, event)| event)
    }

    /// The next event dated `now`.
    #[inline]
    pub(super) fn pop(&mut self, now: Tick) -> Option<T> {
        match self.events.front() {
            Some(&(at, _)) if at <= now => self.events.pop_front().map(|(_, event)| event),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn wheel_agrees_with_a_heap() {
        let mut wheel = Wheel::new(100);
        let mut heap = BinaryHeap::new();
        let (mut now, mut state, mut taken) = (0, 12345u64, Vec::new());
        for id in 0..20_000u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = now + 1 + (state >> 33) % 100;
            wheel.push(now, at, id);
            heap.push(Reverse((at, id)));
            if id % 3 == 0 {
                let Some(&Reverse((expected, _))) = heap.peek() else {
                    unreachable!()
                };
                assert_eq!(wheel.next_after(now), Some(expected));
                now = expected;
                taken.clear();
                wheel.take(now, &mut taken);
                taken.sort_unstable();
                let mut same = Vec::new();
                while let Some(&Reverse((at, id))) = heap.peek() {
                    if at != now {
                        break;
                    }
                    heap.pop();
                    same.push(id);
                }
                assert_eq!(taken, same);
            }
        }
    }

    #[test]
    fn an_event_beyond_the_horizon_comes_at_the_horizon() {
        let mut wheel = Wheel::new(10);
        let far = wheel.horizon() + 1000;
        wheel.push(5, far, 1);
        assert_eq!(wheel.next_after(5), Some(5 + wheel.horizon()));
    }
}
