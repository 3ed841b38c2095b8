//! A set of message ids that knows how many ids are below each.

use hashbrown::HashMap;

const WORDS: usize = 64;
const PAGE: u64 = 64 * WORDS as u64;

/// Pages that are worth their memory whatever they hold: 32 MB, enough for 2^28 ids in any
/// order.
const FREE_PAGES: usize = 1 << 16;

/// A set of ids. In a sound trace nearly all ids below the largest exist.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pages: HashMap<u64, Page>,
    count: u64,
}

#[derive(Debug)]
struct Page {
    bits: Box<[u64; WORDS]>,
    /// Ids of all pages before; see [`Ids::number`].
    before: u64,
}

impl Ids {
    /// Adds an id. False if the ids are so scattered that no sound trace can have them.
    pub fn insert(&mut self, id: u64) -> bool {
        self.count += 1;
        let page = self.pages.entry(id / PAGE).or_insert_with(|| Page {
            bits: Box::new([0; WORDS]),
            before: 0,
        });
        let at = id % PAGE;
        page.bits[(at / 64) as usize] |= 1 << (at % 64);
        self.pages.len() as u64 <= FREE_PAGES as u64 + self.count / 64
    }

    /// Numbers the ids, for [`rank`](Self::rank).
    pub fn number(&mut self) {
        let mut order: Vec<u64> = self.pages.keys().copied().collect();
        order.sort_unstable();
        let mut before = 0;
        for index in order {
            if let Some(page) = self.pages.get_mut(&index) {
                page.before = before;
                before += page
                    .bits
                    .iter()
                    .map(|w| u64::from(w.count_ones()))
                    .sum::<u64>();
            }
        }
    }

    /// How many ids are less than `id`; `None` if it is not in the set.
    pub fn rank(&self, id: u64) -> Option<u64> {
        let page = self.pages.get(&(id / PAGE))?;
        let at = id % PAGE;
        let (word, bit) = ((at / 64) as usize, 1_u64 << (at % 64));
        if page.bits[word] & bit == 0 {
            return None;
        }
        let words = page.bits[..word].iter().map(|w| u64::from(w.count_ones()));
        let below = (page.bits[word] & (bit - 1)).count_ones();
        Some(page.before + words.sum::<u64>() + u64::from(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ranked() {
        let mut ids = Ids::default();
        let members = [0, 1, 63, 64, 4095, 4096, 10_000, 1 << 40];
        for id in members.into_iter().rev() {
            assert!(ids.insert(id));
        }
        ids.number();
        for (rank, id) in (0..).zip(members) {
            assert_eq!(ids.rank(id), Some(rank));
        }
        assert_eq!((ids.rank(2), ids.rank(5000)), (None, None));
    }

    #[test]
    fn scattered_ids_end_it() {
        let mut ids = Ids::default();
        let refused = (0..1 << 20).position(|i| !ids.insert(i * PAGE)).unwrap();
        assert!((FREE_PAGES..FREE_PAGES + 2000).contains(&refused));
    }
}
