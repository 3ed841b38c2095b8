//! Receives from `MPI_PROC_NULL`, which recorders write as those from any source.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use crate::matching::Matching;

/// The receives from any source that are from `MPI_PROC_NULL`: by receiving rank and tag, `None` for any tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProcNull(HashSet<(u32, Option<u32>)>);

impl ProcNull {
    /// True if the receives of `rank` with this tag that name no source get no message.
    #[inline]
    pub fn sends(&self, rank: u32, tag: Option<u32>) -> bool {
        !self.0.is_empty() && self.0.contains(&(rank, tag))
    }
}

/// Receives that name no source: of a rank, by tag.
#[derive(Debug, Default)]
pub(super) struct Unnamed(BTreeMap<(u32, Option<u32>), u64>);

/// A rank whose receives that name no source can't be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub rank: u32,
    /// Receives that name no source.
    pub receives: u64,
    /// Messages that are left for them.
    pub messages: u64,
}

impl Unnamed {
    pub fn add(&mut self, rank: u32, tag: Option<u32>) {
        *self.0.entry((rank, tag)).or_default() += 1;
    }

    /// The number of receives from `MPI_PROC_NULL`, by rank and tag.
    pub fn of<'a>(&'a self, proc_null: &'a ProcNull) -> impl Iterator<Item = (u32, u64)> + 'a {
        let all = self.0.iter();
        let gone = all.filter(|((rank, tag), _)| proc_null.sends(*rank, *tag));
        gone.map(|(&(rank, _), &count)| (rank, count))
    }

    /// Finds the receives from `MPI_PROC_NULL` by the messages that no other receive takes. Where a rank receives more messages
    /// than are sent to it, those with a tag that no message left has are from `MPI_PROC_NULL`, if that settles their number.
    pub fn settle(&self, matching: &Matching) -> (ProcNull, Vec<Unsettled>) {
        let (mut proc_null, mut unsettled) = (ProcNull::default(), Vec::new());
        let Some(left) = matching.sends_left() else {
            return (proc_null, unsettled);
        };
        let mut by_tag: HashMap<(u32, u32), u64> = HashMap::new();
        for (dst, tag, count) in left {
            *by_tag.entry((dst, tag as u32)).or_default() += count;
        }
        let mut ranks: Vec<u32> = self.0.keys().map(|&(rank, _)| rank).collect();
        ranks.dedup();
        for rank in ranks {
            let of =
                |tag: &Option<u32>| tag.map(|tag| by_tag.get(&(rank, tag)).copied().unwrap_or(0));
            let mine = || {
                let all = self.0.range((rank, None)..=(rank, Some(u32::MAX)));
                all.map(|(&(_, tag), &count)| (tag, count))
            };
            let excess = matching.receives_too_many(rank);
            if excess == 0 {
                continue;
            }
            let messages: u64 = (by_tag.iter().filter(|((dst, _), _)| *dst == rank))
                .map(|(_, count)| count)
                .sum();
            let takes = |(tag, count): (Option<u32>, u64)| count.min(of(&tag).unwrap_or(0));
            let taken: u64 = mine().map(takes).sum();
            let gets_none = |tag: &Option<u32>| match of(tag) {
                Some(count) => count == 0,
                None => taken == messages,
            };
            let none: u64 = (mine().filter(|(tag, _)| gets_none(tag)))
                .map(|(_, count)| count)
                .sum();
            if none == excess {
                let tags = mine().filter(|(tag, _)| gets_none(tag));
                proc_null.0.extend(tags.map(|(tag, _)| (rank, tag)));
            } else {
                unsettled.push(Unsettled {
                    rank,
                    receives: mine().map(|(_, count)| count).sum(),
                    messages,
                });
            }
        }
        (proc_null, unsettled)
    }
}
