//! Whose data a member of a collective gets: what it has to wait for, whatever the algorithm.
//!
//! A part of 0 bytes carries nothing and makes no member wait; only a barrier synchronises without
//! data. An algorithm may pass data on through members that have none of their own, and then makes
//! its members wait longer.

use super::record::Comm;
use crate::collective::{AlltoallBlocks, CollectiveKind};

/// Who gets data from whom in one collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exchange {
    /// Each from all.
    All,
    /// Each from this task.
    FromRoot(u32),
    /// This task from all.
    ToRoot(u32),
    /// Some parts are empty: the members by task. Who is missing neither sends nor gets anything.
    Some(Box<[Role]>),
}

/// The part of a member that sends and gets, if some parts are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Role {
    task: u32,
    /// It sends to the members of a lower place.
    reach: u32,
    place: u32,
}

/// The place of a member that gets nothing.
const NOWHERE: u32 = u32::MAX;

impl Exchange {
    /// Of a collective on `comm`.
    pub fn of(kind: &CollectiveKind, comm: &Comm) -> Self {
        let task = |root: u32| comm.members.get(root as usize).copied().unwrap_or(0);
        match kind {
            CollectiveKind::Barrier
            // VEF has none of these.
            | CollectiveKind::ReduceScatter { .. }
            | CollectiveKind::Scan { .. }
            | CollectiveKind::Exscan { .. } => Self::All,
            CollectiveKind::Bcast { bytes: 0, .. }
            | CollectiveKind::Reduce { bytes: 0, .. }
            | CollectiveKind::Allreduce { bytes: 0 } => Self::Some(Box::default()),
            CollectiveKind::Bcast { root, .. } => Self::FromRoot(task(*root)),
            CollectiveKind::Reduce { root, .. } => Self::ToRoot(task(*root)),
            CollectiveKind::Allreduce { .. } => Self::All,
            CollectiveKind::Gather { root, blocks } => {
                let to_root = |p: u32, bytes: u64| if p == *root { (1, 0) } else { (u32::from(bytes > 0), NOWHERE) };
                let full = others(*root, blocks);
                Self::listed(Self::ToRoot(task(*root)), full, comm, blocks, to_root)
            }
            CollectiveKind::Scatter { root, blocks } => {
                let from_root = |p: u32, bytes: u64| if p == *root { (1, NOWHERE) } else { (0, if bytes > 0 { 0 } else { NOWHERE }) };
                let full = others(*root, blocks);
                Self::listed(Self::FromRoot(task(*root)), full, comm, blocks, from_root)
            }
            CollectiveKind::Allgather { blocks } => {
                let full = blocks.iter().all(|&bytes| bytes > 0);
                let to_all = |_, bytes| (u32::from(bytes > 0), 0);
                Self::listed(Self::All, full, comm, blocks, to_all)
            }
            CollectiveKind::Alltoall { blocks } => {
                let n = blocks.len() as u32;
                let reaches: Vec<u64> = blocks.iter().map(|row| row.reach(n).into()).collect();
                let full = reaches.iter().all(|&reach| reach == u64::from(n));
                Self::listed(Self::All, full, comm, &reaches, |p, reach| {
                    (reach as u32, p)
                })
            }
        }
    }

    /// `whole` if no part is empty, else the reach and place of each member from its `blocks`.
    fn listed(
        whole: Self,
        full: bool,
        comm: &Comm,
        blocks: &[u64],
        role: impl Fn(u32, u64) -> (u32, u32),
    ) -> Self {
        if full {
            return whole;
        }
        let members = (0..).zip(&*comm.members).zip(blocks);
        let mut roles: Vec<Role> = members
            .map(|((position, &task), &bytes)| {
                let (reach, place) = role(position, bytes);
                Role { task, reach, place }
            })
            .collect();
        roles.sort_unstable_by_key(|role| role.task);
        Self::Some(roles.into())
    }

    /// The members of a lower place than this get data of `task`.
    pub fn reach(&self, task: u32) -> u32 {
        match self {
            Self::All | Self::ToRoot(_) => 1,
            Self::FromRoot(root) => u32::from(*root == task),
            Self::Some(roles) => role(roles, task).map_or(0, |role| role.reach),
        }
    }

    /// The place of `task`: it gets data of the members whose reach is beyond.
    pub fn place(&self, task: u32) -> u32 {
        match self {
            Self::All => 0,
            Self::ToRoot(root) if *root == task => 0,
            Self::FromRoot(root) if *root != task => 0,
            Self::ToRoot(_) | Self::FromRoot(_) => NOWHERE,
            Self::Some(roles) => role(roles, task).map_or(NOWHERE, |role| role.place),
        }
    }
}

fn role(roles: &[Role], task: u32) -> Option<&Role> {
    let at = roles.binary_search_by_key(&task, |role| role.task).ok()?;
    roles.get(at)
}

/// True if no member but the one at `root` has an empty block.
fn others(root: u32, blocks: &[u64]) -> bool {
    (0..)
        .zip(blocks)
        .all(|(position, &bytes)| bytes > 0 || position == root)
}

impl AlltoallBlocks {
    /// How many members of `n` get a part: those at the lowest positions.
    fn reach(self, n: u32) -> u32 {
        match self {
            Self::Each(0) => 0,
            Self::Each(_) => n,
            Self::Split { total, .. } => u32::try_from(total).map_or(n, |total| total.min(n)),
        }
    }
}

/// The latest entries into a collective by reach: what a member waits for.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Reach and time of entry, by falling reach and growing time. Who entered before another
    /// that reaches as far makes no member wait longer and is left out.
    steps: Vec<(u32, u64)>,
}

impl Entries {
    /// A member that reaches so far entered at `time`.
    pub fn add(&mut self, reach: u32, time: u64) {
        let from = self.steps.partition_point(|step| step.0 > reach);
        let covered = |step: &(u32, u64)| step.1 >= time;
        if self.steps[..from].last().is_some_and(covered)
            || self
                .steps
                .get(from)
                .is_some_and(|s| s.0 == reach && s.1 >= time)
        {
            return;
        }
        let to = from + self.steps[from..].partition_point(|step| step.1 <= time);
        self.steps.splice(from..to, [(reach, time)]);
    }

    /// The latest entry of the members that reach beyond `place`; 0 if none did.
    pub fn latest_beyond(&self, place: u32) -> u64 {
        let end = self.steps.partition_point(|step| step.0 > place);
        self.steps[..end].last().map_or(0, |step| step.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(total: u64) -> AlltoallBlocks {
        let members = 3;
        AlltoallBlocks::Split { total, members }
    }

    /// The tasks from which each of the tasks 5, 3, 4 gets data.
    fn sources(kind: &CollectiveKind) -> [Vec<u32>; 3] {
        let tasks = [5, 3, 4];
        let comm = Comm {
            members: tasks.into(),
        };
        let exchange = Exchange::of(kind, &comm);
        tasks.map(|to| {
            let place = exchange.place(to);
            let sends = |&from: &u32| from != to && exchange.reach(from) > place;
            tasks.iter().copied().filter(sends).collect()
        })
    }

    #[test]
    fn empty_parts_make_nobody_wait() {
        let none: [Vec<u32>; 3] = [vec![], vec![], vec![]];
        let root = 1;
        for kind in [
            CollectiveKind::Bcast { root, bytes: 0 },
            CollectiveKind::Reduce { root, bytes: 0 },
            CollectiveKind::Allreduce { bytes: 0 },
            CollectiveKind::Gather {
                root,
                blocks: vec![0, 8, 0],
            },
            CollectiveKind::Scatter {
                root,
                blocks: vec![0, 8, 0],
            },
            CollectiveKind::Allgather { blocks: vec![0; 3] },
            CollectiveKind::Alltoall {
                blocks: vec![AlltoallBlocks::Each(0), split(0), AlltoallBlocks::Each(0)],
            },
        ] {
            assert_eq!(sources(&kind), none, "{kind:?}");
        }
        let blocks = vec![0, 0, 8];
        let gather = sources(&CollectiveKind::Gather {
            root,
            blocks: blocks.clone(),
        });
        assert_eq!(gather, [vec![], vec![4], vec![]]);
        let scatter = sources(&CollectiveKind::Scatter {
            root,
            blocks: blocks.clone(),
        });
        assert_eq!(scatter, [vec![], vec![], vec![3]]);
        let allgather = sources(&CollectiveKind::Allgather { blocks });
        assert_eq!(allgather, [vec![4], vec![4], vec![]]);
        // The first gets something of both others, the second of the last alone.
        let alltoall = sources(&CollectiveKind::Alltoall {
            blocks: vec![AlltoallBlocks::Each(0), split(1), split(2)],
        });
        assert_eq!(alltoall, [vec![3, 4], vec![4], vec![]]);
    }

    #[test]
    fn without_empty_parts_the_operation_decides() {
        let all = [vec![3, 4], vec![5, 4], vec![5, 3]];
        let root = 1;
        assert_eq!(sources(&CollectiveKind::Barrier), all);
        assert_eq!(sources(&CollectiveKind::Allreduce { bytes: 1 }), all);
        assert_eq!(
            sources(&CollectiveKind::Allgather { blocks: vec![1; 3] }),
            all
        );
        let blocks = vec![AlltoallBlocks::Each(1), split(3), split(u64::MAX)];
        assert_eq!(sources(&CollectiveKind::Alltoall { blocks }), all);
        let from_root = [vec![3], vec![], vec![3]];
        assert_eq!(
            sources(&CollectiveKind::Bcast { root, bytes: 1 }),
            from_root
        );
        // The root's own block goes nowhere.
        let blocks = vec![1, 0, 1];
        let scatter = CollectiveKind::Scatter {
            root,
            blocks: blocks.clone(),
        };
        assert_eq!(sources(&scatter), from_root);
        let to_root = [vec![], vec![5, 4], vec![]];
        assert_eq!(sources(&CollectiveKind::Reduce { root, bytes: 1 }), to_root);
        assert_eq!(sources(&CollectiveKind::Gather { root, blocks }), to_root);
    }

    #[test]
    fn entries_are_found_by_place() {
        let entered = [
            (2, 50),
            (1, 40),
            (4, 10),
            (3, 50),
            (1, 60),
            (1, 55),
            (4, 20),
        ];
        for n in 0..=entered.len() {
            let mut entries = Entries::default();
            for &(reach, time) in &entered[..n] {
                entries.add(reach, time);
            }
            for place in 0..5 {
                let beyond = entered[..n].iter().filter(|entry| entry.0 > place);
                let latest = beyond.map(|entry| entry.1).max().unwrap_or(0);
                assert_eq!(entries.latest_beyond(place), latest, "{n} {place}");
            }
        }
    }
}
