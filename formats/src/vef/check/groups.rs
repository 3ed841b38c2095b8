//! The state that a check keeps of every collective.

use hashbrown::HashMap;

use crate::collective::CollectiveKind;
use crate::vef::collective::Gathering;
use crate::vef::comms::Positions;
use crate::vef::record::Comm;

/// A collective that is not complete.
pub(super) struct Live {
    pub gathering: Gathering,
    /// When its members complete it; unknown before all lines are read.
    pub rule: Option<Rule>,
    entered: u32,
    /// Tasks that entered before the rule was known.
    early: Vec<u32>,
    root_entered: bool,
}

/// When a member may complete a collective, empty parts or not: MPI lets an operation without data
/// synchronise its members as one with data does, so no trace may rely on the contrary.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Each after all have entered.
    All,
    /// Each after the root (this task) has entered.
    FromRoot(u32),
    /// The root (this task) after all have entered, the others at once.
    ToRoot(u32),
    /// Each at once, since the collective is broken and reported.
    Waived,
}

impl Rule {
    pub fn of(kind: &CollectiveKind, comm: &Comm) -> Self {
        let task = |root: u32| comm.members.get(root as usize).copied().unwrap_or(0);
        match *kind {
            CollectiveKind::Bcast { root, .. } | CollectiveKind::Scatter { root, .. } => {
                Self::FromRoot(task(root))
            }
            CollectiveKind::Reduce { root, .. } | CollectiveKind::Gather { root, .. } => {
                Self::ToRoot(task(root))
            }
            _ => Self::All,
        }
    }
}

#[derive(Default)]
pub(super) struct Groups {
    pub live: HashMap<u64, Live>,
    /// Communicator + 1 of complete collectives by id; 0 is none. It never grows faster
    /// than the collectives that were read.
    done: Vec<u32>,
    done_sparse: HashMap<u64, u32>,
    /// Distinct collectives.
    pub count: u64,
}

impl Groups {
    /// Communicator of a complete collective.
    pub fn done(&self, g: u64) -> Option<u32> {
        let dense = usize::try_from(g).ok().and_then(|g| self.done.get(g));
        match dense {
            Some(&comm) if comm > 0 => Some(comm - 1),
            _ => self.done_sparse.get(&g).copied(),
        }
    }

    pub fn begin(&mut self, g: u64, gathering: Gathering) {
        self.count += 1;
        let live = Live {
            gathering,
            rule: None,
            entered: 0,
            early: Vec::new(),
            root_entered: false,
        };
        self.live.insert(g, live);
    }

    fn finish(&mut self, g: u64, comm: u32) {
        self.live.remove(&g);
        if g >= self.count.saturating_mul(4).saturating_add(1 << 16) {
            self.done_sparse.insert(g, comm);
            return;
        }
        let at = g as usize;
        if at >= self.done.len() {
            self.done.resize(at + 1, 0);
        }
        self.done[at] = comm + 1;
    }

    /// Notes that `task` entered; true if members may complete as a result.
    pub fn enter(&mut self, g: u64, task: u32, comms: &[Comm]) -> bool {
        let Some(live) = self.live.get_mut(&g) else {
            return false;
        };
        live.entered += 1;
        let comm = live.gathering.comm();
        let all = comms.get(comm as usize).map_or(0, |c| c.members.len());
        let full = live.entered as usize >= all;
        let wakes = match live.rule {
            Some(Rule::FromRoot(root)) if root == task => {
                live.root_entered = true;
                true
            }
            Some(_) => full,
            None => {
                live.early.push(task);
                false
            }
        };
        if full && live.rule.is_some() {
            self.finish(g, comm);
        }
        wakes
    }

    /// Sets the rule when all lines are read; members may then complete.
    pub fn settle(&mut self, g: u64, rule: Rule, comms: &[Comm]) {
        let Some(live) = self.live.get_mut(&g) else {
            return;
        };
        live.rule = Some(rule);
        let early = std::mem::take(&mut live.early);
        live.root_entered = matches!(rule, Rule::FromRoot(root) if early.contains(&root));
        let comm = live.gathering.comm();
        let all = comms.get(comm as usize).map_or(0, |c| c.members.len());
        if live.entered as usize >= all {
            self.finish(g, comm);
        }
    }

    /// True if `task` may have completed the collective.
    pub fn completed(&self, g: u64, task: u32) -> bool {
        let Some(live) = self.live.get(&g) else {
            // Complete, or never begun, which is reported elsewhere.
            return true;
        };
        match live.rule {
            None | Some(Rule::All) => false,
            Some(Rule::FromRoot(root)) => live.root_entered || root == task,
            Some(Rule::ToRoot(root)) => root != task,
            Some(Rule::Waived) => true,
        }
    }

    /// True if a line of `task` in collective `g` was read.
    pub fn entered_by(&self, g: u64, task: u32, positions: &Positions) -> bool {
        if let Some(live) = self.live.get(&g) {
            let at = positions.of(live.gathering.comm(), task);
            return at.is_some_and(|p| live.gathering.has(p));
        }
        let done = self.done(g);
        done.is_some_and(|comm| positions.of(comm, task).is_some())
    }
}
