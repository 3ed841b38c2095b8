//! A set of ids from a trace.

use hashbrown::HashMap;

/// Words of a page: 4,096 ids.
const WORDS: u64 = 64;

/// A set of 64-bit ids: one bit each, in pages that are allocated on first use, so that
/// a wrong id cannot claim more than a page. A full page keeps only its entry in the map,
/// and the consecutive full pages from 0 on not even that. The ids of a trace are a
/// permutation of 0 … n − 1 that is nearly in order, so memory is bounded by its
/// disorder, not by its length.
#[derive(Debug, Clone, Default)]
pub struct IdSet {
    /// Pages by number; `None` for full ones.
    pages: HashMap<u64, Option<Box<Page>>>,
    /// All pages below this one are full and not in the map.
    full_below: u64,
}

#[derive(Debug, Clone)]
struct Page {
    bits: [u64; WORDS as usize],
    /// Number of ids that are missing.
    free: u32,
}

const EMPTY: Page = Page {
    bits: [0; WORDS as usize],
    free: 64 * WORDS as u32,
};

/// Page, word and bit of `id`.
fn place(id: u64) -> (u64, usize, u64) {
    let word = id / 64;
    (word / WORDS, (word % WORDS) as usize, 1 << (id % 64))
}

impl IdSet {
    /// Adds `id`; false if it was there already.
    pub fn insert(&mut self, id: u64) -> bool {
        let (number, word, bit) = place(id);
        if number < self.full_below {
            return false;
        }
        let page = self.pages.entry(number);
        let Some(page) = page.or_insert_with(|| Some(Box::new(EMPTY))) else {
            return false;
        };
        if page.bits[word] & bit != 0 {
            return false;
        }
        page.bits[word] |= bit;
        page.free -= 1;
        if page.free == 0 {
            self.filled(number);
        }
        true
    }

    /// The page with this number has become full.
    #[cold]
    fn filled(&mut self, number: u64) {
        self.pages.insert(number, None);
        while let Some(None) = self.pages.get(&self.full_below) {
            self.pages.remove(&self.full_below);
            self.full_below += 1;
        }
    }

    /// True if `id` is there.
    #[must_use]
    pub fn contains(&self, id: u64) -> bool {
        let (number, word, bit) = place(id);
        let in_page = |page: &Option<Box<Page>>| {
            let bits = page.as_ref().map(|page| page.bits[word]);
            bits.is_none_or(|bits| bits & bit != 0)
        };
        number < self.full_below || self.pages.get(&number).is_some_and(in_page)
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
    fn full_pages_take_nothing() {
        let mut set = IdSet::default();
        // Backwards, so that the first page is the last to fill.
        (0..100_000).rev().for_each(|id| assert!(set.insert(id)));
        assert_eq!((set.full_below, set.pages.len()), (24, 1));
        assert!(set.contains(0) && set.contains(99_999) && !set.contains(100_000));
        assert!(!set.insert(5) && !set.insert(99_999));
        // A full page after a gap.
        (200_704..204_800).for_each(|id| assert!(set.insert(id)));
        assert!(set.contains(200_704) && !set.insert(204_799) && !set.contains(204_800));
        assert!(set.pages[&49].is_none());
    }
}
