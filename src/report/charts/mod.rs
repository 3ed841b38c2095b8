//! The figures of runs, studies and static analyses, a file per kind.

mod bars;
mod congestion;
mod curves;
mod differences;
mod distribution;
mod energy;
mod explanation;
mod interference;
mod links;
mod matrix;
mod ranks;
mod series;
mod time;
mod title;

pub(super) use congestion::analyses;
pub(super) use links::hottest;

use super::source::{RunSource, Source};
use crate::figure::Figure;

/// The subject of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Slowdowns against the baseline, as bars with intervals.
    Slowdown,
    /// How much each job of an interference study slows each other one down, as a matrix.
    Interference,
    /// Execution times, as bars with intervals.
    Time,
    /// Where the time goes.
    Split,
    /// Differences of the points of a study from the references of its axes, paired by seed, as bars with intervals.
    Differences,
    /// Accepted load over offered load.
    Throughput,
    /// Latency over offered load.
    Latency,
    /// The energy of runs, by the parts that draw it; of studies also the energy that power states of links save, as
    /// bars with intervals.
    Energy,
    /// Distributions of latencies.
    Distribution,
    /// The activities of ranks over time.
    Timeline,
    /// Which ranks send how much to which, in bytes.
    Matrix,
    /// The same in messages.
    Messages,
    /// Which ranks wait how long for which.
    Waits,
    /// How much links are used, on the topology.
    Links,
    /// Time series of flows and of congestion control.
    Series,
    /// The use of the time on the critical path.
    Explanation,
    /// Bandwidths of connections by static analysis: of studies as bars with intervals, of analyses their distributions over
    /// runs.
    Bandwidth,
    /// Distribution of congestions over connections.
    Congestion,
    /// Distribution over runs of the longest path through the levels of a pattern.
    Delay,
    /// The load that a pattern puts on cables, on the topology.
    Cables,
}

impl Kind {
    /// All kinds, in the order of a report.
    pub const ALL: [Self; 20] = [
        Self::Slowdown,
        Self::Interference,
        Self::Time,
        Self::Split,
        Self::Differences,
        Self::Throughput,
        Self::Latency,
        Self::Energy,
        Self::Explanation,
        Self::Timeline,
        Self::Matrix,
        Self::Messages,
        Self::Waits,
        Self::Links,
        Self::Distribution,
        Self::Series,
        Self::Bandwidth,
        Self::Congestion,
        Self::Delay,
        Self::Cables,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slowdown => "slowdown",
            Self::Interference => "interference",
            Self::Time => "time",
            Self::Split => "split",
            Self::Differences => "differences",
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Energy => "energy",
            Self::Distribution => "distribution",
            Self::Timeline => "timeline",
            Self::Matrix => "matrix",
            Self::Messages => "messages",
            Self::Waits => "waits",
            Self::Links => "links",
            Self::Series => "cc-series",
            Self::Explanation => "explanation",
            Self::Bandwidth => "bandwidth",
            Self::Congestion => "congestion",
            Self::Delay => "delay",
            Self::Cables => "cables",
        }
    }

    /// The input that is missing, in words, and the part of a command that writes it.
    pub(super) fn needs(self) -> (&'static str, &'static str) {
        match self {
            Self::Slowdown => (
                "slowdowns: no run has a job and a [baseline]",
                "flitwise run EXP.toml --out DIR",
            ),
            Self::Interference => (
                "interference, which needs a study with [interference]",
                "flitwise study STUDY.toml",
            ),
            Self::Time => (
                "execution times: no run has a job",
                "flitwise run EXP.toml --out DIR",
            ),
            Self::Split => (
                "parts of the time: no run has a job, or all were made with --no-split",
                "flitwise run EXP.toml --out DIR",
            ),
            Self::Differences => (
                "paired differences: no study has an axis with several settings",
                "flitwise run EXP.toml --seeds 1..5 --vary qos.scheduler=rr,sbt --out DIR",
            ),
            Self::Throughput => (
                "curves: no run has loads",
                "flitwise run EXP.toml --set 'measure.loads=[0.2, 0.5, 0.8]' --out DIR",
            ),
            Self::Latency => (
                "curves: no run has loads, and no study has latencies",
                "flitwise run EXP.toml --set 'measure.loads=[0.2, 0.5, 0.8]' --out DIR",
            ),
            Self::Energy => (
                "energy, which needs [power]",
                "flitwise run EXP.toml --set power.policy=on-off --out DIR",
            ),
            Self::Distribution => (
                "distributions of latencies (latencies.csv)",
                "flitwise run EXP.toml --out DIR",
            ),
            Self::Timeline => (
                "timelines of ranks (ranks.csv), which need --timeline",
                "flitwise run EXP.toml --timeline FILE.pftrace --out DIR",
            ),
            Self::Matrix | Self::Messages => (
                "messages between ranks (matrix.csv): no run has a job",
                "flitwise run EXP.toml --out DIR",
            ),
            Self::Waits => (
                "waits between ranks (waits.csv): no run has a job, or it is of an earlier version",
                "flitwise run EXP.toml --out DIR",
            ),
            Self::Links => (
                "links (links.csv; with series.format = \"parquet\" set it to \"both\")",
                "flitwise run EXP.toml --out DIR",
            ),
            Self::Series => (
                "time series in CSV, which need [series]",
                "flitwise run EXP.toml --set series.interval=10us --out DIR",
            ),
            Self::Explanation => (
                "explanations, which need --explain",
                "flitwise run EXP.toml --explain --out DIR",
            ),
            Self::Bandwidth | Self::Congestion => (
                "static analyses (congestion.json)",
                "flitwise congestion EXP.toml --runs 1000 --out DIR",
            ),
            Self::Delay => (
                "longest paths, which need --delay",
                "flitwise congestion EXP.toml --pattern tree --delay --runs 1000 --out DIR",
            ),
            Self::Cables => (
                "loads of cables (cables.csv; with --format parquet take both)",
                "flitwise congestion EXP.toml --runs 1000 --out DIR",
            ),
        }
    }
}

/// The figures of a kind, in the order of the sources.
pub(super) fn figures(kind: Kind, sources: &[Source]) -> Vec<Figure> {
    match kind {
        Kind::Slowdown => bars::slowdowns(sources),
        Kind::Interference => interference::figures(sources),
        Kind::Time => bars::times(sources),
        Kind::Split => time::splits(sources),
        Kind::Differences => differences::figures(sources),
        Kind::Throughput => [curves::throughput(sources), bars::throughputs(sources)].concat(),
        Kind::Latency => [curves::latency(sources), bars::latencies(sources)].concat(),
        Kind::Energy => [bars::energies(sources), energy::figures(sources)].concat(),
        Kind::Distribution => distribution::figures(&details(sources)),
        Kind::Timeline => each(sources, ranks::figure),
        Kind::Matrix => each(sources, |run| matrix::figures(run, matrix::Measure::Bytes)),
        Kind::Messages => each(sources, |run| {
            matrix::figures(run, matrix::Measure::Messages)
        }),
        Kind::Waits => each(sources, |run| matrix::figures(run, matrix::Measure::Waits)),
        Kind::Links => each(sources, |run| links::figure(run).into_iter().collect()),
        Kind::Series => each(sources, series::figures),
        Kind::Explanation => each(sources, explanation::figures),
        Kind::Bandwidth => [bars::bandwidths(sources), congestion::bandwidths(sources)].concat(),
        Kind::Congestion => congestion::congestions(sources),
        Kind::Delay => congestion::delays(sources),
        Kind::Cables => congestion::cables(sources),
    }
}

fn each(sources: &[Source], of: impl Fn(&RunSource) -> Vec<Figure>) -> Vec<Figure> {
    details(sources).into_iter().flat_map(of).collect()
}

/// The runs with details: those given, and the slowest of each study.
pub(super) fn details<'a>(sources: &'a [Source]) -> Vec<&'a RunSource> {
    let one = |source: &'a Source| match source {
        Source::Run(run) => Some(&**run),
        Source::Study(study) => study.detail.as_ref(),
        Source::Congestion(_) => None,
    };
    sources.iter().filter_map(one).collect()
}

/// The input of a kind, and the command that writes it, with the experiment where it is known.
pub(super) fn needs(kind: Kind, sources: &[Source]) -> (&'static str, String) {
    let (what, command) = kind.needs();
    let commands = sources.iter().filter_map(|source| match source {
        Source::Run(run) => run.command.as_deref(),
        Source::Congestion(analysis) => analysis.command.as_deref(),
        Source::Study(_) => None,
    });
    let file = commands
        .filter_map(|typed| typed.split(' ').nth(2))
        .find(|word| word.ends_with(".toml"));
    (
        what,
        command.replace("EXP.toml", file.unwrap_or("EXP.toml")),
    )
}

/// Explains why there is no figure of a kind.
pub(super) fn missing(kind: Kind, sources: &[Source]) -> String {
    let dirs: Vec<String> = sources
        .iter()
        .map(|s| format!("`{}`", s.dir().display()))
        .collect();
    let has = if dirs.len() == 1 { "has" } else { "have" };
    let (what, command) = kind.needs();
    let others: Vec<&str> = Kind::ALL
        .into_iter()
        .filter(|other| *other != kind && !figures(*other, sources).is_empty())
        .map(Kind::name)
        .collect();
    let there = if others.is_empty() {
        String::new()
    } else {
        format!("; there is --kind {}", others.join(", "))
    };
    format!("{} {has} no {what}: `{command}`{there}", dirs.join(", "))
}
