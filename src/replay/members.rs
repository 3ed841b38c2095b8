//! The collectives that a rank has entered: it carries out the steps of its plans.

use super::causes::Named;
use super::collectives::{Plan, Step};
use super::key::Key;
use super::link::{Link, ReplayContext, TOO_LATE};
use super::messages::{Purpose, RankPair, Release};
use super::mpi::Owner;
use super::observer::Doing;
use super::program::{Event, Place, RankId, StreamId};
use super::queue::{Act, What};
use flitwise_base::units::Ratio;
use hashbrown::HashSet;
use std::sync::Arc;

/// The collectives of one rank that are under way.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// In the order in which the rank entered them.
    open: Vec<Member>,
    /// Messages that arrived before the rank waited for them.
    early: HashSet<Arrival>,
    /// Number of the next one.
    next: u32,
}

/// A message of a collective that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Arrival {
    /// The collective.
    pub key: Key,
    /// Position of the sender.
    pub from: u32,
    pub tag: u32,
}

/// A collective that a rank enters.
#[derive(Debug)]
pub(super) struct Entry {
    /// The collective.
    pub key: Key,
    /// Ranks that take part.
    pub ranks: Arc<[RankId]>,
    /// Position of this rank.
    pub me: u32,
    pub plan: Arc<Plan>,
    /// The rank and its operation, for the order of events.
    pub act: Act,
    pub place: Place,
    /// The owner that its completion completes; an event if there is none.
    pub owner: Option<Owner>,
}

/// The part of this rank in one collective.
#[derive(Debug)]
pub(super) struct Member {
    pub entry: Entry,
    pub phase: Phase,
    /// It combines data; an event will end that.
    combines: bool,
    round: u32,
    /// Next step of the round.
    step: u32,
    /// Sends that are not complete.
    sends: u32,
    /// Tells apart the open collectives of the rank.
    number: u32,
    /// The message that it last waited for, by its ranks.
    pub message: Option<RankPair>,
}

/// The phase of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// An event will resume it.
    Busy,
    /// It waits for a message.
    Waiting { from: u32, tag: u32 },
    /// All steps are done, but not all sends complete.
    Sending,
}

/// A problem; the caller adds the place.
pub(super) type Problem = String;

/// The state that the members of a job share while one of them proceeds.
pub(super) struct Carrier<'a, 'b> {
    pub link: &'a mut Link,
    pub reduction_ps_per_byte: Ratio,
    /// Steps of the round being processed; kept to reuse its memory.
    pub steps: &'a mut Vec<Step>,
    pub context: &'a mut ReplayContext<'b>,
}

impl Entry {
    /// The rank at a position of the plan; `None` for a switch.
    pub(super) fn rank(&self, position: u32) -> Option<RankId> {
        self.ranks.get(position as usize).copied()
    }
}

impl Member {
    /// The collective, and its operation.
    fn named(&self) -> Named {
        Named {
            key: self.entry.key,
            operation: self.entry.plan.algorithm().operation(),
        }
    }

    /// Sends to another member.
    fn send(
        &mut self,
        to: u32,
        bytes: u64,
        tag: u32,
        carrier: &mut Carrier<'_, '_>,
    ) -> Result<(), Problem> {
        let ranks = RankPair {
            from: self.entry.act.rank,
            to: match self.entry.rank(to) {
                Some(rank) => rank,
                None => carrier.link.rank_at(&self.entry.plan, to),
            },
        };
        let (key, from) = (self.entry.key, self.entry.me);
        let purpose = Purpose::Collective { key, from, tag };
        let link = &mut *carrier.link;
        // The messages of a call are eager, whatever their size.
        let release = link.release(match key {
            Key::Call { .. } => 0,
            Key::Id(_) => bytes,
        });
        if let Some(causes) = &mut carrier.context.queue.causes {
            causes.goes_on_with(self.named());
        }
        link.post(ranks, bytes, (purpose, 0), release, carrier.context)?;
        self.sends += u32::from(release != Release::Handed);
        Ok(())
    }

    /// Combines `bytes` bytes from now on. Returns whether that takes time.
    fn combine(&mut self, bytes: u64, carrier: &mut Carrier<'_, '_>) -> Result<bool, Problem> {
        if carrier.reduction_ps_per_byte.is_zero() {
            return Ok(false);
        }
        let time = carrier.reduction_ps_per_byte.mul_round(bytes);
        let time = time.ok_or(TOO_LATE)?;
        self.pause(time, carrier)?;
        self.combines = true;
        Ok(true)
    }

    /// Proceeds in `ps` picoseconds.
    fn pause(&mut self, ps: u64, carrier: &mut Carrier<'_, '_>) -> Result<(), Problem> {
        let end = carrier.context.ps.checked_add(ps);
        let queue = &mut carrier.context.queue;
        queue.act(
            end.ok_or(TOO_LATE)?,
            self.entry.act,
            What::Member(self.number),
        );
        self.phase = Phase::Busy;
        Ok(())
    }

    /// Carries out steps as far as possible. Returns whether the collective is complete.
    fn proceed(
        &mut self,
        early: &mut HashSet<Arrival>,
        carrier: &mut Carrier<'_, '_>,
    ) -> Result<bool, Problem> {
        self.combines = false;
        while self.round < self.entry.plan.rounds(self.entry.me) {
            carrier.steps.clear();
            let Entry { plan, me, .. } = &self.entry;
            plan.round(*me, self.round, carrier.steps);
            while let Some(&step) = carrier.steps.get(self.step as usize) {
                match step {
                    Step::Send { to, bytes, tag } => self.send(to, bytes, tag, carrier)?,
                    Step::Recv { from, tag } => {
                        let key = self.entry.key;
                        if !early.remove(&Arrival { key, from, tag }) {
                            self.phase = Phase::Waiting { from, tag };
                            return Ok(false);
                        }
                    }
                    Step::Pause { ps: 0 } => {}
                    Step::Pause { ps } => {
                        self.pause(ps, carrier)?;
                        self.step += 1;
                        return Ok(false);
                    }
                    Step::Compute { bytes } => {
                        if self.combine(bytes, carrier)? {
                            self.step += 1;
                            return Ok(false);
                        }
                    }
                }
                self.step += 1;
            }
            self.round += 1;
            self.step = 0;
        }
        if self.sends > 0 {
            self.phase = Phase::Sending;
        }
        Ok(self.sends == 0)
    }

    fn wake(&mut self, context: &mut ReplayContext<'_>) {
        self.phase = Phase::Busy;
        let what = What::Member(self.number);
        context.queue.act(context.ps, self.entry.act, what);
    }
}

impl Members {
    /// The open collectives, in the order in which the rank entered them.
    pub(super) fn open(&self) -> &[Member] {
        &self.open
    }

    fn numbered(&self, number: u32) -> Option<&Member> {
        self.open.iter().find(|member| member.number == number)
    }

    /// The collective under way of this number.
    pub(super) fn named(&self, number: u32) -> Option<Named> {
        self.numbered(number).map(Member::named)
    }

    /// The stream that entered the collective of this number, if the rank combines data in it.
    pub(super) fn combining(&self, number: u32) -> Option<StreamId> {
        let member = self.numbered(number).filter(|member| member.combines)?;
        member.entry.act.stream()
    }

    fn of_key(&self, key: Key) -> Option<&Member> {
        self.open.iter().find(|member| member.entry.key == key)
    }

    /// Whether the rank has entered this collective and not completed it.
    pub(super) fn is_open(&self, key: Key) -> bool {
        self.of_key(key).is_some()
    }

    /// The activity of a stream of the rank that waits for these events.
    pub(super) fn awaiting(&self, events: &[Event]) -> Doing {
        let collective = |event: &Event| match *event {
            Event::Completed(id) => self.of_key(Key::Id(id)),
            Event::Received(_) | Event::Started(_) | Event::Done(_) => None,
        };
        let received = |event: &Event| matches!(event, Event::Received(_));
        match events.iter().find_map(collective) {
            Some(member) => Doing::Collective(member.entry.plan.algorithm().operation()),
            None if events.iter().any(received) => Doing::Receiving,
            None => Doing::Waiting,
        }
    }

    /// Enters a collective. Returns its number, under which it now has to
    /// [proceed](Self::proceed).
    pub(super) fn enter(&mut self, entry: Entry) -> Result<u32, Problem> {
        let key = entry.key;
        if self.is_open(key) {
            return Err(format!("{key}: the rank enters it twice"));
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.open.push(Member {
            entry,
            phase: Phase::Busy,
            combines: false,
            round: 0,
            step: 0,
            sends: 0,
            number,
            message: None,
        });
        Ok(number)
    }

    /// Proceeds with the collective of this number. Returns the part of the rank in it if that is now
    /// complete.
    ///
    /// # Errors
    /// A problem, and its place in the trace.
    pub(super) fn proceed(
        &mut self,
        number: u32,
        carrier: &mut Carrier<'_, '_>,
    ) -> Result<Option<Member>, (Place, Problem)> {
        let Some(at) = self.open.iter().position(|member| member.number == number) else {
            return Ok(None);
        };
        let member = &mut self.open[at];
        match member.proceed(&mut self.early, carrier) {
            Ok(true) => Ok(Some(self.open.remove(at))),
            Ok(false) => Ok(None),
            Err(problem) => Err((member.entry.place, problem)),
        }
    }

    /// Handles a message that arrived.
    pub(super) fn arrived(&mut self, arrival: Arrival, context: &mut ReplayContext<'_>) {
        let Arrival { key, from, tag } = arrival;
        match self.open.iter_mut().find(|member| member.entry.key == key) {
            Some(member) if member.phase == (Phase::Waiting { from, tag }) => {
                member.step += 1;
                member.message = context.message;
                member.wake(context);
            }
            _ => {
                self.early.insert(arrival);
            }
        }
    }

    /// Handles a send of the collective that is complete.
    pub(super) fn released(&mut self, key: Key, context: &mut ReplayContext<'_>) {
        let Some(member) = self.open.iter_mut().find(|member| member.entry.key == key) else {
            return;
        };
        member.sends = member.sends.saturating_sub(1);
        if member.phase == Phase::Sending && member.sends == 0 {
            // Several may be complete at one time, in no order.
            member.message = None;
            member.wake(context);
        }
    }
}
