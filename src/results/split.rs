//! Where the time of a job goes, found by replaying it on an unloaded fabric and on an ideal network.

use crate::config::Plan;
use crate::fabric::held_up::Reasons;
use crate::fabric::spec::FabricSpec;
use crate::fabric::stats::{FabricStats, LinkStats};
use crate::run::{RunResult, Simulation};
use crate::units::percent_of;
use schemars::JsonSchema;
use serde::Serialize;

/// Parts of the execution time of a job, which add up to it.
///
/// Each part is what the next better network takes away: of the execution time T, the time on the
/// unloaded fabric U, and the time on the ideal network I, contention is T − U, and latency and
/// serialisation are U − I. Of I, a rank computes C in the mean over the ranks; for the rest of I it waits
/// for ranks that are late, or for messages inside its node. Neither C nor I depends on the fabric or its other
/// traffic, so a change of the network cannot move them.
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
    /// Of T − U: for links in use.
    pub queueing_ps: u64,
    /// Of T − U: for links that lacked credits.
    ///
    /// T − U is divided as the waits of all packets of the run are, `links[].waited_ns`: of each link the part *credit
    /// wait* / (*credit wait* + *time down* + *time in use*).
    pub credit_stalls_ps: u64,
    /// Of T − U, where links can go down: for links that are down.
    ///
    /// They are asleep, going up or down, or in an outage. Divided as `credit_stalls_ps`, with `links[].down_wait_ns` as *time down*.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links_down_ps: Option<u64>,
}

impl TimeSplit {
    /// The split of an execution time. A part is 0 where a better network gains nothing: an unloaded
    /// fabric may be later by a few ticks where blind allocation looks in turn.
    ///
    /// `reasons`: the parts of the waits in the fabric, each from 0 to 1. `go_down`: links can.
    #[must_use]
    pub(super) fn of(
        total_ps: u64,
        (unloaded_ps, ideal_ps, compute_ps): (u64, u64, u64),
        reasons: Reasons,
        go_down: bool,
    ) -> Self {
        let ideal_ps = ideal_ps.min(total_ps);
        let unloaded_ps = unloaded_ps.clamp(ideal_ps, total_ps);
        let computing_ps = compute_ps.min(ideal_ps);
        let contention_ps = total_ps - unloaded_ps;
        let part = |part: f64| (contention_ps as f64 * part).round() as u64;
        let credit_stalls_ps = part(reasons.credits).min(contention_ps);
        let rest_ps = contention_ps - credit_stalls_ps;
        let links_down_ps = go_down.then(|| part(reasons.down).min(rest_ps));
        Self {
            computing_ps,
            partners_ps: ideal_ps - computing_ps,
            latency_and_serialisation_ps: unloaded_ps - ideal_ps,
            contention_ps,
            queueing_ps: rest_ps - links_down_ps.unwrap_or(0),
            credit_stalls_ps,
            links_down_ps,
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
    let fabric = &plan.experiment.fabric;
    let complete = |run: &Simulation| {
        let outcome = run.jobs.get(index)?.as_ref()?;
        (outcome.complete && !outcome.endless).then(|| outcome.clone())
    };
    let job = complete(&result.main)?;
    let unloaded = complete(result.unloaded.as_ref()?)?;
    let ideal = complete(result.ideal.as_ref()?)?;
    Some(TimeSplit::of(
        job.execution_ps,
        (unloaded.execution_ps, ideal.execution_ps, ideal.compute_ps),
        reasons(&result.main.stats, fabric),
        fabric.links_go_down(),
    ))
}

/// The reasons of all waits in the fabric.
fn reasons(stats: &FabricStats, fabric: &FabricSpec) -> Reasons {
    let waited = |link: &LinkStats| link.waited_ticks as f64;
    let all: f64 = stats.links.iter().map(waited).sum();
    let part = |reason: fn(Reasons) -> f64| {
        let of_link = |link: &LinkStats| waited(link) * reason(Reasons::of(fabric, link));
        stats.links.iter().map(of_link).sum::<f64>() / all.max(1.0)
    };
    Reasons {
        credits: part(|reasons| reasons.credits),
        down: part(|reasons| reasons.down),
    }
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
            for (credits, down) in [(0.0, 0.0), (0.3, 0.65), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)] {
                let times = (unloaded, ideal, compute);
                let split = TimeSplit::of(total, times, Reasons { credits, down }, true);
                assert_eq!(split.total_ps(), total);
                let waits = split.queueing_ps + split.credit_stalls_ps;
                assert_eq!(waits + split.links_down_ps.unwrap(), split.contention_ps);
            }
        }
        let reasons = |down| Reasons {
            credits: 0.25,
            down,
        };
        let split = TimeSplit::of(100, (80, 50, 30), reasons(0.6), true);
        let waits = (split.queueing_ps, split.credit_stalls_ps);
        assert_eq!((waits, split.links_down_ps), ((3, 5), Some(12)));
        let split = TimeSplit::of(100, (80, 50, 30), reasons(0.0), false);
        assert_eq!(split.links_down_ps, None);
        assert_eq!((split.computing_ps, split.partners_ps), (30, 20));
        let network = (split.latency_and_serialisation_ps, split.contention_ps);
        assert_eq!(network, (30, 20));
        assert_eq!((split.queueing_ps, split.credit_stalls_ps), (15, 5));
    }
}
