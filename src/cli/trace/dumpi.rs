//! `flitwise trace info` and `check` of DUMPI traces.

use super::check::Other;
use super::info_other::{Summary, bytes, computation, messages, row, spread};
use super::opened::{judged, refused};
use super::traffic::Traffic;
use crate::cli::{CliError, bad_trace};
use flitwise::replay::program::StopCheck;
use flitwise::replay::trace::{ComputeTime, Reading, TraceFile};
use flitwise::units::{human_count, human_time};
use flitwise_formats::dumpi::info::RankInfo;
use flitwise_formats::dumpi::{Info, Set, check_seen};
use flitwise_formats::source::Input;
use flitwise_formats::{Error, Problem, Problems};
use serde_json::{Value, json};
use std::path::Path;

/// The files of the trace. Nothing stops it.
fn set(input: &Input) -> Result<Set, CliError> {
    loop {
        if let Some(set) = Set::of_input(input, &mut || true).map_err(|e| bad_trace(&e))? {
            return Ok(set);
        }
    }
}

/// The verdict on a trace: what its files say, then whether the ranks agree on their communicators, on messages and on
/// collectives.
pub(super) fn check(input: &Input) -> Result<Other, CliError> {
    let set = set(input)?;
    let bad = |e: Error| bad_trace(&e);
    let found = loop {
        if let Some(check) = check_seen(&set, &mut |_, _| {}, &mut || true).map_err(bad)? {
            break check;
        }
    };
    let located = |problems: &[flitwise_formats::dumpi::Problem]| {
        problems.iter().map(|problem| problem.of(&set)).collect()
    };
    let mut errors = Problems {
        first: located(&found.errors),
        total: found.error_total,
    };
    let mut warnings = Problems {
        first: located(&found.warnings),
        total: found.warnings.len() as u64,
    };
    let mut counts = vec![
        ("ranks", u64::from(set.ranks())),
        ("calls", found.calls.iter().sum()),
    ];
    if errors.is_empty() {
        match judged(input) {
            Ok(file) => {
                // Calls that can't be replayed are no fault of the trace.
                if let Err(e) = file.open(&Reading::default(), StopCheck::never()) {
                    warnings.total += 1;
                    warnings
                        .first
                        .extend(one(set.path(), format!("{e:#}")).first);
                }
                agreement(&*file, &mut errors, &mut warnings)
                    .map_err(|e| CliError::BadInput(format!("{e:#}")))?;
                if let Some(left_out) = polls_left_out(&set)? {
                    warnings.total += 1;
                    warnings.first.extend(one(set.path(), left_out).first);
                }
                let traffic = traffic(&*file, None)?;
                counts.extend([("messages", traffic.messages), ("bytes", traffic.bytes)]);
            }
            Err(e) => errors = refusal(&set, &e)?,
        }
    }
    Ok(Other {
        errors,
        cure: "",
        warnings,
        counts,
    })
}

/// Why the trace is refused, as an error of it.
fn refusal(set: &Set, error: &anyhow::Error) -> Result<Problems, CliError> {
    if let Some(problem) = error.downcast_ref::<Problem>() {
        return Ok(Problems {
            first: vec![problem.clone()],
            total: 1,
        });
    }
    match refused(error) {
        CliError::BadInput(message) => Ok(one(set.path(), message)),
        other => Err(other),
    }
}

/// What it means that polls are not in the recording, if some are not.
fn polls_left_out(set: &Set) -> Result<Option<String>, CliError> {
    let mut polls = 0_u64;
    for rank in 0..set.ranks() {
        let reader = set.reader(rank).map_err(|e| bad_trace(&e))?;
        polls = polls.saturating_add(reader.trailer().polls_left_out());
    }
    Ok((polls > 0).then(|| {
        format!(
            "{} polls that found nothing are not recorded: the time of their loops counts as computation where it is longer \
             than the poll_gap of the job",
            human_count(polls)
        )
    }))
}

/// Adds what the ranks do not agree on.
fn agreement(
    file: &dyn TraceFile,
    errors: &mut Problems,
    warnings: &mut Problems,
) -> anyhow::Result<()> {
    let found = file.agreement(&mut || true)?.unwrap_or_default();
    for (all, found) in [(errors, found.errors), (warnings, found.warnings)] {
        all.total += found.total;
        all.first.extend(found.first);
    }
    Ok(())
}

/// Leaves out what has no counterpart in a replay.
fn skipping(compute_time: Option<ComputeTime>) -> Reading {
    Reading {
        compute_time,
        skip_unsupported: true,
        ..Reading::default()
    }
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
    let traffic = || {
        let mut program = file.open(&skipping(clock), StopCheck::never())?;
        Traffic::of_program(&mut *program)
    };
    traffic().map_err(|e: anyhow::Error| CliError::BadInput(format!("{e:#}")))
}

/// What a trace says, and what its ranks send and compute.
struct Described {
    info: Info,
    whole: Traffic,
    /// By wall and by CPU time; either may be missing.
    by_clock: [Option<Traffic>; 2],
}

pub(super) fn info(input: &Input) -> Result<Summary, CliError> {
    let set = set(input)?;
    let info = Info::read(&set).map_err(|e| bad_trace(&e))?;
    let file = judged(input).map_err(|e| refused(&e))?;
    let clocks = [ComputeTime::Wall, ComputeTime::Cpu];
    let described = Described {
        whole: traffic(&*file, None)?,
        by_clock: clocks.map(|clock| traffic(&*file, Some(clock)).ok()),
        info,
    };
    let mut table = vec![row(["call", "count"])];
    let named = described.info.calls();
    table.extend(named.map(|(function, n)| vec![function.name().to_owned(), human_count(n)]));
    Ok(Summary {
        rows: described.rows(),
        tables: vec![table],
        keys: described.keys(),
        traffic: described.whole,
    })
}

impl Described {
    fn format(&self) -> String {
        format!("DUMPI {}", self.info.version)
    }

    /// The sum of a count over the ranks.
    fn sum(&self, count: impl Fn(&RankInfo) -> u64) -> u64 {
        self.info.ranks.iter().map(count).sum()
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let (info, whole) = (&self.info, &self.whole);
        let hosts = match info.hosts {
            1 => "1 host".to_owned(),
            n => format!("{} hosts", human_count(n)),
        };
        let ranks = human_count(info.ranks.len() as u64);
        let mut calls = human_count(self.sum(|rank| rank.calls));
        let ignored = self.sum(|rank| rank.ignored);
        if ignored > 0 {
            calls += &format!(", and {} that were left out", human_count(ignored));
        }
        let collectives = human_count(self.sum(|rank| rank.collectives));
        let mut rows = vec![
            ("format", self.format()),
            ("ranks", format!("{ranks} on {hosts}")),
            ("calls", calls),
            ("messages", messages(whole)),
            ("bytes", bytes(whole)),
            ("collectives", format!("{collectives} calls of all ranks")),
        ];
        let ns = |time: f64| human_time((time * 1000.0) as u64);
        let names = ["wall time", "CPU time"];
        for (name, traffic) in names.into_iter().zip(&self.by_clock) {
            if let Some(traffic) = traffic {
                rows.push((name, computation(traffic, "computes ", ns)));
            }
        }
        rows
    }

    fn keys(&self) -> Value {
        let info = &self.info;
        let calls_by_name: serde_json::Map<String, Value> = (info.calls())
            .map(|(function, n)| (function.name().to_owned(), n.into()))
            .collect();
        let [wall, cpu] = (self.by_clock.each_ref()).map(|traffic| traffic.as_ref().map(spread));
        let threads = info.ranks.iter().map(|rank| rank.threads).max();
        json!({
            "format": self.format(),
            "ranks": info.ranks.len(),
            "hosts": info.hosts,
            "threads": threads.unwrap_or(0),
            "calls": self.sum(|rank| rank.calls),
            "calls_left_out": self.sum(|rank| rank.ignored),
            "calls_by_name": calls_by_name,
            "collective_calls": self.sum(|rank| rank.collectives),
            "compute_wall_ns": wall,
            "compute_cpu_ns": cpu,
        })
    }
}
