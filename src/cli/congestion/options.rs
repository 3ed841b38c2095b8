//! The traffic that is analysed, and the hosts that send it.

use super::args::{CongestionArgs, named};
use super::candidates::Candidate;
use crate::cli::error::{CliError, bad_config, no_result};
use crate::cli::instead::{self, Wanted};
use crate::cli::signal;
use clap::Args;
use flitwise::config;
use flitwise::fabric::ids::NicId;
use flitwise::oblivious::{
    CableCounts, Given, HostId, HostList, PathChoice, Pattern, Request, Settings, Subset,
};
use flitwise::run::{CommunicationMatrix, TraceDigest, communication_matrix, job_matrix};
use flitwise::stop::Stop;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pattern and mapping.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Traffic pattern: rand, derangement, null, bisect, bisect_fb_sym, tree, bruck, gather, scatter, ring, recdbl,
    /// Nneighbor, shift, shift:N, alltoall, transpose, uniform [default: bisect].
    #[arg(short, long, value_parser = Pattern::parse)]
    pattern: Option<Pattern>,
    /// Pairs from a file: FROM TO or FROM TO BYTES on every line, an empty line between levels.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pattern", "trace", "job"])]
    pairs: Option<PathBuf>,
    /// Pairs with the bytes that the ranks of a trace send to each other.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pattern", "job"])]
    trace: Option<PathBuf>,
    /// The messages from NIC to NIC of this job of the experiment; jobs count from 0.
    #[arg(long, value_name = "N", conflicts_with_all = ["pattern", "ranks", "hosts", "nodes", "subset"])]
    job: Option<usize>,
    /// A second pattern at the same time: the first pattern has the first --part ranks, the second one all others.
    /// Given several times, the second patterns are compared.
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse)]
    against: Vec<Pattern>,
    /// Number of ranks of the first of two patterns.
    #[arg(long, value_name = "N")]
    part: Option<u32>,
    /// Analyses only this level of the pattern, counted from 0.
    #[arg(long, value_name = "N")]
    level: Option<u32>,
    /// Number of ranks, each on a host of its own [default: one per host; as many as the trace or file has].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// The hosts that take part if there are more hosts than ranks [default: random; first with --in-order].
    #[arg(long, value_parser = named::<Subset>(SUBSETS))]
    subset: Option<Subset>,
    /// Hosts that take part: a file with a name on every line.
    #[arg(long, value_name = "FILE", conflicts_with = "subset")]
    hosts: Option<PathBuf>,
    /// Hosts that take part, as Slurm lists them: node[001-016,020].
    #[arg(long, value_name = "LIST", conflicts_with_all = ["subset", "hosts"])]
    nodes: Option<String>,
    /// Keeps the order of the hosts: rank r runs on host r, counted from 0, or on host r of those that --subset, --nodes
    /// or --hosts chooses. Otherwise every run draws a random order.
    #[arg(long)]
    in_order: bool,
    /// The address that is used if hosts have several (LMC) [default: first].
    #[arg(long, value_parser = named::<PathChoice>(PATHS))]
    path: Option<PathChoice>,
    /// Computes max-min fair bandwidths too.
    #[arg(long)]
    fair: bool,
    /// Computes the longest path through the levels too, each message weighed by its congestion.
    #[arg(long)]
    delay: bool,
    /// Computes for every cable how many connections of one permutation can cross it at most.
    #[arg(long)]
    worst: bool,
    /// Continues if pairs have no route: they are counted and left out.
    #[arg(long)]
    skip_lost: bool,
    /// Number of runs, each with its own draw of hosts [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=Request::MOST_RUNS))]
    runs: Option<u64>,
    /// Seed of all draws [default: the experiment's, or 1].
    #[arg(long)]
    seed: Option<u64>,
}

/// The names of [`Subset`], and their meanings.
const SUBSETS: &[(&str, &str)] = &[
    ("random", "Drawn at random once for all runs"),
    ("random-each-run", "Drawn at random before every run"),
    (
        "linear-bfs",
        "The first in a breadth-first search: few switches",
    ),
    ("first", "The first of the network"),
];

/// The names of [`PathChoice`], and their meanings.
const PATHS: &[(&str, &str)] = &[
    ("first", "Always the first"),
    ("by-source", "By the source"),
    ("by-pair", "By source and destination"),
];

/// The second patterns of the analyses, and the names of the results.
pub(super) fn companions(
    requests: &[Request],
    network: &str,
    several: bool,
) -> Vec<(String, Request)> {
    let label = |request: &Request| match (&request.against, requests.len(), several) {
        (Some(against), 2.., true) => format!("{network}, against {against}"),
        (Some(against), 2.., false) => format!("against {against}"),
        _ => network.to_owned(),
    };
    let labelled = requests.iter().map(|one| (label(one), one.clone()));
    labelled.collect()
}

impl Options {
    /// The requests: these options over `file`, the table `[congestion]`; one for each second pattern.
    pub(super) fn requests(&self, file: Request) -> Result<Vec<Request>, CliError> {
        let mut one = file;
        if let Some(pattern) = &self.pattern {
            one.pattern = pattern.clone();
        }
        if let Some(path) = &self.pairs {
            one.pattern = pairs(path)?;
        }
        if let Some(subset) = &self.subset {
            (one.subset, one.hosts) = (Some(subset.clone()), None);
        }
        if let Some(hosts) = self.listed()? {
            one.hosts = Some(hosts);
        }
        one.part = self.part.or(one.part);
        one.level = self.level.or(one.level);
        one.ranks = self.ranks.or(one.ranks);
        one.in_order |= self.in_order || self.job.is_some();
        one.path = self.path_choice(Some(&one));
        one.fair |= self.fair;
        one.delay |= self.delay;
        one.worst |= self.worst;
        one.skip_lost |= self.skip_lost;
        one.runs = self.runs.unwrap_or(one.runs);
        let mut requests = vec![one.clone()];
        if !self.against.is_empty() {
            let against = self.against.iter().cloned().map(|against| Request {
                against: Some(against),
                ..one.clone()
            });
            requests = against.collect();
        }
        let bad = |problem: &str| Err(CliError::BadInput(problem.to_owned()));
        match requests
            .iter()
            .find(|one| one.against.is_some() != one.part.is_some())
        {
            None => Ok(requests),
            Some(Request { part: None, .. }) => bad(
                "--against: a second pattern needs ranks of its own; say with --part how many ranks the first one has",
            ),
            Some(_) => {
                bad("--part: only two patterns share the ranks; name the second one with --against")
            }
        }
    }

    /// The choice among several addresses of a host: this option over `file`, the table `[congestion]`.
    pub(super) fn path_choice(&self, file: Option<&Request>) -> PathChoice {
        let asked = self.path.or(file.map(|request| request.path));
        asked.unwrap_or_default()
    }

    /// Refuses a choice among `paths` addresses that is none.
    pub(super) fn check_path(&self, paths: u32) -> Result<(), CliError> {
        let bad = |problem| CliError::BadInput(format!("--path {problem}"));
        self.path.unwrap_or_default().check(paths).map_err(bad)
    }

    /// Whether a job of the experiment is analysed.
    pub(super) fn has_job(&self) -> bool {
        self.job.is_some()
    }

    /// A given option that has no key which a study could set.
    pub(super) fn without_key(&self) -> Option<&'static str> {
        let options = [
            ("--pairs", self.pairs.is_some()),
            ("--trace", self.trace.is_some()),
            ("--job", self.job.is_some()),
            ("--hosts", self.hosts.is_some()),
        ];
        let given = options.iter().find(|(_, given)| *given);
        given.map(|(option, _)| *option)
    }

    /// The options that are keys of an experiment.
    pub(super) const WITH_KEYS: [&'static str; 15] = [
        "pattern",
        "against",
        "part",
        "level",
        "ranks",
        "subset",
        "nodes",
        "in_order",
        "path",
        "fair",
        "delay",
        "worst",
        "skip_lost",
        "runs",
        "seed",
    ];

    /// The options as keys of an experiment, with their values.
    pub(super) fn sets(&self) -> Vec<String> {
        let text = |value: &dyn std::fmt::Display| Some(quoted(&value.to_string()));
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let flag = |given: bool| given.then(|| "true".to_owned());
        let against = match &self.against[..] {
            [one] => text(one),
            _ => None,
        };
        let keys = [
            ("pattern", self.pattern.as_ref().and_then(|p| text(p))),
            ("against", against),
            ("part", number(self.part.map(u64::from))),
            ("level", number(self.level.map(u64::from))),
            ("ranks", number(self.ranks.map(u64::from))),
            ("subset", self.subset.as_ref().and_then(name)),
            ("nodes", self.nodes.as_ref().and_then(|list| text(list))),
            ("in_order", flag(self.in_order)),
            ("path", self.path.as_ref().and_then(name)),
            ("fair", flag(self.fair)),
            ("delay", flag(self.delay)),
            ("worst", flag(self.worst)),
            ("skip_lost", flag(self.skip_lost)),
            ("runs", number(self.runs)),
        ];
        let given = keys
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        let sets = given.map(|(key, value)| format!("congestion.{key}={value}"));
        sets.chain(self.seed.map(|seed| format!("seed={seed}")))
            .collect()
    }

    /// The options that compare, as axes.
    pub(super) fn axes(&self) -> Vec<String> {
        let values: Vec<String> = self.against.iter().map(ToString::to_string).collect();
        match values.len() {
            0 | 1 => Vec::new(),
            _ => vec![format!("congestion.against={}", values.join(","))],
        }
    }

    /// Seed of all draws.
    pub(super) fn seed(&self, candidate: &Candidate) -> u64 {
        self.seed.unwrap_or(candidate.seed())
    }

    /// The settings of a request for a network.
    pub(super) fn settings(
        &self,
        args: &CongestionArgs,
        candidate: &Candidate,
        mut request: Request,
        count_cables: bool,
        stop: Stop<'_>,
    ) -> Result<(Settings, Option<TraceDigest>), CliError> {
        let (matrix, job_hosts) =
            self.given(args.fabric.as_deref(), &args.sets, candidate, stop)?;
        let mut trace = None;
        if let Some(matrix) = matrix {
            request.pattern = Pattern::Given(Arc::new(matrix.given));
            trace = matrix.digest;
        }
        let graph = &candidate.network.graph;
        let settings = request.settings(graph, self.seed(candidate), job_hosts);
        let settings = Settings {
            cables: if count_cables {
                CableCounts::PerLevel
            } else {
                CableCounts::None
            },
            ..settings.map_err(CliError::BadInput)?
        };
        Ok((settings, trace))
    }

    /// The pairs of a trace or job, and the hosts of a job.
    fn given(
        &self,
        fabric: Option<&Path>,
        sets: &[String],
        candidate: &Candidate,
        stop: Stop<'_>,
    ) -> Result<(Option<CommunicationMatrix>, Option<Vec<HostId>>), CliError> {
        let failed = |e| no_result(&e, |e| bad_config(None, e));
        if let Some(trace) = &self.trace {
            return Ok((
                Some(communication_matrix(trace, stop).map_err(failed)?),
                None,
            ));
        }
        let Some(job) = self.job else {
            return Ok((None, None));
        };
        let Some(file) = fabric.filter(|_| candidate.is_experiment()) else {
            return Err(CliError::BadInput(
                "--job: only an experiment file has jobs; name one, or take --trace".into(),
            ));
        };
        let plan = config::load(file, sets)
            .map_err(|e| instead::error("congestion", Wanted::Network, Some(file), &e))?;
        let matrix = job_matrix(&plan, job, stop).map_err(failed)?;
        // Hosts of a fabric's network are its NICs.
        let host = |nic: NicId| {
            let host = candidate.host_now(HostId::new(nic.get()));
            host.ok_or_else(|| {
                CliError::BadInput(format!("--job: the host of NIC {nic} has failed"))
            })
        };
        let hosts = matrix.nics.iter().copied().map(host);
        let hosts = hosts.collect::<Result<_, _>>()?;
        Ok((Some(matrix), Some(hosts)))
    }

    /// The hosts that are listed.
    fn listed(&self) -> Result<Option<HostList>, CliError> {
        if let Some(list) = &self.nodes {
            return Ok(Some(HostList::of_entry("--nodes", list)));
        }
        let Some(path) = &self.hosts else {
            return Ok(None);
        };
        let text = read(path)?;
        let list = HostList::of_text(&path.display().to_string(), &text);
        list.map(Some).map_err(CliError::BadInput)
    }
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The name of a choice, as a text of TOML.
fn name(choice: &impl Serialize) -> Option<String> {
    serde_json::to_string(choice).ok()
}

/// The text of a file, which may be a pipe: a signal ends the wait for it.
fn read(path: &Path) -> Result<String, CliError> {
    signal::abortable(|| config::read_text(path)).map_err(|e| bad_config(None, &e))
}

/// The pairs of a file.
fn pairs(path: &Path) -> Result<Pattern, CliError> {
    let text = read(path)?;
    let shown = path.display().to_string();
    match Given::parse(&shown, &text) {
        Ok(given) => Ok(Pattern::Given(Arc::new(given))),
        Err(e) => Err(CliError::BadInput(format!(
            "{shown}:{}: {}",
            e.line, e.problem
        ))),
    }
}
