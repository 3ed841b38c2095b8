//! Replays all jobs and background flows, as the workload of a fabric.

use super::background::Background;
use super::causes::Causes;
use super::gaps::Gaps;
use super::link::{ReplayContext, TOO_LATE};
use super::messages::{Messages, RankPair};
use super::node::Nodes;
use super::observer::Observer;
use super::order::Order;
use super::player::Player;
use super::program::StreamId;
use super::queue::{Event, Queue, What};
use super::spec::ReplaySpec;
use anyhow::{Context, anyhow};
use flitwise_base::units::TickLength;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::{AppQueue, Message, Workload};
use std::collections::VecDeque;
use std::sync::Arc;

/// Messages that jobs hand over at once. The last event of a part may add more.
const MOST_AT_ONCE: usize = 1 << 16;

/// Replays jobs and background flows through a fabric.
///
/// Time is in picoseconds. A message created at time p enters the fabric in tick
/// ⌈p / tick⌉; a report in tick T happens at ⌊T × tick⌋. The replay processes
/// simultaneous events in the order of job, rank and record; within a tick messages of
/// jobs come before messages of background flows.
///
/// Where gaps are skipped ([`ReplaySpec::gap_skip`]) the clock of the fabric stands still meanwhile.
/// Ticks that the fabric says or hears are ticks of its clock; all others are of the replay's.
pub struct Replay<'a> {
    pub(super) tick: TickLength,
    pub(super) jobs: Vec<Player<'a>>,
    pub(super) order: Order,
    pub(super) background: Background,
    background_until: Tick,
    pub(super) queue: Queue,
    pub(super) messages: Messages,
    pub(super) nodes: Nodes,
    /// Reports of the fabric that are not processed yet, in order of their ticks.
    reports: VecDeque<(Tick, What)>,
    /// Messages of the jobs in one tick; kept to reuse its memory.
    pub(super) of_jobs: Vec<Message>,
    /// Ticks skipped so far: the clock of the replay less the clock of the fabric.
    pub(super) skipped: Tick,
    /// The state of the present gap, if gaps are skipped.
    pub(super) gaps: Option<Box<Gaps>>,
    /// Events of this tick are left. They are processed when the fabric has taken the messages so far.
    has_more: bool,
    /// Next tick of the fabric in which something is due. The fabric asks several times in every tick,
    /// so it is kept up to date instead of computed.
    due: Option<Tick>,
    /// All jobs have ended, except jobs that repeat until the others end.
    pub(super) jobs_ended: bool,
    /// No job can continue, except jobs that repeat until the others end.
    pub(super) stalled: bool,
    pub(super) finished: bool,
    /// The tick being processed.
    pub(super) now: Tick,
    pub(super) delivered: u64,
    pub(super) now_ps: u64,
    pub(super) error: Option<anyhow::Error>,
    pub(super) observer: Option<&'a dyn Observer>,
}

impl<'a> Replay<'a> {
    /// A replay at its start.
    ///
    /// # Errors
    /// If a job or a flow does not fit the fabric.
    pub fn new(spec: ReplaySpec<'a>) -> anyhow::Result<Self> {
        spec.check()?;
        let levels: Vec<u8> = spec.jobs.iter().map(|job| job.sl).collect();
        let background = Background::with(
            &spec.background,
            spec.nics,
            spec.seed,
            spec.queueing,
            spec.nic_queueing,
            &levels,
        )
        .context("background traffic")?;
        let queue = Queue::new(spec.jobs.len());
        let messages = Messages::new(spec.jobs.len());
        spec.node.check(spec.nics)?;
        let switches = spec.switches.map(Arc::new);
        let nodes = Nodes::new(spec.node);
        let order = Order::new(&spec.jobs)?;
        let mut jobs = Vec::with_capacity(spec.jobs.len());
        for (job, spec_of_job) in (0..).zip(spec.jobs) {
            spec_of_job.check(spec.nics)?;
            spec_of_job.check_switches(switches.as_deref(), &nodes)?;
            let player = Player::new(job, spec_of_job, spec.seed, switches.as_ref(), &nodes);
            jobs.push(player);
        }
        let jobs_alone_end_it = !jobs.is_empty() && spec.background_until.is_none();
        let gap_skip = spec.gap_skip;
        let gap_skip = gap_skip.filter(|_| jobs_alone_end_it && !spec.background.is_empty());
        let mut replay = Self {
            tick: spec.tick,
            skipped: 0,
            gaps: gap_skip.map(|warm_up| Box::new(Gaps::new(warm_up))),
            jobs,
            order,
            background,
            background_until: spec.background_until.unwrap_or(0),
            queue,
            messages,
            nodes,
            reports: VecDeque::new(),
            of_jobs: Vec::new(),
            has_more: false,
            due: None,
            jobs_ended: false,
            stalled: false,
            finished: false,
            now: 0,
            delivered: 0,
            now_ps: 0,
            error: None,
            observer: None,
        };
        replay.begin();
        Ok(replay)
    }

    /// Starts the jobs that wait for no other, and finds the first event.
    fn begin(&mut self) {
        for job in 0..self.jobs.len() as u32 {
            if !self.order.waits(job) {
                self.start(job, 0);
            }
        }
        self.note_end(0);
        self.due = self.find_due();
        if self.gaps.is_some() && !self.finished {
            // The first gap begins there.
            self.due = Some(0);
        }
    }

    /// Lets `observer` watch the replay. Call this before its first tick.
    pub fn watched_by(&mut self, observer: &'a dyn Observer) {
        for (number, job) in (0..).zip(&self.jobs) {
            observer.job(number, &job.name, &job.nics());
        }
        self.observer = Some(observer);
    }

    /// Keeps the data for [`Replay::critical_path`]. Call this at the start of the replay. It changes
    /// nothing else.
    pub fn keep_causes(&mut self) {
        let ranks = self.jobs.iter().map(|job| job.ranks.len());
        self.queue.causes = Some(Box::new(Causes::new(ranks)));
    }

    /// Continues a replay without a job until tick `until`: it is finished when that tick
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

    /// The messages of jobs up to tick `now`.
    fn act_for_jobs(&mut self, now: Tick, out: &mut Vec<Message>) {
        if self.gaps.is_none() && !self.background.has_queues() {
            // None of them waits here.
            let most = out.len() + MOST_AT_ONCE;
            let caught_up = self.catch_up(now, out, most);
            self.has_more = self.keep_error(caught_up);
            return;
        }
        let mut of_jobs = std::mem::take(&mut self.of_jobs);
        let caught_up = self.catch_up(now, &mut of_jobs, usize::MAX);
        self.keep_error(caught_up);
        if let Some(gaps) = &mut self.gaps {
            gaps.in_fabric += of_jobs.len() as u64;
        }
        for message in of_jobs.drain(..) {
            let job = if self.background.takes_turns() {
                self.messages.job_of(message.token)
            } else {
                0
            };
            self.background.admit(job, message, out);
        }
        of_jobs.shrink_to(2 * MOST_AT_ONCE);
        self.of_jobs = of_jobs;
    }

    /// Keeps an error, which ends the run. Returns whether events may be left: none after an error.
    pub(super) fn keep_error(&mut self, result: anyhow::Result<bool>) -> bool {
        result.unwrap_or_else(|error| {
            self.error = Some(error);
            false
        })
    }

    /// Processes the reports up to tick `now` and the events up to its time, until `out` has at least `most`
    /// messages. Returns whether events may be left.
    fn catch_up(&mut self, now: Tick, out: &mut Vec<Message>, most: usize) -> anyhow::Result<bool> {
        while let Some(&(tick, _)) = self.reports.front() {
            let ps = self.tick.ps(tick);
            if ps > 0 && self.process_until(ps - 1, out, most)? {
                return Ok(true);
            }
            // The fabric reports in no defined order, which decides in what order slots are free again.
            let of_tick = self.reports.partition_point(|report| report.0 == tick);
            if of_tick > 1 {
                self.reports.make_contiguous()[..of_tick].sort_unstable();
            }
            while let Some(&(_, what)) = self.reports.front().filter(|report| report.0 == tick) {
                self.reports.pop_front();
                self.note(what, ps, out)?;
            }
        }
        self.process_until(self.tick.ps(now), out, most)
    }

    /// Processes the events up to `limit` picoseconds, until `out` has at least `most` messages. Returns whether it has.
    pub(super) fn process_until(
        &mut self,
        limit: u64,
        out: &mut Vec<Message>,
        most: usize,
    ) -> anyhow::Result<bool> {
        while out.len() < most {
            let Some(event) = self.queue.pop_until(limit) else {
                return Ok(false);
            };
            self.now_ps = event.ps;
            self.handle(&event, out)?;
        }
        Ok(true)
    }

    fn handle(&mut self, event: &Event, out: &mut Vec<Message>) -> anyhow::Result<()> {
        if let What::Injected(_) | What::Delivered(_) = event.what {
            return self.note(event.what, event.ps, out);
        }
        if let What::Step(slot) = event.what {
            return self.take_last_step(slot, event.ps);
        }
        if let Some(causes) = &mut self.queue.causes {
            let rank = &self.jobs[event.act.job as usize].ranks[event.act.rank.index()];
            let named = match event.what {
                What::Member(number) => rank.members.named(number),
                _ => None,
            };
            let stream = match event.what {
                What::Stream(stream) => stream,
                _ => StreamId::new(0),
            };
            let region = rank.stream(stream).regions.last().copied();
            causes.begin_act(event, named, region);
        }
        let context = &mut ReplayContext {
            queue: &mut self.queue,
            messages: &mut self.messages,
            nodes: &mut self.nodes,
            out,
            now: self.now,
            ps: event.ps,
            observer: self.observer,
            message: None,
        };
        let rank = event.act.rank;
        let job = &mut self.jobs[event.act.job as usize];
        match event.what {
            What::Stream(stream) => job.resume(rank, stream, context)?,
            What::Member(number) => job.proceed(rank, number, context)?,
            What::Progress => job.progress(rank, context)?,
            What::Injected(_) | What::Delivered(_) | What::Step(_) => {}
        }
        job.note_last(&[rank], context);
        let ended = job.repeat_if_complete(context)?;
        self.carried_out(event.act.job, ended, event.ps);
        Ok(())
    }

    /// Carries a message inside the node of its receiver.
    fn take_last_step(&mut self, slot: u32, ps: u64) -> anyhow::Result<()> {
        if let Some(step) = self.messages.take_last_step(slot) {
            if let Some(causes) = &mut self.queue.causes {
                causes.takes_last_step(slot, ps);
            }
            let carried = (self.nodes).carry(step.seats, step.bytes, &step.pair, ps);
            let arrived_ps = carried.ok_or_else(|| anyhow!(TOO_LATE))?.arrived_ps;
            self.queue.note(arrived_ps, What::Delivered(slot));
        }
        Ok(())
    }

    /// Notes that a message was injected or delivered at `ps`.
    fn note(&mut self, what: What, ps: u64, out: &mut Vec<Message>) -> anyhow::Result<()> {
        if let What::Delivered(slot) = what
            && let Some(act) = self.messages.last_step(slot)
        {
            self.queue.step(ps, act, slot);
            return Ok(());
        }
        let message = match what {
            What::Injected(slot) => self.messages.injected(slot),
            What::Delivered(slot) => self.messages.delivered(slot),
            What::Step(_) | What::Progress | What::Stream(_) | What::Member(_) => None,
        };
        let Some(message) = message else {
            return Ok(());
        };
        let RankPair { from, to } = message.ranks;
        let of_trace = self.jobs[message.job as usize].is_of_trace(from.max(to));
        if let (Some(observer), What::Delivered(slot), true) = (self.observer, what, of_trace) {
            observer.delivered(ps, slot);
        }
        if let Some(causes) = &mut self.queue.causes {
            causes.begin_report(ps, what);
        }
        let context = &mut ReplayContext {
            queue: &mut self.queue,
            messages: &mut self.messages,
            nodes: &mut self.nodes,
            out,
            now: self.now,
            ps,
            observer: self.observer,
            message: of_trace.then_some(message.ranks),
        };
        let job = &mut self.jobs[message.job as usize];
        let ranks = [message.ranks.to, message.ranks.from];
        let ended = if let What::Injected(_) = what {
            job.released(&message, context)?;
            job.note_last(&ranks, context);
            false
        } else {
            self.delivered += 1;
            job.delivered(&message, context)?;
            job.note_last(&ranks, context);
            job.repeat_if_complete(context)?
        };
        self.carried_out(message.job, ended, ps);
        Ok(())
    }

    /// Whether background flows create messages. Without a job they do so even in the last tick,
    /// since the run may continue after it.
    fn creates(&self) -> bool {
        !(self.finished || self.stalled) || self.jobs.is_empty()
    }

    pub(super) fn note_end(&mut self, now: Tick) {
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
            self.reports.push_back((now + self.skipped, what(slot)));
            if !self.finished && !self.stalled {
                self.due = Some(self.due.map_or(now, |due| due.min(now)));
            }
        }
    }

    /// The next tick of the fabric in which something is due.
    fn find_due(&self) -> Option<Tick> {
        // Otherwise background flows and repeating jobs would continue without end beside a
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
        if let Some(until) = self.gaps.as_ref().and_then(|gaps| gaps.due()) {
            due = until.min(self.background.next_tick());
        }
        (due < Tick::MAX).then(|| due.saturating_sub(self.skipped))
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
        let first = out.len();
        let now = now + self.skipped;
        self.now = now;
        if self.quiet_until().is_none_or(|until| until <= now) {
            if !self.jobs.is_empty() {
                self.act_for_jobs(now, out);
            }
            if self.has_more {
                // The rest of the tick follows when the fabric has taken these messages.
                return;
            }
            self.note_end(now);
        }
        if self.creates() {
            self.background.act(now, out);
        }
        if self.gaps.is_some() {
            self.skip_gap(now, &mut out[first..]);
        }
        self.due = self.find_due();
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        if !self.creates() {
            return None;
        }
        let message = self.background.replenish(now + self.skipped, queue);
        if message.is_none() && !self.finished {
            let next = match self.background.next_tick() {
                Tick::MAX => Tick::MAX,
                next => next - self.skipped,
            };
            self.due = Some(self.due.map_or(next, |due| due.min(next)));
        }
        message.map(|mut message| {
            message.created = message.created.saturating_sub(self.skipped);
            message
        })
    }

    fn delivered(&mut self, now: Tick, token: u64) {
        if token > u64::from(u32::MAX) {
            self.background.delivered(token);
        } else {
            if let Some(gaps) = &mut self.gaps {
                gaps.in_fabric -= 1;
            }
            if let Ok(slot) = u32::try_from(token) {
                if !self.messages.part_delivered(slot) {
                    return;
                }
                self.messages.arrives(slot, now + self.skipped);
            }
            self.report(now, token, What::Delivered);
        }
    }

    fn injected(&mut self, now: Tick, token: u64) {
        if u32::try_from(token).is_ok_and(|slot| !self.messages.part_injected(slot)) {
            return;
        }
        if let (Some(observer), Ok(slot)) = (self.observer, u32::try_from(token)) {
            observer.injected(self.tick.ps(now + self.skipped), slot);
            // Reported to the observer alone.
            if !self.messages.awaits_injection(slot) {
                return;
            }
        }
        self.report(now, token, What::Injected);
    }

    fn finished(&self) -> bool {
        self.finished
    }
}
