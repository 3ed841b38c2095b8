//! The ranks of a trace that wait without end, and what they wait for.

use super::super::expand::FIRST_TAG;
use super::super::graph::Task;
use super::IdealRun;
use crate::program::{Place, RankId};

/// A rank that waits without end.
#[derive(Debug)]
pub(in crate::convert) struct Stalled {
    pub rank: RankId,
    /// The place in the trace of the operation that can't start or end.
    pub place: Option<Place>,
    /// The event that it waits for.
    pub awaited: String,
}

impl IdealRun<'_> {
    /// The ranks with operations that can't start or end, ascending.
    pub(super) fn stalled(&self) -> Vec<Stalled> {
        let ranks = (0..).zip(&self.ranks).filter(|(_, rank)| rank.open > 0);
        ranks.map(|(rank, _)| self.stalled_rank(rank)).collect()
    }

    fn stalled_rank(&self, rank: u32) -> Stalled {
        let found = self.message(rank).or_else(|| self.collective(rank));
        let (place, awaited) = match found {
            Some((node, awaited)) => {
                let place = self.graph.ranks[rank as usize][node as usize].place;
                (place, awaited)
            }
            None => (None, "an operation that can't start".into()),
        };
        Stalled {
            rank: RankId::new(rank),
            place,
            awaited,
        }
    }

    /// The receive that was posted first of those that the trace has, and its message.
    fn message(&self, rank: u32) -> Option<(u32, String)> {
        let nodes = &self.graph.ranks[rank as usize];
        let posted = self.ranks[rank as usize].queues.posted();
        let placed = posted.filter(|&(_, _, &node)| nodes[node as usize].place.is_some());
        let (pattern, _, &node) = placed.min_by_key(|(_, number, _)| *number)?;
        let from = pattern.from;
        let from = from.map_or_else(|| "any rank".into(), |from| format!("rank {from}"));
        let awaited = match pattern.tag.map(|tag| tag.0.cast_unsigned()) {
            Some(tag) if tag >= FIRST_TAG => format!("a message from {from} in a collective"),
            Some(tag) => format!("a message from {from} (tag {tag})"),
            None => format!("a message from {from} (any tag)"),
        };
        Some((node, awaited))
    }

    /// The first collective that it entered of the ones that do not end, and the number of missing members.
    fn collective(&self, rank: u32) -> Option<(u32, String)> {
        let waits = self.entered.values().flat_map(|entered| {
            let of_rank = entered.waiting.iter().filter(move |(of, _)| *of == rank);
            of_rank.map(|&(_, node)| (node, entered.count))
        });
        let (node, count) = waits.min()?;
        let Task::Collective(entry) = &self.graph.ranks[rank as usize][node as usize].task else {
            return None;
        };
        let (name, members) = (entry.name(), entry.members.len());
        let missing = members.saturating_sub(count);
        let awaited = format!("the {name}, which {missing} of {members} members have not entered");
        Some((node, awaited))
    }
}
