//! Holds the replay against the naive replay.

use super::case::Case;
use super::describe::describe;
use super::fabric;
use super::outcome::{End, Outcome, Sent};
use flitwise::fabric::workload::Workload;
use flitwise::replay::outcome::JobOutcome;
use std::fmt::Debug;

/// The replay of a case by the library: how it ended, the result of the job, and its messages.
pub fn engine(case: &Case, backwards: bool) -> (End, JobOutcome, Vec<Sent>) {
    let mut replay = fabric::replay(case);
    let log = fabric::play(&mut replay, backwards);
    let end = match replay.error() {
        Some(error) => End::Error(format!("{error:#}")),
        None if replay.finished() => End::Complete,
        None => End::Stalled,
    };
    let outcome = replay.outcomes().pop().expect("there is one job");
    assert_eq!(outcome.complete, end == End::Complete);
    (end, outcome, log)
}

/// Replays a case in both ways, and the reports of a tick in both orders. Returns the outcome of the
/// naive replay.
///
/// # Errors
/// The first difference and the case.
pub fn compare(case: &Case) -> Result<Outcome, String> {
    let naive = super::replay(case);
    for backwards in [false, true] {
        let found = difference(&naive, &engine(case, backwards));
        if let Err(difference) = found {
            return Err(format!("{difference}\n{}", describe(case, &naive)));
        }
    }
    Ok(naive)
}

fn same<T: PartialEq + Debug>(what: &str, engine: T, naive: T) -> Result<(), String> {
    if engine == naive {
        Ok(())
    } else {
        Err(format!("{what}: {engine:?}, but naively {naive:?}"))
    }
}

fn difference(
    naive: &Outcome,
    (end, outcome, log): &(End, JobOutcome, Vec<Sent>),
) -> Result<(), String> {
    if let (End::Error(_), End::Error(_)) = (&naive.end, end) {
        return Ok(());
    }
    for (number, (of_engine, of_naive)) in log.iter().zip(&naive.fabric).enumerate() {
        same(
            &format!("message {number} of the fabric"),
            of_engine,
            of_naive,
        )?;
    }
    same("messages of the fabric", log.len(), naive.fabric.len())?;
    same("end", end, &naive.end)?;
    same("messages", outcome.messages, naive.messages)?;
    same(
        "intra-node messages",
        outcome.intra_node_messages,
        naive.intra_node_messages,
    )?;
    same("bytes", outcome.bytes, naive.bytes)?;
    same(
        "point-to-point",
        outcome.point_to_point,
        naive.point_to_point,
    )?;
    same(
        "their bytes",
        outcome.point_to_point_bytes,
        naive.point_to_point_bytes,
    )?;
    same("collectives", outcome.collectives, naive.collectives)?;
    same(
        "repetitions",
        &outcome.repetitions_ps,
        &naive.repetitions_ps,
    )?;
    if *end == End::Complete {
        same("time of the last event", outcome.end_ps, naive.end_ps)?;
        let repetitions = naive.repetitions_ps.len() as u64;
        let execution_ps = naive.repetitions_ps.iter().sum::<u64>() / repetitions;
        same("execution time", outcome.execution_ps, execution_ps)?;
        let beyond = outcome.compute_ps.saturating_sub(execution_ps);
        same("computation beyond the execution time", beyond, 0)?;
        same(
            "computation",
            outcome.compute_ps,
            naive.compute_ps / (repetitions * u64::from(outcome.ranks)),
        )?;
    }
    Ok(())
}
