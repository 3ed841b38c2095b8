//! Explains why a job takes as long as it does: its critical path, and the use of the time on it (`docs/reference/explain.md`).
//!
//! A run that is to be explained is simulated twice. The first time the replay keeps the
//! [critical path](crate::replay::critical_path) of each job. The second time, which sees the same messages, a probe
//! follows the messages of these paths and notes which packets delayed them.

mod alone;
mod blame;
mod parts;
mod tracer;

pub(crate) use self::alone::{Alone, JobsOfTokens, Load, References};
pub(crate) use self::blame::{Reason, Wait};
pub use self::parts::{Part, Parts};
pub use self::tracer::{Culprit, Source};
pub(crate) use self::tracer::{Mark, Tracer};

use crate::fabric::engine::probe::OutputId;
use crate::fabric::spec::Tick;
use crate::fabric::stats::LinkEnd;
use crate::fabric::topology::Topology;
use crate::replay::critical_path::{Leg, LegKind};
use crate::units::TickLength;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Equal slices that the time is cut into.
pub const PHASES: u64 = 10;
/// Most links and most collectives that an explanation lists.
pub const LISTED: usize = 100;

/// Why one job takes as long as it does. All times are in picoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// Index of the job in the experiment.
    pub job: usize,
    /// The time explained: from the start of the job to its last event, of all its repetitions. The parts add up to it.
    pub total_ps: u64,
    /// The use of the time.
    pub parts: Parts,
    /// Messages on the path.
    pub messages: u64,
    /// The number of these that the receiver waited for before they were sent, having nothing else to do.
    pub late_partners: u64,
    /// The time of the path in which such a receiver waited, each moment once. The path led through the sender then, so
    /// it is within the parts.
    pub late_partners_ps: u64,
    /// The senders of the packets behind which the messages of the path queued, longest first. Adds up to the queueing.
    pub culprits: Vec<CulpritShare>,
    /// The links at which they waited, longest first; at most [`LISTED`].
    pub links: Vec<LinkShare>,
    /// By rank, ascending: its computation, and the messages that it sent.
    pub ranks: Vec<RankShare>,
    /// By collective, longest first; at most [`LISTED`].
    pub collectives: Vec<NamedShare>,
    /// By region of the program, longest first; at most [`LISTED`].
    #[serde(default)]
    pub regions: Vec<NamedShare>,
    /// The [`PHASES`] slices of the time.
    pub phases: Vec<Parts>,
}

/// The share of one sender of packets in the queueing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CulpritShare {
    /// The sender of the delaying packets.
    pub culprit: Culprit,
    /// The length of the delay.
    pub ps: u64,
}

/// How long messages of the path waited at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinkShare {
    /// Its sending end.
    pub from: LinkEnd,
    /// While it carried other packets.
    pub queueing_ps: u64,
    /// While it lacked credits.
    pub credit_stalls_ps: u64,
    /// While it was off, on its way down or up, or in an outage.
    pub waking_links_ps: u64,
    /// While congestion control held them back.
    pub throttling_ps: u64,
    /// In the device in front of it.
    pub inside_devices_ps: u64,
}

impl LinkShare {
    /// The sum of all waits.
    #[must_use]
    pub fn ps(&self) -> u64 {
        self.queueing_ps
            + self.credit_stalls_ps
            + self.waking_links_ps
            + self.throttling_ps
            + self.inside_devices_ps
    }
}

/// The part of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankShare {
    /// The rank.
    pub rank: u32,
    /// The use of its time.
    pub parts: Parts,
}

/// The part of a collective or a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NamedShare {
    /// `collective 12 (bcast)`, or the name of the region.
    pub name: String,
    /// The use of its time.
    pub parts: Parts,
}

/// A piece of the path, and the use of its time.
#[derive(Debug, Clone, Copy)]
struct Piece {
    part: Part,
    ps: u64,
    at: Option<(OutputId, Option<Culprit>)>,
}

/// Adds up the legs of a path.
#[derive(Debug, Default)]
struct Sums {
    parts: Parts,
    culprits: BTreeMap<Culprit, u64>,
    links: BTreeMap<OutputId, Parts>,
    ranks: BTreeMap<u32, Parts>,
    collectives: BTreeMap<String, Parts>,
    regions: BTreeMap<String, Parts>,
    phases: Vec<Parts>,
    /// The end of the path so far.
    at: u64,
}

/// The fates of the messages of a path, in the order of its legs: their times alone in the fabric, and their waits.
/// `None` for other legs.
pub(crate) type Fates<'a> = &'a [Option<(Alone, Vec<Wait>)>];

impl Explanation {
    /// Explains job `job`, whose trace has these regions, by its critical path and the fates of its messages.
    pub(crate) fn new(
        (job, regions): (usize, &[Arc<str>]),
        path: &[Leg],
        fates: Fates<'_>,
        tick: TickLength,
        topology: &Topology,
    ) -> Self {
        let of_job = path.iter().filter(|leg| leg.kind != LegKind::Start);
        let total_ps = of_job.map(Leg::ps).sum();
        let mut sums = Sums {
            phases: vec![Parts::default(); PHASES as usize],
            ..Sums::default()
        };
        let (mut messages, mut late_partners) = (0, 0);
        for (leg, fate) in path.iter().zip(fates) {
            if let LegKind::Arrival(message) | LegKind::Injection(message) = leg.kind {
                messages += 1;
                late_partners += u64::from(message.late_ps > 0);
            }
            let pieces = pieces(leg, fate.as_ref(), tick);
            let region = leg.region.and_then(|region| regions.get(region.index()));
            sums.add(leg, region, &pieces, total_ps);
        }
        Self {
            job,
            total_ps,
            parts: sums.parts,
            messages,
            late_partners,
            late_partners_ps: late_partners_ps(path),
            culprits: culprits(&sums.culprits),
            links: links(&sums.links, topology),
            ranks: sums
                .ranks
                .into_iter()
                .map(|(rank, parts)| RankShare { rank, parts })
                .collect(),
            collectives: longest(sums.collectives),
            regions: longest(sums.regions),
            phases: sums.phases,
        }
    }
}

fn culprits(all: &BTreeMap<Culprit, u64>) -> Vec<CulpritShare> {
    let mut culprits: Vec<_> = all
        .iter()
        .map(|(&culprit, &ps)| CulpritShare { culprit, ps })
        .collect();
    culprits.sort_by_key(|share| Reverse(share.ps));
    culprits
}

/// The time in which a receiver of the path waited for a message that was not yet sent. Several may wait at one time.
fn late_partners_ps(path: &[Leg]) -> u64 {
    // From the end of the path backwards, so a wait overlaps the later ones from their first begin on.
    let (mut waits_since, mut late_ps) = (u64::MAX, 0);
    for leg in path.iter().rev() {
        if let LegKind::Arrival(message) = leg.kind {
            let since = leg.from_ps.saturating_sub(message.late_ps);
            late_ps += leg.from_ps.min(waits_since).saturating_sub(since);
            waits_since = waits_since.min(since);
        }
    }
    late_ps
}

fn links(all: &BTreeMap<OutputId, Parts>, topology: &Topology) -> Vec<LinkShare> {
    let share = |(&output, parts): (&OutputId, &Parts)| LinkShare {
        from: output.end(topology),
        queueing_ps: parts.of(Part::Queueing),
        credit_stalls_ps: parts.of(Part::CreditStalls),
        waking_links_ps: parts.of(Part::WakingLinks),
        throttling_ps: parts.of(Part::Throttling),
        inside_devices_ps: parts.of(Part::InsideDevices),
    };
    let mut links: Vec<_> = all.iter().map(share).collect();
    links.sort_by_key(|link| Reverse(link.ps()));
    links.truncate(LISTED);
    links
}

fn longest(all: BTreeMap<String, Parts>) -> Vec<NamedShare> {
    let mut shares: Vec<_> = all
        .into_iter()
        .map(|(name, parts)| NamedShare { name, parts })
        .collect();
    shares.sort_by_key(|share| Reverse(share.parts.total()));
    shares.truncate(LISTED);
    shares
}

impl Sums {
    /// Adds a leg in `region` that consists of `pieces`. Its path ends at `total_ps`.
    fn add(&mut self, leg: &Leg, region: Option<&Arc<str>>, pieces: &[Piece], total_ps: u64) {
        for piece in pieces {
            let &Piece { part, ps, at } = piece;
            self.parts.add(part, ps);
            self.ranks.entry(leg.rank.get()).or_default().add(part, ps);
            let named = [
                (&mut self.collectives, leg.collective.as_deref()),
                (&mut self.regions, region.map(|name| &**name)),
            ];
            for (all, name) in named {
                let Some(name) = name else { continue };
                match all.get_mut(name) {
                    Some(parts) => parts.add(part, ps),
                    None => all.entry(name.to_owned()).or_default().add(part, ps),
                }
            }
            if let Some((output, culprit)) = at {
                self.links.entry(output).or_default().add(part, ps);
                if let Some(culprit) = culprit {
                    *self.culprits.entry(culprit).or_default() += ps;
                }
            }
            self.add_to_phases(part, ps, total_ps);
        }
    }

    fn add_to_phases(&mut self, part: Part, mut ps: u64, total_ps: u64) {
        while ps > 0 {
            let (number, end) = phase_of(self.at, total_ps);
            let here = ps.min(end - self.at);
            self.phases[number].add(part, here);
            self.at += here;
            ps -= here;
        }
    }
}

/// The phase that contains `at` (its begin included), and its end; `at` is before `total_ps`.
fn phase_of(at: u64, total_ps: u64) -> (usize, u64) {
    let end = |number: u64| phase_begin(number + 1, total_ps);
    let number = (0..PHASES - 1).find(|&number| at < end(number));
    let number = number.unwrap_or(PHASES - 1);
    (number as usize, end(number).max(at + 1))
}

/// Begin of phase `number` of a path of `total_ps`, in picoseconds.
#[must_use]
pub fn phase_begin(number: u64, total_ps: u64) -> u64 {
    (u128::from(total_ps) * u128::from(number) / u128::from(PHASES)) as u64
}

/// Divides a leg into pieces, which add up to its length.
fn pieces(leg: &Leg, fate: Option<&(Alone, Vec<Wait>)>, tick: TickLength) -> Vec<Piece> {
    let all = |part| {
        vec![Piece {
            part,
            ps: leg.ps(),
            at: None,
        }]
    };
    match (&leg.kind, fate) {
        // The wait for the start is no time of the job.
        (LegKind::Start, _) => Vec::new(),
        (LegKind::Computing { .. }, _) => all(Part::Computing),
        (LegKind::Reduction, _) => all(Part::Reduction),
        (LegKind::Arrival(message), Some((alone, waits))) => {
            let ticks = [alone.injected, alone.delivered];
            in_fabric(leg, message.created, ticks, waits, tick)
        }
        (LegKind::Injection(message), Some((alone, waits))) => {
            in_fabric(leg, message.created, [alone.injected; 2], waits, tick)
        }
        (LegKind::Arrival(_) | LegKind::Injection(_), None) => all(Part::InsideNodes),
    }
}

/// Divides the time of a message in the fabric. Alone, the message leaves its NIC after `leaves` ticks and ends after
/// `ends` ticks. Its waits come first, then serialisation, then latency.
fn in_fabric(
    leg: &Leg,
    created: Tick,
    [leaves, ends]: [Tick; 2],
    waits: &[Wait],
    tick: TickLength,
) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(waits.len() + 2);
    let (mut at, mut waited) = (created + ends, 0);
    for wait in waits {
        let (part, culprit) = match wait.reason {
            Reason::Link(culprit) => (Part::Queueing, Some(culprit)),
            Reason::Credits => (Part::CreditStalls, None),
            Reason::Waking => (Part::WakingLinks, None),
            Reason::Throttled => (Part::Throttling, None),
            Reason::Inside => (Part::InsideDevices, None),
        };
        let ps = tick.ps(at + wait.ticks) - tick.ps(at);
        // Waits are of whole ticks within the leg.
        let ps = ps.min(leg.ps() - waited);
        at += wait.ticks;
        waited += ps;
        pieces.push(Piece {
            part,
            ps,
            at: Some((wait.output, culprit)),
        });
    }
    let rest = leg.ps() - waited;
    let serialisation = (tick.ps(created + leaves) - tick.ps(created)).min(rest);
    for (part, ps) in [
        (Part::Serialisation, serialisation),
        (Part::Latency, rest - serialisation),
    ] {
        pieces.push(Piece { part, ps, at: None });
    }
    pieces
}
