//! The results of a run: `result.json`, and the summary that it prints.

mod curve;
pub(crate) mod distribution;
pub mod document;
mod dtable;
pub mod energy;
mod explain;
pub(crate) mod figure;
mod latency;
mod links;
pub(crate) mod nic_rate;
pub(crate) mod series;
pub(crate) mod split;
mod stopped;
mod summary;
mod table;
mod timeline;

pub use crate::figure::tables::{Interval, MissingFeature, TableFormat, interval_95};
pub use curve::curve_csv;
pub use distribution::write_distributions;
pub use document::{SCHEMA, result_json, result_schema};
pub use dtable::{DTABLE_SCHEMA, DTableReport};
pub use explain::explanation_page;
pub use latency::{Latency, latency};
pub use links::{busiest, culprits, write_link_files};
pub use series::SeriesFiles;
pub use split::{TimeSplit, time_split};
pub use summary::summary;
pub use table::write_table;
pub use timeline::{TimelineFile, TimelineFormat};

use crate::config::experiment::SeriesKind;
use crate::config::{About, Experiment, Plan};
use crate::fabric::spec::Tick;
use crate::fabric::stats::{FabricStats, LinkEnd, LinkStats};
use crate::fabric::topology::Topology;
use crate::figure::Theme;
use crate::replay::Repeat;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use crate::run::{RunResult, Simulation, Status};

/// The file beside the results with the activities of the ranks, slice by slice.
pub const OVERVIEW_FILE: &str = "ranks.csv";
/// The file beside the results with the command that made them.
pub const COMMAND_FILE: &str = "command.txt";

/// Whether a run may write a file of this name into the directory of its results.
#[must_use]
pub fn is_result_file(name: &str) -> bool {
    let own = [
        "result.json",
        "summary.txt",
        "curve.csv",
        "curve.svg",
        "links.csv",
        "links.parquet",
        "latencies.csv",
        "matrix.csv",
        OVERVIEW_FILE,
        COMMAND_FILE,
    ];
    own.contains(&name) || is_series_file(name)
}

/// Whether time series or their figures may be in a file of this name.
#[must_use]
pub fn is_series_file(name: &str) -> bool {
    let of_a_series = || {
        let (series, extension) = name.split_once('.')?;
        let mut all = SeriesKind::ALL.iter();
        let known = all.any(|kind| kind.name() == series);
        Some(known && ["csv", "parquet", "svg"].contains(&extension))
    };
    name == series::SHARES || of_a_series().unwrap_or(false)
}

/// The width of the figures beside a result, in pixels.
const FIGURE_WIDTH: u32 = 1000;

/// Draws `curve.svg`: the accepted load, in total and per service level, and below it the mean end-to-end latency per
/// service level on a logarithmic axis, both over the offered load. Service levels without traffic are left out. Points
/// that are saturated or not steady have marks of their own.
///
/// # Errors
/// A [`MissingFeature`] without the feature `plots`.
pub fn curve_svg(plan: &Plan, result: &RunResult) -> Result<String, MissingFeature> {
    if !cfg!(feature = "plots") {
        return Err(MissingFeature::CURVE);
    }
    Ok(figure::curve_figure(plan, result).draw(FIGURE_WIDTH, Theme::File))
}

/// Most characters of a title, which a figure of 1000 pixels has room for.
const MAX_TITLE: usize = 120;

/// The title of a figure: the name of the experiment, if it has one, and what is drawn.
pub(super) fn titled(about: &About, what: &str) -> String {
    let Some(name) = &about.name else {
        return what.to_owned();
    };
    let room = MAX_TITLE.saturating_sub(what.chars().count() + 2);
    if name.chars().count() <= room {
        format!("{name}: {what}")
    } else {
        let cut: String = name.chars().take(room.saturating_sub(1)).collect();
        format!("{}…: {what}", cut.trim_end())
    }
}

/// Time from 0 to the end of the last job, in picoseconds, without jobs that repeat until
/// the others end. An incomplete job counts with the time simulated, a job that did not
/// start does not count.
#[must_use]
pub fn execution_time_ps(experiment: &Experiment, simulation: &Simulation) -> u64 {
    let ends = experiment.jobs.iter().zip(&simulation.jobs);
    let tick = experiment.fabric.units.tick;
    let simulated = tick.ps(simulation.end_tick());
    ends.filter_map(|(job, outcome)| {
        let outcome = outcome.as_ref().filter(|outcome| !outcome.endless)?;
        if outcome.complete {
            Some(outcome.end_ps)
        } else if job.start_ps > simulated {
            None
        } else {
            Some(outcome.end_ps.min(simulated))
        }
    })
    .max()
    .unwrap_or(0)
}

/// Execution time of the baseline: the latest end over its runs, without jobs that repeat
/// until the others end; `None` without a baseline, or if one of these runs is not complete.
#[must_use]
pub fn baseline_time_ps(plan: &Plan, result: &RunResult) -> Option<u64> {
    let ends =
        |&(main, _): &(usize, usize)| plan.experiment.jobs[main].repeat != Repeat::UntilOthersEnd;
    let baselines = plan.baselines.iter().enumerate();
    let counted = baselines.filter(|(_, baseline)| baseline.jobs.iter().any(ends));
    let times = counted.map(|(i, baseline)| {
        let run = result.baselines.get(i)?;
        let complete = run.status == Status::Complete;
        complete.then(|| execution_time_ps(&baseline.experiment, run))
    });
    times.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Job `index` in its baseline, if it is complete there.
#[must_use]
pub fn job_baseline<'a>(
    plan: &Plan,
    result: &'a RunResult,
    index: usize,
) -> Option<&'a JobOutcome> {
    plan.baselines
        .iter()
        .zip(&result.baselines)
        .find_map(|(baseline, run)| {
            let &(_, other) = baseline.jobs.iter().find(|&&(main, _)| main == index)?;
            let outcome = run.jobs.get(other)?.as_ref()?;
            outcome.complete.then_some(outcome)
        })
}

/// Execution time over execution time of the baseline; `None` without a baseline, if it takes no
/// time, or if a run is not complete.
#[must_use]
pub fn slowdown(plan: &Plan, result: &RunResult) -> Option<f64> {
    let time = execution_time_ps(&plan.experiment, &result.main);
    let complete = result.main.status == Status::Complete;
    quotient(time, complete, baseline_time_ps(plan, result))
}

/// `time / baseline`, if both are complete and the baseline is not 0.
pub(crate) fn quotient(time: u64, complete: bool, baseline: Option<u64>) -> Option<f64> {
    baseline
        .filter(|&b| complete && b > 0)
        .map(|b| time as f64 / b as f64)
}

/// Accepted load in flits per cycle and NIC.
#[must_use]
pub fn throughput(experiment: &Experiment, stats: &FabricStats) -> f64 {
    per_slot(experiment, stats, units_delivered(stats))
}

/// Deliveries in units of link time.
fn units_delivered(stats: &FabricStats) -> u64 {
    stats.service_levels.iter().map(|sl| sl.units).sum()
}

/// `units` of link time as flits per NIC and cycle of the counted time. A cycle is the time of
/// a flit on the fastest link.
#[must_use]
pub(crate) fn per_slot(experiment: &Experiment, stats: &FabricStats, units: u64) -> f64 {
    load(experiment, stats.ticks(), units)
}

/// The same over `ticks` ticks.
fn load(experiment: &Experiment, ticks: Tick, units: u64) -> f64 {
    let fabric = &experiment.fabric;
    let fastest = fabric.fastest_link();
    let slots = u128::from(ticks)
        * u128::from(fabric.topology.nics())
        * u128::from(fastest.num())
        * u128::from(fabric.link_units_per_flit());
    let units = u128::from(units) * u128::from(fastest.den());
    units as f64 / slots.max(1) as f64
}

/// Part of the counted time in which a link was busy. All of a packet counts in the tick in which it starts,
/// so the part is cut at 1.
#[must_use]
pub fn utilisation(experiment: &Experiment, stats: &FabricStats, link: &LinkStats) -> f64 {
    let busy = link.busy_ticks(&experiment.fabric);
    (busy / stats.ticks().max(1) as f64).min(1.0)
}

/// Whether the fabric did not keep up with the background. Beside jobs: more than 1 % of its messages, and more than
/// ten per NIC, were not delivered when the run ended. In a window: the units of link time created exceed the units
/// delivered by more than 1 % of the created, and by more than the longest message per NIC.
#[must_use]
pub fn saturated(experiment: &Experiment, simulation: &Simulation) -> bool {
    let flows = &simulation.background;
    let sum = |count: fn(&BackgroundOutcome) -> u64| flows.iter().map(count).sum::<u64>();
    let nics = u64::from(experiment.fabric.topology.nics());
    if simulation.measured.is_none() {
        let backlog = sum(BackgroundOutcome::backlog);
        return backlog > sum(|flow| flow.messages) / 100 && backlog > 10 * nics;
    }
    let offered = sum(|flow| flow.units);
    let missing = offered.saturating_sub(units_delivered(&simulation.stats));
    let longest = experiment.longest_background_message();
    missing > offered / 100 && missing > longest.saturating_mul(nics)
}

/// `part` of `whole` in percent, to a tenth.
fn percent_of(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// `nic 3` or `switch 2 port 7`.
#[must_use]
pub fn link_end(end: LinkEnd) -> String {
    match end {
        LinkEnd::Nic(nic) => format!("nic {nic}"),
        LinkEnd::Port { switch, port } => format!("switch {switch} port {port}"),
    }
}

/// An end of a link as the operators of `topology` call it, `L003 port 5`, where that is known; else as
/// [`link_end`].
#[must_use]
pub fn link_end_named(topology: &Topology, end: LinkEnd) -> String {
    match topology.names() {
        Some(names) => names.end_label(end),
        None => link_end(end),
    }
}

/// Peak resident memory of this process in bytes; 0 where it is unknown.
#[must_use]
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) * 1024
}
