//! The tuples that a stream may repeat.

use crate::limits::MAX_RECORDING_SLOTS;

/// The number of slots of the format.
pub(super) const SLOTS: usize = 4096;

/// The tuples by slot, and the next slot to fill.
#[derive(Debug, Default)]
pub(super) struct Slots {
    tuples: Vec<Box<[u8]>>,
    next: usize,
    bytes: usize,
}

impl Slots {
    /// Puts a tuple into the next slot; `None` if all of them have too many bytes.
    pub fn define(&mut self, tuple: &[u8]) -> Option<usize> {
        let slot = self.next;
        let before = self.tuples.get(slot).map_or(0, |tuple| tuple.len());
        self.bytes = self.bytes - before + tuple.len();
        if self.bytes > MAX_RECORDING_SLOTS {
            return None;
        }
        match self.tuples.get_mut(slot) {
            Some(old) if old.len() == tuple.len() => old.copy_from_slice(tuple),
            Some(old) => *old = tuple.into(),
            None => self.tuples.push(tuple.into()),
        }
        self.next = (slot + 1) % SLOTS;
        Some(slot)
    }

    #[inline]
    pub fn get(&self, slot: usize) -> Option<&[u8]> {
        self.tuples.get(slot).map(|tuple| &**tuple)
    }
}
