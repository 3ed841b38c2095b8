//! The result of a job.

use super::Player;
use crate::outcome::JobOutcome;
use crate::rank::Rank;
use flitwise_fabric::stats::Latency;

impl Player<'_> {
    /// Last event and computation of the rank that ended last, the first of several.
    pub(super) fn last(&self) -> (u64, u64) {
        let later = |last: &Rank, rank: &Rank| rank.last_ps > last.last_ps;
        let last = self
            .ranks
            .iter()
            .reduce(|last, rank| if later(last, rank) { rank } else { last });
        last.map_or((self.began_ps, 0), |rank| (rank.last_ps, rank.compute_ps()))
    }

    /// The result of the job so far. `latency`: of its messages in the fabric.
    pub(crate) fn outcome(&self, latency: &Latency) -> JobOutcome {
        let (end_ps, compute_ps) = self.last();
        let count = self.repetitions_ps.len() as u128;
        let complete = self.ended() || (self.endless() && count > 0);
        let (execution_ps, compute_ps) = if complete {
            let sum: u128 = self.repetitions_ps.iter().map(|&ps| u128::from(ps)).sum();
            let compute_ps = self.repetitions_compute_ps / count.max(1);
            // Means of 64-bit numbers.
            ((sum / count.max(1)) as u64, compute_ps as u64)
        } else {
            let before = self
                .repetitions_compute_ps
                .saturating_add(compute_ps.into());
            let compute_ps = u64::try_from(before).unwrap_or(u64::MAX);
            (end_ps.saturating_sub(self.start_ps), compute_ps)
        };
        JobOutcome {
            name: self.name.clone(),
            ranks: self.ranks.len() as u32,
            nics: self.link.nics.clone(),
            complete,
            endless: self.endless(),
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
        }
    }
}
