//! The streams of a job: how they take operations, wait for events and carry them out.

use super::{Player, schedule};
use crate::key::Key;
use crate::link::{ReplayContext, TOO_LATE};
use crate::members::{Arrival, Entry, Member};
use crate::messages::{InFlight, Purpose, RankPair, Release};
use crate::mpi::{Call, Owner};
use crate::observer::{Doing, MatchedBy, StreamOf};
use crate::program::{Action, Collective, Event, Label, Op, RankId, StreamId};
use crate::queue::Act;
use crate::rank::State;
use anyhow::Context;
use std::sync::Arc;

/// A problem; the caller adds the place.
type Problem = String;

impl Player<'_> {
    /// Resumes a stream of `rank`.
    pub(crate) fn resume(
        &mut self,
        rank: RankId,
        stream: StreamId,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let (r, at) = (rank.index(), self.stream_of(rank, stream));
        loop {
            let blocked = match self.ranks[r].stream(stream).state {
                State::Computing => self.act(at, context)?,
                State::Retrying => self.retry_wait(at, context)?,
                State::Between => false,
                State::Waiting | State::Blocked | State::InWait | State::Paused | State::Ended => {
                    true
                }
            };
            if blocked {
                return Ok(());
            }
            let next = self.program.next(rank, stream);
            let next = next.with_context(|| format!("job '{}', rank {rank}", self.name))?;
            self.ranks[r].touch(context.ps);
            self.wake_paused(rank, context);
            let state = self.ranks[r].stream_mut(stream);
            let Some(mut op) = next else {
                if self.program.pauses(rank, stream) {
                    state.state = State::Paused;
                    self.ranks[r].waits(stream, context.ps);
                    context.observe(at, || Doing::Waiting);
                    return Ok(());
                }
                state.state = State::Ended;
                self.unended -= 1;
                context.observe(at, || Doing::Ended);
                return Ok(());
            };
            state.records += 1;
            let Some(whole) = self.computes_ps(at, &op) else {
                return Err(self.error(rank, op.place, TOO_LATE));
            };
            op.compute_ps = whole;
            let received = context.observer.map(|_| received_ids(&op));
            let ready = self.ranks[r].awaits(stream, op, &mut self.arrived);
            self.observe_matched(at, received.as_deref().unwrap_or_default(), context);
            if !ready {
                self.ranks[r].waits(stream, context.ps);
                context.observe(at, || {
                    let rank = &self.ranks[r];
                    let op = rank.stream(stream).op.as_ref();
                    let events = op.map_or(&[][..], |op| op.after.events());
                    rank.members.awaiting(events)
                });
                return Ok(());
            }
            if self.compute(at, context)? > context.ps {
                return Ok(());
            }
        }
    }

    /// Tells the observer which of the messages that the operation of a stream names had arrived before.
    fn observe_matched(&self, at: StreamOf, received: &[u64], context: &ReplayContext<'_>) {
        let Some(observer) = context.observer else {
            return;
        };
        let op = self.ranks[at.rank.index()].stream(at.stream).op.as_ref();
        let missing = op.map_or(&[][..], |op| op.after.events());
        let here = received
            .iter()
            .filter(|&&id| !missing.contains(&Event::Received(id)));
        for &id in here {
            observer.matched(context.ps, at.job, MatchedBy::Id(id));
        }
    }

    /// Resumes the streams of `rank` that paused and for which the program has an operation again.
    pub(super) fn wake_paused(&mut self, rank: RankId, context: &mut ReplayContext<'_>) {
        while let Some(stream) = self.program.woken(rank) {
            let at = self.stream_of(rank, stream);
            let woken = self.stream(at);
            if woken.state == State::Paused {
                woken.state = State::Between;
                let record = woken.records;
                self.wait_ends(at, context.peer_of(rank), context);
                schedule(context.ps, at, record, context);
            }
        }
    }

    /// Begins the computation of a stream, since its operation waits for nothing more.
    /// Returns the end of the computation; if that is later than `ps`, schedules an event.
    fn compute(&mut self, at: StreamOf, context: &mut ReplayContext<'_>) -> anyhow::Result<u64> {
        let state = self.stream(at);
        let Some(op) = &state.op else {
            return Ok(context.ps);
        };
        state.state = State::Computing;
        let (place, record) = (op.place, state.records - 1);
        let Some(start) = context.ps.checked_add(op.compute_ps) else {
            return Err(self.error(at.rank, place, TOO_LATE));
        };
        if start > context.ps {
            self.ranks[at.rank.index()].computes(at.stream, context.ps);
            context.observe(at, || Doing::Computing);
            schedule(start, at, record, context);
        }
        Ok(start)
    }

    /// As [`compute`](Self::compute), but always schedules an event.
    fn wake(&mut self, at: StreamOf, context: &mut ReplayContext<'_>) -> anyhow::Result<()> {
        let peer = self.stream(at).woken_by;
        self.wait_ends(at, peer, context);
        if self.compute(at, context)? == context.ps {
            let record = self.stream(at).records - 1;
            schedule(context.ps, at, record, context);
        }
        Ok(())
    }

    /// Carries out the operation of a stream. Returns whether the stream must wait
    /// until it is done.
    fn act(&mut self, at: StreamOf, context: &mut ReplayContext<'_>) -> anyhow::Result<bool> {
        let rank = at.rank;
        self.ranks[rank.index()].touch(context.ps);
        let state = self.stream(at);
        state.state = State::Between;
        let Some(op) = state.op.take() else {
            return Ok(false);
        };
        if op.compute_ps > 0 {
            self.ranks[rank.index()].has_computed(at.stream, context.ps);
        }
        self.operations += 1;
        if let Some(label) = op.label {
            self.ranks[rank.index()].started(label);
            self.happens(rank, Event::Started(label), context)?;
        }
        let state = match &op.action {
            Action::Marker => State::Between,
            Action::EnterRegion(region) => {
                self.stream(at).regions.push(*region);
                self.in_region(at, context);
                State::Between
            }
            Action::LeaveRegion(region) => {
                self.stream(at).leave(*region);
                self.in_region(at, context);
                State::Between
            }
            Action::Send { .. } => self
                .send(rank, &op, context)
                .map_err(|problem| self.error(rank, op.place, &problem))?,
            Action::Collective(collective, position) => {
                self.enter(at, (collective, *position), &op, context)?;
                State::Between
            }
            Action::Mpi(call) => self.call(at, call, op.place, context)?,
        };
        if state == State::Between {
            self.done(rank, op.label, context)?;
            return Ok(false);
        }
        context.observe(at, || Doing::blocked_by(&op.action));
        let stream = self.stream(at);
        stream.state = state;
        stream.op = Some(op);
        self.ranks[rank.index()].waits(at.stream, context.ps);
        Ok(true)
    }

    /// Passes on that a stream is in another region.
    fn in_region(&self, at: StreamOf, context: &mut ReplayContext<'_>) {
        let stream = self.ranks[at.rank.index()].stream(at.stream);
        let region = stream.regions.last().copied();
        if let Some(causes) = &mut context.queue.causes {
            causes.is_in_region(region);
        }
        if let Some(observer) = context.observer {
            let name = region.map(|region| self.program.region(region));
            observer.region(context.ps, at, name);
        }
    }

    /// Handles an operation of `rank` that is done.
    pub(super) fn done(
        &mut self,
        rank: RankId,
        label: Option<Label>,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let Some(label) = label else { return Ok(()) };
        self.ranks[rank.index()].done(label);
        self.happens(rank, Event::Done(label), context)?;
        Ok(())
    }

    /// Sends a message with an id.
    fn send(
        &mut self,
        from: RankId,
        op: &Op,
        context: &mut ReplayContext<'_>,
    ) -> Result<State, String> {
        let Action::Send {
            id,
            to,
            bytes,
            awaited,
        } = op.action
        else {
            return Ok(State::Between);
        };
        self.check_receiver(to, || format!("message {id}"))?;
        let purpose = Purpose::PointToPoint { id, awaited };
        let (ranks, release) = (RankPair { from, to }, self.link.release(bytes));
        self.link
            .post(ranks, bytes, (purpose, 0), release, context)?;
        self.in_flight += 1;
        self.count(bytes);
        Ok(match release {
            Release::Handed => State::Between,
            Release::Injected | Release::Delivered => State::Blocked,
        })
    }

    /// An error about `message` if there is no rank `to`.
    pub(super) fn check_receiver(
        &self,
        to: RankId,
        message: impl FnOnce() -> String,
    ) -> Result<(), String> {
        let last = self.ranks_of_trace().len() - 1;
        if to.index() <= last {
            Ok(())
        } else {
            Err(format!(
                "{} goes to rank {to}, but the trace has ranks 0 to {last}",
                message()
            ))
        }
    }

    /// Counts a point-to-point message of the trace.
    pub(super) fn count(&mut self, bytes: u64) {
        self.point_to_point += 1;
        self.point_to_point_bytes = self.point_to_point_bytes.saturating_add(bytes);
    }

    fn enter(
        &mut self,
        at: StreamOf,
        (collective, me): (&Collective, u32),
        op: &Op,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let (rank, key) = (at.rank, Key::Id(collective.id));
        if collective.members.get(me as usize) != Some(&rank) {
            let problem = format!("{key}: the rank is not in the communicator");
            return Err(self.error(rank, op.place, &problem));
        }
        let plan = self.plans.shared(collective);
        let (plan, first) = plan.map_err(|problem| self.error(rank, op.place, &problem))?;
        let entry = Entry {
            key,
            ranks: collective.members.clone(),
            me,
            plan,
            act: Act::of_stream(at, self.stream(at).records - 1),
            place: op.place,
            owner: None,
        };
        if first {
            let entered = self.enter_nodes(&entry, context);
            entered.map_err(|problem| self.error(rank, op.place, &problem))?;
        }
        let entered = self.ranks[rank.index()].members.enter(entry);
        let number = entered.map_err(|problem| self.error(rank, op.place, &problem))?;
        self.proceed(rank, number, context)
    }

    /// The aggregation nodes enter the collective that `entry`, the first of its members, enters.
    pub(super) fn enter_nodes(
        &mut self,
        entry: &Entry,
        context: &mut ReplayContext<'_>,
    ) -> Result<(), Problem> {
        let Some(tree) = entry.plan.tree().map(Arc::clone) else {
            return Ok(());
        };
        let record = self.in_network;
        self.in_network += 1;
        let members = entry.ranks.len() as u32;
        for (position, (switch, down)) in (members..).zip(tree.positions()) {
            let rank = self.link.rank_of_node(switch, down);
            let of_node = Entry {
                ranks: Arc::clone(&entry.ranks),
                plan: Arc::clone(&entry.plan),
                me: position,
                act: Act::of_stream(self.stream_of(rank, StreamId::default()), record),
                owner: None,
                ..*entry
            };
            let (state, mut carrier) = self.carrier(rank, context);
            let number = state.members.enter(of_node)?;
            let proceeded = state.proceed(number, &mut carrier);
            proceeded.map_err(|(_, problem)| problem)?;
        }
        Ok(())
    }

    /// Proceeds with the collective of this number of `rank`.
    pub(crate) fn proceed(
        &mut self,
        rank: RankId,
        number: u32,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let (state, mut carrier) = self.carrier(rank, context);
        let completed = state.proceed(number, &mut carrier);
        match completed.map_err(|(place, problem)| self.error(rank, place, &problem))? {
            // The end of an aggregation node is no event of the job.
            Some(_) if !self.is_of_trace(rank) => Ok(()),
            Some(member) => {
                context.message = member.message;
                self.completed(rank, &member, context)
            }
            None => Ok(()),
        }
    }

    /// Handles the completion of the part of `rank` in a collective.
    fn completed(
        &mut self,
        rank: RankId,
        member: &Member,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        self.plans.completed(member.entry.key);
        self.ranks[rank.index()].touch(context.ps);
        match (member.entry.owner, member.entry.key) {
            (Some(owner), _) => self.complete(rank, owner, context)?,
            (None, Key::Id(id)) => {
                self.happens(rank, Event::Completed(id), context)?;
            }
            (None, Key::Call { .. }) => {}
        }
        Ok(())
    }

    /// Tells the streams of `rank` that `event` happened. A stream that waited for nothing else resumes.
    /// Returns whether one waited for it.
    fn happens(
        &mut self,
        rank: RankId,
        event: Event,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<bool> {
        let streams = self.ranks[rank.index()].streams().len() as u32;
        let mut awaited = false;
        for stream in StreamId::all(streams) {
            let told = self.ranks[rank.index()].tell(stream, event);
            if told.is_some() {
                awaited = true;
                let peer = context.peer_of(rank);
                self.stream(self.stream_of(rank, stream))
                    .note_peer(context.ps, peer);
            }
            if told == Some(true) {
                self.wake(self.stream_of(rank, stream), context)?;
            }
        }
        Ok(awaited)
    }

    /// Handles a message of this job that arrived.
    pub(crate) fn delivered(
        &mut self,
        message: &InFlight,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let to = message.ranks.to;
        match message.purpose {
            Purpose::PointToPoint { id, awaited } => {
                self.in_flight -= 1;
                self.ranks[to.index()].touch(context.ps);
                if self.happens(to, Event::Received(id), context)? {
                    if let Some(observer) = context.observer {
                        observer.matched(context.ps, self.link.job, MatchedBy::Id(id));
                    }
                } else if awaited {
                    self.arrived.insert(id);
                }
            }
            Purpose::Collective { key, from, tag } => {
                let arrival = Arrival { key, from, tag };
                let members = &mut self.ranks[to.index()].members;
                members.arrived(arrival, context);
            }
            Purpose::Mpi(packet) => {
                self.in_flight -= 1;
                self.packet_arrived(message.ranks, packet, context)?;
            }
        }
        if message.release == Release::Delivered {
            self.released(message, context)?;
        }
        Ok(())
    }

    /// Handles a send of this job that is complete.
    pub(crate) fn released(
        &mut self,
        message: &InFlight,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let from = message.ranks.from;
        match message.purpose {
            Purpose::PointToPoint { id, .. } => {
                let rank = &self.ranks[from.index()];
                let sends = |op: &Op| matches!(op.action, Action::Send { id: i, .. } if i == id);
                let mut blocked = rank.streams().filter(|(_, s)| s.state == State::Blocked);
                let sender = blocked.find(|(_, s)| s.op.as_ref().is_some_and(sends));
                let sender = sender.map(|(stream, _)| stream);
                drop(blocked);
                if let Some(stream) = sender {
                    self.complete(from, Owner::Stream(stream), context)?;
                }
            }
            Purpose::Collective { key, .. } => {
                let members = &mut self.ranks[from.index()].members;
                members.released(key, context);
            }
            Purpose::Mpi(packet) => self.packet_injected(from, packet, context)?,
        }
        Ok(())
    }

    /// Completes the operation that blocks a stream, or that a request stands for.
    pub(super) fn complete(
        &mut self,
        rank: RankId,
        owner: Owner,
        context: &mut ReplayContext<'_>,
    ) -> anyhow::Result<()> {
        let at = match owner {
            Owner::Stream(stream) => self.stream_of(rank, stream),
            Owner::Request(request) => {
                return self.complete_request(rank, request, context);
            }
            Owner::None => return Ok(()),
        };
        self.ranks[rank.index()].touch(context.ps);
        self.wait_ends(at, context.peer_of(rank), context);
        let blocked = self.stream(at);
        blocked.state = State::Between;
        let op = blocked.op.take();
        let record = blocked.records;
        if let Some(Call::Receive { .. }) = op.as_ref().and_then(|op| op.action.call()) {
            self.received(at, 1);
        }
        schedule(context.ps, at, record, context);
        self.done(rank, op.and_then(|op| op.label), context)
    }
}

/// The ids of the messages that an operation waits for.
fn received_ids(op: &Op) -> Vec<u64> {
    let id = |event: &Event| match *event {
        Event::Received(id) => Some(id),
        Event::Completed(_) | Event::Started(_) | Event::Done(_) => None,
    };
    op.after.events().iter().filter_map(id).collect()
}
