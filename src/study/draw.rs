//! The parts of a run that its seed draws, as ids: two runs share a part that has the same id in both.

use crate::config::Plan;
use crate::oblivious::{Pattern, Request, Subset};
use crate::replay::outcome::JobOutcome;
use std::collections::BTreeSet;
use twox_hash::XxHash3_128;

/// The ids of the parts, as `placement=1a2b3c4d traffic=5e6f7a8b`: of the NICs of all jobs, and of the seed and NICs
/// from which background traffic is drawn. A static analysis has `mappings`.
pub(super) fn draw(plan: &Plan, jobs: &[Option<JobOutcome>]) -> String {
    let experiment = &plan.experiment;
    let (seed, nics) = (experiment.seed, experiment.fabric.topology.nics());
    if let Some(request) = &experiment.congestion {
        return part("mappings", &mappings(plan, request));
    }
    let ranks = jobs.iter().map(|job| Some(job.as_ref()?.ranks));
    let placed = ranks
        .collect::<Option<Vec<u32>>>()
        .filter(|ranks| !ranks.is_empty())
        .and_then(|ranks| experiment.place(&ranks).ok());
    let placed = placed.map(|placed| part("placement", &format!("{placed:?}")));
    let traffic = !experiment.background.is_empty();
    let traffic = traffic.then(|| part("traffic", &format!("{seed} {nics}")));
    let parts: Vec<String> = placed.into_iter().chain(traffic).collect();
    parts.join(" ")
}

/// All that the mappings of a static analysis are drawn from.
fn mappings(plan: &Plan, request: &Request) -> String {
    let topology = &plan.experiment.fabric.topology;
    let subset = request.subset();
    let all = match (&subset, &request.pattern) {
        (Subset::Listed(hosts), _) => hosts.len() as u32,
        (_, Pattern::Given(given)) => given.ranks,
        _ => topology.nics(),
    };
    let ranks = request.ranks.unwrap_or(all);
    let (in_order, runs) = (request.in_order, request.runs);
    let (seed, nics) = (plan.experiment.seed, topology.nics());
    let mut text = format!("{seed} {nics} {ranks} {subset:?} {in_order} {runs}");
    if subset == Subset::LinearBfs {
        text += &format!(" {topology:?}");
    }
    text
}

fn part(name: &str, text: &str) -> String {
    let id = XxHash3_128::oneshot(text.as_bytes()) as u32;
    format!("{name}={id:08x}")
}

/// The parts that both runs have, with other ids.
fn other_parts<'a>(one: &'a str, other: &str) -> Vec<&'a str> {
    let parts = |text: &'a str| text.split(' ').filter_map(|part| part.split_once('='));
    let differs = |&(name, id): &(&str, &str)| {
        let found = other
            .split(' ')
            .filter_map(|part| part.split_once('='))
            .find(|(other, _)| *other == name);
        found.is_some_and(|(_, other)| other != id)
    };
    parts(one).filter(differs).map(|(name, _)| name).collect()
}

/// The parts of the draws that pairs of runs with the same seed do not share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairing {
    parts: BTreeSet<String>,
    /// Pairs with such a part, and all pairs.
    other: usize,
    all: usize,
}

impl Pairing {
    /// Notes a pair by the draws of its runs.
    pub fn see(&mut self, one: &str, other: &str) {
        self.see_several(one, [other]);
    }

    /// Notes several runs that are compared together.
    pub fn see_several<'a>(&mut self, one: &str, others: impl IntoIterator<Item = &'a str>) {
        let parts = others.into_iter().flat_map(|other| other_parts(one, other));
        let parts: Vec<&str> = parts.collect();
        self.all += 1;
        self.other += usize::from(!parts.is_empty());
        self.parts.extend(parts.into_iter().map(str::to_owned));
    }

    /// Notes the pairs of another collection.
    pub fn see_all(&mut self, more: &Self) {
        self.all += more.all;
        self.other += more.other;
        self.parts.extend(more.parts.iter().cloned());
    }

    /// Whether the runs of every pair share all that is drawn.
    pub fn is_whole(&self) -> bool {
        self.other == 0
    }

    /// `paired by seed`, or `same seed, other placement`.
    pub fn words(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        let parts = parts.join(" and ");
        match self.other {
            0 => "paired by seed".to_owned(),
            other if other == self.all => format!("same seed, other {parts}"),
            other => format!(
                "paired by seed, {other} of {} pairs with other {parts}",
                self.all
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_pairs_share() {
        let words = |pairs: &[[&str; 2]]| {
            let mut pairing = Pairing::default();
            pairs
                .iter()
                .for_each(|[one, other]| pairing.see(one, other));
            pairing.words()
        };
        let (here, there) = ("placement=1 traffic=2", "placement=3 traffic=2");
        assert_eq!(words(&[[here, here]]), "paired by seed");
        assert_eq!(words(&[[here, there]]), "same seed, other placement");
        let both = words(&[[here, "placement=4 traffic=5"]]);
        assert_eq!(both, "same seed, other placement and traffic");
        let some = words(&[[here, here], [here, there]]);
        assert_eq!(some, "paired by seed, 1 of 2 pairs with other placement");
        // Traffic that one run lacks is no other draw, and an earlier version wrote no draws.
        assert_eq!(words(&[[here, "placement=1"]]), "paired by seed");
        assert_eq!(words(&[["", here]]), "paired by seed");
    }
}
