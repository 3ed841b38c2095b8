//! The messages of a job that arrived before their receivers waited for them.

use hashbrown::HashMap;

/// Words of a page: 512 ids.
const WORDS: usize = 8;

/// A set of ids of messages, of all ranks of a job. The ids of a trace are dense, so they are kept as bits: in
/// an all-to-all all messages may be here at once. A page without ids is dropped.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pages: HashMap<u64, [u64; WORDS]>,
}

/// Page, word and bit of an id.
fn place(id: u64) -> (u64, usize, u64) {
    let word = id / 64;
    let words = WORDS as u64;
    (word / words, (word % words) as usize, 1 << (id % 64))
}

impl Arrived {
    /// Adds a message.
    pub(super) fn insert(&mut self, id: u64) {
        let (page, word, bit) = place(id);
        self.pages.entry(page).or_default()[word] |= bit;
    }

    /// Removes a message; true if it was there.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        let (page, word, bit) = place(id);
        let hashbrown::hash_map::Entry::Occupied(mut entry) = self.pages.entry(page) else {
            return false;
        };
        let words = entry.get_mut();
        let was_there = words[word] & bit != 0;
        words[word] &= !bit;
        if *words == [0; WORDS] {
            entry.remove();
        }
        was_there
    }

    /// Removes all messages.
    pub(super) fn clear(&mut self) {
        self.pages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set_that_keeps_no_empty_page(
            steps in prop::collection::vec((any::<bool>(), prop_oneof![0u64..1100, any::<u64>()]), 0..200),
        ) {
            let (mut arrived, mut model) = (Arrived::default(), BTreeSet::new());
            for (add, id) in steps {
                if add {
                    arrived.insert(id);
                    model.insert(id);
                } else {
                    prop_assert_eq!(arrived.remove(id), model.remove(&id));
                }
                let pages: BTreeSet<u64> = model.iter().map(|id| id / 512).collect();
                prop_assert_eq!(arrived.pages.len(), pages.len());
            }
            for id in model {
                prop_assert!(arrived.remove(id));
            }
            prop_assert!(arrived.pages.is_empty());
        }
    }
}
