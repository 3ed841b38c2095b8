//! The standing of a replay: the questions that it answers while it runs, and at its end.

use super::background::{BackgroundOutcome, Behind};
use super::critical_path::Leg;
use super::driver::Replay;
use super::outcome::JobOutcome;
use super::player::Player;
use super::stall;
use flitwise_fabric::spec::Tick;

/// The progress of a replay.
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

impl Replay<'_> {
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
        self.outcomes_until(None)
    }

    /// The results of the jobs, in their order. `run_end_ps`: the end of a run that cuts off the jobs that are not complete.
    #[must_use]
    pub fn outcomes_until(&self, run_end_ps: Option<u64>) -> Vec<JobOutcome> {
        let jobs = self.jobs.iter().enumerate();
        jobs.map(|(at, job)| job.outcome(self.messages.latency(at), run_end_ps))
            .collect()
    }

    /// The outcome of the background flows in a run that ended with tick `end` of the fabric, in
    /// their order. Messages that were skipped do not count.
    #[must_use]
    pub fn background(&self, end: Tick) -> Vec<BackgroundOutcome> {
        self.background.outcomes(self.last_creation(end))
    }

    /// Messages created by tick `end` of the fabric and not handed to it.
    #[must_use]
    pub fn waiting(&self, end: Tick) -> u64 {
        self.background.waiting(self.last_creation(end))
    }

    /// The message of a background flow that has waited longest at tick `now` of the fabric, with the
    /// tick of the fabric in which it was created.
    #[must_use]
    pub fn furthest_behind(&self, now: Tick) -> Option<Behind> {
        let behind = self.background.furthest_behind(now + self.skipped)?;
        Some(Behind {
            since: behind.since.saturating_sub(self.skipped),
            ..behind
        })
    }

    /// Nothing is created in the tick in which the last job ends.
    fn last_creation(&self, end: Tick) -> Tick {
        let end = end.saturating_add(self.skipped);
        if self.finished && !self.jobs.is_empty() {
            end.saturating_sub(1)
        } else {
            end
        }
    }

    /// The progress of the replay.
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

    /// The waits of the ranks in the jobs that are not complete: a line each, and a
    /// last line that counts the omitted ones. Empty if all jobs are complete.
    #[must_use]
    pub fn stall_report(&self) -> Vec<String> {
        stall::report(&self.jobs, &self.messages)
    }
}
