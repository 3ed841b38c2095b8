//! A schedule with what its operations refer to.

use crate::mpi::{CommId, Communicator};
use crate::program::{Contribution, RankId};
use flitwise_base::units::{PS_PER_S, Ratio};
use flitwise_formats::chakra::Group;
use flitwise_formats::goal::{Schedule, Task};
use std::sync::Arc;

/// Picoseconds of a unit of time in a schedule: nanoseconds, by LogGOPSim's convention.
const PS_PER_UNIT: u64 = 1000;

/// A schedule with the groups and the speed that tasks of other formats than GOAL refer to.
#[derive(Clone)]
pub struct Scheduled {
    /// The operations.
    pub schedule: Schedule,
    /// Name and communicator of each group.
    groups: Arc<[(Arc<str>, Arc<Communicator>)]>,
    /// Operations per second of a rank.
    speed: f64,
}

impl Scheduled {
    /// A schedule of GOAL, whose operations refer to nothing.
    #[must_use]
    pub fn of_goal(schedule: Schedule) -> Self {
        Self {
            schedule,
            groups: Arc::default(),
            speed: 1.0,
        }
    }

    /// A schedule whose collectives have these groups and whose ranks do `speed` operations per second.
    #[must_use]
    pub fn new(schedule: Schedule, groups: &[Group], speed: Ratio) -> Self {
        let communicator = |(number, group): (u32, &Group)| {
            let comm = Communicator {
                // Messages have communicator 0.
                id: CommId::new(number + 1),
                members: group
                    .members
                    .iter()
                    .map(|rank| RankId::new(*rank))
                    .collect(),
            };
            (Arc::clone(&group.name), Arc::new(comm))
        };
        Self {
            schedule,
            groups: (0..).zip(groups).map(communicator).collect(),
            speed: speed.to_f64(),
        }
    }

    /// The computation of a task in picoseconds, if it computes; `None` if that is beyond the range of time.
    pub(crate) fn compute_ps(&self, task: &Task) -> Option<u64> {
        match *task {
            Task::Calc { time } => time.checked_mul(PS_PER_UNIT),
            Task::Work { operations } => {
                let ps = (operations as f64 / self.speed * PS_PER_S as f64).round();
                (ps < u64::MAX as f64).then_some(ps as u64)
            }
            Task::Send { .. } | Task::Recv { .. } | Task::Collective { .. } => Some(0),
        }
    }

    /// The communicator of a task, and what its rank brings, if it is a collective.
    pub(crate) fn collective(&self, task: &Task) -> Option<(Arc<Communicator>, Contribution)> {
        let Task::Collective {
            operation,
            bytes,
            group,
            root,
        } = *task
        else {
            return None;
        };
        let (_, comm) = self.groups.get(group as usize)?;
        let kind = operation.kind(bytes, comm.members.len() as u32, root);
        Some((Arc::clone(comm), Contribution::Known(kind)))
    }

    /// The name of a communicator in messages.
    pub(crate) fn name(&self, comm: CommId) -> String {
        let group = comm.get().checked_sub(1);
        match group.and_then(|group| self.groups.get(group as usize)) {
            Some((name, _)) if !name.is_empty() => format!("process group `{name}`"),
            Some(_) => "the group of all ranks".to_owned(),
            None => format!("communicator {comm}"),
        }
    }
}
