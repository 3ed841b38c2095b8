//! The agenda of background traffic: the tick in which each item is due next. Only
//! [`Background`](super::Background) knows what the items are.

use flitwise_fabric::spec::Tick;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ticks ahead that the wheel covers, a power of two. Later items are in a heap.
const SPAN: u64 = 1 << 12;
const WORDS: usize = (SPAN / 64) as usize;
/// No item.
const NONE: u32 = u32::MAX;

/// Items by tick. An item is on the agenda at most once.
#[derive(Debug, Clone)]
pub(super) struct Agenda {
    /// First item of each tick of the wheel, by tick modulo [`SPAN`].
    heads: Vec<u32>,
    /// Next item of the same tick, by item.
    next: Vec<u32>,
    /// Ticks of the wheel that have items, a bit each.
    occupied: [u64; WORDS],
    /// Items that were inserted beyond the wheel.
    far: BinaryHeap<Reverse<(Tick, u32)>>,
    /// First tick whose items have not been taken.
    begin: Tick,
    /// Tick of the first item; [`Tick::MAX`] without one.
    soonest: Tick,
}

impl Agenda {
    /// An empty agenda for the items below `items`.
    pub(super) fn new(items: usize) -> Self {
        Self {
            heads: vec![NONE; SPAN as usize],
            next: vec![NONE; items],
            occupied: [0; WORDS],
            far: BinaryHeap::new(),
            begin: 0,
            soonest: Tick::MAX,
        }
    }

    /// Empties it, as if the items of all ticks before `begin` had been taken.
    pub(super) fn restart(&mut self, begin: Tick) {
        self.heads.fill(NONE);
        self.occupied = [0; WORDS];
        self.far.clear();
        (self.begin, self.soonest) = (begin, Tick::MAX);
    }

    /// Tick of the first item; [`Tick::MAX`] without one.
    #[inline]
    pub(super) fn soonest(&self) -> Tick {
        self.soonest
    }

    /// Adds `item` at `tick`. The items of that tick must not have been taken.
    pub(super) fn insert(&mut self, item: u32, tick: Tick) {
        debug_assert!(tick >= self.begin);
        if tick - self.begin < SPAN {
            let slot = (tick % SPAN) as usize;
            self.next[item as usize] = std::mem::replace(&mut self.heads[slot], item);
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            self.far.push(Reverse((tick, item)));
        }
        self.soonest = self.soonest.min(tick);
    }

    /// Moves the items of all ticks up to `now` to `due`.
    pub(super) fn take(&mut self, now: Tick, due: &mut Vec<u32>) {
        while self.soonest <= now && self.soonest < Tick::MAX {
            let tick = self.soonest;
            let slot = (tick % SPAN) as usize;
            if tick - self.begin < SPAN {
                let mut item = std::mem::replace(&mut self.heads[slot], NONE);
                self.occupied[slot / 64] &= !(1 << (slot % 64));
                while item != NONE {
                    due.push(item);
                    item = self.next[item as usize];
                }
            }
            while let Some(&Reverse((at, item))) = self.far.peek().filter(|e| e.0.0 <= tick) {
                debug_assert_eq!(at, tick);
                self.far.pop();
                due.push(item);
            }
            self.begin = tick + 1;
            self.soonest = self.first_tick();
        }
    }

    /// First tick with an item, from `begin` on.
    fn first_tick(&self) -> Tick {
        let far = self.far.peek().map_or(Tick::MAX, |entry| entry.0.0);
        let start = (self.begin % SPAN) as usize;
        let (word, bit) = (start / 64, start % 64);
        let soon = self.occupied[word] >> bit;
        if soon != 0 {
            return far.min(self.begin + u64::from(soon.trailing_zeros()));
        }
        for step in 0..=WORDS {
            let at = (word + step) % WORDS;
            let mask = match step {
                0 => !0 << bit,
                WORDS => !(!0 << bit),
                _ => !0,
            };
            let bits = self.occupied[at] & mask;
            if bits != 0 {
                let slot = at * 64 + bits.trailing_zeros() as usize;
                let ahead = (slot as u64).wrapping_sub(start as u64) % SPAN;
                return far.min(self.begin + ahead);
            }
        }
        far
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a sorted list. Items that were taken are inserted again at random
        /// distances.
        #[test]
        fn items_come_at_their_ticks(gaps in prop::collection::vec(0_u64..9000, 1..200)) {
            let items = 7_u32;
            let mut agenda = Agenda::new(items as usize);
            let mut expected = Vec::new();
            for item in 0..items {
                agenda.insert(item, u64::from(item) * 1000);
                expected.push((u64::from(item) * 1000, item));
            }
            for gap in gaps {
                expected.sort_unstable();
                let now = expected[0].0;
                prop_assert_eq!(agenda.soonest(), now);
                let mut due = Vec::new();
                agenda.take(now, &mut due);
                due.sort_unstable();
                let wanted: Vec<u32> = expected.extract_if(.., |e| e.0 <= now).map(|e| e.1).collect();
                prop_assert_eq!(&due, &wanted);
                for item in due {
                    let at = now + 1 + gap * u64::from(item + 1);
                    agenda.insert(item, at);
                    expected.push((at, item));
                }
            }
        }
    }

    #[test]
    fn the_last_tick_is_never_due() {
        let mut agenda = Agenda::new(1);
        let mut due = Vec::new();
        assert_eq!(agenda.soonest(), Tick::MAX);
        agenda.take(Tick::MAX, &mut due);
        agenda.insert(0, Tick::MAX - 1);
        agenda.take(Tick::MAX - 2, &mut due);
        assert!(due.is_empty());
        agenda.take(Tick::MAX, &mut due);
        assert_eq!(due, [0]);
        assert_eq!(agenda.soonest(), Tick::MAX);
    }
}
