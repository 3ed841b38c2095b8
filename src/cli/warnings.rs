//! Warnings about a run: what its traces lack, and keys without effect.

use super::console::tell;
use flitwise::config::{Experiment, LinkSpeeds, Plan};
use flitwise::fabric::engine::Engine;
use flitwise::fabric::ids::NicId;
use flitwise::replay::background::Pattern;
use flitwise::replay::outcome::JobOutcome;
use flitwise::replay::trace::{TraceFormat, format_named};
use flitwise::results::{job_baseline, silent_flows};
use flitwise::run::{RunResult, TraceDigest};
use flitwise::units::human_time;
use flitwise_base::quote::quoted;
use std::collections::BTreeSet;

/// Reports all of them on standard error.
pub(super) fn tell_all(plan: &Plan, result: &RunResult) {
    let experiment = &plan.experiment;
    tell_of_settings([experiment]);
    tell_of_traces(&result.traces);
    warn_of_unused_keys(experiment, result);
    tell_of_speeds(experiment, result);
    warn_of_unused_power_keys(experiment);
    warn_of_unfinished_jobs(plan, result);
    warn_of_shared_nics(experiment, result);
    for warning in silent_flows(plan, result).into_iter().flatten() {
        tell(format_args!("warning: {warning}"));
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

/// Reports ranks on NICs that a listed flow of background traffic names as senders. Other patterns send from all NICs.
fn warn_of_shared_nics(experiment: &Experiment, result: &RunResult) {
    let senders = experiment
        .background
        .iter()
        .filter(|flow| !flow.rate.is_zero());
    let senders: BTreeSet<NicId> = senders
        .filter_map(|flow| match flow.pattern {
            Pattern::Pair { from, .. } => Some(from),
            _ => None,
        })
        .collect();
    for outcome in result.main.jobs.iter().flatten() {
        let ranks = outcome.nics.iter().enumerate();
        let mut shared = ranks.filter(|(_, nic)| senders.contains(nic));
        let Some((rank, nic)) = shared.next() else {
            continue;
        };
        let more = match shared.count() {
            0 => String::new(),
            1 => ", and so does another rank".to_owned(),
            more => format!(", and so do {more} other ranks"),
        };
        tell(format_args!(
            "warning: rank {rank} of job {} shares {} with a flow of [[background]] that sends from there{more}: their messages \
             wait for each other before the fabric; place the ranks elsewhere if that is not meant",
            quoted(&outcome.name),
            experiment.fabric.topology.nic_text(*nic),
        ));
    }
}

/// Reports jobs that repeat until the others end and did not end once.
fn warn_of_unfinished_jobs(plan: &Plan, result: &RunResult) {
    let outcomes = result.main.jobs.iter().enumerate();
    let outcomes = outcomes.filter_map(|(at, outcome)| Some((at, outcome.as_ref()?)));
    for (at, outcome) in outcomes.filter(|(_, outcome)| outcome.endless && !outcome.complete) {
        let alone = job_baseline(plan, result, at).map_or_else(
            || "run it alone to see what it needs".to_owned(),
            |alone| format!("alone it takes {}", human_time(alone.execution_ps)),
        );
        tell(format_args!(
            "warning: job {} did not finish once before the others ended, so its time is theirs; {alone}: let the others \
             repeat more often (job.N.repeat)",
            quoted(&outcome.name)
        ));
    }
}

/// Reports the settings of some experiments that do not do what their names promise, each once.
pub(super) fn tell_of_settings<'a>(experiments: impl IntoIterator<Item = &'a Experiment>) {
    let mut told: Vec<&str> = Vec::new();
    for remark in experiments.into_iter().flat_map(|e| &e.remarks) {
        if !told.contains(&remark.as_str()) {
            told.push(remark);
            tell(format_args!("warning: {remark}"));
        }
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

/// Reports keys of a job that are for traces of other formats.
fn warn_of_unused_keys(experiment: &Experiment, result: &RunResult) {
    for (number, job) in experiment.jobs.iter().enumerate() {
        let trace = result.traces.iter().find(|trace| trace.trace == job.trace);
        let Some(format) = trace.map(|trace| trace.format.as_str()) else {
            continue;
        };
        for key in &job.format_keys {
            let uses = |format: &TraceFormat| format.uses.contains(&key.setting);
            if !format_named(format).is_some_and(uses) {
                tell(format_args!(
                    "warning: job.{number}.{} does nothing for `{}`, a trace of {format}",
                    key.name, job.trace
                ));
            }
        }
    }
}

/// Reports the assumed speed of ranks for traces that count flops, where no job sets it.
fn tell_of_speeds(experiment: &Experiment, result: &RunResult) {
    for (number, job) in experiment.jobs.iter().enumerate() {
        let mut traces = result.traces.iter();
        let counts_flops = traces.any(|trace| {
            let format = format_named(&trace.format);
            trace.trace == job.trace && format.is_some_and(|format| format.counts_flops)
        });
        let is_given = job.format_keys.iter().any(|key| key.name == "host_speed");
        let computes = |outcome: &JobOutcome| outcome.compute_ps > 0;
        let outcome = result.main.jobs.get(number).and_then(Option::as_ref);
        if counts_flops && !is_given && outcome.is_none_or(computes) {
            tell(format_args!(
                "warning: `{}` counts flops, and a rank is taken to do {} of them a second, as SimGrid's recorder counts by \
                 default{}: set job.{number}.host_speed to the smpi/host-speed of the recording, or to what a rank does, such \
                 as host_speed = 1e9",
                job.trace,
                job.host_speed,
                mean_computation(result, number)
            ));
        }
    }
}

/// The mean computation of the ranks of a job, for a message.
fn mean_computation(result: &RunResult, job: usize) -> String {
    let outcome = result.main.jobs.get(job).and_then(Option::as_ref);
    outcome.map_or_else(String::new, |outcome| {
        let time = human_time(outcome.compute_ps);
        format!("; a rank then computes for {time} on average")
    })
}

/// Reports keys of `[power]` that are for another policy.
fn warn_of_unused_power_keys(experiment: &Experiment) {
    let Some(power) = &experiment.power else {
        return;
    };
    for key in &power.unused_keys {
        tell(format_args!(
            "warning: power.{key} does nothing with policy \"{}\"",
            power.policy.name()
        ));
    }
}
