//! The plans of the collectives under way, and how many of their members are done. Nothing of
//! this changes what a rank does: a plan follows from the trace alone.

use super::collectives::{Choices, Plan};
use super::key::Key;
use super::members::Problem;
use super::program::{Collective, Contribution, RankId};
use hashbrown::HashMap;
use std::sync::Arc;

/// The collectives of one job.
pub(super) struct Plans {
    /// Ranks of the job.
    ranks: u32,
    choices: Choices,
    live: HashMap<Key, Live>,
    /// Collectives completed by all their members.
    pub completed: u64,
}

struct Live {
    /// The plan that all members share, if they do.
    plan: Option<Arc<Plan>>,
    members: u32,
    done: u32,
}

impl Plans {
    pub(super) fn new(ranks: u32, choices: Choices) -> Self {
        Self {
            ranks,
            choices,
            live: HashMap::new(),
            completed: 0,
        }
    }

    /// Collectives that at least one member has entered and not all have completed.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Members of a collective under way, and how many of them have completed it.
    pub(super) fn progress(&self, key: Key) -> Option<(u32, u32)> {
        self.live.get(&key).map(|live| (live.members, live.done))
    }

    /// The plan of a collective with an id, which a member enters.
    pub(super) fn shared(&mut self, collective: &Collective) -> Result<Arc<Plan>, Problem> {
        let key = Key::Id(collective.id);
        if let Some(Live {
            plan: Some(plan), ..
        }) = self.live.get(&key)
        {
            return Ok(Arc::clone(plan));
        }
        self.check(key, &collective.members)?;
        let members = collective.members.len();
        let plan = Plan::new(&collective.kind, members, &self.choices);
        let plan = Arc::new(plan.map_err(|error| format!("{key}: {error}"))?);
        let live = Live {
            plan: Some(Arc::clone(&plan)),
            members: members as u32,
            done: 0,
        };
        self.live.insert(key, live);
        Ok(plan)
    }

    /// The plan of member `me` that calls a collective.
    pub(super) fn own(
        &mut self,
        key: Key,
        contribution: &Contribution,
        me: u32,
        members: &[RankId],
    ) -> Result<Arc<Plan>, Problem> {
        let plan = Plan::of_member(contribution, me, members.len(), &self.choices);
        let plan = plan.map_err(|error| format!("{key}: {error}"))?;
        if !self.live.contains_key(&key) {
            self.check(key, members)?;
            let live = Live {
                plan: None,
                members: members.len() as u32,
                done: 0,
            };
            self.live.insert(key, live);
        }
        Ok(Arc::new(plan))
    }

    fn check(&self, key: Key, members: &[RankId]) -> Result<(), Problem> {
        match members.iter().find(|member| member.get() >= self.ranks) {
            None => Ok(()),
            Some(rank) => Err(format!(
                "{key}: its communicator has rank {rank}, but the trace has ranks 0 to {}",
                self.ranks - 1
            )),
        }
    }

    /// A member has completed its part.
    pub(super) fn completed(&mut self, key: Key) {
        let Some(live) = self.live.get_mut(&key) else {
            return;
        };
        live.done += 1;
        if live.done == live.members {
            self.live.remove(&key);
            self.completed += 1;
        }
    }
}
