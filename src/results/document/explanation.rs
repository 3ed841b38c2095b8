//! `explanation` of `result.json`: why jobs take as long as they do.

use crate::config::{Experiment, Plan};
use crate::explain::{self, CulpritShare, LinkShare, Part, phase_begin};
use crate::results::explain::{Before, culprits_more, far_end, in_baseline, names};
use crate::results::link_ends::link_end;
use crate::run::{RunResult, Simulation};
use schemars::JsonSchema;
use serde::Serialize;

/// Why one job takes as long as it does.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Explanation {
    /// The name of the job.
    pub job: String,
    /// The time from the start of the job to its last event.
    ///
    /// All repetitions are included.
    pub total_ps: u64,
    /// The [parts](../reference/explain.md#the-parts) of the time; they add up to `total_ps`.
    pub parts: Parts<u64>,
    /// Messages on the critical path.
    pub messages: u64,
    /// Messages that were not yet sent when an idle receiver began to wait for them.
    #[schemars(extend("unit" = "messages"))]
    pub late_partners: u64,
    /// The time of the path in which such a receiver waited, each moment once.
    ///
    /// It is contained in the parts.
    pub late_partners_ps: u64,
    /// Senders of the packets that were in the way, longest first; adds up to `queueing_ps`.
    pub culprits: Vec<Culprit<u64>>,
    /// The links where messages of the path waited, longest first, at most 100.
    pub links: Vec<LinkWait>,
    /// Ranks on the path, ascending; a message counts for its sender.
    pub ranks: Vec<RankParts>,
    /// Collectives on the path, longest first, at most 100.
    pub collectives: Vec<CollectiveParts>,
    /// [Regions](../model/replay.md#regions) of the program on the path, longest first, at most 100.
    pub regions: Vec<RegionParts>,
    /// Ten equal slices of the time.
    pub phases: Vec<Phase>,
    /// Difference between this run and its baseline; null without one.
    ///
    /// Negative where this run is shorter.
    pub against_baseline: Option<Difference>,
}

/// A time for each of [the parts](../reference/explain.md#the-parts).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Parts<T> {
    /// Computing.
    pub local_work_ps: T,
    /// Combining the data of reductions.
    pub reduction_ps: T,
    /// Messages inside nodes.
    pub inside_nodes_ps: T,
    /// The bytes of messages leaving their NICs.
    pub serialisation_ps: T,
    /// The rest of what messages take alone in the fabric.
    pub latency_ps: T,
    /// Waiting for links that carried other messages.
    pub queueing_ps: T,
    /// Waiting for links that lacked credits.
    pub credit_stalls_ps: T,
    /// Waiting for links that were off, on their way down or up, or in an outage.
    pub waking_links_ps: T,
    /// Waiting for congestion control.
    pub throttling_ps: T,
    /// Waiting inside a switch or NIC, though the link was free and had credits.
    pub inside_devices_ps: T,
}

impl<T> Parts<T> {
    fn of(of: impl Fn(Part) -> T) -> Self {
        Self {
            local_work_ps: of(Part::Computing),
            reduction_ps: of(Part::Reduction),
            inside_nodes_ps: of(Part::InsideNodes),
            serialisation_ps: of(Part::Serialisation),
            latency_ps: of(Part::Latency),
            queueing_ps: of(Part::Queueing),
            credit_stalls_ps: of(Part::CreditStalls),
            waking_links_ps: of(Part::WakingLinks),
            throttling_ps: of(Part::Throttling),
            inside_devices_ps: of(Part::InsideDevices),
        }
    }
}

impl From<&explain::Parts> for Parts<u64> {
    fn from(parts: &explain::Parts) -> Self {
        Self::of(|part| parts.of(part))
    }
}

/// A sender of packets that were in the way.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Culprit<T> {
    /// The sender: `job NAME`, `background INDEX`, or `congestion control` for CNPs and ACKs.
    pub from: String,
    /// The service level of the packets.
    pub sl: String,
    /// Time in the way; against a baseline the difference, negative if shorter.
    #[schemars(extend("unit" = "ps"))]
    pub ps: T,
}

/// How long messages of the path waited for a link.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct LinkWait {
    /// The sending end: `nic 3` or `switch 2 port 7`.
    pub from: String,
    /// The receiving end.
    pub to: Option<String>,
    /// As `links[].from_name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_name: Option<String>,
    /// As `links[].to_name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_name: Option<String>,
    /// While it carried packets of others.
    pub queueing_ps: u64,
    /// While it lacked credits.
    pub credit_stalls_ps: u64,
    /// While it was off, on its way down or up, or in an outage.
    pub waking_links_ps: u64,
    /// While congestion control held them back.
    pub throttling_ps: u64,
    /// For other reasons, in the switch or NIC in front of it.
    pub inside_devices_ps: u64,
}

/// The parts of a rank.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct RankParts {
    /// The rank.
    pub rank: u32,
    /// As `explanation[].parts`.
    pub parts: Parts<u64>,
}

/// The parts of a collective.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct CollectiveParts {
    /// `collective 12 (bcast)`, or `collective 3 of communicator 0 (bcast)`.
    pub name: String,
    /// As `explanation[].parts`.
    pub parts: Parts<u64>,
}

/// The parts of a region of the program.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct RegionParts {
    /// Its name.
    pub name: String,
    /// As `explanation[].parts`, of what ranks compute and send in it.
    pub parts: Parts<u64>,
}

/// The parts of a slice of the time.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Phase {
    /// The start of the slice, after the start of the job.
    pub from_ps: u64,
    /// The end of the slice.
    pub to_ps: u64,
    /// As `explanation[].parts`.
    pub parts: Parts<u64>,
}

/// By how much a run is longer than its baseline; negative numbers if it is shorter.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Difference {
    /// The difference of `total_ps`.
    pub total_ps: i64,
    /// As `explanation[].parts`: the difference of each, which add up to the difference of `total_ps`.
    pub parts: Parts<i64>,
    /// The difference for each culprit, the largest first; they add up to the difference of `queueing_ps`.
    pub culprits: Vec<Culprit<i64>>,
}

/// The explanations of a result; `None` if the run is not complete.
pub(super) fn explanations(plan: &Plan, result: &RunResult) -> Option<Vec<Explanation>> {
    let one = |explained: &explain::Explanation| {
        let before = in_baseline(plan, result, explained.job);
        of_job(&plan.experiment, &result.main, explained, before)
    };
    let all = result.main.explanation.as_ref()?;
    Some(all.iter().map(one).collect())
}

pub(super) fn of_job(
    experiment: &Experiment,
    run: &Simulation,
    explained: &explain::Explanation,
    before: Option<Before<'_>>,
) -> Explanation {
    let explain::Explanation {
        job,
        total_ps,
        parts,
        messages,
        late_partners,
        late_partners_ps,
        culprits,
        links,
        ranks,
        collectives,
        regions,
        phases,
    } = explained;
    let culprit = |share: &CulpritShare| {
        let (from, sl) = names(experiment, share.culprit);
        let (sl, ps) = (sl.to_owned(), share.ps);
        Culprit { from, sl, ps }
    };
    let link = |share: &LinkShare| at_link(experiment, run, share);
    let rank = |share: &explain::RankShare| RankParts {
        rank: share.rank,
        parts: (&share.parts).into(),
    };
    let collective = |share: &explain::NamedShare| CollectiveParts {
        name: share.name.clone(),
        parts: (&share.parts).into(),
    };
    let region = |share: &explain::NamedShare| RegionParts {
        name: share.name.clone(),
        parts: (&share.parts).into(),
    };
    let phases = (0..).zip(phases).map(|(number, parts)| Phase {
        from_ps: phase_begin(number, *total_ps),
        to_ps: phase_begin(number + 1, *total_ps),
        parts: parts.into(),
    });
    Explanation {
        job: experiment.jobs[*job].name.clone(),
        total_ps: *total_ps,
        parts: parts.into(),
        messages: *messages,
        late_partners: *late_partners,
        late_partners_ps: *late_partners_ps,
        culprits: culprits.iter().map(culprit).collect(),
        links: links.iter().map(link).collect(),
        ranks: ranks.iter().map(rank).collect(),
        collectives: collectives.iter().map(collective).collect(),
        regions: regions.iter().map(region).collect(),
        phases: phases.collect(),
        against_baseline: before.map(|before| difference(experiment, explained, before)),
    }
}

fn at_link(experiment: &Experiment, run: &Simulation, share: &LinkShare) -> LinkWait {
    let to = far_end(run, share);
    let names = experiment.fabric.topology.names();
    let name = |end| names.map(|names| names.end_label(end));
    LinkWait {
        from: link_end(share.from),
        to: to.map(link_end),
        from_name: name(share.from),
        to_name: to.and_then(name),
        queueing_ps: share.queueing_ps,
        credit_stalls_ps: share.credit_stalls_ps,
        waking_links_ps: share.waking_links_ps,
        throttling_ps: share.throttling_ps,
        inside_devices_ps: share.inside_devices_ps,
    }
}

/// By how much each part of `explained` is longer than in `before`.
pub(super) fn difference(
    experiment: &Experiment,
    explained: &explain::Explanation,
    before: Before<'_>,
) -> Difference {
    let (now, then) = (explained, before.explained);
    let culprits = culprits_more(experiment, explained, before).into_iter();
    let culprits = culprits.map(|(from, sl, ps)| {
        let ps = signed(ps);
        Culprit { from, sl, ps }
    });
    Difference {
        total_ps: signed(i128::from(now.total_ps) - i128::from(then.total_ps)),
        parts: Parts::of(|part| signed(now.parts.difference(&then.parts, part))),
        culprits: culprits.collect(),
    }
}

/// A difference of times, which 64 bits hold: no run takes longer than 2⁶³ ps.
fn signed(ps: i128) -> i64 {
    i64::try_from(ps).unwrap_or(if ps < 0 { i64::MIN } else { i64::MAX })
}
