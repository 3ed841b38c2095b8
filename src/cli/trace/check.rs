//! `flitwise trace check`.

use super::opened::{open, refused};
use crate::cli::console::print;
use crate::cli::error::CliError;
use flitwise::replay::trace::FORMATS;
use flitwise::replay::trace::verdict::{Count, Verdict};
use flitwise::units::{counted, human_bytes, human_count};
use flitwise_formats::Place;
use flitwise_formats::Source;
use flitwise_formats::source::shown;
use flitwise_formats::{Problem, Problems};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-trace-check-1";

/// Prints the verdict to standard output. A broken trace is also bad input.
pub(super) fn run(file: &Path, json: bool) -> Result<(), CliError> {
    let trace = open(file)?;
    let (format, is_vef) = (trace.format, trace.is_vef());
    let verdict = (format.verdict)(&trace.for_report()?);
    let mut verdict = verdict.map_err(|e| refused(&e))?;
    verdict.warn_if_empty(shown(file));
    print(&if json {
        format!("{:#}\n", document(&verdict, file))
    } else {
        text(&verdict, file)
    })?;
    match verdict.errors.total {
        0 => Ok(()),
        _ if is_vef && is_something_else(file) => {
            let [others @ .., last] = FORMATS.map(|format| format.name);
            Err(CliError::BadInput(format!(
                "{} is no trace: it does not begin like one of {} or {last} (docs/reference/traces.md)",
                shown(file).display(),
                others.join(", ")
            )))
        }
        total => Err(CliError::BadInput(format!(
            "{}: the trace is broken: {}{}",
            shown(file).display(),
            counted(total, "error"),
            verdict.cure,
        ))),
    }
}

/// Whether a file that is read as VEF, because it looks like no other format, begins like none.
fn is_something_else(file: &Path) -> bool {
    let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
    let source = is_file.then(|| Source::open(file).ok()).flatten();
    source.is_some_and(|mut source| {
        source
            .head()
            .is_ok_and(|head| !head.is_empty() && !head.starts_with(b"V"))
    })
}

fn text(verdict: &Verdict, file: &Path) -> String {
    let name = shown(file).display().to_string();
    let mut lines: Vec<String> = verdict
        .errors
        .first
        .iter()
        .map(Problem::to_string)
        .collect();
    let hidden = (verdict.errors.total).saturating_sub(lines.len() as u64);
    if hidden > 0 {
        lines.push(format!("{name}: and {} more errors", human_count(hidden)));
    }
    lines.extend(verdict.warnings.first.iter().map(|p| match p.place {
        Some(Place::Line(line)) if verdict.is_one_text => {
            format!("{name}:{line}: warning: {}", p.message)
        }
        _ => format!("warning: {p}"),
    }));
    if let (true, Some(counts)) = (verdict.errors.is_empty(), &verdict.counts) {
        let width = if verdict.is_one_text { 14 } else { 16 };
        for count in counts.iter().filter(|count| count.in_text) {
            let shown = match count.name {
                "bytes" => human_bytes(count.value),
                _ => human_count(count.value),
            };
            let what = count.name.replace('_', " ");
            lines.push(format!("{what:<width$}  {shown}"));
        }
        lines.push(match verdict.warnings.total {
            0 => format!("{name} -- nothing wrong"),
            n => format!("{name} -- nothing wrong, {}", counted(n, "warning")),
        });
    }
    lines.join("\n") + "\n"
}

fn document(verdict: &Verdict, file: &Path) -> Value {
    let list = |problems: &Problems| -> Vec<Value> {
        let one = |p: &Problem| {
            let (line, byte) = match p.place {
                Some(Place::Line(line)) => (Some(line), None),
                Some(Place::Byte(byte)) => (None, Some(byte)),
                None => (None, None),
            };
            if verdict.is_one_text {
                return json!({ "line": line, "message": p.message });
            }
            let file = p.path.display().to_string();
            json!({ "file": file, "line": line, "byte": byte, "message": p.message })
        };
        problems.first.iter().map(one).collect()
    };
    let counts = verdict.counts.as_ref().map(|counts| -> Map<_, _> {
        let count = |count: &Count| (count.name.to_owned(), count.value.into());
        counts.iter().map(count).collect()
    });
    json!({
        "schema": SCHEMA,
        "file": file.display().to_string(),
        "clean": verdict.errors.is_empty(),
        "error_total": verdict.errors.total,
        "errors": list(&verdict.errors),
        "warnings": list(&verdict.warnings),
        "counts": counts,
    })
}
