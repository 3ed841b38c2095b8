//! The labels of a rank.

use hashbrown::HashMap;

use crate::grammar::decimal;
use crate::idset::IdSet;
use crate::limits::MAX_GOAL_LABELS;

/// The operations of a rank by their labels.
#[derive(Debug, Default, Clone)]
pub(super) struct Labels {
    /// Operations with the label that their number has: `l1` for the first. Takes a bit for each at most.
    numbered: IdSet,
    named: HashMap<Box<[u8]>, u32>,
    bytes: usize,
}

/// Why an operation can't have a label.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// This operation has it.
    Taken(u32),
    /// There is no room for it.
    Full,
}

/// The operation whose number `label` has.
fn numbered(label: &[u8]) -> Option<u32> {
    let digits = label.strip_prefix(b"l")?;
    if digits.len() > 9 || digits.first() == Some(&b'0') {
        return None;
    }
    u32::try_from(decimal(digits)?).ok()?.checked_sub(1)
}

impl Labels {
    /// The operation with this label.
    #[inline]
    pub fn get(&self, label: &[u8]) -> Option<u32> {
        if let Some(index) = numbered(label)
            && self.numbered.contains(u64::from(index))
        {
            return Some(index);
        }
        self.named.get(label).copied()
    }

    /// Gives operation `index` a label.
    #[inline]
    pub fn add(&mut self, label: &[u8], index: u32) -> Result<(), Refused> {
        if let Some(other) = self.get(label) {
            return Err(Refused::Taken(other));
        }
        if numbered(label) == Some(index) {
            self.numbered.insert(u64::from(index));
            return Ok(());
        }
        self.bytes += label.len() + 64;
        if self.bytes > MAX_GOAL_LABELS {
            return Err(Refused::Full);
        }
        self.named.insert(label.into(), index);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_find_their_operation() {
        let mut labels = Labels::default();
        let given: [(&[u8], u32); 6] = [
            (b"l1", 0),
            (b"l2", 1),
            (b"l4", 2),
            (b"join", 3),
            (b"l05", 4),
            (b"l", 5),
        ];
        for (label, index) in given {
            assert_eq!(labels.get(label), None);
            assert_eq!(labels.add(label, index), Ok(()));
            assert_eq!(labels.get(label), Some(index));
            assert_eq!(labels.add(label, 9), Err(Refused::Taken(index)));
        }
        // The number of an operation whose label is another one.
        assert_eq!(labels.get(b"l3"), None);
        assert_eq!(labels.get(b"l5"), None);
        assert_eq!(labels.get(b"l99999999999"), None);
    }
}
