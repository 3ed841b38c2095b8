//! The result of a job.

use super::Player;
use crate::outcome::JobOutcome;
use flitwise_fabric::stats::Latency;

impl Player<'_> {
    /// Last event of the repetition in progress.
    pub(super) fn last_ps(&self) -> u64 {
        let last_ps = self.ranks.iter().map(|rank| rank.last_ps).max();
        last_ps.unwrap_or(self.began_ps)
    }

    /// The computation of all ranks in the repetition in progress until `ps`.
    pub(super) fn computed_ps(&self, ps: u64) -> u128 {
        let computed = self
            .ranks
            .iter()
            .map(|rank| u128::from(rank.compute_ps(ps)));
        computed.sum()
    }

    /// The result of the job so far. `latency`: of its messages in the fabric. `run_end_ps`: of a run that cuts off the jobs
    /// that are not complete. These have run until then, also if they have computed or waited since their last event.
    pub(crate) fn outcome(&self, latency: &Latency, run_end_ps: Option<u64>) -> JobOutcome {
        let count = self.repetitions_ps.len() as u128;
        let ranks = self.ranks_of_trace().len().max(1) as u128;
        let complete = self.ended() || (self.endless() && count > 0);
        let started = self.started && run_end_ps.is_none_or(|end_ps| self.start_ps <= end_ps);
        let cut_off_ps = run_end_ps.filter(|_| started && !complete);
        let end_ps = cut_off_ps.unwrap_or_else(|| self.last_ps());
        let (execution_ps, compute_ps) = if complete {
            let sum: u128 = self.repetitions_ps.iter().map(|&ps| u128::from(ps)).sum();
            let compute_ps = self.repetitions_compute_ps / (count.max(1) * ranks);
            // Means of 64-bit numbers.
            ((sum / count.max(1)) as u64, compute_ps as u64)
        } else {
            let computed_ps = self.computed_ps(end_ps);
            let so_far = self.repetitions_compute_ps.saturating_add(computed_ps);
            let compute_ps = u64::try_from(so_far / ranks).unwrap_or(u64::MAX);
            let execution_ps = end_ps.saturating_sub(self.start_ps);
            (execution_ps, compute_ps.min(execution_ps))
        };
        JobOutcome {
            name: self.name.clone(),
            ranks: self.ranks_of_trace().len() as u32,
            nics: self.link.nics(),
            complete,
            endless: self.endless(),
            start_ps: started.then_some(self.start_ps),
            repetitions_ps: self.repetitions_ps.clone(),
            end_ps,
            execution_ps,
            compute_ps,
            network_ps: execution_ps.saturating_sub(compute_ps),
            point_to_point: self.point_to_point,
            point_to_point_bytes: self.point_to_point_bytes,
            collectives: self.plans.completed,
            messages: self.link.sent,
            bytes: self.link.bytes,
            intra_node_messages: self.link.intra_node_sent,
            latency: latency.clone(),
            pairs: self.link.pairs.clone(),
            waits: self.waits.clone(),
        }
    }
}
