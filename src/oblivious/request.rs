//! The request for an analysis before the network is known: the table `[congestion]` of an experiment, and the options
//! of `flitwise congestion` (`docs/reference/congestion.md`).

use super::analysis::{Analysis, Settings};
use super::cables::CableCounts;
use super::delay::DelayPaths;
use super::graph::{Graph, HostId};
use super::hosts::HostNames;
use super::mapping::{Mapping, Subset};
use super::network::Network;
use super::pattern::{Pattern, Versus};
use super::walker::PathChoice;
use super::worst::WorstCase;
use serde::{Deserialize, Serialize};

/// A static analysis of any network.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The pattern, or the first of two.
    pub pattern: Pattern,
    /// The second pattern.
    pub against: Option<Pattern>,
    /// Ranks of the first of two patterns; there if and only if `against` is.
    pub part: Option<u32>,
    /// Only this level of the pattern, from 0.
    pub level: Option<u32>,
    /// Number of ranks; `None`: one per host, or as many as given pairs have.
    pub ranks: Option<u32>,
    /// The choice of the hosts that take part, unless `hosts` lists them; `None`: as [`Self::subset`] says.
    pub subset: Option<Subset>,
    /// The hosts that take part.
    pub hosts: Option<HostList>,
    /// Keeps the order of the hosts.
    pub in_order: bool,
    /// The choice among several addresses of a host.
    pub path: PathChoice,
    /// Computes fair bandwidths too.
    pub fair: bool,
    /// Computes the longest path through the levels too.
    pub delay: bool,
    /// Computes the worst permutation too.
    pub worst: bool,
    /// Leaves out pairs without a route, which are an error otherwise.
    pub skip_lost: bool,
    /// Number of runs, at least 1, each with other hosts.
    pub runs: u64,
}

/// Names of hosts as they were listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostList {
    /// For each entry, its place as messages name it, and the entry: names in the form `node[001-016,020]`.
    pub entries: Vec<(String, String)>,
}

impl Default for Request {
    /// One run of `bisect` with a rank on every host.
    fn default() -> Self {
        Self {
            pattern: Pattern::Bisect,
            against: None,
            part: None,
            level: None,
            ranks: None,
            subset: None,
            hosts: None,
            in_order: false,
            path: PathChoice::First,
            fair: false,
            delay: false,
            worst: false,
            skip_lost: false,
            runs: 1,
        }
    }
}

impl HostList {
    /// The entries of a file: names on every line, `#` begins a comment. `shown` is what messages call the file.
    ///
    /// # Errors
    /// If it names no host.
    pub fn of_text(shown: &str, text: &str) -> Result<Self, String> {
        let lines = (1..).zip(text.lines()).filter_map(|(number, line)| {
            let names = line.split('#').next().unwrap_or("").trim();
            (!names.is_empty()).then(|| (format!("{shown}:{number}"), names.to_owned()))
        });
        let entries: Vec<_> = lines.collect();
        if entries.is_empty() {
            Err(format!("{shown}: names no host"))
        } else {
            Ok(Self { entries })
        }
    }

    /// One entry, which messages call `shown`.
    #[must_use]
    pub fn of_entry(shown: &str, names: &str) -> Self {
        Self {
            entries: vec![(shown.to_owned(), names.to_owned())],
        }
    }

    /// The hosts of `graph` with these names, in their order.
    ///
    /// # Errors
    /// The place of a name that no host has.
    pub fn of_graph(&self, graph: &Graph) -> Result<Vec<HostId>, String> {
        let names = HostNames::new(graph);
        let mut hosts = Vec::new();
        for (place, list) in &self.entries {
            hosts.extend(names.list(list).map_err(|e| format!("{place}: {e}"))?);
        }
        let mut seen = vec![false; graph.hosts().len()];
        let twice = (hosts.iter()).find(|host| std::mem::replace(&mut seen[host.index()], true));
        match (twice, self.entries.first()) {
            (Some(&host), Some((place, _))) => Err(format!(
                "{place}: `{}` is listed twice; a host takes part once",
                graph.host_name(host)
            )),
            _ => Ok(hosts),
        }
    }
}

impl Request {
    /// Most runs of an analysis.
    pub const MOST_RUNS: u64 = 1 << 20;

    /// The choice of the hosts that take part. Without one rank r runs on host r if the hosts keep their order.
    #[must_use]
    pub fn subset(&self) -> Subset {
        let usual = if self.in_order {
            Subset::First
        } else {
            Subset::Random
        };
        self.subset.clone().unwrap_or(usual)
    }

    /// The settings for a network of this graph, without counts of cables. `hosts` takes the place of the request's own.
    ///
    /// # Errors
    /// If a host that it names is not there.
    pub fn settings(
        &self,
        graph: &Graph,
        seed: u64,
        hosts: Option<Vec<HostId>>,
    ) -> Result<Settings, String> {
        let hosts = match (hosts, &self.hosts) {
            (Some(hosts), _) => Some(hosts),
            (None, Some(list)) => Some(list.of_graph(graph)?),
            (None, None) => None,
        };
        let have = hosts
            .as_ref()
            .map_or(graph.host_count(), |hosts| hosts.len() as u32);
        // A second pattern needs ranks of its own.
        let usual = match (&self.pattern, &self.against) {
            (Pattern::Given(given), None) => given.ranks,
            _ => have,
        };
        let pattern = match (&self.against, self.part) {
            (Some(second), Some(ranks)) => Pattern::Versus(Box::new(Versus {
                first: self.pattern.clone(),
                second: second.clone(),
                ranks,
            })),
            _ => self.pattern.clone(),
        };
        let mapping = Mapping {
            subset: hosts.map_or_else(|| self.subset(), Subset::Listed),
            ranks: self.ranks.unwrap_or(usual),
            shuffle: !self.in_order,
        };
        Ok(Settings {
            pattern,
            mapping,
            seed,
            level: self.level,
            path: self.path,
            fair: self.fair,
            delay: if self.delay {
                DelayPaths::All
            } else {
                DelayPaths::None
            },
            cables: CableCounts::None,
        })
    }
}

/// The figures of an analysis: means over its runs, so each figure is a number that studies can compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeanFigures {
    /// Number of runs.
    pub runs: u64,
    /// Share of the bandwidth of a connection, 1/congestion.
    pub bandwidth: f64,
    /// Max-min fair share of a connection, if asked for.
    pub fair_bandwidth: Option<f64>,
    /// Fair share of the slowest connection, if asked for.
    pub slowest_fair_bandwidth: Option<f64>,
    /// Sum over levels of the largest congestion, in connections or bytes.
    pub sum_max_congestion: f64,
    /// Sum over levels of the largest load of a host link.
    pub sum_max_host_links: f64,
    /// Longest path through the levels, if asked for.
    pub delay: Option<f64>,
    /// Connections: pairs with a route.
    pub connections: f64,
    /// Pairs without a route.
    pub lost: f64,
    /// Most connections of a permutation that are known to cross a cable, if asked for.
    pub worst_congestion: Option<u32>,
    /// No permutation has more.
    pub worst_bound: Option<u32>,
}

impl Analysis {
    /// Means over all runs; `None` without a run. `worst` is kept beside them.
    #[must_use]
    pub fn means(&self, worst: Option<&WorstCase>) -> Option<MeanFigures> {
        let spreads = self.spreads()?;
        let runs = self.runs.len() as u64;
        let mean = |sum: u64| sum as f64 / runs as f64;
        let sum = |of: fn(&super::RunFigures) -> u64| mean(self.runs.iter().map(of).sum());
        Some(MeanFigures {
            runs,
            bandwidth: spreads.bandwidth.mean,
            fair_bandwidth: spreads.fair_bandwidth.map(|spread| spread.mean),
            slowest_fair_bandwidth: spreads.slowest_fair_bandwidth.map(|spread| spread.mean),
            sum_max_congestion: spreads.sum_max_congestion.mean,
            sum_max_host_links: (self.runs.iter())
                .map(|run| run.sum_max_hosts as f64)
                .sum::<f64>()
                / runs as f64,
            delay: spreads.delay.map(|spread| spread.mean),
            connections: sum(|run| run.connections),
            lost: mean(self.lost()),
            worst_congestion: worst.map(|worst| worst.congestion),
            worst_bound: worst.map(|worst| worst.bound),
        })
    }
}

impl Network {
    /// The worst permutation, if `request` asks for it.
    #[must_use]
    pub fn worst_of(&self, request: &Request) -> Option<WorstCase> {
        request.worst.then(|| WorstCase::of(self, request.path))
    }
}
