//! The collectives in progress: every member carries out the steps of its plan.

use super::collectives::{Choices, Plan, Step};
use super::idset::IdSet;
use super::link::{Link, Shared, TOO_LATE};
use super::messages::{Purpose, RankPair};
use super::program::{Collective, RankId};
use super::queue::What;
use crate::units::Ratio;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Collectives of one job.
pub(super) struct Running {
    /// Ranks of the job.
    ranks: u32,
    choices: Choices,
    reduction_ps_per_byte: Ratio,
    slots: Vec<Option<Instance>>,
    free: Vec<u32>,
    /// Slot of every collective in progress, by its id in the trace.
    by_id: HashMap<u64, u32>,
    finished: IdSet,
    /// Position of each rank that entered, by slot and rank, unless it equals the rank.
    positions: HashMap<(u32, RankId), u32>,
    /// Messages that arrived before their receiver waited for them.
    early: HashSet<Arrival>,
    /// Steps of the round being processed; kept to reuse its memory.
    steps: Vec<Step>,
    /// Member lists of finished instances; kept to reuse their memory.
    spare: Vec<Vec<Member>>,
    /// Collectives completed by all their members.
    pub completed: u64,
}

/// A message of a collective that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Arrival {
    /// Slot of the instance.
    pub instance: u32,
    /// Position of the receiver.
    pub to: u32,
    /// Position of the sender.
    pub from: u32,
    pub tag: u32,
}

/// What a member entered.
pub(super) struct Entered {
    /// Id of the collective in the trace.
    pub id: u64,
    pub rank: RankId,
    /// Line of the trace.
    pub line: u64,
}

pub(super) struct Instance {
    pub collective: Arc<Collective>,
    plan: Plan,
    /// By position.
    pub members: Vec<Member>,
    /// Members that are not done.
    undone: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub phase: Phase,
    round: u32,
    /// Next step of the round.
    step: u32,
    /// Sends that are not complete.
    sends: u32,
    /// Record of the rank, for the order of events.
    record: u64,
    /// Line of the trace.
    pub line: u64,
}

/// What a member is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not entered yet.
    Absent,
    /// An event will make it go on.
    Busy,
    /// It waits for a message.
    Waiting { from: u32, tag: u32 },
    /// All steps are done, but not all sends complete.
    Sending,
    /// Complete.
    Done,
}

/// What went wrong; the caller adds the place.
pub(super) type Problem = String;

const ABSENT: Member = Member {
    phase: Phase::Absent,
    round: 0,
    step: 0,
    sends: 0,
    record: 0,
    line: 0,
};

/// A member that carries out its steps at `ps`.
struct Acting<'a, 'b> {
    instance: u32,
    me: u32,
    ranks: &'a [RankId],
    ps: u64,
    link: &'a mut Link,
    shared: &'a mut Shared<'b>,
}

impl Acting<'_, '_> {
    /// Sends to another member. True if the send is not done at once.
    fn send(&mut self, to: u32, bytes: u64, tag: u32) -> Result<bool, Problem> {
        let ends = RankPair {
            from: self.ranks[self.me as usize],
            to: self.ranks[to as usize],
        };
        let purpose = Purpose::Collective {
            instance: self.instance,
            from: self.me,
            to,
            tag,
        };
        Ok(self.link.post(self.ps, ends, bytes, purpose, self.shared)?)
    }

    /// The message that the member waits for.
    fn arrival(&self, from: u32, tag: u32) -> Arrival {
        Arrival {
            instance: self.instance,
            to: self.me,
            from,
            tag,
        }
    }

    /// Computes for `time`, in ps.
    fn compute(&mut self, time: u64, record: u64) -> Result<(), Problem> {
        let end = self.ps.checked_add(time).ok_or(TOO_LATE)?;
        let what = What::Member {
            instance: self.instance,
            member: self.me,
        };
        let rank = self.ranks[self.me as usize];
        let queue = &mut self.shared.queue;
        queue.act(end, self.link.job, rank, record, what);
        Ok(())
    }
}

impl Running {
    pub(super) fn new(ranks: u32, choices: Choices, reduction_ps_per_byte: Ratio) -> Self {
        Self {
            ranks,
            choices,
            reduction_ps_per_byte,
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashMap::new(),
            finished: IdSet::default(),
            positions: HashMap::new(),
            early: HashSet::new(),
            steps: Vec::new(),
            spare: Vec::new(),
            completed: 0,
        }
    }

    /// Forgets finished collectives, so that their ids may come again. No collective may be
    /// in progress.
    pub(super) fn restart(&mut self) {
        self.finished = IdSet::default();
    }

    /// Collectives in progress.
    pub(super) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Collectives in progress, in the order of their slots.
    pub(super) fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.slots.iter().flatten()
    }

    /// The collective with this id, if in progress.
    pub(super) fn instance(&self, id: u64) -> Option<&Instance> {
        let slot = *self.by_id.get(&id)?;
        self.slots[slot as usize].as_ref()
    }

    /// True if `rank` has completed the collective `id`.
    pub(super) fn is_completed(&self, rank: RankId, id: u64) -> bool {
        if let Some(instance) = self.instance(id) {
            let member = self.position(rank, id);
            return member.is_some_and(|m| instance.members[m as usize].phase == Phase::Done);
        }
        self.finished.contains(id)
    }

    /// Position of `rank` in the collective `id`, if it has entered it.
    pub(super) fn position(&self, rank: RankId, id: u64) -> Option<u32> {
        let slot = *self.by_id.get(&id)?;
        let instance = self.slots[slot as usize].as_ref()?;
        if instance.collective.members.get(rank.index()) == Some(&rank) {
            return Some(rank.get());
        }
        self.positions.get(&(slot, rank)).copied()
    }

    /// Lets `rank` enter `collective` at position `me` with its `record`. Returns the instance,
    /// in which that member now has to [proceed](Self::proceed).
    pub(super) fn enter(
        &mut self,
        rank: RankId,
        collective: &Arc<Collective>,
        me: u32,
        record: u64,
        line: u64,
    ) -> Result<u32, Problem> {
        let id = collective.id;
        if collective.members.get(me as usize) != Some(&rank) {
            return Err(format!(
                "collective {id}: the rank is not in the communicator"
            ));
        }
        let slot = match self.by_id.get(&id) {
            Some(&slot) => slot,
            None if self.finished.contains(id) => {
                return Err(format!("collective {id} is already complete"));
            }
            None => self.start(collective)?,
        };
        let Some(instance) = &mut self.slots[slot as usize] else {
            return Err(format!("collective {id} is already complete"));
        };
        let same =
            Arc::ptr_eq(&instance.collective, collective) || instance.collective == *collective;
        if !same {
            return Err(format!(
                "collective {id}: other operation, communicator or sizes than for the members before"
            ));
        }
        let member = &mut instance.members[me as usize];
        if member.phase != Phase::Absent {
            return Err(format!("collective {id}: the rank enters it twice"));
        }
        *member = Member {
            phase: Phase::Busy,
            record,
            line,
            ..ABSENT
        };
        if me != rank.get() {
            self.positions.insert((slot, rank), me);
        }
        Ok(slot)
    }

    fn start(&mut self, collective: &Arc<Collective>) -> Result<u32, Problem> {
        let n = collective.members.len();
        if let Some(rank) = collective.members.iter().find(|m| m.get() >= self.ranks) {
            return Err(format!(
                "collective {}: its communicator has rank {rank}, but the trace has ranks 0 to {}",
                collective.id,
                self.ranks - 1
            ));
        }
        let plan = Plan::new(&collective.kind, n, &self.choices)
            .map_err(|error| format!("collective {}: {error}", collective.id))?;
        let mut members = self.spare.pop().unwrap_or_default();
        members.clear();
        members.resize(n, ABSENT);
        let instance = Some(Instance {
            collective: Arc::clone(collective),
            plan,
            members,
            undone: n as u32,
        });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = instance;
                slot
            }
            None => {
                self.slots.push(instance);
                self.slots.len() as u32 - 1
            }
        };
        self.by_id.insert(collective.id, slot);
        Ok(slot)
    }

    /// Carries out the steps of a member at `ps` as far as possible. True if the member
    /// has now completed the collective.
    pub(super) fn proceed(
        &mut self,
        slot: u32,
        me: u32,
        ps: u64,
        link: &mut Link,
        shared: &mut Shared<'_>,
    ) -> Result<bool, Problem> {
        let Some(instance) = &mut self.slots[slot as usize] else {
            return Ok(false);
        };
        let mut acting = Acting {
            instance: slot,
            me,
            ranks: &instance.collective.members,
            ps,
            link,
            shared,
        };
        let member = &mut instance.members[me as usize];
        while member.round < instance.plan.rounds(me) {
            self.steps.clear();
            instance.plan.round(me, member.round, &mut self.steps);
            while let Some(&step) = self.steps.get(member.step as usize) {
                match step {
                    Step::Send { to, bytes, tag } => {
                        member.sends += u32::from(acting.send(to, bytes, tag)?);
                    }
                    Step::Recv { from, tag } => {
                        if !self.early.remove(&acting.arrival(from, tag)) {
                            member.phase = Phase::Waiting { from, tag };
                            return Ok(false);
                        }
                    }
                    Step::Compute { bytes } if !self.reduction_ps_per_byte.is_zero() => {
                        let time = self.reduction_ps_per_byte.mul_round(bytes);
                        acting.compute(time.ok_or(TOO_LATE)?, member.record)?;
                        member.step += 1;
                        member.phase = Phase::Busy;
                        return Ok(false);
                    }
                    Step::Compute { .. } => {}
                }
                member.step += 1;
            }
            member.round += 1;
            member.step = 0;
        }
        if member.sends > 0 {
            member.phase = Phase::Sending;
            return Ok(false);
        }
        self.complete(slot, me);
        Ok(true)
    }

    fn complete(&mut self, slot: u32, me: u32) {
        let entry = &mut self.slots[slot as usize];
        let Some(instance) = entry else { return };
        instance.members[me as usize].phase = Phase::Done;
        instance.undone -= 1;
        if instance.undone > 0 {
            return;
        }
        let id = instance.collective.id;
        self.finished.insert(id);
        self.by_id.remove(&id);
        self.completed += 1;
        self.free.push(slot);
        if let Some(instance) = entry.take() {
            for (&rank, me) in instance.collective.members.iter().zip(0..) {
                if rank.get() != me {
                    self.positions.remove(&(slot, rank));
                }
            }
            self.spare.push(instance.members);
        }
    }

    /// A message arrived at `ps`.
    pub(super) fn arrived(&mut self, arrival: Arrival, ps: u64, job: u32, shared: &mut Shared<'_>) {
        let Arrival { to, from, tag, .. } = arrival;
        let slot = arrival.instance;
        let Some(instance) = &mut self.slots[slot as usize] else {
            return;
        };
        let member = &mut instance.members[to as usize];
        if member.phase == (Phase::Waiting { from, tag }) {
            member.step += 1;
            let rank = instance.collective.members[to as usize];
            wake(member, rank, slot, to, ps, job, shared);
        } else {
            self.early.insert(arrival);
        }
    }

    /// A send of member `me` is complete at `ps`.
    pub(super) fn released(
        &mut self,
        slot: u32,
        me: u32,
        ps: u64,
        job: u32,
        shared: &mut Shared<'_>,
    ) {
        let Some(instance) = &mut self.slots[slot as usize] else {
            return;
        };
        let member = &mut instance.members[me as usize];
        member.sends = member.sends.saturating_sub(1);
        if member.phase == Phase::Sending && member.sends == 0 {
            let rank = instance.collective.members[me as usize];
            wake(member, rank, slot, me, ps, job, shared);
        }
    }

    /// What member `me` of an instance entered.
    pub(super) fn entered(&self, slot: u32, me: u32) -> Option<Entered> {
        let instance = self.slots[slot as usize].as_ref()?;
        let line = instance.members[me as usize].line;
        let rank = instance.collective.members[me as usize];
        let id = instance.collective.id;
        Some(Entered { id, rank, line })
    }
}

fn wake(
    member: &mut Member,
    rank: RankId,
    slot: u32,
    me: u32,
    ps: u64,
    job: u32,
    shared: &mut Shared<'_>,
) {
    member.phase = Phase::Busy;
    let what = What::Member {
        instance: slot,
        member: me,
    };
    shared.queue.act(ps, job, rank, member.record, what);
}
