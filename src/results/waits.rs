//! The longest waits between ranks.

use super::measures::last_job;
use crate::config::Plan;
use crate::replay::PairCount;
use crate::replay::outcome::JobOutcome;
use crate::run::Simulation;
use crate::units::human_time;
use std::cmp::Reverse;
use std::fmt::{self, Write};

/// Pairs that the summary names.
const NAMED: usize = 3;

/// The `n` pairs of ranks, or groups of them, of which one waited longest for the other; ties by rank.
pub(super) fn longest(outcome: &JobOutcome, n: usize) -> Vec<PairCount> {
    let mut waits: Vec<PairCount> = outcome.waits.iter().collect();
    waits.sort_by_key(|pair| Reverse(pair.amount));
    waits.truncate(n);
    waits
}

/// Writes the line of the summary about the job that ended last.
pub(super) fn write_waits(out: &mut String, plan: &Plan, main: &Simulation) -> fmt::Result {
    let Some(outcome) = last_job(main).and_then(|at| main.jobs.get(at)?.as_ref()) else {
        return Ok(());
    };
    let longest = longest(outcome, NAMED);
    if longest.is_empty() {
        return Ok(());
    }
    let of_job = match plan.experiment.jobs.len() {
        1 => String::new(),
        _ => format!(" of {}", outcome.name),
    };
    let ranks = |[first, last]: [u32; 2]| match last - first {
        0 => format!("rank {first}"),
        _ => format!("ranks {first} to {last}"),
    };
    let words = longest.iter().map(|pair| {
        let (waiting, other) = (ranks(pair.from), ranks(pair.to));
        format!("{waiting} for {other} {}", human_time(pair.amount))
    });
    let words: Vec<String> = words.collect();
    writeln!(out, "longest waits   {}{of_job}", words.join(", "))
}
