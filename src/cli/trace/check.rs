//! `flitwise trace check`.

use super::dumpi;
use super::opened::{Opened, open};
use crate::cli::{CliError, bad_trace, print};
use flitwise::units::{human_bytes, human_count};
use flitwise_formats::Source;
use flitwise_formats::error::ErrorKind;
use flitwise_formats::place::Place;
use flitwise_formats::source::{Input, shown};
use flitwise_formats::vef::{Check, Problem, Reader, observe};
use flitwise_formats::{Problems, goal, ti};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::path::Path;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-trace-check-1";

/// What to do about a broken trace.
const RECORD_AGAIN: &str = "; record or convert it again";

/// Prints the verdict to standard output. A broken trace is also bad input.
pub(super) fn run(file: &Path, json: bool) -> Result<(), CliError> {
    let verdict = match open(file)? {
        Opened::Vef(source) => verdict_on(source)?,
        Opened::Goal(input) => return print_other(&of_goal(&input)?, file, json),
        Opened::Dumpi(input) => return print_other(&dumpi::check(&input)?, file, json),
        Opened::Ti(input) => return print_other(&of_ti(&input)?, file, json),
    };
    let text = if json {
        format!("{:#}\n", verdict.document(file))
    } else {
        verdict.text(file)
    };
    print(&text)?;
    match verdict.error_total {
        0 => Ok(()),
        total => Err(CliError::BadInput(format!(
            "{}: the trace is broken: {}{RECORD_AGAIN}",
            shown(file).display(),
            counted(total, "error"),
        ))),
    }
}

/// The problems of the trace, and its content if that could be read.
struct Verdict {
    errors: Vec<Problem>,
    error_total: u64,
    check: Option<Check>,
}

fn verdict_on(source: Source) -> Result<Verdict, CliError> {
    let check = || {
        let mut reader = Reader::of(source)?;
        loop {
            // `go_on` never stops it.
            if let Some((check, ())) = observe(&mut reader, (), &mut || true)? {
                return Ok(check);
            }
        }
    };
    let checked: Result<Check, flitwise_formats::Error> = check();
    match checked {
        Ok(mut check) => Ok(Verdict {
            errors: std::mem::take(&mut check.errors),
            error_total: check.error_total,
            check: Some(check),
        }),
        Err(e) => match e.kind() {
            // A trace broken within its header has a verdict, too.
            ErrorKind::Parse { error, .. } => Ok(Verdict {
                errors: vec![Problem {
                    line: error.line(),
                    message: error.to_string(),
                }],
                error_total: 1,
                check: None,
            }),
            _ => Err(bad_trace(&e)),
        },
    }
}

impl Verdict {
    fn text(&self, file: &Path) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut out, file);
        out
    }

    fn write(&self, out: &mut String, file: &Path) -> fmt::Result {
        let name = shown(file).display();
        for p in &self.errors {
            writeln!(out, "{name}:{}: {}", p.line, p.message)?;
        }
        let hidden = self.error_total.saturating_sub(self.errors.len() as u64);
        if hidden > 0 {
            writeln!(out, "{name}: and {} more errors", human_count(hidden))?;
        }
        let Some(c) = &self.check else { return Ok(()) };
        for p in &c.warnings {
            writeln!(out, "{name}:{}: warning: {}", p.line, p.message)?;
        }
        if self.error_total > 0 {
            return Ok(());
        }
        let rows = [
            ("ranks", human_count(c.header.tasks.into())),
            ("records", human_count(c.records.iter().sum())),
            ("messages", human_count(c.messages)),
            ("bytes", human_bytes(c.bytes)),
            ("markers", human_count(c.markers)),
            ("collectives", human_count(c.collectives)),
            ("unverified", human_count(c.unverified)),
        ];
        for (name, value) in rows {
            writeln!(out, "{name:<14}  {value}")?;
        }
        match c.warnings.len() as u64 {
            0 => writeln!(out, "{name} -- nothing wrong"),
            n => writeln!(out, "{name} -- nothing wrong, {}", counted(n, "warning")),
        }
    }

    fn document(&self, file: &Path) -> Value {
        let list = |problems: &[Problem]| -> Vec<Value> {
            let one = |p: &Problem| json!({ "line": p.line, "message": p.message });
            problems.iter().map(one).collect()
        };
        json!({
            "schema": SCHEMA,
            "file": file.display().to_string(),
            "clean": self.error_total == 0,
            "error_total": self.error_total,
            "errors": list(&self.errors),
            "warnings": self.check.as_ref().map_or_else(Vec::new, |c| list(&c.warnings)),
            "counts": self.check.as_ref().map(|c| json!({
                "ranks": c.header.tasks,
                "records": c.records.iter().sum::<u64>(),
                "messages": c.messages,
                "bytes": c.bytes,
                "markers": c.markers,
                "collectives": c.collectives,
                "collective_lines": c.members,
                "unverified": c.unverified,
            })),
        })
    }
}

/// The verdict on a trace of another format.
pub(super) struct Other {
    pub errors: Problems,
    /// What to do about all of them; empty if each says it.
    pub cure: &'static str,
    pub warnings: Problems,
    pub counts: Vec<(&'static str, u64)>,
}

fn of_goal(input: &Input) -> Result<Other, CliError> {
    let check = loop {
        // `go_on` never stops it.
        if let Some((check, _)) =
            goal::check_input(input, &mut || true).map_err(|e| bad_trace(&e))?
        {
            break check;
        }
    };
    let info = check.info;
    Ok(Other {
        errors: check.errors,
        cure: RECORD_AGAIN,
        warnings: Problems::default(),
        counts: vec![
            ("ranks", info.ranks.into()),
            ("operations", info.sends + info.recvs + info.calcs),
            ("messages", info.sends),
            ("bytes", info.send_bytes),
        ],
    })
}

fn of_ti(input: &Input) -> Result<Other, CliError> {
    let check = loop {
        if let Some((check, _)) = ti::check_input(input, &mut || true).map_err(|e| bad_trace(&e))? {
            break check;
        }
    };
    let info = check.info;
    Ok(Other {
        errors: check.errors,
        cure: RECORD_AGAIN,
        warnings: check.warnings,
        counts: vec![
            ("ranks", info.ranks.into()),
            ("actions", info.actions),
            ("messages", info.sends + info.sendrecvs),
            ("bytes", info.send_bytes.saturating_add(info.sendrecv_bytes)),
            ("collective_calls", info.collectives),
            ("waits_for_none", check.waits_for_none),
            ("unknown_sizes", info.unknown_sizes),
        ],
    })
}

/// Prints such a verdict. A broken trace is also bad input.
fn print_other(verdict: &Other, file: &Path, json: bool) -> Result<(), CliError> {
    let text = match json {
        true => format!("{:#}\n", verdict.document(file)),
        false => verdict.text(file),
    };
    print(&text)?;
    match verdict.errors.total {
        0 => Ok(()),
        total => Err(CliError::BadInput(format!(
            "{}: the trace is broken: {}{}",
            shown(file).display(),
            counted(total, "error"),
            verdict.cure,
        ))),
    }
}

impl Other {
    fn text(&self, file: &Path) -> String {
        let name = shown(file).display().to_string();
        let mut lines: Vec<String> = self.errors.first.iter().map(|p| p.to_string()).collect();
        let hidden = (self.errors.total).saturating_sub(self.errors.first.len() as u64);
        if hidden > 0 {
            lines.push(format!("{name}: and {} more errors", human_count(hidden)));
        }
        let warnings = self.warnings.first.iter();
        lines.extend(warnings.map(|p| format!("warning: {p}")));
        if self.errors.is_empty() {
            for &(what, count) in &self.counts {
                let shown = match what {
                    "bytes" => human_bytes(count),
                    _ => human_count(count),
                };
                lines.push(format!("{:<16}  {shown}", what.replace('_', " ")));
            }
            lines.push(match self.warnings.total {
                0 => format!("{name} -- nothing wrong"),
                n => format!("{name} -- nothing wrong, {}", counted(n, "warning")),
            });
        }
        lines.join("\n") + "\n"
    }

    fn document(&self, file: &Path) -> Value {
        let list = |problems: &Problems| -> Vec<Value> {
            let one = |p: &flitwise_formats::Problem| {
                let (line, byte) = match p.place {
                    Some(Place::Line(line)) => (Some(line), None),
                    Some(Place::Byte(byte)) => (None, Some(byte)),
                    None => (None, None),
                };
                let file = p.path.display().to_string();
                json!({ "file": file, "line": line, "byte": byte, "message": p.message })
            };
            problems.first.iter().map(one).collect()
        };
        let counts: serde_json::Map<String, Value> = (self.counts.iter())
            .map(|&(what, count)| (what.to_owned(), count.into()))
            .collect();
        json!({
            "schema": SCHEMA,
            "file": file.display().to_string(),
            "clean": self.errors.is_empty(),
            "error_total": self.errors.total,
            "errors": list(&self.errors),
            "warnings": list(&self.warnings),
            "counts": counts,
        })
    }
}

fn counted(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", human_count(n))
}
