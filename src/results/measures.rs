//! The measures of a run: execution times against baselines, loads, and the use of links.

use crate::config::experiment::Background;
use crate::config::{Experiment, Plan};
use crate::fabric::spec::Tick;
use crate::fabric::stats::{FabricStats, LinkStats};
use crate::replay::Repeat;
use crate::replay::background::{BackgroundOutcome, Pattern};
use crate::replay::outcome::JobOutcome;
use crate::run::{RunResult, Simulation, Status};

/// Time from 0 to the end of the last job, in picoseconds, without jobs that repeat until
/// the others end. An incomplete job counts with the time simulated, a job that did not
/// start does not count.
#[must_use]
pub fn execution_time_ps(experiment: &Experiment, simulation: &Simulation) -> u64 {
    let tick = experiment.fabric.units.tick;
    let simulated = tick.ps(simulation.end_tick());
    let ends = simulation.jobs.iter().flatten();
    let ends = ends.filter(|outcome| !outcome.endless);
    ends.filter_map(|outcome| {
        if outcome.complete {
            Some(outcome.end_ps)
        } else {
            let started = outcome.start_ps.is_some_and(|start| start <= simulated);
            started.then(|| outcome.end_ps.min(simulated))
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
pub(super) fn units_delivered(stats: &FabricStats) -> u64 {
    stats.service_levels.iter().map(|sl| sl.units).sum()
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
