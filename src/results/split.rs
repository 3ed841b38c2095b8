//! Where the time of a job goes, found by replaying it on better networks.

use super::measures::span_ps;
use crate::config::Plan;
use crate::fabric::held_up::Reasons;
use crate::fabric::spec::FabricSpec;
use crate::fabric::stats::{FabricStats, LinkStats};
use crate::replay::outcome::JobOutcome;
use crate::run::{RunResult, Simulation};
use crate::units::percent_of;
use schemars::JsonSchema;
use serde::Serialize;

/// Parts of the execution time of a job, which add up to it.
///
/// Each part is what the next better network takes away: of the execution time T, the time A on the same fabric with
/// links that are always up, at full speed and free of errors, the time U on the unloaded fabric, and the time I on the
/// ideal network, contention is T − U, of which T − A is due to links, and latency and serialisation are U − I. Of I, a
/// rank computes C in the mean over the ranks; for the rest of I it waits for ranks that are late, or for messages inside
/// its node. Neither C nor I depends on the fabric or its other traffic, so a change of the network cannot move them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct TimeSplit {
    /// C: computation of a rank, mean over all ranks, as `compute_ps`.
    pub computing_ps: u64,
    /// I − C: waiting for ranks that are late even if messages take no time, and messages inside a node.
    ///
    /// The mean over all ranks, also of the time until the last rank has ended.
    pub partners_ps: u64,
    /// U − I: latency of the fabric, and serialisation of messages on its links.
    pub latency_and_serialisation_ps: u64,
    /// T − U: waiting for other messages, also of the same NIC.
    ///
    /// A message waits for a link that is busy, lacks credits or is down.
    pub contention_ps: u64,
    /// Of A − U: for links in use; with congestion control also what it holds back.
    pub queueing_ps: u64,
    /// Of A − U: for links that lacked credits.
    ///
    /// A − U is divided as the waits of all packets are in the run that takes A, `links[].waited_ns`: of each link the
    /// part *credit wait* / (*credit wait* + *time in use*).
    pub credit_stalls_ps: u64,
    /// T − A: links are down, slow or in error. Only if the experiment has such links; else A is T.
    ///
    /// Links are down while they are asleep, going up or down, or in an outage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links_down_ps: Option<u64>,
}

impl TimeSplit {
    /// The split of an execution time. A part is 0 where a better network gains nothing: an unloaded
    /// fabric may be later by a few ticks where blind allocation looks in turn.
    ///
    /// `always_up_ps`: A, if it is not T. `credits`: the part of the waits in the fabric that is for credits.
    #[must_use]
    pub(super) fn of(
        total_ps: u64,
        always_up_ps: Option<u64>,
        (unloaded_ps, ideal_ps, compute_ps): (u64, u64, u64),
        credits: f64,
    ) -> Self {
        let ideal_ps = ideal_ps.min(total_ps);
        let unloaded_ps = unloaded_ps.clamp(ideal_ps, total_ps);
        let computing_ps = compute_ps.min(ideal_ps);
        let always_up_ps = always_up_ps.map(|ps| ps.clamp(unloaded_ps, total_ps));
        let waits_ps = always_up_ps.unwrap_or(total_ps) - unloaded_ps;
        let credit_stalls_ps = ((waits_ps as f64 * credits).round() as u64).min(waits_ps);
        Self {
            computing_ps,
            partners_ps: ideal_ps - computing_ps,
            latency_and_serialisation_ps: unloaded_ps - ideal_ps,
            contention_ps: total_ps - unloaded_ps,
            queueing_ps: waits_ps - credit_stalls_ps,
            credit_stalls_ps,
            links_down_ps: always_up_ps.map(|ps| total_ps - ps),
        }
    }

    /// All of the network: what an ideal network takes away.
    #[must_use]
    pub fn network_ps(&self) -> u64 {
        self.latency_and_serialisation_ps + self.contention_ps
    }

    /// The execution time.
    #[must_use]
    pub fn total_ps(&self) -> u64 {
        self.computing_ps + self.partners_ps + self.network_ps()
    }

    /// A part of the execution time in percent.
    pub(super) fn percent(&self, part_ps: u64) -> String {
        percent_of(part_ps, self.total_ps())
    }
}

/// Where the time of job `index` of the experiment goes; `None` if the plan does not ask, if a run
/// is not complete, or if the job repeats until the others end.
#[must_use]
pub fn time_split(plan: &Plan, result: &RunResult, index: usize) -> Option<TimeSplit> {
    let times = |job: &JobOutcome| Some([job.execution_ps, job.compute_ps]);
    split(plan, result, index, times)
}

/// The same of all repetitions together.
pub(crate) fn time_split_of_all(
    plan: &Plan,
    result: &RunResult,
    index: usize,
) -> Option<TimeSplit> {
    let times = |job: &JobOutcome| {
        let repetitions = job.repetitions_ps.len() as u64;
        Some([span_ps(job)?, job.compute_ps.saturating_mul(repetitions)])
    };
    split(plan, result, index, times)
}

/// The split of the execution time and the computation that `times` takes of the outcomes of a job.
fn split(
    plan: &Plan,
    result: &RunResult,
    index: usize,
    times: impl Fn(&JobOutcome) -> Option<[u64; 2]>,
) -> Option<TimeSplit> {
    let fabric = &plan.experiment.fabric;
    let complete = |run: &Simulation| {
        let outcome = run.jobs.get(index)?.as_ref()?;
        let ended = outcome.complete && !outcome.endless;
        times(outcome).filter(|_| ended)
    };
    let [total_ps, _] = complete(&result.main)?;
    let [unloaded_ps, _] = complete(result.unloaded.as_ref()?)?;
    let [ideal_ps, compute_ps] = complete(result.ideal.as_ref()?)?;
    let (always_up_ps, waits) = if fabric.is_always_up() {
        (None, &result.main)
    } else {
        let always_up = result.always_up.as_ref()?;
        (Some(complete(always_up)?[0]), always_up)
    };
    Some(TimeSplit::of(
        total_ps,
        always_up_ps,
        (unloaded_ps, ideal_ps, compute_ps),
        for_credits(&waits.stats, fabric),
    ))
}

/// The part of all waits in a fabric whose links are up that is for credits.
fn for_credits(stats: &FabricStats, fabric: &FabricSpec) -> f64 {
    let waited = |link: &LinkStats| link.waited_ticks as f64;
    let all: f64 = stats.links.iter().map(waited).sum();
    let of_link = |link: &LinkStats| waited(link) * Reasons::of(fabric, link).credits;
    stats.links.iter().map(of_link).sum::<f64>() / all.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_whatever_the_other_networks_take() {
        for (total, compute, unloaded, ideal) in [
            (100, 30, 80, 50),
            (100, 30, 102, 50),
            (100, 60, 80, 50),
            (100, 30, 40, 50),
            (100, 30, 120, 110),
            (0, 0, 0, 0),
        ] {
            for always_up in [None, Some(0), Some(70), Some(90), Some(120)] {
                for credits in [0.0, 0.3, 1.0] {
                    let times = (unloaded, ideal, compute);
                    let split = TimeSplit::of(total, always_up, times, credits);
                    assert_eq!(split.total_ps(), total);
                    let waits = split.queueing_ps + split.credit_stalls_ps;
                    let down = split.links_down_ps.unwrap_or(0);
                    assert_eq!(waits + down, split.contention_ps);
                }
            }
        }
        let split = TimeSplit::of(100, Some(88), (80, 50, 30), 0.625);
        let waits = (split.queueing_ps, split.credit_stalls_ps);
        assert_eq!((waits, split.links_down_ps), ((3, 5), Some(12)));
        let split = TimeSplit::of(100, None, (80, 50, 30), 0.25);
        assert_eq!(split.links_down_ps, None);
        assert_eq!((split.computing_ps, split.partners_ps), (30, 20));
        let network = (split.latency_and_serialisation_ps, split.contention_ps);
        assert_eq!(network, (30, 20));
        assert_eq!((split.queueing_ps, split.credit_stalls_ps), (15, 5));
    }
}
