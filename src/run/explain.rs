//! Explains a run that is over: simulates it once more, and follows the messages of its critical paths.

use super::traces::Traces;
use super::workload::replay_of;
use super::{Network, RunError};
use crate::config::{ConfigError, Experiment};
use crate::explain::{
    Alone, Explanation, JobsOfTokens, Load, Mark, Reason, References, Source, Tracer, Wait,
};
use crate::fabric::engine::{Engine, RunEnd};
use crate::fabric::spec::SpecError;
use crate::fabric::workload::Message;
use crate::replay::Replay;
use crate::replay::critical_path::{Leg, LegKind, LegMessage};
use crate::replay::outcome::JobOutcome;
use crate::stop::Stop;
use anyhow::anyhow;
use std::rc::Rc;

/// The critical path of a job.
struct Path {
    /// Index of the job in the experiment.
    job: usize,
    legs: Vec<Leg>,
}

/// Messages simulated alone between two checks whether to stop.
const LOOK: usize = 64;

/// Explains the complete run that left `replay` and `outcomes`. `None` if the user stops it.
pub(super) fn explain(
    experiment: &Experiment,
    replay: &Replay<'_>,
    outcomes: &[Option<JobOutcome>],
    traces: &Traces,
    stop: Stop<'_>,
) -> Result<Option<Vec<Explanation>>, RunError> {
    let replayed: Vec<usize> = (0..outcomes.len())
        .filter(|&job| outcomes[job].is_some())
        .collect();
    let paths: Vec<Path> = (0..)
        .zip(&replayed)
        .filter(|&(_, &job)| {
            let awaited = |outcome: &JobOutcome| outcome.complete && !outcome.endless;
            outcomes[job].as_ref().is_some_and(awaited)
        })
        .map(|(number, &job)| Path {
            job,
            legs: replay.critical_path(number),
        })
        .collect();
    let Some(marks) = marks(experiment, &paths, stop)? else {
        return Ok(None);
    };
    let Some(waits) = follow(experiment, &marks, traces, stop)? else {
        return Ok(None);
    };
    let mut of_marks = marks.into_iter().zip(waits);
    let explained = paths.iter().map(|path| {
        let regions = traces.of(&experiment.jobs[path.job])?.regions();
        let fates = path.legs.iter().map(|leg| {
            let Some(message) = crosses(leg) else {
                return Ok(None);
            };
            let parts = of_marks.by_ref().take(message.parts.count as usize);
            let fate = fate(parts, &replayed);
            fate.map(Some).ok_or_else(|| {
                RunError::Failed(anyhow!(
                    "the second simulation, which explains the first, had other messages"
                ))
            })
        });
        let fates: Vec<Option<(Alone, Vec<Wait>)>> = fates.collect::<Result<_, _>>()?;
        let fabric = &experiment.fabric;
        Ok(Explanation::new(
            (path.job, regions),
            &path.legs,
            &fates,
            fabric.units.tick,
            &fabric.topology,
        ))
    });
    Ok(Some(explained.collect::<Result<_, RunError>>()?))
}

/// The message of a leg that crosses the fabric.
fn crosses(leg: &Leg) -> Option<&LegMessage> {
    match &leg.kind {
        LegKind::Arrival(message) | LegKind::Injection(message) => {
            (!message.is_inside_node()).then_some(message)
        }
        LegKind::Start | LegKind::Computing { .. } | LegKind::Reduction => None,
    }
}

/// The fate of the part of a message that ended last.
fn fate(
    parts: impl Iterator<Item = (Mark, Option<Vec<Wait>>)>,
    replayed: &[usize],
) -> Option<(Alone, Vec<Wait>)> {
    let last = parts.fold(None, |last, (mark, waits)| {
        last.or(waits.map(|waits| (mark.alone, waits)))
    });
    let (alone, mut waits) = last?;
    name_jobs(&mut waits, replayed);
    Some((alone, waits))
}

/// The parts of the messages of the paths, in the order of the paths. `None` if the user stops the run.
fn marks(
    experiment: &Experiment,
    paths: &[Path],
    stop: Stop<'_>,
) -> Result<Option<Vec<Mark>>, RunError> {
    let tick = experiment.fabric.units.tick;
    let mut references = References::new(&experiment.fabric).map_err(bad_fabric)?;
    let mut marks = Vec::new();
    for leg in paths.iter().flat_map(|path| &path.legs) {
        let Some(message) = crosses(leg) else {
            continue;
        };
        if marks.len() % LOOK == 0 && stop.is_set() {
            return Ok(None);
        }
        let &LegMessage {
            parts,
            sl,
            token,
            created,
            ..
        } = message;
        for (src, dst, bytes) in parts.each() {
            let alone = references.of(&Message::new(src, dst, sl, bytes, created));
            let alone = alone.ok_or_else(|| {
                RunError::Failed(anyhow!(
                    "a message from NIC {src} to NIC {dst} never arrives when it is alone in the fabric"
                ))
            })?;
            marks.push(Mark {
                token,
                src,
                created,
                reported: tick.ticks(leg.to_ps),
                arrival: matches!(leg.kind, LegKind::Arrival(_)),
                alone,
            });
        }
    }
    Ok(Some(marks))
}

/// Simulates the run again, and returns what each of `marks` waits for, if it ended as reported. `None` if the user stops the
/// run.
fn follow(
    experiment: &Experiment,
    marks: &[Mark],
    traces: &Traces,
    stop: Stop<'_>,
) -> Result<Option<Vec<Option<Vec<Wait>>>>, RunError> {
    let jobs = JobsOfTokens::default();
    let mut tracer = Tracer::new(&experiment.fabric, Rc::clone(&jobs));
    let numbers = tracer.follow(marks);
    let mut replay = replay_of(experiment, traces, None, Network::Fabric, stop)?.0;
    let mut engine = Engine::watched(&experiment.fabric, tracer).map_err(bad_fabric)?;
    let mut load = Load::Replay(&mut replay, jobs);
    let end = engine.run_controlled(&mut load, &mut |_, _| stop.control());
    if end != RunEnd::Finished {
        return Ok(None);
    }
    let mut tracer = engine.probe_mut();
    let waits = numbers.into_iter().map(|number| tracer.take_waits(number));
    Ok(Some(waits.collect()))
}

/// Replaces the indices of replayed jobs by the indices of the experiment.
fn name_jobs(waits: &mut [Wait], replayed: &[usize]) {
    for wait in waits {
        if let Reason::Link(culprit) = &mut wait.reason
            && let Source::Job(job) = &mut culprit.source
            && let Some(&of_experiment) = replayed.get(*job as usize)
        {
            *job = of_experiment as u32;
        }
    }
}

fn bad_fabric(e: SpecError) -> RunError {
    RunError::Config(ConfigError::new(e.key.to_owned(), e.problem))
}
