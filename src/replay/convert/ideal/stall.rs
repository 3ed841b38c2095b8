//! The ranks of a trace that wait without end, and what they wait for.

use super::super::graph::{COLLECTIVES, Task};
use super::{IdealRun, Rank};
use crate::program::{Place, RankId};
use flitwise_base::units::human_count;
use flitwise_formats::goal::DependencyKind;
use hashbrown::{HashMap, HashSet};

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
        let ranks = (0..).zip(&self.ranks);
        let open: Vec<u32> = ranks
            .filter(|(_, rank)| {
                let posted = rank.queues.posted();
                rank.open
                    > posted
                        .filter(|&(_, _, &node)| self.is_idle(rank, node))
                        .count()
            })
            .map(|(rank, _)| rank)
            .collect();
        if open.is_empty() {
            return Vec::new();
        }
        let sends = self.long_sends();
        open.into_iter()
            .map(|rank| self.stalled_rank(rank, sends.get(&rank).copied()))
            .collect()
    }

    /// Whether a receive may stay without a message.
    fn is_idle(&self, rank: &Rank, receive: u32) -> bool {
        let mut waiting = rank.waiting[receive as usize].iter();
        self.graph.may_idle && !waiting.any(|(_, kind)| *kind == DependencyKind::Done)
    }

    /// The first send of each rank that waits for its receive.
    fn long_sends(&self) -> HashMap<u32, u32> {
        let taken = self.course.taken.iter().flat_map(HashMap::values);
        let taken: HashSet<(u32, u32)> = taken.copied().collect();
        let mut sends = HashMap::new();
        for &(rank, node) in &self.course.starts {
            match self.graph.ranks[rank as usize][node as usize].task {
                Task::Send { bytes, .. }
                    if bytes > self.eager_bytes && !taken.contains(&(rank, node)) =>
                {
                    sends.entry(rank).or_insert(node);
                }
                _ => {}
            }
        }
        sends
    }

    fn stalled_rank(&self, rank: u32, send: Option<u32>) -> Stalled {
        let found = (self.message(rank))
            .or_else(|| self.collective(rank))
            .or_else(|| self.send(rank, send?));
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
        let state = &self.ranks[rank as usize];
        let placed = (state.queues.posted()).filter(|&(_, _, &node)| {
            nodes[node as usize].place.is_some() && !self.is_idle(state, node)
        });
        let (pattern, _, &node) = placed.min_by_key(|(_, number, _)| *number)?;
        let from = pattern.from;
        let from = from.map_or_else(|| "any rank".into(), |from| format!("rank {from}"));
        let awaited = match pattern.tag.map(|tag| tag.0.cast_unsigned()) {
            Some(_) if pattern.comm == COLLECTIVES => {
                format!("a message from {from} in a collective")
            }
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

    /// A send, and the receive that it waits for.
    fn send(&self, rank: u32, node: u32) -> Option<(u32, String)> {
        let Task::Send { to, tag, .. } = self.graph.ranks[rank as usize][node as usize].task else {
            return None;
        };
        let eager = human_count(self.eager_bytes);
        let awaited =
            format!("rank {to} to receive its message (tag {tag}) of more than {eager} bytes");
        Some((node, awaited))
    }
}
