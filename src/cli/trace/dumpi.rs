//! `flitwise trace info` and `check` of DUMPI traces.

use super::check::Other;
use super::info_other::{Summary, bytes, computation, messages, row, spread};
use super::opened::checked;
use super::traffic::Traffic;
use crate::cli::{CliError, bad_trace};
use flitwise::replay::program::StopCheck;
use flitwise::replay::trace::{ComputeTime, Reading, TraceFile};
use flitwise::units::{human_count, human_time};
use flitwise_formats::dumpi::{Info, Set, check_seen};
use flitwise_formats::place::Place;
use flitwise_formats::source::Input;
use flitwise_formats::{Error, Problem, Problems};
use serde_json::json;
use std::path::Path;

/// The files of the trace. Nothing stops it.
fn set(input: &Input) -> Result<Set, CliError> {
    loop {
        if let Some(set) = Set::of_input(input, &mut || true).map_err(|e| bad_trace(&e))? {
            return Ok(set);
        }
    }
}

/// The verdict on a trace: what its files say, then whether the ranks agree on their communicators.
pub(super) fn check(input: &Input) -> Result<Other, CliError> {
    let set = set(input)?;
    let bad = |e: Error| bad_trace(&e);
    let found = loop {
        if let Some(check) = check_seen(&set, &mut |_, _| {}, &mut || true).map_err(bad)? {
            break check;
        }
    };
    let problem = |problem: &flitwise_formats::dumpi::Problem| {
        let function = problem.function.map(|function| format!(" ({function})"));
        Problem {
            path: set.file(problem.rank).unwrap_or(set.path()).into(),
            place: Some(Place::Byte(problem.offset)),
            message: format!(
                "rank {}{}: {}",
                problem.rank,
                function.unwrap_or_default(),
                problem.message
            ),
        }
    };
    let mut errors = Problems {
        first: found.errors.iter().map(problem).collect(),
        total: found.error_total,
    };
    let mut warnings = Problems {
        first: found.warnings.iter().map(problem).collect(),
        total: found.warnings.len() as u64,
    };
    let mut counts = vec![
        ("ranks", u64::from(set.ranks())),
        ("calls", found.calls.iter().sum()),
    ];
    if errors.is_empty() {
        match checked(input) {
            Ok(file) => {
                // Calls that can't be replayed are no fault of the trace.
                if let Err(e) = file.open(&Reading::default(), StopCheck::never()) {
                    warnings.total += 1;
                    warnings
                        .first
                        .extend(one(set.path(), format!("{e:#}")).first);
                }
                let traffic = traffic(&*file, None)?;
                counts.extend([("messages", traffic.messages), ("bytes", traffic.bytes)]);
            }
            Err(CliError::BadInput(message)) => errors = one(set.path(), message),
            Err(other) => return Err(other),
        }
    }
    Ok(Other {
        errors,
        warnings,
        counts,
    })
}

fn one(path: &Path, message: String) -> Problems {
    let shown = format!("{}: ", path.display());
    let message = message.strip_prefix(&shown).unwrap_or(&message).to_owned();
    Problems {
        first: vec![Problem {
            path: path.into(),
            place: None,
            message,
        }],
        total: 1,
    }
}

/// What the ranks send and compute, by a clock. Calls that can't be replayed are left out.
fn traffic(file: &dyn TraceFile, clock: Option<ComputeTime>) -> Result<Traffic, CliError> {
    let reading = Reading {
        compute_time: clock,
        skip_unsupported: true,
        ..Reading::default()
    };
    let traffic = || {
        let mut program = file.open(&reading, StopCheck::never())?;
        Traffic::of_program(&mut *program)
    };
    traffic().map_err(|e: anyhow::Error| CliError::BadInput(format!("{e:#}")))
}

pub(super) fn info(input: &Input) -> Result<Summary, CliError> {
    let set = set(input)?;
    let info = Info::read(&set).map_err(|e| bad_trace(&e))?;
    let file = checked(input)?;
    let whole = traffic(&*file, None)?;
    // Either clock may be missing.
    let clocks = [ComputeTime::Wall, ComputeTime::Cpu];
    let by_clock = clocks.map(|clock| traffic(&*file, Some(clock)).ok());
    let format = format!("DUMPI {}", info.version);
    let calls: u64 = info.ranks.iter().map(|rank| rank.calls).sum();
    let ignored: u64 = info.ranks.iter().map(|rank| rank.ignored).sum();
    let collectives: u64 = info.ranks.iter().map(|rank| rank.collectives).sum();
    let threads = info
        .ranks
        .iter()
        .map(|rank| rank.threads)
        .max()
        .unwrap_or(0);
    let ns = |time: f64| human_time((time * 1000.0) as u64);
    let mut rows = vec![
        ("format", format.clone()),
        (
            "ranks",
            format!(
                "{} on {} host{}",
                human_count(info.ranks.len() as u64),
                human_count(info.hosts),
                if info.hosts == 1 { "" } else { "s" }
            ),
        ),
        (
            "calls",
            match ignored {
                0 => human_count(calls),
                n => format!(
                    "{}, and {} that were left out",
                    human_count(calls),
                    human_count(n)
                ),
            },
        ),
        ("messages", messages(&whole)),
        ("bytes", bytes(&whole)),
        (
            "collectives",
            format!("{} calls of all ranks", human_count(collectives)),
        ),
    ];
    let names = ["wall time", "CPU time"];
    for (name, traffic) in names.into_iter().zip(&by_clock) {
        if let Some(traffic) = traffic {
            rows.push((name, computation(traffic, "computes ", ns)));
        }
    }
    let mut table = vec![row(["call", "count"])];
    let named = info.calls();
    table.extend(named.map(|(function, n)| vec![function.name().to_owned(), human_count(n)]));
    let calls_by_name: serde_json::Map<String, serde_json::Value> = (info.calls())
        .map(|(function, n)| (function.name().to_owned(), n.into()))
        .collect();
    let [wall, cpu] = by_clock.map(|traffic| traffic.as_ref().map(spread));
    let keys = json!({
        "format": format,
        "ranks": info.ranks.len(),
        "hosts": info.hosts,
        "threads": threads,
        "calls": calls,
        "calls_left_out": ignored,
        "calls_by_name": calls_by_name,
        "collective_calls": collectives,
        "compute_wall_ns": wall,
        "compute_cpu_ns": cpu,
    });
    Ok(Summary {
        rows,
        tables: vec![table],
        keys,
        traffic: whole,
    })
}
