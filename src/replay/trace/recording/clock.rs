//! The clock of the computations.

use crate::trace::ComputeTime;
use flitwise_base::units::human_time;
use flitwise_formats::recording::{Check, Clock as Said, RankInfo, Set};

/// The clock that a recording suggests, and the reason if it is not the wall clock.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    pub clock: ComputeTime,
    pub reason: Option<String>,
}

impl Clock {
    /// CPU time where ranks shared processors: they could use no others, and were more than these; or they took clearly longer
    /// between their calls than they computed. A part of a recording has the clock of the whole.
    pub fn of(set: &Set, check: &Check) -> Self {
        let of_whole = |is: Said| set.description().compute_time == Some(is);
        if of_whole(Said::Wall) {
            return Self {
                clock: ComputeTime::Wall,
                reason: None,
            };
        }
        let whole = of_whole(Said::Cpu)
            .then(|| "the whole recording, of which this is a part, has them".to_owned());
        let crowded = set.description().crowded_hosts().next();
        let crowded = crowded.map(|(host, ranks, processors)| {
            let host = flitwise_base::quote::quoted(host);
            let s = if processors == 1 { "" } else { "s" };
            format!("{ranks} ranks of host {host} shared {processors} processor{s}")
        });
        let reason = whole.or(crowded).or_else(|| slower(check));
        Self {
            clock: match reason {
                Some(_) => ComputeTime::Cpu,
                None => ComputeTime::Wall,
            },
            reason,
        }
    }

    /// The remark on a clock that is not the usual one.
    pub fn remark(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(format!(
            "computations are CPU time, because {reason}; compute_time = \"cpu\" agrees, \"wall\" counts wall time"
        ))
    }
}

/// That ranks took longer between their calls than they computed. What threads compute that do not call MPI is not in
/// the CPU time of a rank.
fn slower(check: &Check) -> Option<String> {
    const SLACK_NS: u64 = 1_000_000;
    let ranks = || check.ranks.iter().filter(|rank| !rank.is_hybrid());
    let sum = |of: fn(&RankInfo) -> u64| ranks().map(of).fold(0, u64::saturating_add);
    let (wall, cpu) = (sum(|rank| rank.wall_ns), sum(|rank| rank.cpu_ns));
    let slack = SLACK_NS.saturating_mul(ranks().count() as u64);
    let usual = cpu.saturating_add(cpu / 4).saturating_add(slack);
    let shown = |ns: u64| human_time(ns.saturating_mul(1000));
    (wall > usual).then(|| {
        format!(
            "the ranks took {} between their calls, but computed {}",
            shown(wall),
            shown(cpu)
        )
    })
}
