//! The queue pairs of a NIC that have a packet to send, sorted by their keys: found from a key on, once around.
//!
//! In a burst a NIC may have as many as there are NICs, with one message each. So an entry holds the queue
//! itself, and the entries are in chunks: no change moves more than a chunk.

use crate::engine::congestion::FlowId;
use crate::engine::pool::MessageId;
use std::collections::VecDeque;

/// Most entries of a chunk.
const CHUNK: usize = 64;

/// Bits of a key: there are up to 32 service levels, and fewer than 2^22 NICs.
const KEY_BITS: u32 = 27;

/// A queue pair that has a packet to send.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(2))]
pub(in crate::engine) struct WaitingPair {
    /// The key, and behind it the VL on which packets leave the NIC.
    place: u32,
    /// The last message of its queue, which is linked to the first one.
    pub(super) last: MessageId,
    /// Its flow; without congestion control it means nothing.
    pub flow: FlowId,
    /// Credits that its first packet takes.
    pub credits: u16,
}

// Where each of many queue pairs has one message, the memory of such an entry counts.
const _: () = assert!(size_of::<WaitingPair>() == 14);

impl WaitingPair {
    pub(super) fn new(key: u32, vl: u8, flow: FlowId, credits: u16) -> Self {
        debug_assert!(key >> KEY_BITS == 0, "a key of too many bits");
        Self {
            place: key | u32::from(vl) << KEY_BITS,
            last: MessageId::NONE,
            flow,
            credits,
        }
    }

    /// Its key, by which the queue pairs of a NIC are ordered.
    #[inline]
    pub(in crate::engine) fn key(&self) -> u32 {
        self.place & ((1 << KEY_BITS) - 1)
    }

    /// VL on which its packets leave the NIC.
    #[inline]
    pub(in crate::engine) fn vl(&self) -> u8 {
        (self.place >> KEY_BITS) as u8
    }
}

/// The position of an entry. It is good until entries are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::engine) struct Place {
    chunk: u32,
    at: u32,
}

/// A turn through the queue pairs of a group; none may be added or removed meanwhile.
#[derive(Debug)]
pub(in crate::engine) struct Turn {
    first: Place,
    next: Option<Place>,
}

impl Turn {
    /// The next place of `waiting`, to which the turn belongs.
    #[inline]
    pub(in crate::engine) fn next(&mut self, waiting: &Waiting) -> Option<Place> {
        let place = self.next?;
        let at = place.at + 1;
        let next = waiting.around(Place { at, ..place });
        self.next = (next != self.first).then_some(next);
        Some(place)
    }
}

/// Entries behind the first chunk.
#[derive(Debug, Clone)]
struct Chunk {
    /// No key of the chunk is below it, and all keys of the chunks before are.
    from: u32,
    /// At least one.
    pairs: VecDeque<WaitingPair>,
}

/// The queue pairs of a group of a NIC that have a packet to send.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Waiting {
    /// Those with the lowest keys. They are served in turns, so most of them leave at the front.
    first: VecDeque<WaitingPair>,
    /// The others; none if the first chunk is empty.
    rest: VecDeque<Chunk>,
    /// No first packet of a queue pair takes fewer credits.
    least: u16,
}

impl Waiting {
    pub(super) const NONE: Self = Self {
        first: VecDeque::new(),
        rest: VecDeque::new(),
        least: u16::MAX,
    };

    #[inline(always)]
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The queue pair, if there is only one.
    #[inline(always)]
    pub(in crate::engine) fn only(&self) -> Option<Place> {
        (self.first.len() == 1 && self.rest.is_empty()).then_some(Place::default())
    }

    /// The fewest credits that the first packet of any queue pair takes.
    #[inline(always)]
    pub(in crate::engine) fn least(&self) -> u16 {
        self.least
    }

    /// The queue pair at `place`.
    #[inline(always)]
    pub(in crate::engine) fn at(&self, place: Place) -> WaitingPair {
        self.pairs(place.chunk as usize)[place.at as usize]
    }

    #[inline(always)]
    pub(super) fn at_mut(&mut self, place: Place) -> &mut WaitingPair {
        let pairs = match place.chunk as usize {
            0 => &mut self.first,
            chunk => &mut self.rest[chunk - 1].pairs,
        };
        &mut pairs[place.at as usize]
    }

    #[inline(always)]
    fn pairs(&self, chunk: usize) -> &VecDeque<WaitingPair> {
        match chunk {
            0 => &self.first,
            chunk => &self.rest[chunk - 1].pairs,
        }
    }

    /// The place of the first queue pair from `key` on, perhaps behind the last one of a chunk.
    #[inline]
    fn place_of(&self, key: u32) -> Place {
        // They are usually served in turns.
        if self.first.front().is_none_or(|first| first.key() >= key) {
            return Place::default();
        }
        let chunk = self.rest.partition_point(|chunk| chunk.from <= key);
        let at = self.pairs(chunk).partition_point(|pair| pair.key() < key);
        Place {
            chunk: chunk as u32,
            at: at as u32,
        }
    }

    /// The place of the queue pair with `key`.
    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<Place> {
        let place = self.place_of(key);
        let pair = self.pairs(place.chunk as usize).get(place.at as usize)?;
        (pair.key() == key).then_some(place)
    }

    /// `place`, or the beginning of the next chunk if it is behind the last queue pair of its own.
    #[inline]
    fn around(&self, place: Place) -> Place {
        if (place.at as usize) < self.pairs(place.chunk as usize).len() {
            return place;
        }
        let next = place.chunk as usize + 1;
        Place {
            chunk: if next > self.rest.len() {
                0
            } else {
                next as u32
            },
            at: 0,
        }
    }

    /// The places of all queue pairs, from `key` on and once around.
    #[inline]
    pub(in crate::engine) fn from(&self, key: u32) -> impl Iterator<Item = Place> + '_ {
        let mut turn = self.turn(key);
        std::iter::from_fn(move || turn.next(self))
    }

    /// A turn through all queue pairs, from `key` on and once around.
    #[inline]
    pub(in crate::engine) fn turn(&self, key: u32) -> Turn {
        let first = self.around(self.place_of(key));
        Turn {
            first,
            next: (!self.is_empty()).then_some(first),
        }
    }

    /// Adds a queue pair that is not here.
    pub(super) fn insert(&mut self, pair: WaitingPair) {
        self.least = self.least.min(pair.credits);
        let Place { chunk, at } = self.place_of(pair.key());
        let (chunk, at) = (chunk as usize, at as usize);
        let pairs = match chunk {
            0 => &mut self.first,
            chunk => &mut self.rest[chunk - 1].pairs,
        };
        let is_full = pairs.len() >= CHUNK;
        if !is_full {
            pairs.insert(at, pair);
        } else if at == CHUNK {
            // Keys often ascend: then all chunks but the last one are full.
            self.add_chunk(chunk, VecDeque::from([pair]));
        } else if at == 0 && chunk == 0 {
            let pairs = std::mem::replace(&mut self.first, VecDeque::from([pair]));
            self.add_chunk(0, pairs);
        } else {
            let upper = pairs.split_off(CHUNK / 2);
            self.add_chunk(chunk, upper);
            self.insert(pair);
        }
    }

    /// Adds a chunk behind chunk number `chunk`. It has at least one queue pair.
    fn add_chunk(&mut self, chunk: usize, pairs: VecDeque<WaitingPair>) {
        let from = pairs.front().map_or(0, WaitingPair::key);
        self.rest.insert(chunk, Chunk { from, pairs });
    }

    /// The first packet of the queue pair at `place` now takes `credits`.
    #[inline]
    pub(super) fn set_credits(&mut self, place: Place, credits: u16) {
        self.at_mut(place).credits = credits;
        self.least = self.least.min(credits);
    }

    /// Removes the queue pair at `place`.
    #[inline]
    pub(super) fn remove(&mut self, place: Place) {
        let at = place.at as usize;
        if place.chunk == 0 {
            self.first.remove(at);
            if self.first.is_empty() {
                match self.rest.pop_front() {
                    Some(chunk) => self.first = chunk.pairs,
                    None => self.least = u16::MAX,
                }
            }
            return;
        }
        let chunk = place.chunk as usize - 1;
        self.rest[chunk].pairs.remove(at);
        if self.rest[chunk].pairs.is_empty() {
            self.rest.remove(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A change of the queue pairs.
    #[derive(Debug, Clone)]
    enum Step {
        Insert(u32),
        /// The one at or after this key, once around.
        Remove(u32),
        /// This many, as a NIC serves them in turns from this key on.
        Serve(u32, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0u32..400).prop_map(Step::Insert),
            2 => (0u32..400).prop_map(Step::Remove),
            1 => (0u32..400, 0usize..150).prop_map(|(key, count)| Step::Serve(key, count)),
        ]
    }

    fn pair(key: u32) -> WaitingPair {
        WaitingPair::new(
            key,
            (key % 32) as u8,
            FlowId::default(),
            1 + (key % 7) as u16,
        )
    }

    /// The keys of the model from `key` on, once around.
    fn around(model: &BTreeMap<u32, u16>, key: u32) -> Vec<u32> {
        model
            .range(key..)
            .chain(model.range(..key))
            .map(|(&key, _)| key)
            .collect()
    }

    fn check(waiting: &Waiting, model: &BTreeMap<u32, u16>, key: u32) -> Result<(), TestCaseError> {
        let found: Vec<_> = waiting
            .from(key)
            .map(|place| waiting.at(place).key())
            .collect();
        prop_assert_eq!(found, around(model, key));
        prop_assert_eq!(waiting.find(key).is_some(), model.contains_key(&key));
        prop_assert_eq!(waiting.is_empty(), model.is_empty());
        prop_assert_eq!(waiting.only().is_some(), model.len() == 1);
        let least = model.values().min().copied().unwrap_or(u16::MAX);
        prop_assert!(waiting.least() <= least && (waiting.least() == u16::MAX) == model.is_empty());
        for chunk in &waiting.rest {
            prop_assert!(!chunk.pairs.is_empty() && chunk.pairs.len() <= CHUNK);
        }
        prop_assert!(waiting.first.len() <= CHUNK);
        Ok(())
    }

    fn remove(waiting: &mut Waiting, model: &mut BTreeMap<u32, u16>, key: u32) -> Option<u32> {
        let place = waiting.from(key).next()?;
        let removed = waiting.at(place);
        waiting.remove(place);
        model.remove(&removed.key());
        Some(removed.key())
    }

    proptest! {
        #[test]
        fn pairs_are_found_in_turns(
            first in 0u32..400,
            burst in prop_oneof![Just(0u32), 0u32..400],
            steps in prop::collection::vec(step(), 0..150),
        ) {
            let (mut waiting, mut model) = (Waiting::NONE, BTreeMap::new());
            // An all-to-all: from some key on, and once around.
            let burst = (first..first + burst).map(|key| Step::Insert(key % 400));
            for step in burst.chain(steps) {
                let key = match step {
                    Step::Insert(key) => {
                        match waiting.find(key) {
                            Some(place) => waiting.set_credits(place, 9),
                            None => waiting.insert(pair(key)),
                        }
                        let credits = if model.contains_key(&key) { 9 } else { pair(key).credits };
                        model.insert(key, credits);
                        let found = waiting.at(waiting.find(key).unwrap());
                        let known = (found.key(), found.vl(), found.credits);
                        prop_assert_eq!(known, (key, (key % 32) as u8, credits));
                        key
                    }
                    Step::Remove(key) => {
                        remove(&mut waiting, &mut model, key);
                        key
                    }
                    Step::Serve(mut key, count) => {
                        for _ in 0..count {
                            key = remove(&mut waiting, &mut model, key).map_or(0, |key| key + 1);
                        }
                        key
                    }
                };
                check(&waiting, &model, key)?;
            }
        }
    }

    #[test]
    fn an_all_to_all_fills_its_chunks() {
        let mut waiting = Waiting::NONE;
        for key in (1_000..4_096).chain(0..1_000) {
            waiting.insert(pair(key));
        }
        assert!(
            waiting.rest.len() <= 4_096 / CHUNK + 2,
            "{}",
            waiting.rest.len()
        );
    }
}
