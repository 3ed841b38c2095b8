//! The position of each task in each communicator.

use super::record::Comm;

/// Positions of tasks in the communicators of a trace.
#[derive(Debug)]
pub struct Positions(Vec<Index>);

#[derive(Debug)]
enum Index {
    /// Task `t` is member `t`, for all below this number.
    Identity(u32),
    /// Task and position, by task.
    Sorted(Vec<(u32, u32)>),
}

impl Positions {
    /// Indexes the communicators.
    #[must_use]
    pub fn new(comms: &[Comm]) -> Self {
        Self(comms.iter().map(Index::new).collect())
    }

    /// Position of `task` in communicator `comm`, if it is a member.
    #[inline]
    #[must_use]
    pub fn of(&self, comm: u32, task: u32) -> Option<u32> {
        match self.0.get(comm as usize)? {
            Index::Identity(n) => (task < *n).then_some(task),
            Index::Sorted(pairs) => {
                let at = pairs.binary_search_by_key(&task, |p| p.0).ok()?;
                pairs.get(at).map(|p| p.1)
            }
        }
    }

    /// A task that communicator `comm` lists twice.
    #[must_use]
    pub fn twice(&self, comm: u32) -> Option<u32> {
        match self.0.get(comm as usize)? {
            Index::Identity(_) => None,
            Index::Sorted(pairs) => pairs
                .windows(2)
                .find_map(|w| (w[0].0 == w[1].0).then_some(w[0].0)),
        }
    }
}

impl Index {
    fn new(comm: &Comm) -> Self {
        if comm.members.iter().zip(0..).all(|(&task, i)| task == i) {
            // Cannot truncate: a communicator has at most `MAX_COMM_MEMBERS` members.
            return Self::Identity(comm.members.len() as u32);
        }
        let mut pairs: Vec<_> = comm.members.iter().copied().zip(0..).collect();
        pairs.sort_unstable();
        Self::Sorted(pairs)
    }
}
