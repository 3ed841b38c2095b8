//! The figures of runs, studies and static analyses, a file per kind.

mod bars;
mod choice;
mod congestion;
mod curves;
mod differences;
mod distribution;
mod energy;
mod explanation;
mod interference;
mod links;
mod matrix;
mod measures;
mod missing;
mod ranks;
mod series;
mod time;
mod title;

pub use choice::Choice;
pub(super) use congestion::analyses;
pub use differences::METRICS;
pub(super) use links::hottest;
pub(super) use missing::{missing, needs, unknown};
pub(super) use title::for_job;

use super::error::ReportError;
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

    /// Whether its figures show the axes of a study.
    pub(super) fn has_axes(self) -> bool {
        self == Self::Differences || !measures::measures(self).is_empty()
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
    // Without choices there is nothing to refuse.
    figures_with(kind, sources, &Choice::default()).unwrap_or_default()
}

/// The figures of a kind on a page.
pub(super) fn of_page(kind: Kind, sources: &[Source]) -> Vec<Figure> {
    match kind {
        Kind::Differences => differences::of_page(sources),
        _ => figures(kind, sources),
    }
}

/// The figures of a kind with the choices of a user.
pub(super) fn figures_with(
    kind: Kind,
    sources: &[Source],
    choice: &Choice,
) -> Result<Vec<Figure>, ReportError> {
    choice.check(kind)?;
    let bars = bars::figures(kind, sources, choice)?;
    Ok(match kind {
        Kind::Slowdown | Kind::Time => bars,
        Kind::Interference => interference::figures(sources),
        Kind::Split => time::splits(sources),
        Kind::Differences => differences::figures(sources, choice)?,
        Kind::Throughput => [curves::throughput(sources, choice)?, bars].concat(),
        Kind::Latency => [curves::latency(sources, choice)?, bars].concat(),
        Kind::Energy => [bars, energy::figures(sources)].concat(),
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
        Kind::Bandwidth => [bars, congestion::bandwidths(sources)].concat(),
        Kind::Congestion => congestion::congestions(sources),
        Kind::Delay => congestion::delays(sources),
        Kind::Cables => congestion::cables(sources),
    })
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
