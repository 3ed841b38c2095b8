//! Background flows that a run hardly shows: they sent nothing, or their messages are too long for it.

use super::measures::saturated;
use crate::config::experiment::Background;
use crate::config::{Experiment, Plan};
use crate::replay::background::{BackgroundOutcome, message_units};
use crate::run::{RunResult, Simulation, Status};
use crate::units::{Ratio, counted, human_bytes, human_time};

/// For each background flow a text about what the run does not show of it, with a cure; `None` if the flow does what it
/// should.
#[must_use]
pub fn silent_flows(plan: &Plan, result: &RunResult) -> Vec<Option<String>> {
    let experiment = &plan.experiment;
    let flows = experiment.background.iter().enumerate();
    flows
        .map(|(at, flow)| match &experiment.measure {
            None => beside_jobs(experiment, &result.main, at, flow),
            Some(_) => {
                let mut runs = result.curve.iter();
                runs.find_map(|run| in_window(experiment, run, at, flow))
            }
        })
        .collect()
}

/// A flow beside jobs that created no message, or whose messages take longer than the run.
fn beside_jobs(
    experiment: &Experiment,
    run: &Simulation,
    at: usize,
    flow: &Background,
) -> Option<String> {
    let outcome = outcome(run, at)?;
    if flow.rate.is_zero() || outcome.messages_delivered > 0 || saturated(experiment, run) {
        return None;
    }
    // A short run may end while the first messages are under way.
    if outcome.messages > 0 && link_ticks(experiment, flow) <= run.end_tick() {
        return None;
    }
    let end_ps = experiment.fabric.units.tick.ps(run.end_tick());
    let whole = human_time(end_ps);
    let what = nothing(outcome);
    Some(if flow.start_ps >= end_ps {
        let start = human_time(flow.start_ps);
        format!(
            "background {at} {what}: it starts at {start}, and the run ends at {whole}; let it start earlier (key start)"
        )
    } else {
        let times = times(experiment, flow, flow.rate);
        let cure = cut_short(flow, end_ps).unwrap_or_else(|| {
            format!("the run takes {whole}; choose shorter messages (key message)")
        });
        format!("background {at} {what}: {times}, and {cure}")
    })
}

/// A flow without jobs, of whose messages none was created in the window, none arrived, or all are too long for it.
fn in_window(
    experiment: &Experiment,
    run: &Simulation,
    at: usize,
    flow: &Background,
) -> Option<String> {
    let (outcome, measured) = (outcome(run, at)?, run.measured.as_ref()?);
    let rate = flow.rate.checked_mul(measured.load)?;
    if rate.is_zero() {
        return None;
    }
    let fabric = &experiment.fabric;
    let tick = fabric.units.tick;
    let window = human_time(tick.ps(run.stats.ticks()));
    let load = measured.load;
    let is_short = link_ticks(experiment, flow) > run.stats.ticks();
    let is_silent =
        outcome.messages == 0 || outcome.messages_delivered == 0 && !saturated(experiment, run);
    if !is_short && !is_silent {
        return None;
    }
    let what = if is_silent {
        nothing(outcome)
    } else {
        "has messages that are longer than the window".to_owned()
    };
    let (from_ps, to_ps) = (tick.ps(run.stats.start_tick), tick.ps(run.end_tick()));
    let outside = if flow.start_ps >= to_ps {
        Some(format!("it starts at {}", human_time(flow.start_ps)))
    } else {
        let stop_ps = flow.stop_ps.filter(|&stop_ps| stop_ps <= from_ps);
        stop_ps.map(|stop_ps| format!("it stops at {}", human_time(stop_ps)))
    };
    Some(match outside {
        Some(when) => format!(
            "background {at} {what} at load {load}: {when}, and the window goes from {} to {}; move one of the two",
            human_time(from_ps),
            human_time(to_ps),
        ),
        None => {
            let times = times(experiment, flow, rate);
            let cure = cut_short(flow, to_ps).unwrap_or_else(|| {
                format!(
                    "the window takes {window}; choose a longer measure.window or shorter messages (key message)"
                )
            });
            format!("background {at} {what} at load {load}: {times}, and {cure}")
        }
    })
}

/// The end of a flow before `end_ps`, with its cure.
fn cut_short(flow: &Background, end_ps: u64) -> Option<String> {
    let stop_ps = flow.stop_ps.filter(|&stop_ps| stop_ps < end_ps)?;
    let stop = human_time(stop_ps);
    Some(format!(
        "it stops at {stop}; let it stop later (key stop), or choose shorter messages (key message)"
    ))
}

/// The counts of a flow in a complete run.
fn outcome(run: &Simulation, at: usize) -> Option<&BackgroundOutcome> {
    let is_complete = run.status == Status::Complete;
    run.background.get(at).filter(|_| is_complete)
}

fn nothing(outcome: &BackgroundOutcome) -> String {
    match outcome.messages {
        0 => "created no message".to_owned(),
        created => format!("delivered none of {}", counted(created, "message")),
    }
}

/// The least ticks that the longest message of a flow takes on a link.
fn link_ticks(experiment: &Experiment, flow: &Background) -> u64 {
    let fabric = &experiment.fabric;
    let mtu = fabric.qos.service_levels[usize::from(flow.sl)].mtu_bytes;
    let sizes = flow.sizes.iter();
    let units = sizes.map(|&(bytes, _)| message_units(fabric, mtu, bytes));
    fabric.least_ticks(units.max().unwrap_or(0))
}

/// How long the longest message of a flow takes on a link, and how often a source with this `rate` creates one.
fn times(experiment: &Experiment, flow: &Background, rate: Ratio) -> String {
    let longest = flow.sizes.iter().map(|&(bytes, _)| bytes).max();
    let link_ps = experiment
        .fabric
        .units
        .tick
        .ps(link_ticks(experiment, flow));
    let every_ps = (link_ps as f64 / rate.to_f64()).round() as u64;
    format!(
        "a message of {} takes {} on a link, a source creates one in {}",
        human_bytes(longest.unwrap_or(0)),
        human_time(link_ps),
        human_time(every_ps),
    )
}
