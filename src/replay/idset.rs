//! A set of ids out of a trace.

use hashbrown::HashMap;

/// Words of a page: 4,096 ids.
const WORDS: u64 = 64;

/// A set of 64-bit ids: one bit each, in pages that are made when first used, so
/// that the ids of a trace (a permutation of 0 … n − 1) take n / 8 bytes and a
/// senseless id cannot claim more than a page.
#[derive(Debug, Clone, Default)]
pub(super) struct IdSet {
    pages: HashMap<u64, Box<[u64; WORDS as usize]>>,
}

/// Page, word and bit of `id`.
fn place(id: u64) -> (u64, usize, u64) {
    let word = id / 64;
    (word / WORDS, (word % WORDS) as usize, 1 << (id % 64))
}

impl IdSet {
    /// Adds `id`; false if it was there already.
    pub(super) fn insert(&mut self, id: u64) -> bool {
        let (page, word, bit) = place(id);
        let page = self.pages.entry(page);
        let page = page.or_insert_with(|| Box::new([0; WORDS as usize]));
        let new = page[word] & bit == 0;
        page[word] |= bit;
        new
    }

    /// True if `id` is there.
    pub(super) fn contains(&self, id: u64) -> bool {
        let (page, word, bit) = place(id);
        self.pages
            .get(&page)
            .is_some_and(|page| page[word] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set(ids in prop::collection::vec(prop_oneof![0_u64..9000, any::<u64>()], 0..300)) {
            let mut set = IdSet::default();
            let mut model = BTreeSet::new();
            for &id in &ids {
                prop_assert_eq!(set.contains(id), model.contains(&id));
                prop_assert_eq!(set.insert(id), model.insert(id));
                prop_assert!(set.contains(id));
                prop_assert_eq!(set.contains(id ^ 1), model.contains(&(id ^ 1)));
            }
        }
    }

    #[test]
    fn dense_ids_take_a_bit_each() {
        let mut set = IdSet::default();
        (0..100_000).rev().for_each(|id| assert!(set.insert(id)));
        assert_eq!(set.pages.len(), 25);
    }
}
