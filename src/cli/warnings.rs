//! Warnings about a run: what its traces lack, and keys without effect.

use super::console::tell;
use flitwise::config::{Experiment, LinkSpeeds, Plan};
use flitwise::fabric::engine::Engine;
use flitwise::replay::outcome::JobOutcome;
use flitwise::replay::trace::{TraceFormat, format_named};
use flitwise::results::run_warnings;
use flitwise::run::{RunResult, TraceDigest};
use flitwise::units::human_time;
use std::collections::HashSet;

/// Reports all of them on standard error.
pub(super) fn tell_all(plan: &Plan, result: &RunResult) {
    tell_of_experiments([&plan.experiment], &result.traces, Some(result));
    for warning in run_warnings(plan, result) {
        tell(format_args!("warning: {}", warning.text));
    }
}

/// Reports the warnings about some experiments and their traces, each once; after a run with its `result`.
pub(super) fn tell_of_experiments<'a>(
    experiments: impl IntoIterator<Item = &'a Experiment>,
    traces: &[TraceDigest],
    result: Option<&RunResult>,
) {
    let (mut settings, mut keys) = (Vec::new(), Vec::new());
    for experiment in experiments {
        settings.extend(experiment.remarks.iter().cloned());
        keys.extend(unused_keys(experiment, traces));
        keys.extend(assumed_speeds(experiment, traces, result));
        keys.extend(unused_power_keys(experiment));
    }
    tell_each_once(settings);
    tell_of_traces(traces);
    tell_each_once(keys);
}

/// Reports texts, each once.
pub(super) fn tell_each_once(texts: Vec<String>) {
    let mut told = HashSet::new();
    for text in texts {
        if told.insert(text.clone()) {
            tell(format_args!("warning: {text}"));
        }
    }
}

/// Reports that several `threads` were asked for, but a large fabric cannot have them.
pub(super) fn tell_of_one_thread(threads: Option<u16>, experiment: &Experiment) {
    if threads.is_some_and(|threads| threads > 1)
        && flitwise::run::can_use_threads(experiment)
        && let Some(obstacle) = Engine::obstacle_to_threads(&experiment.fabric)
    {
        tell(format_args!(
            "note: one thread simulates this fabric, because {obstacle}"
        ));
    }
}

/// Reports that the speeds in the file of a topology are not used.
pub(super) fn tell_of_unused_speeds(speeds: &LinkSpeeds) {
    if let Some(unused) = &speeds.unused {
        tell(format_args!("warning: {unused}"));
    }
}

/// Reports what traces lack and what in them is doubtful. Each command that replays traces calls it.
pub(super) fn tell_of_traces(traces: &[TraceDigest]) {
    for trace in traces {
        if let Some(left_out) = &trace.left_out {
            let name = &trace.trace;
            tell(format_args!(
                "warning: `{name}` was replayed without {left_out}"
            ));
        }
        for remark in &trace.remarks {
            tell(format_args!("warning: `{}`: {remark}", trace.trace));
        }
        if let Some(doubts) = &trace.doubts {
            tell(format_args!("warning: {doubts}"));
        }
    }
}

/// Keys of a job that are for traces of other formats.
fn unused_keys(experiment: &Experiment, traces: &[TraceDigest]) -> Vec<String> {
    let mut all = Vec::new();
    for (number, job) in experiment.jobs.iter().enumerate() {
        let trace = traces.iter().find(|trace| trace.trace == job.trace);
        let Some(format) = trace.map(|trace| trace.format.as_str()) else {
            continue;
        };
        for key in &job.format_keys {
            let uses = |format: &TraceFormat| format.uses.contains(&key.setting);
            if !format_named(format).is_some_and(uses) {
                let option = if key.name == "compute_time" {
                    " (--clock)"
                } else {
                    ""
                };
                all.push(format!(
                    "job.{number}.{}{option} does nothing for `{}`, a trace of {format}",
                    key.name, job.trace
                ));
            }
        }
    }
    all
}

/// The assumed speed of ranks for traces that count flops, where no job sets it.
fn assumed_speeds(
    experiment: &Experiment,
    traces: &[TraceDigest],
    result: Option<&RunResult>,
) -> Vec<String> {
    let mut all = Vec::new();
    for (number, job) in experiment.jobs.iter().enumerate() {
        let has_flops = traces
            .iter()
            .any(|trace| trace.trace == job.trace && trace.has_flops);
        let is_given = job.format_keys.iter().any(|key| key.name == "host_speed");
        let outcome = result.and_then(|result| result.main.jobs.get(number)?.as_ref());
        let computes = |outcome: &JobOutcome| outcome.compute_ps > 0;
        if has_flops && !is_given && outcome.is_none_or(computes) {
            all.push(format!(
                "`{}` counts flops, and a rank is taken to do {} of them a second, as SimGrid's recorder counts by \
                 default{}: set job.{number}.host_speed to the smpi/host-speed of the recording, or to what a rank does, such \
                 as host_speed = 1e9",
                job.trace,
                job.host_speed,
                outcome.map_or_else(String::new, mean_computation)
            ));
        }
    }
    all
}

/// The mean computation of the ranks of a job, for a message.
fn mean_computation(outcome: &JobOutcome) -> String {
    let time = human_time(outcome.compute_ps);
    format!("; a rank then computes for {time} on average")
}

/// Keys of `[power]` that are for another policy.
fn unused_power_keys(experiment: &Experiment) -> Vec<String> {
    let powers = experiment.power.iter();
    let texts = powers.flat_map(|power| {
        let policy = power.policy.name();
        let keys = power.unused_keys.iter();
        keys.map(move |key| format!("power.{key} does nothing with policy \"{policy}\""))
    });
    texts.collect()
}
