//! The order of jobs that start after others.

use super::driver::Replay;
use super::job::{JobSpec, Repeat};
use super::link::ReplayContext;
use anyhow::ensure;

/// The jobs that have not started, because they come after others.
#[derive(Debug)]
pub(super) struct Order {
    /// By job: how many jobs it still waits for.
    awaited: Vec<u32>,
    /// By job: the jobs that come after it.
    followers: Vec<Vec<u32>>,
}

impl Order {
    /// # Errors
    /// If a job comes after one that does not end, or is not before it in the list.
    pub(super) fn new(jobs: &[JobSpec<'_>]) -> anyhow::Result<Self> {
        let mut followers = vec![Vec::new(); jobs.len()];
        let mut awaited = vec![0; jobs.len()];
        for (number, job) in (0_u32..).zip(jobs) {
            for &other in &job.after {
                let before = jobs[..number as usize].get(other as usize);
                let ends = before.is_some_and(|other| other.repeat != Repeat::UntilOthersEnd);
                ensure!(
                    ends,
                    "job '{}' comes after job number {other}, which is not an earlier one that ends",
                    job.name
                );
                followers[other as usize].push(number);
                awaited[number as usize] += 1;
            }
        }
        Ok(Self { awaited, followers })
    }

    /// Whether a job still waits for others.
    pub(super) fn waits(&self, job: u32) -> bool {
        self.awaited[job as usize] > 0
    }

    /// Notes the end of a job. Returns the jobs that waited for it alone.
    pub(super) fn ended(&mut self, job: u32) -> Vec<u32> {
        let mut free = std::mem::take(&mut self.followers[job as usize]);
        free.retain(|&follower| {
            let awaited = &mut self.awaited[follower as usize];
            *awaited -= 1;
            *awaited == 0
        });
        free
    }
}

impl Replay<'_> {
    /// Starts a job at its earliest start or at `ps`, whichever is later.
    pub(super) fn start(&mut self, job: u32, ps: u64) {
        let job = &mut self.jobs[job as usize];
        let context = &mut ReplayContext {
            queue: &mut self.queue,
            messages: &mut self.messages,
            nodes: &mut self.nodes,
            out: &mut Vec::new(),
            now: self.now,
            ps: job.start_ps().max(ps),
            observer: self.observer,
            message: None,
        };
        job.start(context);
    }

    /// The event of `ps` has been carried out; it ended `job` or did not.
    pub(super) fn carried_out(&mut self, job: u32, ended: bool, ps: u64) {
        self.queue.carried_out();
        if ended {
            for follower in self.order.ended(job) {
                self.start(follower, ps);
            }
        }
    }
}
