//! Counts and amounts by pairs of ranks: messages and their bytes, waits and their picoseconds. For a job with many
//! ranks they are by pairs of groups of consecutive ranks, so they take bounded memory.

use super::messages::RankPair;
use serde::{Deserialize, Serialize};

/// Most groups of ranks.
const MOST_GROUPS: u32 = 64;

/// Counts and sums of what happened between the ranks of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct PairCounts {
    ranks: u32,
    /// Ranks of a group. The last group may have fewer.
    group: u32,
    /// Number of groups.
    groups: u32,
    /// Count and amount, by group of the first rank, then of the second.
    counts: Vec<(u64, u64)>,
}

/// Messages from one group of ranks to another, or waits of the one for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairCount {
    /// First and last rank that sent, or waited.
    pub from: [u32; 2],
    /// First and last rank that received, or was waited for.
    pub to: [u32; 2],
    /// Messages, or waits.
    pub count: u64,
    /// Their payload in bytes, or their picoseconds.
    pub amount: u64,
}

impl PairCounts {
    /// Nothing between `ranks` ranks.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        let group = ranks.div_ceil(MOST_GROUPS).max(1);
        let groups = ranks.div_ceil(group);
        Self {
            ranks,
            group,
            groups,
            counts: vec![(0, 0); groups as usize * groups as usize],
        }
    }

    #[inline]
    pub(super) fn count(&mut self, ranks: RankPair, amount: u64) {
        let at = |rank: usize| rank / self.group as usize;
        let place = at(ranks.from.index()) * self.groups as usize + at(ranks.to.index());
        if let Some((count, sum)) = self.counts.get_mut(place) {
            *count += 1;
            *sum = sum.saturating_add(amount);
        }
    }

    /// The groups between which there was something, by the first, then the second.
    pub fn iter(&self) -> impl Iterator<Item = PairCount> + '_ {
        let groups = self.groups.max(1) as usize;
        let span = |at: usize| {
            let first = (at as u32).saturating_mul(self.group);
            let last = first.saturating_add(self.group - 1);
            [first, last.min(self.ranks.saturating_sub(1))]
        };
        let counted = self.counts.iter().enumerate();
        let some = counted.filter(|(_, (count, _))| *count > 0);
        some.map(move |(place, &(count, amount))| PairCount {
            from: span(place / groups),
            to: span(place % groups),
            count,
            amount,
        })
    }
}

/// The counts of a record: those that are not 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Listed {
    ranks: u32,
    /// Place, count, amount.
    counts: Vec<(u32, u64, u64)>,
}

impl From<PairCounts> for Listed {
    fn from(pairs: PairCounts) -> Self {
        let counted = (0..).zip(pairs.counts);
        let some = counted.filter(|(_, (count, _))| *count > 0);
        Self {
            ranks: pairs.ranks,
            counts: some
                .map(|(at, (count, amount))| (at, count, amount))
                .collect(),
        }
    }
}

impl From<Listed> for PairCounts {
    fn from(listed: Listed) -> Self {
        let mut pairs = Self::new(listed.ranks);
        for (at, count, amount) in listed.counts {
            if let Some(known) = pairs.counts.get_mut(at as usize) {
                *known = (count, amount);
            }
        }
        pairs
    }
}
