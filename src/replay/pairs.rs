//! Messages and bytes by pairs of ranks. For a job with many ranks they are counted by pairs of groups of
//! consecutive ranks, so the counts take bounded memory.

use super::messages::RankPair;
use serde::{Deserialize, Serialize};

/// Most groups of ranks.
const MOST_GROUPS: u32 = 64;

/// The messages that the ranks of a job sent to one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct PairCounts {
    ranks: u32,
    /// Ranks of a group. The last group may have fewer.
    group: u32,
    /// Number of groups.
    groups: u32,
    /// Messages and bytes, by sending group, then receiving group.
    counts: Vec<(u64, u64)>,
}

/// The messages that one group of ranks sent to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairCount {
    /// First and last sending rank.
    pub from: [u32; 2],
    /// First and last receiving rank.
    pub to: [u32; 2],
    /// Messages.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

impl PairCounts {
    /// No messages between `ranks` ranks.
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
    pub(super) fn count(&mut self, ranks: RankPair, bytes: u64) {
        let at = |rank: usize| rank / self.group as usize;
        let place = at(ranks.from.index()) * self.groups as usize + at(ranks.to.index());
        if let Some((messages, sum)) = self.counts.get_mut(place) {
            *messages += 1;
            *sum = sum.saturating_add(bytes);
        }
    }

    /// The groups between which there were messages, by sender, then receiver.
    pub fn iter(&self) -> impl Iterator<Item = PairCount> + '_ {
        let groups = self.groups.max(1) as usize;
        let span = |at: usize| {
            let first = (at as u32).saturating_mul(self.group);
            let last = first.saturating_add(self.group - 1);
            [first, last.min(self.ranks.saturating_sub(1))]
        };
        let counted = self.counts.iter().enumerate();
        let sent = counted.filter(|(_, (messages, _))| *messages > 0);
        sent.map(move |(place, &(messages, bytes))| PairCount {
            from: span(place / groups),
            to: span(place % groups),
            messages,
            bytes,
        })
    }
}

/// The counts of a record: those that are not 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Listed {
    ranks: u32,
    /// Place, messages, bytes.
    counts: Vec<(u32, u64, u64)>,
}

impl From<PairCounts> for Listed {
    fn from(pairs: PairCounts) -> Self {
        let counted = (0..).zip(pairs.counts);
        let sent = counted.filter(|(_, (messages, _))| *messages > 0);
        Self {
            ranks: pairs.ranks,
            counts: sent
                .map(|(at, (messages, bytes))| (at, messages, bytes))
                .collect(),
        }
    }
}

impl From<Listed> for PairCounts {
    fn from(listed: Listed) -> Self {
        let mut pairs = Self::new(listed.ranks);
        for (at, messages, bytes) in listed.counts {
            if let Some(count) = pairs.counts.get_mut(at as usize) {
                *count = (messages, bytes);
            }
        }
        pairs
    }
}
