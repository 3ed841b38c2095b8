//! The calendar of events: a wheel for events in any near tick, and delay lines for events that all
//! have the same delay. The fabric decides what an event does.

use crate::spec::Tick;
use crate::spec::outages::MAX_OUTAGE_TICKS;
use std::collections::BTreeMap;

/// An event that lies this number of ticks ahead never comes: a link that it waits for stays down.
const NEVER_AHEAD: Tick = MAX_OUTAGE_TICKS;

/// An event of the fabrics of one kind of switch. A bucket keeps it packed: its kind in the top three bits, and
/// below them the id that it carries.
pub(super) trait WheelEvent: Copy {
    fn pack(self) -> u32;
    fn unpack(packed: u32) -> Self;
}

/// Bits of the id of a packed event.
pub(super) const ID_BITS: u32 = 29;

/// Defines the events of a kind of switch, each with the type of its id and the number of its kind. Every number
/// that no other event has is unpacked as the `last` one.
macro_rules! wheel_events {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$text:meta])* $event:ident($id:ty) = $kind:literal,)+
        }
        last {
            $(#[$last_text:meta])* $last:ident($last_id:ty) = $last_kind:literal,
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::engine) enum $name {
            $($(#[$text])* $event($id),)+
            $(#[$last_text])* $last($last_id),
        }

        impl $crate::engine::calendar::WheelEvent for $name {
            #[inline(always)]
            fn pack(self) -> u32 {
                match self {
                    $(Self::$event(id) => $kind << $crate::engine::calendar::ID_BITS | id.get(),)+
                    Self::$last(id) => $last_kind << $crate::engine::calendar::ID_BITS | id.get(),
                }
            }

            #[inline(always)]
            fn unpack(packed: u32) -> Self {
                let id = packed & ((1 << $crate::engine::calendar::ID_BITS) - 1);
                match packed >> $crate::engine::calendar::ID_BITS {
                    $($kind => Self::$event(<$id>::new(id)),)+
                    _ => Self::$last(<$last_id>::new(id)),
                }
            }
        }
    };
}
pub(super) use wheel_events;

/// The events of one tick.
pub(super) trait Bucket: Default {
    fn push(&mut self, event: u32);
    /// Moves all events to `into`, which must be empty, in the order in which they came.
    fn take(&mut self, into: &mut Vec<u32>);
}

/// For ticks with any number of events. The storage of `into` and of the bucket change places.
impl Bucket for Vec<u32> {
    #[inline]
    fn push(&mut self, event: u32) {
        self.push(event);
    }

    #[inline]
    fn take(&mut self, into: &mut Vec<u32>) {
        std::mem::swap(self, into);
    }
}

/// Events that a [`ShortBucket`] keeps in itself.
const SHORT: usize = 5;

/// For ticks with a few events: two buckets share a cache line, and most need no other.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(super) struct ShortBucket {
    first: [u32; SHORT],
    /// Number of events in `first`.
    count: u32,
    /// The other events, if there have ever been any.
    #[expect(
        clippy::box_collection,
        reason = "a pointer fits into half a cache line"
    )]
    others: Option<Box<Vec<u32>>>,
}

impl ShortBucket {
    #[cold]
    #[inline(never)]
    fn push_beside(&mut self, event: u32) {
        self.others.get_or_insert_default().push(event);
    }

    #[cold]
    #[inline(never)]
    fn take_others(&mut self, into: &mut Vec<u32>) {
        if let Some(others) = &mut self.others {
            into.append(others);
        }
    }
}

impl Bucket for ShortBucket {
    #[inline(always)]
    fn push(&mut self, event: u32) {
        match self.first.get_mut(self.count as usize) {
            Some(entry) => {
                *entry = event;
                self.count += 1;
            }
            None => self.push_beside(event),
        }
    }

    #[inline(always)]
    fn take(&mut self, into: &mut Vec<u32>) {
        // Copying all entries takes no loop.
        into.extend_from_slice(&self.first);
        into.truncate(self.count as usize);
        if self.count as usize == SHORT {
            self.take_others(into);
        }
        self.count = 0;
    }
}

/// A calendar with one bucket for each tick up to [`Wheel::horizon`] ticks ahead. The few events that lie further
/// ahead are kept beside it until their tick has a bucket. The events of a tick come out in the order in
/// which they went in.
#[derive(Debug)]
pub(super) struct Wheel<B: Bucket = Vec<u32>> {
    buckets: Vec<B>,
    /// One bit per bucket: it has an event or a mark.
    occupied: Vec<u64>,
    mask: u64,
    /// Events of ticks beyond the horizon.
    far: BTreeMap<Tick, Vec<u32>>,
    /// The first tick of `far`; `Tick::MAX` if there is none.
    first_far: Tick,
}

impl<B: Bucket> Wheel<B> {
    /// A wheel for events at least `reach` ticks ahead.
    pub(super) fn new(reach: u64) -> Self {
        let size = (reach + 2).next_power_of_two().max(64);
        Self {
            buckets: (0..size).map(|_| B::default()).collect(),
            occupied: vec![0; (size / 64) as usize],
            mask: size - 1,
            far: BTreeMap::new(),
            first_far: Tick::MAX,
        }
    }

    /// Ticks that an event may lie ahead.
    pub(super) fn horizon(&self) -> u64 {
        self.mask
    }

    /// Adds an event of tick `at`.
    #[inline(always)]
    pub(super) fn push(&mut self, now: Tick, at: Tick, event: u32) {
        debug_assert!(at > now, "an event must lie in the future");
        if at > now + self.mask {
            self.push_far(now, at, event);
            return;
        }
        let slot = (at & self.mask) as usize;
        self.buckets[slot].push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, now: Tick, at: Tick, event: u32) {
        if at - now >= NEVER_AHEAD {
            return;
        }
        self.far.entry(at).or_default().push(event);
        self.first_far = self.first_far.min(at);
    }

    /// Moves the events that are no more than the horizon ahead of tick `now` into their buckets. Nothing has
    /// been put into these buckets yet.
    #[cold]
    #[inline(never)]
    fn bring_near(&mut self, now: Tick) {
        let beyond = self.far.split_off(&(now + self.mask + 1));
        for (at, events) in std::mem::replace(&mut self.far, beyond) {
            self.mark(at);
            for event in events {
                self.buckets[(at & self.mask) as usize].push(event);
            }
        }
        self.first_far = self.far.keys().next().copied().unwrap_or(Tick::MAX);
    }

    /// Tick `now` has come, and all events up to it have been taken.
    #[inline(always)]
    pub(super) fn advance_to(&mut self, now: Tick) {
        if self.first_far <= now + self.mask {
            self.bring_near(now);
        }
    }

    /// Marks tick `at`, which is within the horizon: an event of this tick is kept elsewhere.
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
        let mut left = words;
        while bits == 0 {
            if left == 0 {
                return (self.first_far != Tick::MAX).then_some(self.first_far);
            }
            left -= 1;
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = self.occupied[word];
        }
        let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
        Some(now + 1 + (slot.wrapping_sub(start) & self.mask))
    }

    /// Moves the events of tick `at`, which has come, to `into`, which must be empty, and clears the mark.
    #[inline(always)]
    pub(super) fn take(&mut self, at: Tick, into: &mut Vec<u32>) {
        debug_assert!(into.is_empty());
        self.advance_to(at);
        let slot = (at & self.mask) as usize;
        let bit = 1 << (slot % 64);
        if self.occupied[slot / 64] & bit != 0 {
            self.occupied[slot / 64] &= !bit;
            self.buckets[slot].take(into);
        }
    }
}

/// The tick of the earliest wake-up of a part that is on the wheel; `Tick::MAX` if there is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake(Tick);

impl Default for Wake {
    /// No wake-up.
    fn default() -> Self {
        Self(Tick::MAX)
    }
}

impl Wake {
    /// Puts the wake-up `event` on the wheel for tick `at`, unless an earlier one is there. A part that
    /// finds nothing to do when it is woken does nothing.
    #[inline]
    pub(super) fn ask<B: Bucket>(
        &mut self,
        wheel: &mut Wheel<B>,
        now: Tick,
        at: Tick,
        event: impl WheelEvent,
    ) {
        let seen = at.max(now + 1).min(now + wheel.horizon());
        if seen < self.0 && at < now + NEVER_AHEAD {
            self.0 = seen;
            wheel.push(now, seen, event.pack());
        }
    }

    /// A wake-up has come out of the wheel in tick `now`.
    #[inline]
    pub(super) fn arrived(&mut self, now: Tick) {
        if self.0 == now {
            self.0 = Tick::MAX;
        }
    }
}

/// Events that all have the same delay, so that they come out in the order in which they went in.
/// Their ticks are marked on the wheel.
#[derive(Debug)]
pub(super) struct DelayLine<T> {
    /// A ring; its length is a power of two.
    events: Vec<(Tick, T)>,
    /// Index of the next event.
    first: usize,
    /// Number of events in the ring.
    count: usize,
}

impl<T: Copy + Default> DelayLine<T> {
    pub(super) fn new() -> Self {
        Self {
            events: vec![Default::default(); 64],
            first: 0,
            count: 0,
        }
    }

    /// Index of the event `ahead` places behind the next one.
    #[inline]
    fn index(&self, ahead: usize) -> usize {
        (self.first + ahead) & (self.events.len() - 1)
    }

    /// Adds `event` for tick `at`, which is not before the tick of any event in the line.
    #[inline]
    pub(super) fn push(&mut self, wheel: &mut Wheel, at: Tick, event: T) {
        wheel.mark(at);
        if self.count == self.events.len() {
            self.grow();
        }
        debug_assert!(self.count == 0 || self.events[self.index(self.count - 1)].0 <= at);
        let index = self.index(self.count);
        self.events[index] = (at, event);
        self.count += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.events.rotate_left(self.first);
        self.first = 0;
        self.events.resize(2 * self.count, Default::default());
    }

    /// The event `ahead` places behind the next one, whatever its tick.
    #[inline]
    pub(super) fn peek(&self, ahead: usize) -> Option<&T> {
        (ahead < self.count).then(|| &self.events[self.index(ahead)].1)
    }

    /// Takes the next event, if its tick is `now` or before.
    #[inline]
    pub(super) fn pop(&mut self, now: Tick) -> Option<T> {
        let (at, event) = self.events[self.first];
        if self.count == 0 || at > now {
            return None;
        }
        self.first = self.index(1);
        self.count -= 1;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pool::PacketId;
    use crate::ids::NicId;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn wheel_agrees_with_a_heap() {
        compare_with_heap::<Vec<u32>>();
        compare_with_heap::<ShortBucket>();
    }

    fn compare_with_heap<B: Bucket>() {
        let mut wheel = Wheel::<B>::new(100);
        let mut heap = BinaryHeap::new();
        let (mut now, mut state, mut taken) = (0, 12345u64, Vec::new());
        for id in 0..20_000u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Most lie near, some far beyond the horizon.
            let reach = if id % 7 == 0 { 1000 } else { 100 };
            let at = now + 1 + (state >> 33) % reach;
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

    wheel_events! {
        Letter {
            A(NicId) = 0,
            B(PacketId) = 7,
        }
        last {
            C(NicId) = 4,
        }
    }

    #[test]
    fn packed_events_unpack_to_themselves() {
        let most = (1 << ID_BITS) - 1;
        for letter in [
            Letter::A(NicId::new(most)),
            Letter::B(PacketId::new(most)),
            Letter::C(NicId::new(0)),
        ] {
            assert_eq!(Letter::unpack(letter.pack()), letter);
        }
        assert_ne!(
            Letter::A(NicId::new(1)).pack(),
            Letter::C(NicId::new(1)).pack()
        );
    }

    #[test]
    fn a_delay_line_keeps_its_order_when_it_grows() {
        let (mut wheel, mut line) = (Wheel::new(100), DelayLine::new());
        let (mut pushed, mut popped) = (0u32, 0);
        for round in 0..40 {
            for _ in 0..7 * round {
                line.push(&mut wheel, pushed.into(), pushed);
                pushed += 1;
            }
            assert_eq!(line.peek(3).is_some(), pushed - popped > 3);
            let until = Tick::from(pushed) * round / 40;
            while let Some(event) = line.pop(until) {
                assert_eq!(event, popped);
                popped += 1;
            }
            assert_eq!(Tick::from(popped), (until + 1).min(pushed.into()));
        }
        assert!(line.events.len() > 64);
    }

    #[test]
    fn events_beyond_the_horizon_come_before_those_that_are_added_later() {
        let mut wheel = Wheel::<ShortBucket>::new(10);
        let horizon = wheel.horizon();
        let (far, mut taken) = (horizon + 1000, Vec::new());
        wheel.push(5, far, 1);
        wheel.push(5, far + horizon + 1, 4);
        wheel.push(6, far, 2);
        wheel.push(6, far - 1, 0);
        assert_eq!(wheel.next_after(6), Some(far - 1));
        let mut take = |wheel: &mut Wheel<_>, at| {
            taken.clear();
            wheel.take(at, &mut taken);
            taken.clone()
        };
        assert_eq!(take(&mut wheel, far - 1), [0]);
        wheel.push(far - 1, far, 3);
        assert_eq!(wheel.next_after(far - 1), Some(far));
        assert_eq!(take(&mut wheel, far), [1, 2, 3]);
        let last = far + horizon + 1;
        assert_eq!(wheel.next_after(far), Some(last));
        assert_eq!(take(&mut wheel, last), [4]);
        assert_eq!(wheel.next_after(last), None);
    }
}
