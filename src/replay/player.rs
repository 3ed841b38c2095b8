//! Plays the program of one job.
//!
//! For the operations r₁, r₂, … of a rank
//!
//! ```text
//! start(r_k) = max(done(r_{k−1}), event(after)) + compute
//! ```
//!
//! `done` of a marker is its start. `done` of a send is its start or its completion (see
//! [`SendCompletion`](super::job::SendCompletion)). `done` of a collective is its start;
//! its completion is an event of its own.

use super::idset::IdSet;
use super::job::{JobSpec, Repeat};
use super::link::{Link, Shared, TOO_LATE};
use super::messages::{InFlight, Purpose, RankPair, Release};
use super::outcome::JobOutcome;
use super::program::{Action, After, Collective, Program, RankId};
use super::queue::What;
use super::rank::{Rank, State};
use super::running::{Arrival, Entered, Running};
use crate::units::Ratio;
use anyhow::{Context, anyhow};
use std::sync::Arc;

/// A job being replayed.
pub(super) struct Player {
    pub name: String,
    program: Box<dyn Program>,
    start_ps: u64,
    repeat: Repeat,
    /// Start of the repetition in progress.
    began_ps: u64,
    /// Execution time of every complete repetition.
    repetitions_ps: Vec<u64>,
    /// Computation of the rank that ended last, over all complete repetitions.
    repetitions_compute_ps: u128,
    compute_scale: Ratio,
    link: Link,
    pub ranks: Vec<Rank>,
    /// Ids of the messages sent.
    pub sent: IdSet,
    received: IdSet,
    pub running: Running,
    /// Number of ranks whose program is not over.
    unended: u32,
    /// Number of messages of the trace in flight.
    in_flight: u64,
    point_to_point: u64,
    point_to_point_bytes: u64,
    /// Operations that were carried out.
    pub operations: u64,
}

impl Player {
    /// Job number `job`; its ranks begin at its start.
    pub(super) fn new(job: u32, spec: JobSpec, shared: &mut Shared<'_>) -> Self {
        let start_ps = spec.start_ps;
        let ranks = spec.nics.len();
        let mut player = Self {
            name: spec.name,
            program: spec.program,
            start_ps,
            repeat: spec.repeat,
            began_ps: start_ps,
            repetitions_ps: Vec::new(),
            repetitions_compute_ps: 0,
            compute_scale: spec.compute_scale,
            ranks: vec![Rank::default(); ranks],
            link: Link {
                job,
                sl: spec.sl,
                nics: spec.nics,
                send_completion: spec.send_completion,
                intra_node: spec.intra_node,
                sent: 0,
                bytes: 0,
                intra_node_sent: 0,
            },
            sent: IdSet::default(),
            received: IdSet::default(),
            running: Running::new(ranks as u32, spec.collectives, spec.reduction_ps_per_byte),
            unended: 0,
            in_flight: 0,
            point_to_point: 0,
            point_to_point_bytes: 0,
            operations: 0,
        };
        player.begin(start_ps, shared);
        player
    }

    /// Puts all ranks at their first operation at `ps`.
    fn begin(&mut self, ps: u64, shared: &mut Shared<'_>) {
        self.began_ps = ps;
        let fresh = Rank {
            last_ps: ps,
            ..Rank::default()
        };
        self.ranks.fill(fresh);
        self.unended = self.ranks.len() as u32;
        for rank in RankId::all(self.unended) {
            shared.queue.act(ps, self.link.job, rank, 0, What::Rank);
        }
    }

    /// Call this after every event of the job, at `ps`: if the event ended a repetition,
    /// the next one begins.
    pub(super) fn repeat_if_complete(
        &mut self,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        if !self.all_done() || self.ended() {
            return Ok(());
        }
        let (last_ps, compute_ps) = self.last();
        let took = last_ps.saturating_sub(self.began_ps);
        self.repetitions_ps.push(took);
        self.repetitions_compute_ps += u128::from(compute_ps);
        if self.ended() {
            return Ok(());
        }
        if took == 0 && self.endless() {
            return Err(anyhow!(
                "job '{}' takes no time, so it would repeat for ever at the same moment; remove its repeat",
                self.name
            ));
        }
        let again = || {
            format!(
                "job '{}', repetition {}",
                self.name,
                self.repetitions_ps.len() + 1
            )
        };
        self.program.restart().with_context(again)?;
        self.sent = IdSet::default();
        self.received = IdSet::default();
        self.running.restart();
        self.begin(ps, shared);
        Ok(())
    }

    /// True if every record of this repetition has started, every message was delivered
    /// and every collective is complete.
    fn all_done(&self) -> bool {
        self.unended == 0 && self.in_flight == 0 && self.running.live() == 0
    }

    /// True if the job repeats until the others end.
    pub(super) fn endless(&self) -> bool {
        self.repeat == Repeat::UntilOthersEnd
    }

    /// True if all repetitions are complete.
    pub(super) fn ended(&self) -> bool {
        match self.repeat {
            Repeat::Times(times) => self.repetitions_ps.len() >= times as usize,
            Repeat::UntilOthersEnd => false,
        }
    }

    /// Lets `rank` go on at `ps`.
    pub(super) fn resume(
        &mut self,
        rank: RankId,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let r = rank.index();
        loop {
            if self.ranks[r].state == State::Computing && self.act(rank, ps, shared)? {
                return Ok(());
            }
            let next = self.program.next(rank);
            let next = next.with_context(|| format!("job '{}', rank {rank}", self.name))?;
            let state = &mut self.ranks[r];
            state.touch(ps);
            let Some(mut op) = next else {
                state.state = State::Ended;
                self.unended -= 1;
                return Ok(());
            };
            state.records += 1;
            let (line, after) = (op.line, op.after);
            let scaled = self.compute_scale.mul_round(op.compute_ps);
            op.compute_ps = scaled.ok_or_else(|| self.error(rank, line, TOO_LATE))?;
            self.ranks[r].op = Some(op);
            self.ranks[r].state = State::Waiting;
            if !self.happened(rank, after) {
                return Ok(());
            }
            if self.compute(rank, ps, shared)? > ps {
                return Ok(());
            }
        }
    }

    /// Begins the computation of `rank`, since its operation waits for nothing more.
    /// Returns the end of the computation; if that is later than `ps`, schedules an event.
    fn compute(&mut self, rank: RankId, ps: u64, shared: &mut Shared<'_>) -> anyhow::Result<u64> {
        let state = &mut self.ranks[rank.index()];
        let Some(op) = &state.op else { return Ok(ps) };
        state.state = State::Computing;
        let Some(start) = ps.checked_add(op.compute_ps) else {
            let line = op.line;
            return Err(self.error(rank, line, TOO_LATE));
        };
        if start > ps {
            let record = state.records - 1;
            shared
                .queue
                .act(start, self.link.job, rank, record, What::Rank);
        }
        Ok(start)
    }

    /// As [`compute`](Self::compute), but always schedules an event.
    fn wake(&mut self, rank: RankId, ps: u64, shared: &mut Shared<'_>) -> anyhow::Result<()> {
        if self.compute(rank, ps, shared)? == ps {
            let record = self.ranks[rank.index()].records - 1;
            shared
                .queue
                .act(ps, self.link.job, rank, record, What::Rank);
        }
        Ok(())
    }

    fn happened(&self, rank: RankId, after: After) -> bool {
        match after {
            After::Previous => true,
            After::Sent(id) => self.sent.contains(id),
            After::Received(id) => self.received.contains(id),
            After::Completed(id) => self.running.is_completed(rank, id),
        }
    }

    /// Carries out the operation of `rank` at `ps`; true if the rank has to wait
    /// until it is done.
    fn act(&mut self, rank: RankId, ps: u64, shared: &mut Shared<'_>) -> anyhow::Result<bool> {
        let state = &mut self.ranks[rank.index()];
        state.state = State::Between;
        let Some(op) = state.op.take() else {
            return Ok(false);
        };
        state.compute_ps = state.compute_ps.saturating_add(op.compute_ps);
        state.touch(ps);
        self.operations += 1;
        match op.action {
            Action::Marker { id } => {
                if let Some(id) = id {
                    // No rank receives a marker. Counting it as received leaves no gap
                    // in the ids, which takes least memory.
                    self.sent.insert(id);
                    self.received.insert(id);
                }
                Ok(false)
            }
            Action::Send { id, to, bytes } => {
                let waits = self
                    .send(RankPair { from: rank, to }, ps, id, bytes, shared)
                    .map_err(|problem| self.error(rank, op.line, &problem))?;
                if waits {
                    let state = &mut self.ranks[rank.index()];
                    state.state = State::Sending;
                    state.op = Some(op);
                }
                Ok(waits)
            }
            Action::Collective(ref collective, position) => {
                self.enter(rank, ps, collective, position, op.line, shared)?;
                Ok(false)
            }
        }
    }

    fn send(
        &mut self,
        ranks: RankPair,
        ps: u64,
        id: u64,
        bytes: u64,
        shared: &mut Shared<'_>,
    ) -> Result<bool, String> {
        let to = ranks.to;
        if to.index() >= self.ranks.len() {
            let last = self.ranks.len() - 1;
            return Err(format!(
                "message {id} goes to rank {to}, but the trace has ranks 0 to {last}"
            ));
        }
        if !self.sent.insert(id) {
            return Err(format!("message {id} was sent before"));
        }
        let purpose = Purpose::PointToPoint { id };
        let waits = self.link.post(ps, ranks, bytes, purpose, shared)?;
        self.in_flight += 1;
        self.point_to_point += 1;
        self.point_to_point_bytes = self.point_to_point_bytes.saturating_add(bytes);
        Ok(waits)
    }

    fn enter(
        &mut self,
        rank: RankId,
        ps: u64,
        collective: &Arc<Collective>,
        member: u32,
        line: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let record = self.ranks[rank.index()].records - 1;
        let instance = self
            .running
            .enter(rank, collective, member, record, line)
            .map_err(|problem| self.error(rank, line, &problem))?;
        self.proceed(instance, member, ps, shared)
    }

    /// Lets a member of a collective go on at `ps`.
    pub(super) fn proceed(
        &mut self,
        instance: u32,
        member: u32,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let Some(entered) = self.running.entered(instance, member) else {
            return Ok(());
        };
        let Entered { id, rank, line } = entered;
        let completed = self
            .running
            .proceed(instance, member, ps, &mut self.link, shared)
            .map_err(|problem| self.error(rank, line, &problem))?;
        if completed {
            self.ranks[rank.index()].touch(ps);
            return self.happens(rank, After::Completed(id), ps, shared);
        }
        Ok(())
    }

    /// Tells `rank` that `event` happened at `ps`; it goes on if it waited for `event`.
    fn happens(
        &mut self,
        rank: RankId,
        event: After,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        let state = &self.ranks[rank.index()];
        let awaited = state.op.as_ref().map(|op| op.after);
        if state.state == State::Waiting && awaited == Some(event) {
            return self.wake(rank, ps, shared);
        }
        Ok(())
    }

    /// A message of this job arrived at `ps`.
    pub(super) fn delivered(
        &mut self,
        message: &InFlight,
        ps: u64,
        shared: &mut Shared<'_>,
    ) -> anyhow::Result<()> {
        match message.purpose {
            Purpose::PointToPoint { id } => {
                self.in_flight -= 1;
                self.received.insert(id);
                let to = message.ranks.to;
                self.ranks[to.index()].touch(ps);
                self.happens(to, After::Received(id), ps, shared)?;
            }
            Purpose::Collective {
                instance,
                from,
                to,
                tag,
            } => {
                let job = self.link.job;
                let arrival = Arrival {
                    instance,
                    to,
                    from,
                    tag,
                };
                self.running.arrived(arrival, ps, job, shared);
            }
        }
        if message.release == Release::Delivered {
            self.released(message, ps, shared);
        }
        Ok(())
    }

    /// A send of this job is complete at `ps`.
    pub(super) fn released(&mut self, message: &InFlight, ps: u64, shared: &mut Shared<'_>) {
        let job = self.link.job;
        match message.purpose {
            Purpose::PointToPoint { .. } => {
                let from = message.ranks.from;
                let rank = &mut self.ranks[from.index()];
                rank.state = State::Between;
                rank.op = None;
                rank.touch(ps);
                shared.queue.act(ps, job, from, rank.records, What::Rank);
            }
            Purpose::Collective { instance, from, .. } => {
                self.running.released(instance, from, ps, job, shared);
            }
        }
    }

    #[cold]
    fn error(&self, rank: RankId, line: u64, problem: &str) -> anyhow::Error {
        anyhow!("job '{}', rank {rank}, line {line}: {problem}", self.name)
    }

    /// Messages created so far, collectives included.
    pub(super) fn messages(&self) -> u64 {
        self.link.sent
    }

    /// Last event and computation of the rank that ended last, the first of several.
    fn last(&self) -> (u64, u64) {
        let later = |last: &Rank, rank: &Rank| rank.last_ps > last.last_ps;
        let last = self
            .ranks
            .iter()
            .reduce(|last, rank| if later(last, rank) { rank } else { last });
        last.map_or((self.began_ps, 0), |rank| (rank.last_ps, rank.compute_ps))
    }

    /// The result of the job so far.
    pub(super) fn outcome(&self) -> JobOutcome {
        let (end_ps, compute_ps) = self.last();
        let count = self.repetitions_ps.len() as u128;
        let complete = self.ended() || (self.endless() && count > 0);
        let (execution_ps, compute_ps) = match complete {
            true => {
                let sum: u128 = self.repetitions_ps.iter().map(|&ps| u128::from(ps)).sum();
                let compute_ps = self.repetitions_compute_ps / count.max(1);
                // Means of 64-bit numbers.
                ((sum / count.max(1)) as u64, compute_ps as u64)
            }
            false => {
                let before = self
                    .repetitions_compute_ps
                    .saturating_add(compute_ps.into());
                let compute_ps = u64::try_from(before).unwrap_or(u64::MAX);
                (end_ps.saturating_sub(self.start_ps), compute_ps)
            }
        };
        JobOutcome {
            name: self.name.clone(),
            ranks: self.ranks.len() as u32,
            complete,
            endless: self.endless(),
            repetitions_ps: self.repetitions_ps.clone(),
            end_ps,
            execution_ps,
            compute_ps,
            network_ps: execution_ps.saturating_sub(compute_ps),
            point_to_point: self.point_to_point,
            point_to_point_bytes: self.point_to_point_bytes,
            collectives: self.running.completed,
            messages: self.link.sent,
            bytes: self.link.bytes,
            intra_node_messages: self.link.intra_node_sent,
        }
    }
}
