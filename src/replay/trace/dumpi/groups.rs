//! Groups of ranks, as a rank makes them: it needs no other rank for that.

use crate::program::RankId;
use flitwise_formats::dumpi::{Comm, Group};
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Ranks of the job in an order.
pub(super) type Members = Arc<[RankId]>;

/// The operation that makes a group from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Making {
    /// The members of a communicator, or of its other side.
    Of { comm: Comm, remote: bool },
    /// All of the first, then the members of the second that are not in it.
    Union([Group; 2]),
    /// The members of the first that are in the second.
    Intersection([Group; 2]),
    /// The members of the first that are not in the second.
    Difference([Group; 2]),
    /// These, in this order.
    Incl(Group, Box<[i32]>),
    /// All but these.
    Excl(Group, Box<[i32]>),
    /// The members from a first to a last in steps, in this order.
    RangeIncl(Group, Box<[[i32; 3]]>),
    /// The members outside such ranges.
    RangeExcl(Group, Box<[[i32; 3]]>),
    /// By a function that says nothing of its members.
    Unknown,
}

/// The groups of a rank.
#[derive(Default)]
pub(super) struct Groups(HashMap<Group, Members>);

impl Groups {
    /// The members of a group, if they are known.
    pub fn get(&self, group: Group) -> Option<Members> {
        match group {
            Group::EMPTY => Some(Arc::new([])),
            _ => self.0.get(&group).cloned(),
        }
    }

    /// Makes a group; `of_comm` are the members of the communicator that it is made from.
    pub fn make(&mut self, new: Group, making: &Making, of_comm: Option<Members>) {
        let made = match making {
            Making::Of { .. } => of_comm,
            _ => self.made(making),
        };
        match made {
            Some(members) => self.0.insert(new, members),
            None => self.0.remove(&new),
        };
    }

    fn made(&self, making: &Making) -> Option<Members> {
        let pair = |[a, b]: [Group; 2]| Some((self.get(a)?, self.get(b)?));
        Some(match making {
            Making::Of { .. } | Making::Unknown => return None,
            Making::Union(both) => {
                let (a, b) = pair(*both)?;
                let in_a = set(&a);
                let more = kept(&b, |rank| !in_a.contains(&rank));
                a.iter().chain(more.iter()).copied().collect()
            }
            Making::Intersection(both) => {
                let (a, b) = pair(*both)?;
                let in_b = set(&b);
                kept(&a, |rank| in_b.contains(&rank))
            }
            Making::Difference(both) => {
                let (a, b) = pair(*both)?;
                let in_b = set(&b);
                kept(&a, |rank| !in_b.contains(&rank))
            }
            Making::Incl(group, ranks) => picked(&self.get(*group)?, ranks)?,
            Making::Excl(group, ranks) => without(&self.get(*group)?, ranks),
            Making::RangeIncl(group, ranges) => {
                let members = self.get(*group)?;
                picked(&members, &expanded(ranges, members.len())?)?
            }
            Making::RangeExcl(group, ranges) => {
                let members = self.get(*group)?;
                without(&members, &expanded(ranges, members.len())?)
            }
        })
    }
}

fn set(members: &Members) -> HashSet<RankId> {
    members.iter().copied().collect()
}

fn kept(members: &Members, keep: impl Fn(RankId) -> bool) -> Members {
    members.iter().copied().filter(|&rank| keep(rank)).collect()
}

/// The entries of `members` that `ranks` does not name.
fn without(members: &Members, ranks: &[i32]) -> Members {
    let named: HashSet<i32> = ranks.iter().copied().collect();
    let all = (0..).zip(members.iter().copied());
    all.filter(|(at, _)| !named.contains(at))
        .map(|(_, rank)| rank)
        .collect()
}

/// The entries of `members` that `ranks` names; `None` if it names one that does not exist.
fn picked(members: &Members, ranks: &[i32]) -> Option<Members> {
    let pick = |&rank: &i32| members.get(usize::try_from(rank).ok()?).copied();
    ranks.iter().map(pick).collect()
}

/// The ranks in ranges of a group with `n` members; `None` if a range is none or has more.
fn expanded(ranges: &[[i32; 3]], n: usize) -> Option<Vec<i32>> {
    let mut ranks = Vec::new();
    for &[first, last, step] in ranges {
        let mut rank = first;
        let before_end = |rank: i32| if step > 0 { rank <= last } else { rank >= last };
        if step == 0 {
            return None;
        }
        while before_end(rank) {
            ranks.push(rank);
            if ranks.len() > n {
                return None;
            }
            rank = rank.checked_add(step)?;
        }
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(numbers: &[u32]) -> Members {
        numbers.iter().copied().map(RankId::new).collect()
    }

    #[test]
    fn groups_are_made_as_mpi_says() {
        let mut groups = Groups::default();
        let [a, b, c] = [3, 4, 5].map(Group);
        let of = |comm| Making::Of {
            comm,
            remote: false,
        };
        groups.make(a, &of(Comm::WORLD), Some(ranks(&[9, 8, 7, 6, 5])));
        groups.make(b, &Making::Incl(a, [3, 0].into()), None);
        assert_eq!(groups.get(b), Some(ranks(&[6, 9])));
        let mut makes = |making, expected: &[u32]| {
            groups.make(c, &making, None);
            assert_eq!(groups.get(c), Some(ranks(expected)), "{making:?}");
        };
        makes(Making::Excl(a, [1, 4].into()), &[9, 7, 6]);
        makes(Making::Union([b, a]), &[6, 9, 8, 7, 5]);
        makes(Making::Intersection([a, b]), &[9, 6]);
        makes(Making::Difference([a, b]), &[8, 7, 5]);
        makes(
            Making::RangeIncl(a, [[4, 0, -2], [1, 1, 1]].into()),
            &[5, 7, 9, 8],
        );
        makes(Making::RangeExcl(a, [[0, 3, 3]].into()), &[8, 7, 5]);
        makes(Making::Union([Group::EMPTY, b]), &[6, 9]);
        for wrong in [
            Making::Incl(a, [5].into()),
            Making::Incl(a, [-1].into()),
            Making::RangeIncl(a, [[0, 4, 0]].into()),
            Making::RangeIncl(a, [[0, i32::MAX, 1]].into()),
            Making::Unknown,
        ] {
            groups.make(c, &wrong, None);
            assert_eq!(groups.get(c), None, "{wrong:?}");
        }
    }
}
