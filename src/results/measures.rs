//! The measures of a run: execution times against baselines, loads, and the use of links.

use crate::config::experiment::Background;
use crate::config::{Experiment, Plan};
use crate::fabric::spec::Tick;
use crate::fabric::stats::{FabricStats, LinkStats};
use crate::replay::background::{BackgroundOutcome, Pattern};
use crate::replay::outcome::JobOutcome;
use crate::run::{RunResult, Simulation, Status};

/// Time of the job that ended last, with all its repetitions, in picoseconds from its start. Jobs that repeat until the
/// others end and jobs that did not start do not count; an incomplete job has run until the end of the simulated time.
#[must_use]
pub fn execution_time_ps(experiment: &Experiment, simulation: &Simulation) -> u64 {
    let [start_ps, end_ps] = last_span(experiment, simulation);
    end_ps - start_ps
}

/// Time from 0 to the end of the job that ended last, in picoseconds, as [`execution_time_ps`] means it.
pub(super) fn end_ps(experiment: &Experiment, simulation: &Simulation) -> u64 {
    last_span(experiment, simulation)[1]
}

/// Start and end of the job that ended last.
fn last_span(experiment: &Experiment, simulation: &Simulation) -> [u64; 2] {
    let simulated = experiment.fabric.units.tick.ps(simulation.end_tick());
    let span = |(_, outcome): (usize, &JobOutcome)| {
        let (start, end) = (outcome.start_ps?, outcome.end_ps);
        if outcome.complete {
            return Some([start, end]);
        }
        (start <= simulated).then(|| [start, end.min(simulated)])
    };
    let spans = awaited(simulation).filter_map(span);
    spans.max_by_key(|&[_, end]| end).unwrap_or_default()
}

/// Index of the job that ended last; the last of several.
pub(crate) fn last_job(simulation: &Simulation) -> Option<usize> {
    let ends = awaited(simulation).map(|(at, outcome)| (outcome.end_ps, at));
    ends.max().map(|(_, at)| at)
}

/// The jobs that the run waits for, with their indices.
fn awaited(simulation: &Simulation) -> impl Iterator<Item = (usize, &JobOutcome)> {
    let jobs = simulation.jobs.iter().enumerate();
    let outcomes = jobs.filter_map(|(at, outcome)| Some((at, outcome.as_ref()?)));
    outcomes.filter(|(_, outcome)| !outcome.endless)
}

/// Time of the job that ended last in the experiment, in its baseline; `None` without a baseline, or if the job is not
/// complete there.
#[must_use]
pub fn baseline_time_ps(plan: &Plan, result: &RunResult) -> Option<u64> {
    job_baseline(plan, result, last_job(&result.main)?).and_then(span_ps)
}

/// Time of the job that ended last in `main`, in `run`, if that is complete.
pub(crate) fn reference_ps(main: &Simulation, run: Option<&Simulation>) -> Option<u64> {
    let run = run.filter(|run| run.status == Status::Complete)?;
    span_ps(run.jobs.get(last_job(main)?)?.as_ref()?)
}

/// Time of a job with all its repetitions.
pub(super) fn span_ps(outcome: &JobOutcome) -> Option<u64> {
    Some(outcome.end_ps - outcome.start_ps?)
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

/// Deliveries to NICs in units of link time.
pub(super) fn units_delivered(stats: &FabricStats) -> u64 {
    let levels = stats.service_levels.iter();
    levels.map(|sl| sl.to_nics().units).sum()
}

/// `units` of link time as flits per NIC and cycle of the counted time. A cycle is the time of
/// a flit on the fastest link.
#[must_use]
pub(crate) fn per_slot(experiment: &Experiment, stats: &FabricStats, units: u64) -> f64 {
    load(experiment, stats.ticks(), units)
}

/// The same over `ticks` ticks.
pub(super) fn load(experiment: &Experiment, ticks: Tick, units: u64) -> f64 {
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

/// Whether the fabric did not keep up with the background, or with one of its flows. Beside jobs:
/// more than 1 % of its messages, and more than ten per NIC, were not delivered when the run ended. In a window: the units
/// of link time created exceed the units delivered by more than 1 % of the created, and by more than the longest message
/// per NIC.
#[must_use]
pub fn saturated(experiment: &Experiment, simulation: &Simulation) -> bool {
    let flows = &simulation.background;
    let sum = |count: fn(&BackgroundOutcome) -> u64| flows.iter().map(count).sum::<u64>();
    let nics = u64::from(experiment.fabric.topology.nics());
    let (missing, offered, allowed) = if simulation.measured.is_none() {
        (
            sum(BackgroundOutcome::backlog),
            sum(|flow| flow.messages),
            10,
        )
    } else {
        let offered = sum(|flow| flow.units);
        let missing = offered.saturating_sub(units_delivered(&simulation.stats));
        (missing, offered, experiment.longest_background_message())
    };
    missing > offered / 100 && missing > nics.saturating_mul(allowed)
        || !saturated_flows(experiment, simulation).is_empty()
}

/// The indices of the background flows with which the fabric did not keep up, the least delivered part first: more than
/// 1 % of the messages created, and more than ten per sender, were not delivered when the run or its window ended. So a
/// hot spot of few flows is found, though it is a small part of all traffic.
#[must_use]
pub fn saturated_flows(experiment: &Experiment, simulation: &Simulation) -> Vec<usize> {
    let nics = u64::from(experiment.fabric.topology.nics());
    let flows = experiment.background.iter().zip(&simulation.background);
    let is_behind = |&(_, (flow, outcome)): &(usize, (&Background, &BackgroundOutcome))| {
        let senders = match flow.pattern {
            Pattern::Pair { .. } => 1,
            _ => nics,
        };
        let missing = outcome.backlog();
        missing > outcome.messages / 100 && missing > senders * 10
    };
    let mut behind: Vec<_> = flows.enumerate().filter(is_behind).collect();
    behind.sort_by(|(_, (_, a)), (_, (_, b))| a.delivered_share().total_cmp(&b.delivered_share()));
    behind.into_iter().map(|(at, _)| at).collect()
}
