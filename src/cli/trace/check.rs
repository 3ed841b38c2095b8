//! `flitwise trace check`.

use crate::cli::{CliError, bad_trace, print};
use flitwise::units::{human_bytes, human_count};
use flitwise_formats::error::ErrorKind;
use flitwise_formats::source::shown;
use flitwise_formats::vef::{Check, Problem, check_file};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::path::Path;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-trace-check-1";

/// Prints the verdict to standard output. A broken trace is also bad input.
pub(super) fn run(file: &Path, json: bool) -> Result<(), CliError> {
    let verdict = verdict_on(file)?;
    let text = if json {
        format!("{:#}\n", verdict.document(file))
    } else {
        verdict.text(file)
    };
    print(&text)?;
    match verdict.error_total {
        0 => Ok(()),
        total => Err(CliError::BadInput(format!(
            "{}: the trace is broken: {}; record or convert it again",
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

fn verdict_on(file: &Path) -> Result<Verdict, CliError> {
    match check_file(file) {
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

fn counted(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", human_count(n))
}
