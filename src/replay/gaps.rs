//! Skips gaps between the messages of jobs (`docs/model/gap-skip.md`).
//!
//! While the fabric carries no message of a job, jobs depend on nothing that happens there. So the
//! replay looks ahead: it processes the events of the jobs up to the tick T of the next message. What
//! background flows do until then matters only through the queues that they have left at T, and
//! these depend on the last part of the gap. The rest is cut out: the fabric stands still, and
//! background sources pass over what they would have created.

use super::driver::Replay;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::Message;
use serde::{Deserialize, Serialize};

/// The gaps that a run has skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GapsSkipped {
    /// Gaps of which a part was skipped.
    pub gaps: u64,
    /// Ticks skipped.
    pub ticks: Tick,
    /// Messages that background flows would have created in these ticks.
    pub messages: u64,
}

/// The state of the replay in gaps, in which it runs ahead of the fabric.
#[derive(Debug)]
pub(super) struct Gaps {
    /// Ticks that are simulated before a message of a job.
    warm_up: Tick,
    /// Messages of jobs that the fabric has, or that wait for it.
    pub in_fabric: u64,
    /// The tick up to which the events of the jobs have been processed: they create nothing before
    /// it. `None` while messages are on their way.
    ahead: Option<Tick>,
    /// The tick in which to check whether a part of the present gap can be skipped; [`Tick::MAX`] if that has been
    /// done, or is not worth while.
    next_try: Tick,
    so_far: GapsSkipped,
}

impl Gaps {
    /// At the start of a run. `warm_up`: ticks that are simulated before a message of a job.
    pub(super) fn new(warm_up: Tick) -> Self {
        Self {
            warm_up,
            in_fabric: 0,
            ahead: None,
            next_try: 0,
            so_far: GapsSkipped::default(),
        }
    }

    /// The least number of ticks worth skipping.
    fn least(&self) -> Tick {
        (self.warm_up / 4).max(1)
    }

    /// The tick in which the replay acts next in a gap; `None` outside of one.
    #[inline]
    pub(super) fn due(&self) -> Option<Tick> {
        self.ahead.map(|until| until.min(self.next_try))
    }
}

impl Replay<'_> {
    /// The gaps skipped so far; `None` if gaps are not skipped.
    #[must_use]
    pub fn gaps_skipped(&self) -> Option<GapsSkipped> {
        self.gaps.as_ref().map(|gaps| gaps.so_far)
    }

    /// The tick of the replay that belongs to tick `tick` of the fabric, now or later.
    #[must_use]
    pub fn tick_of(&self, tick: Tick) -> Tick {
        tick.saturating_add(self.skipped)
    }

    /// No job creates a message before this tick, which has been looked ahead to.
    #[inline]
    pub(super) fn quiet_until(&self) -> Option<Tick> {
        self.gaps.as_ref()?.ahead
    }

    /// The end of tick `now`, in which the messages `out` were created: converts their ticks to those
    /// of the fabric, looks ahead if a gap begins, and skips as much as possible.
    pub(super) fn skip_gap(&mut self, now: Tick, out: &mut [Message]) {
        for message in out {
            message.created -= self.skipped;
        }
        let Some(mut gaps) = self.gaps.take() else {
            return;
        };
        if gaps.ahead.is_some_and(|until| until <= now) {
            gaps.ahead = None;
        }
        if gaps.ahead.is_none() && gaps.in_fabric == 0 && !self.finished && !self.stalled {
            gaps.ahead = Some(self.look_ahead(now)).filter(|&until| until > now);
            gaps.next_try = now;
        }
        if let Some(until) = gaps.ahead.filter(|_| now >= gaps.next_try) {
            let ticks = (until - now).saturating_sub(gaps.warm_up.saturating_add(1));
            gaps.next_try = Tick::MAX;
            if ticks >= gaps.least() && self.is_fluent(now, gaps.warm_up) {
                gaps.so_far.gaps += 1;
                gaps.so_far.ticks += ticks;
                gaps.so_far.messages += self.background.pass_over(now, ticks);
                self.skipped += ticks;
            } else if ticks >= gaps.least() {
                gaps.next_try = now + gaps.least();
            }
        }
        self.gaps = Some(gaps);
    }

    /// Whether no message of a background flow has waited longer than `warm_up` at tick `now`. Longer
    /// queues would not build up anew before the next message of a job, and a flow that falls ever
    /// further behind would not be found.
    fn is_fluent(&self, now: Tick, warm_up: Tick) -> bool {
        let behind = self.background.furthest_behind(now);
        behind.is_none_or(|behind| now - behind.since <= warm_up)
    }

    /// Processes the events of the jobs after tick `now` up to the tick in which one creates a message
    /// for the fabric, or the run ends. Returns that tick; its messages stay in `of_jobs`.
    fn look_ahead(&mut self, now: Tick) -> Tick {
        let mut of_jobs = std::mem::take(&mut self.of_jobs);
        let flags = (self.jobs_ended, self.finished, self.stalled);
        let mut tick = now;
        while of_jobs.is_empty() && !self.finished && !self.stalled {
            let Some(ps) = self.queue.next_ps() else {
                break;
            };
            tick = self.tick.ticks(ps);
            self.now = tick;
            let processed = self.process_until(self.tick.ps(tick), &mut of_jobs, usize::MAX);
            self.keep_error(processed);
            self.note_end(tick);
        }
        self.of_jobs = of_jobs;
        // The changes hold from `tick` on.
        (self.jobs_ended, self.finished, self.stalled) = flags;
        self.now = now;
        tick
    }
}
