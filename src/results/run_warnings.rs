//! Warnings about what a run shows less of than its experiment asks for.

use super::measures::job_baseline;
use super::silent_flows::silent_flows;
use crate::config::Plan;
use crate::fabric::ids::NicId;
use crate::replay::background::Pattern;
use crate::replay::outcome::JobOutcome;
use crate::run::RunResult;
use crate::units::human_time;
use flitwise_base::quote::quoted;
use std::collections::BTreeSet;

/// The subject of a warning, by its number in the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A job that repeats until the others end, and did not end once.
    UnfinishedJob(usize),
    /// A job with a rank at a NIC that sends background traffic of its own.
    SharedNic(usize),
    /// A background flow that the run hardly shows.
    SilentFlow(usize),
}

/// A warning about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunWarning {
    /// Its subject.
    pub subject: Subject,
    /// The warning with its cure.
    pub text: String,
}

/// The warnings about a run.
#[must_use]
pub fn run_warnings(plan: &Plan, result: &RunResult) -> Vec<RunWarning> {
    let mut all = Vec::new();
    if plan.endless_baselines {
        all = unfinished_jobs(plan, result);
    }
    all.extend(shared_nics(plan, result));
    let flows = silent_flows(plan, result).into_iter().enumerate();
    all.extend(flows.filter_map(|(at, text)| {
        let (subject, text) = (Subject::SilentFlow(at), text?);
        Some(RunWarning { subject, text })
    }));
    all
}

/// The jobs of the experiment that have an outcome, with their numbers.
fn outcomes(result: &RunResult) -> impl Iterator<Item = (usize, &JobOutcome)> {
    let jobs = result.main.jobs.iter().enumerate();
    jobs.filter_map(|(at, outcome)| Some((at, outcome.as_ref()?)))
}

/// Jobs that repeat until the others end and did not start or end once, where their own time is asked for.
fn unfinished_jobs(plan: &Plan, result: &RunResult) -> Vec<RunWarning> {
    let unfinished = outcomes(result).filter(|(_, outcome)| outcome.endless && !outcome.complete);
    let other = outcomes(result).find(|(_, outcome)| !outcome.endless);
    let other = other.map_or(0, |(at, _)| at);
    let one = |(at, outcome): (usize, &JobOutcome)| {
        let alone = job_baseline(plan, result, at).map_or_else(String::new, |alone| {
            format!("; alone it takes {}", human_time(alone.execution_ps))
        });
        let found = match outcome.start_ps {
            None => "did not start before the others ended, so it has no time",
            Some(_) => {
                "did not finish once before the others ended, so the time shown for it ends with them"
            }
        };
        RunWarning {
            subject: Subject::UnfinishedJob(at),
            text: format!(
                "job {} {found}{alone}. To measure it, let the others repeat more often (job.{other}.repeat)",
                quoted(&outcome.name)
            ),
        }
    };
    unfinished.map(one).collect()
}

/// Ranks at NICs that a listed flow of background traffic names as senders. Other patterns send from all NICs.
fn shared_nics(plan: &Plan, result: &RunResult) -> Vec<RunWarning> {
    let experiment = &plan.experiment;
    let flows = experiment.background.iter();
    let flows = flows.filter(|flow| !flow.rate.is_zero());
    let senders: BTreeSet<NicId> = flows
        .filter_map(|flow| match flow.pattern {
            Pattern::Pair { from, .. } => Some(from),
            _ => None,
        })
        .collect();
    let one = |(at, outcome): (usize, &JobOutcome)| {
        let ranks = outcome.nics.iter().enumerate();
        let mut shared = ranks.filter(|(_, nic)| senders.contains(nic));
        let (rank, nic) = shared.next()?;
        let more = match shared.count() {
            0 => String::new(),
            1 => ", and so does another rank".to_owned(),
            more => format!(", and so do {more} other ranks"),
        };
        Some(RunWarning {
            subject: Subject::SharedNic(at),
            text: format!(
                "rank {rank} of job {} shares {} with a flow of [[background]] that sends from there{more}: their messages \
                 wait for each other before the fabric; place the ranks elsewhere if that is not meant",
                quoted(&outcome.name),
                experiment.fabric.topology.nic_text(*nic),
            ),
        })
    };
    outcomes(result).filter_map(one).collect()
}
