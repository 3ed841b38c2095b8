//! A level: pairs that communicate at the same time.

/// A message between two ranks of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
}

/// The pairs of a level.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Level {
    /// In the order of the pattern.
    pub pairs: Vec<Pair>,
    /// Bytes of every pair, above 0; empty if all are equal.
    pub weights: Vec<u64>,
    /// The number of pairs, from the first, that the pattern examines; the others are load only.
    pub counted: usize,
}

impl Level {
    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.weights.clear();
        self.counted = 0;
    }

    pub(super) fn extend(&mut self, pairs: impl IntoIterator<Item = (u32, u32)>) {
        let pairs = pairs.into_iter().map(|(from, to)| Pair { from, to });
        self.pairs.extend(pairs);
    }
}
