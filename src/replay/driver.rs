//! Replays all jobs and background flows, as the workload of a fabric.

use super::background::{Background, BackgroundFlow, BackgroundOutcome, Behind, NicQueueing};
use super::causes::Causes;
use super::critical_path::Leg;
use super::job::{JobSpec, Repeat};
use super::link::Shared;
use super::messages::Messages;
use super::outcome::JobOutcome;
use super::player::Player;
use super::program::RankId;
use super::queue::{Event, Queue, What};
use super::stall;
use crate::fabric::spec::Tick;
use crate::fabric::workload::{AppQueue, Message, Queueing, Workload};
use crate::units::TickLength;
use anyhow::{Context, ensure};
use std::collections::VecDeque;

/// Everything that is replayed in one run.
pub struct ReplaySpec<'a> {
    /// Length of a tick of the fabric.
    pub tick: TickLength,
    /// NICs of the fabric.
    pub nics: u32,
    /// How messages queue at the NICs.
    pub queueing: Queueing,
    /// In what order flows that share such a queue are served.
    pub nic_queueing: NicQueueing,
    /// Seed of the experiment.
    pub seed: u64,
    /// The applications.
    pub jobs: Vec<JobSpec<'a>>,
    /// Background flows. They run from tick 0 until the last job has ended, except jobs that
    /// repeat until the others end.
    pub background: Vec<BackgroundFlow>,
    /// Background flows go on at least to this tick, also without a job.
    pub background_until: Option<Tick>,
}

/// Replays jobs and background flows through a fabric.
///
/// Time is in picoseconds. A message created at time p enters the fabric in tick
/// ⌈p / tick⌉; a report in tick T happens at ⌊T × tick⌋. The replay processes
/// simultaneous events in the order of job, rank and record; within a tick messages of
/// jobs come before messages of background flows.
pub struct Replay<'a> {
    tick: TickLength,
    jobs: Vec<Player<'a>>,
    background: Background,
    background_until: Tick,
    queue: Queue,
    messages: Messages,
    /// Reports of the fabric that are not processed yet, in order of their ticks.
    reports: VecDeque<(Tick, What)>,
    /// Messages of the jobs in one tick; kept to reuse its memory.
    of_jobs: Vec<Message>,
    /// Next tick in which something is due. The fabric asks several times in every tick,
    /// so it is kept up to date instead of computed.
    due: Option<Tick>,
    /// All jobs have ended, except jobs that repeat until the others end.
    jobs_ended: bool,
    /// No job can go on, except jobs that repeat until the others end.
    stalled: bool,
    finished: bool,
    /// The tick being processed.
    now: Tick,
    delivered: u64,
    now_ps: u64,
    error: Option<anyhow::Error>,
}

/// How far a replay has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time in picoseconds.
    pub now_ps: u64,
    /// Operations carried out, of all jobs except jobs that repeat until the others end.
    pub operations: u64,
    /// Messages of jobs that were created.
    pub messages: u64,
    /// Messages of jobs that were delivered.
    pub messages_delivered: u64,
    /// Messages of background flows that were handed to NICs.
    pub background_messages: u64,
    /// Their payload in bytes.
    pub background_bytes: u64,
}

impl<'a> Replay<'a> {
    /// A replay at its start.
    ///
    /// # Errors
    /// If a job or a flow does not fit the fabric.
    pub fn new(spec: ReplaySpec<'a>) -> anyhow::Result<Self> {
        let endless = |job: &JobSpec| job.repeat == Repeat::UntilOthersEnd;
        ensure!(
            spec.jobs.is_empty() || !spec.jobs.iter().all(endless),
            "every job repeats until the others end, so none would"
        );
        let (flows, nics) = (&spec.background[..], spec.nics);
        let background = match spec.nic_queueing {
            NicQueueing::Fifo => Background::new(flows, nics, spec.seed, spec.queueing),
            NicQueueing::PerFlow => {
                let levels: Vec<u8> = spec.jobs.iter().map(|job| job.sl).collect();
                Background::taking_turns(flows, nics, spec.seed, spec.queueing, &levels)
            }
        }
        .context("background traffic")?;
        let mut queue = Queue::new(spec.jobs.len());
        let mut messages = Messages::new(spec.jobs.len());
        let mut jobs = Vec::with_capacity(spec.jobs.len());
        for (job, spec_of_job) in (0..).zip(spec.jobs) {
            spec_of_job.check(spec.nics)?;
            let shared = &mut Shared {
                queue: &mut queue,
                messages: &mut messages,
                out: &mut Vec::new(),
                now: 0,
            };
            jobs.push(Player::new(job, spec_of_job, shared));
        }
        let mut replay = Self {
            tick: spec.tick,
            jobs,
            background,
            background_until: spec.background_until.unwrap_or(0),
            queue,
            messages,
            reports: VecDeque::new(),
            of_jobs: Vec::new(),
            due: None,
            jobs_ended: false,
            stalled: false,
            finished: false,
            now: 0,
            delivered: 0,
            now_ps: 0,
            error: None,
        };
        replay.note_end(0);
        replay.due = replay.find_due();
        Ok(replay)
    }

    /// From now on, at the start of the replay, keeps what [`Replay::critical_path`] needs. It changes
    /// nothing else.
    pub fn keep_causes(&mut self) {
        let ranks = self.jobs.iter().map(|job| job.ranks.len());
        self.queue.causes = Some(Box::new(Causes::new(ranks)));
    }

    /// The critical path of job number `job`, from the start of the run to the job's last event so far, of
    /// all its repetitions. Empty if the replay does not keep causes, or if that event is at 0.
    #[must_use]
    pub fn critical_path(&self, job: usize) -> Vec<Leg> {
        let causes = self.queue.causes.as_ref().zip(u32::try_from(job).ok());
        causes.map_or_else(Vec::new, |(causes, job)| causes.path(job))
    }

    /// The job that a message in flight belongs to, by its token; `None` of a background flow's.
    #[must_use]
    pub fn job_of(&self, token: u64) -> Option<usize> {
        let of_job = token <= u64::from(u32::MAX);
        of_job.then(|| self.messages.job_of(token) as usize)
    }

    /// The results of the jobs so far, in their order.
    #[must_use]
    pub fn outcomes(&self) -> Vec<JobOutcome> {
        let jobs = self.jobs.iter().enumerate();
        jobs.map(|(at, job)| job.outcome(self.messages.latency(at)))
            .collect()
    }

    /// The outcome of the background flows in a run that ended with tick `end`, in their
    /// order.
    #[must_use]
    pub fn background(&self, end: Tick) -> Vec<BackgroundOutcome> {
        self.background.outcomes(self.last_creation(end))
    }

    /// Messages created by tick `end` and not handed to the fabric.
    #[must_use]
    pub fn waiting(&self, end: Tick) -> u64 {
        self.background.waiting(self.last_creation(end))
    }

    /// The message of a background flow that has waited longest at tick `now`.
    #[must_use]
    pub fn furthest_behind(&self, now: Tick) -> Option<Behind> {
        self.background.furthest_behind(now)
    }

    /// Nothing is created in the tick in which the last job ends.
    fn last_creation(&self, end: Tick) -> Tick {
        match self.finished && !self.jobs.is_empty() {
            true => end.saturating_sub(1),
            false => end,
        }
    }

    /// Lets a replay without a job go on until tick `until`: it is finished when that tick
    /// is over.
    pub fn go_on_until(&mut self, until: Tick) {
        self.background_until = until;
        self.note_end(self.now);
        self.due = self.find_due();
    }

    /// The error of a trace that ended the run.
    #[must_use]
    pub fn error(&self) -> Option<&anyhow::Error> {
        self.error.as_ref()
    }

    /// Takes the error of a trace that ended the run.
    pub fn take_error(&mut self) -> Option<anyhow::Error> {
        self.error.take()
    }

    /// How far the replay has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let sum = |count: fn(&Player) -> u64| self.jobs.iter().map(count).sum();
        let counted = |job: &Player| if job.endless() { 0 } else { job.operations };
        Progress {
            now_ps: self.now_ps,
            operations: sum(counted),
            messages: sum(|job| job.messages()),
            messages_delivered: self.delivered,
            background_messages: self.background.messages(),
            background_bytes: self.background.bytes(),
        }
    }

    /// Which rank waits for what in the jobs that are not complete: a line each, and a
    /// last line that counts the omitted ones. Empty if all jobs are complete.
    #[must_use]
    pub fn stall_report(&self) -> Vec<String> {
        stall::report(&self.jobs, &self.messages)
    }

    /// The messages of jobs up to tick `now`.
    fn act_for_jobs(&mut self, now: Tick, out: &mut Vec<Message>) {
        let mut of_jobs = std::mem::take(&mut self.of_jobs);
        if let Err(error) = self.catch_up(now, &mut of_jobs) {
            self.error = Some(error);
        }
        for message in of_jobs.drain(..) {
            let job = match self.background.takes_turns() {
                true => self.messages.job_of(message.token),
                false => 0,
            };
            self.background.admit(job, message, out);
        }
        self.of_jobs = of_jobs;
    }

    /// Processes the reports up to tick `now` and the events up to its time.
    fn catch_up(&mut self, now: Tick, out: &mut Vec<Message>) -> anyhow::Result<()> {
        while let Some(&(tick, _)) = self.reports.front() {
            let ps = self.tick.ps(tick);
            if ps > 0 {
                self.process_until(ps - 1, out)?;
            }
            while let Some(&(_, what)) = self.reports.front().filter(|report| report.0 == tick) {
                self.reports.pop_front();
                self.note(what, ps, out)?;
            }
        }
        self.process_until(self.tick.ps(now), out)
    }

    /// Processes the events up to `limit` picoseconds.
    fn process_until(&mut self, limit: u64, out: &mut Vec<Message>) -> anyhow::Result<()> {
        while let Some(event) = self.queue.pop_until(limit) {
            self.now_ps = event.ps;
            self.handle(&event, out)?;
        }
        Ok(())
    }

    fn handle(&mut self, event: &Event, out: &mut Vec<Message>) -> anyhow::Result<()> {
        if let What::Injected(_) | What::Delivered(_) = event.what {
            return self.note(event.what, event.ps, out);
        }
        if let Some(causes) = &mut self.queue.causes {
            let rank = &self.jobs[event.job as usize].ranks[event.rank.index()];
            let named = match event.what {
                What::Member(number) => rank.members.named(number),
                _ => None,
            };
            causes.begin_act(event, named);
        }
        let shared = &mut Shared {
            queue: &mut self.queue,
            messages: &mut self.messages,
            out,
            now: self.now,
        };
        let job = &mut self.jobs[event.job as usize];
        match event.what {
            What::Stream(stream) => job.resume(event.rank, stream, event.ps, shared)?,
            What::Member(number) => job.proceed(event.rank, number, event.ps, shared)?,
            What::Progress => job.progress(event.rank, event.ps, shared)?,
            What::Injected(_) | What::Delivered(_) => {}
        }
        note_last(job, &[event.rank], event.ps, shared.queue);
        job.repeat_if_complete(event.ps, shared)?;
        shared.queue.carried_out();
        Ok(())
    }

    /// Notes that a message was injected or delivered at `ps`.
    fn note(&mut self, what: What, ps: u64, out: &mut Vec<Message>) -> anyhow::Result<()> {
        let message = match what {
            What::Injected(slot) => self.messages.injected(slot),
            What::Delivered(slot) => self.messages.delivered(slot),
            What::Progress | What::Stream(_) | What::Member(_) => None,
        };
        let Some(message) = message else {
            return Ok(());
        };
        if let Some(causes) = &mut self.queue.causes {
            causes.begin_report(ps, what);
        }
        let shared = &mut Shared {
            queue: &mut self.queue,
            messages: &mut self.messages,
            out,
            now: self.now,
        };
        let job = &mut self.jobs[message.job as usize];
        let ranks = [message.ranks.to, message.ranks.from];
        if let What::Injected(_) = what {
            job.released(&message, ps, shared)?;
            note_last(job, &ranks, ps, shared.queue);
        } else {
            self.delivered += 1;
            job.delivered(&message, ps, shared)?;
            note_last(job, &ranks, ps, shared.queue);
            job.repeat_if_complete(ps, shared)?;
        }
        shared.queue.carried_out();
        Ok(())
    }

    /// True if background flows create messages. Without a job they do so in the last tick
    /// too, since the run may go on after it.
    fn creates(&self) -> bool {
        !(self.finished || self.stalled) || self.jobs.is_empty()
    }

    fn note_end(&mut self, now: Tick) {
        let jobs = (0..).zip(&self.jobs);
        let mut awaited = jobs.filter(|(_, job)| !job.endless() && !job.ended());
        let moves = |number| self.queue.will_act(number) || self.messages.outstanding(number) > 0;
        let first = awaited.next().map(|(number, _)| number);
        self.jobs_ended = first.is_none();
        self.stalled =
            first.is_some_and(|first| !moves(first) && awaited.all(|(number, _)| !moves(number)));
        let background_over = now >= self.background_until;
        self.finished = self.error.is_some() || (self.jobs_ended && background_over);
    }

    fn report(&mut self, now: Tick, token: u64, what: fn(u32) -> What) {
        if let Ok(slot) = u32::try_from(token) {
            self.reports.push_back((now, what(slot)));
            if !self.finished && !self.stalled {
                self.due = Some(self.due.map_or(now, |due| due.min(now)));
            }
        }
    }

    fn find_due(&self) -> Option<Tick> {
        // Otherwise background flows and repeating jobs would go on for ever beside a
        // stalled job.
        if self.finished || self.stalled {
            return None;
        }
        let mut due = self.background.next_tick();
        if self.jobs_ended {
            // Ends the run when nothing else is left to do.
            due = due.min(self.background_until);
        }
        if let Some(&(report, _)) = self.reports.front() {
            due = due.min(report);
        }
        if let Some(event) = self.queue.next_ps() {
            due = due.min(self.tick.ticks(event));
        }
        (due < Tick::MAX).then_some(due)
    }
}

/// An event of `job` at `ps` may be the last one of one of these `ranks`, and so of the job.
fn note_last(job: &Player<'_>, ranks: &[RankId], ps: u64, queue: &mut Queue) {
    if let Some(causes) = &mut queue.causes
        && ranks
            .iter()
            .any(|rank| job.ranks[rank.index()].last_ps == ps)
    {
        causes.is_last(job.number());
    }
}

impl Workload for Replay<'_> {
    #[inline]
    fn next_tick(&mut self) -> Option<Tick> {
        self.due
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        if self.finished || self.stalled {
            return;
        }
        self.now = now;
        if !self.jobs.is_empty() {
            self.act_for_jobs(now, out);
        }
        self.note_end(now);
        if self.creates() {
            self.background.act(now, out);
        }
        self.due = self.find_due();
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        if !self.creates() {
            return None;
        }
        let message = self.background.replenish(now, queue);
        if message.is_none() && !self.finished {
            let next = self.background.next_tick();
            self.due = Some(self.due.map_or(next, |due| due.min(next)));
        }
        message
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        if token > u64::from(u32::MAX) {
            self.background.delivered(token);
        } else {
            if let Ok(slot) = u32::try_from(token) {
                self.messages.arrives(slot, now);
            }
            self.report(now, token, What::Delivered);
        }
    }

    fn injected(&mut self, now: Tick, token: u64) {
        self.report(now, token, What::Injected);
    }

    fn finished(&self) -> bool {
        self.finished
    }
}
