//! The parts of the summary about a run that was stopped, or whose background fell behind.

use super::measures::{end_ps, saturated_flows};
use crate::config::experiment::Measure;
use crate::config::{Experiment, Plan};
use crate::fabric::topology::Topology;
use crate::replay::Repeat;
use crate::replay::background::Pattern;
use crate::run::{Measured, RunResult, Saturation, Simulation, Status};
use crate::units::{percent, short_time};

/// The line about the replay of the jobs, if it was stopped.
pub(super) fn stopped_jobs(plan: &Plan, result: &RunResult) -> Option<String> {
    let main = &result.main;
    if !matches!(main.status, Status::Interrupted | Status::Saturated) {
        return None;
    }
    let tick = plan.experiment.fabric.units.tick;
    let reached = main.reached?;
    let at_ps = tick.ps(main.end_tick() + 1);
    let awaited = plan.experiment.jobs.iter();
    let awaited = awaited.filter(|job| job.enabled && job.repeat != Repeat::UntilOthersEnd);
    let start_ps = awaited.map(|job| job.start_ps).min().unwrap_or(0);
    Some(match (at_ps.checked_sub(start_ps), reached.operations) {
        (None, _) | (_, 0) => format!("stopped at {}, before a job began", short_time(at_ps)),
        (Some(ran_ps), operations) => {
            // As if operations took the same time from the start to the end.
            let whole = u128::from(ran_ps) * u128::from(reached.operations_total);
            let whole = whole / u128::from(operations);
            let whole = u64::try_from(whole).unwrap_or(u64::MAX).max(ran_ps);
            // The last operations may be the longest ones, and the jobs end no earlier than without contention.
            let references = [&result.ideal, &result.unloaded].into_iter().flatten();
            let references = references.filter(|run| run.status == Status::Complete);
            let least = references.map(|run| end_ps(&plan.experiment, run)).max();
            let end_ps = start_ps.saturating_add(whole).max(least.unwrap_or(0));
            format!(
                "stopped at {} of about {}",
                short_time(at_ps),
                short_time(end_ps)
            )
        }
    })
}

/// The line about loads without a job, if the user stopped one, or stopped before all had begun.
pub(super) fn stopped_loads(plan: &Plan, measure: &Measure, result: &RunResult) -> Option<String> {
    let (begun, loads) = (result.curve.len(), measure.loads.len());
    let stopped = |run: &&Simulation| run.status == Status::Interrupted;
    let Some(run) = result.curve.iter().find(stopped) else {
        return (begun < loads).then(|| format!("{begun} of {loads} loads measured"));
    };
    let measured = run.measured.as_ref()?;
    let tick = plan.experiment.fabric.units.tick;
    let short = |ticks| short_time(tick.ps(ticks));
    let all = measure.window.saturating_add(if in_window(run, measured) {
        measured.warm_up
    } else {
        measure.max_warm_up
    });
    let at = short(run.stats.end_tick + 1);
    let which = match loads {
        1 => String::new(),
        _ => format!(", at load {} of {loads} loads", measured.load),
    };
    Some(format!("stopped at {at} of about {}{which}", short(all)))
}

/// The line about a background flow of `run` that fell ever further behind.
pub(super) fn saturation_line(topology: &Topology, run: &Simulation) -> Option<String> {
    let Saturation {
        flow,
        nic,
        at_ps,
        behind_ps,
        ..
    } = run.saturation?;
    Some(format!(
        "background {flow} creates more than {} can send: {} behind at {}, and the delay grows",
        topology.nic_text(nic),
        short_time(behind_ps),
        short_time(at_ps)
    ))
}

/// Most flows that [`flows_behind`] names.
const MOST_FLOWS: usize = 4;

/// The background flows that deliver the least part of their messages, if the fabric did not keep up with some of
/// several; `None` otherwise.
pub(super) fn flows_behind(experiment: &Experiment, run: &Simulation) -> Option<String> {
    let behind = saturated_flows(experiment, run);
    if behind.is_empty() || experiment.background.len() < 2 {
        return None;
    }
    let topology = &experiment.fabric.topology;
    let text = |&at: &usize| {
        let between = match &experiment.background[at].pattern {
            Pattern::Pair { from, to } => {
                format!(
                    " ({} to {})",
                    topology.nic_text(*from),
                    topology.nic_text(*to)
                )
            }
            _ => String::new(),
        };
        format!(
            "background {at}{between} {}",
            percent(run.background[at].delivered_share())
        )
    };
    let mut named: Vec<String> = behind.iter().take(MOST_FLOWS).map(text).collect();
    if behind.len() > MOST_FLOWS {
        named.push(format!("and {} more", behind.len() - MOST_FLOWS));
    }
    Some(format!(
        "part of the messages delivered: {}",
        named.join(", ")
    ))
}

/// Whether the warm-up of a run was over.
fn in_window(run: &Simulation, measured: &Measured) -> bool {
    measured.steady.is_some() || run.stats.end_tick > measured.warm_up
}
