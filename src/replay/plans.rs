//! The plans of the collectives under way, and how many of their members are done. Nothing of
//! this changes what a rank does: a plan follows from the trace alone.

use super::collectives::in_network::{Switches, Tree};
use super::collectives::{Choices, Plan};
use super::key::Key;
use super::members::Problem;
use super::program::{Collective, Contribution, RankId};
use flitwise_fabric::ids::NicId;
use hashbrown::HashMap;
use std::sync::Arc;

/// The collectives of one job.
pub(super) struct Plans {
    /// Ranks of the job.
    ranks: u32,
    choices: Choices,
    /// The switches, if they carry out collectives of the job.
    network: Option<Network>,
    live: HashMap<Key, Live>,
    /// Collectives completed by all their members.
    pub completed: u64,
}

/// The switches, and what the trees of the job follow from.
struct Network {
    switches: Arc<Switches>,
    /// NIC of every rank.
    nics: Vec<NicId>,
    /// The members of a collective and their tree, which the next one is likely to have, too.
    last: Option<(Arc<[RankId]>, Arc<Tree>)>,
}

struct Live {
    /// The plan that all members share, if they do.
    plan: Option<Arc<Plan>>,
    /// The tree of the members.
    tree: Option<Arc<Tree>>,
    members: u32,
    done: u32,
}

impl Plans {
    /// The plans of ranks on these NICs.
    pub(super) fn new(nics: &[NicId], choices: Choices, switches: Option<&Arc<Switches>>) -> Self {
        let switches = switches.filter(|_| choices.in_network());
        Self {
            ranks: nics.len() as u32,
            choices,
            network: switches.map(|switches| Network {
                switches: Arc::clone(switches),
                nics: nics.to_vec(),
                last: None,
            }),
            live: HashMap::new(),
            completed: 0,
        }
    }

    /// The switches, if they carry out collectives of the job.
    pub(super) fn switches(&self) -> Option<&Arc<Switches>> {
        self.network.as_ref().map(|network| &network.switches)
    }

    /// The tree of `members`, if switches carry out collectives of the job.
    fn tree(&mut self, members: &Arc<[RankId]>) -> Option<Arc<Tree>> {
        let limits = self.choices.limits();
        let network = self.network.as_mut()?;
        if let Some((of, tree)) = &network.last
            && of == members
        {
            return Some(Arc::clone(tree));
        }
        let nics = members.iter().map(|member| network.nics[member.index()]);
        let tree = Arc::new(network.switches.tree(nics, limits));
        network.last = Some((Arc::clone(members), Arc::clone(&tree)));
        Some(tree)
    }

    /// Collectives that at least one member has entered and not all have completed.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Members of a collective under way, and how many of them have completed it.
    pub(super) fn progress(&self, key: Key) -> Option<(u32, u32)> {
        self.live.get(&key).map(|live| (live.members, live.done))
    }

    /// The plan of a collective with an id, which a member enters, and whether it is the first one.
    pub(super) fn shared(&mut self, collective: &Collective) -> Result<(Arc<Plan>, bool), Problem> {
        let key = Key::Id(collective.id);
        if let Some(Live {
            plan: Some(plan), ..
        }) = self.live.get(&key)
        {
            return Ok((Arc::clone(plan), false));
        }
        self.check(key, &collective.members)?;
        let members = collective.members.len();
        let tree = self.tree(&collective.members);
        let plan = Plan::with_tree(&collective.kind, members, &self.choices, tree.as_ref());
        let plan = Arc::new(plan.map_err(|error| format!("{key}: {error}"))?);
        let live = Live {
            plan: Some(Arc::clone(&plan)),
            tree: None,
            members: members as u32,
            done: 0,
        };
        self.live.insert(key, live);
        Ok((plan, true))
    }

    /// The plan of member `me` that calls a collective, and whether it is the first member.
    pub(super) fn own(
        &mut self,
        key: Key,
        contribution: &Contribution,
        me: u32,
        members: &Arc<[RankId]>,
    ) -> Result<(Arc<Plan>, bool), Problem> {
        let live = self.live.get(&key);
        let first = live.is_none();
        if first {
            self.check(key, members)?;
        }
        let tree = match live {
            Some(live) => live.tree.clone(),
            None => self.tree(members),
        };
        let (choices, n) = (&self.choices, members.len());
        let plan = Plan::of_member_with_tree(contribution, me, n, choices, tree.as_ref());
        let plan = plan.map_err(|error| format!("{key}: {error}"))?;
        if first {
            let live = Live {
                plan: None,
                tree,
                members: members.len() as u32,
                done: 0,
            };
            self.live.insert(key, live);
        }
        Ok((Arc::new(plan), first))
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
