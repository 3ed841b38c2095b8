//! What is sent, and between which hosts.

use super::CongestionArgs;
use super::candidates::Candidate;
use crate::cli::{CliError, bad_config, no_result};
use clap::{Args, ValueEnum};
use flitwise::config;
use flitwise::fabric::ids::NicId;
use flitwise::oblivious::{
    CableCounts, DelayPaths, Given, HostId, HostNames, Mapping, Network, PathChoice, Pattern,
    Settings, Subset, Versus,
};
use flitwise::run::{communication_matrix, job_nics};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pattern and mapping.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Traffic pattern: rand, null, bisect, bisect_fb_sym, tree, bruck, gather, scatter, ring, recdbl, Nneighbor,
    /// shift, shift:N, alltoall, transpose, uniform.
    #[arg(short, long, default_value = "bisect", value_parser = Pattern::parse)]
    pattern: Pattern,
    /// Pairs from a file: FROM TO or FROM TO BYTES on every line, an empty line between levels.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pattern", "trace", "job"])]
    pairs: Option<PathBuf>,
    /// Pairs with the bytes that the ranks of a trace send to each other.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pattern", "job"])]
    trace: Option<PathBuf>,
    /// The trace and the placement of this job of the experiment, counted from 0.
    #[arg(long, value_name = "N", conflicts_with_all = ["pattern", "ranks", "hosts", "nodes", "subset"])]
    job: Option<usize>,
    /// A second pattern at the same time: the first pattern has the first --part ranks, the second one all others. Given
    /// several times, the second patterns are compared.
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse, requires = "part")]
    against: Vec<Pattern>,
    /// Number of ranks of the first of two patterns.
    #[arg(long, value_name = "N", requires = "against")]
    part: Option<u32>,
    /// Only this level of the pattern, counted from 0.
    #[arg(long, value_name = "N")]
    level: Option<u32>,
    /// Number of ranks, each on a host of its own [default: one per host; as many as the trace or file has].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Which hosts take part where there are more than ranks.
    #[arg(long, value_enum, default_value_t = SubsetName::Random)]
    subset: SubsetName,
    /// Hosts that take part: a file with a name on every line.
    #[arg(long, value_name = "FILE", conflicts_with = "subset")]
    hosts: Option<PathBuf>,
    /// Hosts that take part, as Slurm lists them: node[001-016,020].
    #[arg(long, value_name = "LIST", conflicts_with_all = ["subset", "hosts"])]
    nodes: Option<String>,
    /// Keeps the order of the hosts: rank r is on the r-th. Otherwise every run puts them in a random order.
    #[arg(long)]
    in_order: bool,
    /// Which address is used where hosts have several (LMC).
    #[arg(long, value_enum, default_value_t = PathName::First)]
    path: PathName,
    /// Computes max-min fair bandwidths too.
    #[arg(long)]
    fair: bool,
    /// Computes the longest path through the levels too, each message weighed by its congestion.
    #[arg(long)]
    delay: bool,
    /// Seed of all draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SubsetName {
    /// Drawn at random once for all runs.
    Random,
    /// Drawn at random before every run.
    RandomEachRun,
    /// The first in a breadth-first search: few switches.
    LinearBfs,
    /// The first of the network.
    First,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PathName {
    /// Always the first.
    First,
    /// By the source.
    BySource,
    /// By source and destination.
    ByPair,
}

impl From<SubsetName> for Subset {
    fn from(name: SubsetName) -> Self {
        match name {
            SubsetName::Random => Self::Random,
            SubsetName::RandomEachRun => Self::RandomEachRun,
            SubsetName::LinearBfs => Self::LinearBfs,
            SubsetName::First => Self::First,
        }
    }
}

impl From<PathName> for PathChoice {
    fn from(name: PathName) -> Self {
        match name {
            PathName::First => Self::First,
            PathName::BySource => Self::BySource,
            PathName::ByPair => Self::ByPair,
        }
    }
}

impl Options {
    /// The second patterns that a network is analysed with, and what the results are called.
    pub(super) fn companions(
        &self,
        network: &str,
        several: bool,
    ) -> Vec<(String, Option<&Pattern>)> {
        let label = |against: &Pattern| match (self.against.len(), several) {
            (1, _) => network.to_owned(),
            (_, false) => format!("against {against}"),
            (_, true) => format!("{network}, against {against}"),
        };
        match self.against.is_empty() {
            true => vec![(network.to_owned(), None)],
            false => self
                .against
                .iter()
                .map(|against| (label(against), Some(against)))
                .collect(),
        }
    }

    /// The settings for a network.
    pub(super) fn settings(
        &self,
        args: &CongestionArgs,
        candidate: &Candidate,
        against: Option<&Pattern>,
        count_cables: bool,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Settings, CliError> {
        let network = &candidate.network;
        let (given, job_hosts) =
            self.given(args.fabric.as_deref(), &args.sets, candidate, stopped)?;
        let hosts = match job_hosts {
            Some(hosts) => Some(hosts),
            None => self.listed(network)?,
        };
        let have = hosts
            .as_ref()
            .map_or(network.graph.host_count(), |hosts| hosts.len() as u32);
        let ranks = match (self.ranks, &given) {
            (Some(ranks), _) => ranks,
            (None, Some(given)) => given.ranks.max(self.part.unwrap_or(0)),
            (None, None) => have,
        };
        // A second pattern needs ranks of its own.
        let ranks = match (self.ranks, against) {
            (None, Some(_)) => have,
            _ => ranks,
        };
        let pattern = given.map_or_else(
            || self.pattern.clone(),
            |given| Pattern::Given(Arc::new(given)),
        );
        let pattern = match (against, self.part) {
            (Some(second), Some(ranks)) => Pattern::Versus(Box::new(Versus {
                first: pattern,
                second: second.clone(),
                ranks,
            })),
            _ => pattern,
        };
        Ok(Settings {
            pattern,
            mapping: Mapping {
                subset: hosts.map_or_else(|| self.subset.into(), Subset::Listed),
                ranks,
                shuffle: !self.in_order && self.job.is_none(),
            },
            seed: self.seed,
            level: self.level,
            path: self.path.into(),
            fair: self.fair,
            delay: match self.delay {
                true => DelayPaths::All,
                false => DelayPaths::None,
            },
            cables: match count_cables {
                true => CableCounts::PerLevel,
                false => CableCounts::None,
            },
        })
    }

    /// The pairs of a file, trace or job, and the hosts of a job.
    fn given(
        &self,
        fabric: Option<&Path>,
        sets: &[String],
        candidate: &Candidate,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Option<Given>, Option<Vec<HostId>>), CliError> {
        let failed = |e| no_result(&e, |e| bad_config(None, e));
        if let Some(path) = &self.pairs {
            let text = config::read_text(path).map_err(|e| bad_config(None, &e))?;
            let shown = path.display().to_string();
            let given = Given::parse(&shown, &text);
            let given = given
                .map_err(|e| CliError::BadInput(format!("{shown}:{}: {}", e.line, e.problem)))?;
            return Ok((Some(given), None));
        }
        if let Some(trace) = &self.trace {
            return Ok((
                Some(communication_matrix(trace, stopped).map_err(failed)?),
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
        let plan = config::load(file, sets).map_err(|e| bad_config(Some(file), &e))?;
        let nics = job_nics(&plan, job, stopped).map_err(failed)?;
        let trace = plan
            .experiment
            .jobs
            .get(job)
            .map(|job| job.trace_path.clone());
        let given = communication_matrix(&trace.unwrap_or_default(), stopped).map_err(failed)?;
        // Hosts of a fabric's network are its NICs.
        let host = |nic: NicId| {
            let host = candidate.host_now(HostId::new(nic.get()));
            host.ok_or_else(|| {
                CliError::BadInput(format!("--job: the host of NIC {nic} has failed"))
            })
        };
        let hosts = nics.into_iter().map(host).collect::<Result<_, _>>()?;
        Ok((Some(given), Some(hosts)))
    }

    /// The hosts that are listed.
    fn listed(&self, network: &Network) -> Result<Option<Vec<HostId>>, CliError> {
        let names = || HostNames::new(&network.graph);
        if let Some(list) = &self.nodes {
            let hosts = names().list(list);
            return hosts
                .map(Some)
                .map_err(|e| CliError::BadInput(format!("--nodes: {e}")));
        }
        let Some(path) = &self.hosts else {
            return Ok(None);
        };
        let text = config::read_text(path).map_err(|e| bad_config(None, &e))?;
        let (names, mut hosts) = (names(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                let of_line = names.list(line);
                hosts.extend(of_line.map_err(|e| {
                    CliError::BadInput(format!("{}:{number}: {e}", path.display()))
                })?);
            }
        }
        match hosts.is_empty() {
            true => Err(CliError::BadInput(format!(
                "{}: names no host",
                path.display()
            ))),
            false => Ok(Some(hosts)),
        }
    }
}
