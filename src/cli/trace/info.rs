//! `flitwise trace info`.

use super::opened::{open, refused};
use super::{matrix, plot};
use crate::cli::console::print;
use crate::cli::error::CliError;
use crate::cli::plot::format_of;
use clap::Args;
use flitwise::replay::trace::Summary;
use flitwise::results::write_table;
use flitwise::units::{human_bytes, human_count, percent_of};
use flitwise_formats::source::shown;
use flitwise_formats::traffic::Traffic;
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

/// Version of the JSON.
const SCHEMA: &str = "flitwise-trace-info-2";
/// Rank pairs listed.
const PAIRS: usize = 10;

/// Arguments of `flitwise trace info`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  flitwise trace info hpl-16.vef.gz\n  flitwise trace info hpl-16.vef.gz --matrix csv > matrix.csv\n  flitwise trace info hpl-16.vef.gz --plot hpl.svg\n\ndocs/reference/trace-tools.md explains the figures, docs/reference/result.md the JSON."
)]
pub struct InfoArgs {
    /// Trace file, plain or compressed; - is standard input.
    file: PathBuf,
    /// Prints JSON.
    #[arg(long, conflicts_with = "matrix")]
    json: bool,
    /// Prints only the whole communication matrix.
    #[arg(long, value_name = "FORM")]
    matrix: Option<matrix::Form>,
    /// Also draws the bytes between ranks and the message sizes; the ending .svg, .pdf or .png decides the format.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

pub(super) fn run(args: &InfoArgs) -> Result<(), CliError> {
    // A name that is refused shall not cost the reading of the trace.
    if let Some(output) = &args.plot {
        format_of(output, "--plot")?;
    }
    let trace = open(&args.file)?;
    let format = trace.format;
    let summary = (format.summary)(&trace.for_report()?);
    let summary = summary.map_err(|e| refused(&e))?;
    if let Some(output) = &args.plot {
        plot::write(output, &args.file, &summary)?;
    }
    if let Some(form) = args.matrix {
        return print(&matrix::whole(summary.ranks, &summary.traffic, form)?);
    }
    if args.json {
        return print(&format!("{:#}\n", document(&args.file, summary)));
    }
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write_text(&mut text, &args.file, &summary);
    print(&text)
}

/// Smallest and largest message of class `i` of [`Traffic::sizes`].
pub(super) fn size_class(i: usize) -> (u64, u64) {
    match i {
        0 => (0, 0),
        _ => {
            let from = 1_u64 << (i - 1);
            (from, from + (from - 1))
        }
    }
}

fn document(file: &Path, summary: Summary) -> Value {
    let traffic = &summary.traffic;
    let sizes = traffic.sizes.iter().enumerate().filter(|&(_, &n)| n > 0);
    let others = traffic.pairs.iter().skip(PAIRS);
    let (messages, bytes) = others.fold(traffic.other_pairs, |(messages, bytes), pair| {
        (messages + pair.messages, bytes.saturating_add(pair.bytes))
    });
    let parts = [
        json!({ "schema": SCHEMA, "file": file.display().to_string() }),
        summary.keys.into(),
        json!({
            "messages": traffic.messages,
            "bytes": traffic.bytes,
            "self_messages": traffic.self_messages,
        }),
        summary.further_keys.into(),
        json!({
            "message_sizes": sizes.map(|(i, count)| {
                let (from, to) = size_class(i);
                json!({ "from_bytes": from, "to_bytes": to, "messages": count })
            }).collect::<Vec<_>>(),
            "pairs": traffic.pairs.len(),
            "top_pairs": traffic.pairs.iter().take(PAIRS).map(|p| json!({
                "src": p.src, "dst": p.dst, "messages": p.messages, "bytes": p.bytes,
            })).collect::<Vec<_>>(),
            "other_pairs": { "messages": messages, "bytes": bytes },
        }),
    ];
    let members = parts.into_iter().filter_map(|part| match part {
        Value::Object(part) => Some(part),
        _ => None,
    });
    Value::Object(members.flatten().collect())
}

/// The rows of the text, without the tables.
pub(in crate::cli) fn rows(summary: &Summary) -> String {
    let rows = summary.rows.iter();
    rows.map(|(row, value)| format!("{row:<14}  {value}\n"))
        .collect()
}

fn write_text(out: &mut String, file: &Path, summary: &Summary) -> fmt::Result {
    let name = shown(file).display();
    writeln!(out, "{:<14}  {name}", "trace")?;
    out.push_str(&rows(summary));
    for table in &summary.tables {
        write_table(out, table)?;
    }
    let traffic = &summary.traffic;
    write_sizes(out, traffic)?;
    if summary.ranks <= matrix::SMALL && traffic.messages > 0 {
        return matrix::write_tables(out, summary.ranks, &traffic.pairs);
    }
    write_pairs(out, traffic)
}

fn write_sizes(out: &mut String, traffic: &Traffic) -> fmt::Result {
    let mut table = vec![row(["message size", "messages", "share"])];
    for (i, &count) in traffic.sizes.iter().enumerate().filter(|&(_, &n)| n > 0) {
        table.push(vec![
            size_label(i),
            human_count(count),
            percent_of(count, traffic.messages),
        ]);
    }
    write_table(out, &table)
}

fn write_pairs(out: &mut String, traffic: &Traffic) -> fmt::Result {
    let pairs = &traffic.pairs;
    let mut table = vec![row(["busiest rank pairs", "messages", "bytes"])];
    for p in pairs.iter().take(PAIRS) {
        table.push(vec![
            format!("{} -> {}", p.src, p.dst),
            human_count(p.messages),
            human_bytes(p.bytes),
        ]);
    }
    write_table(out, &table)?;
    let more = pairs.len().saturating_sub(PAIRS) as u64;
    if more > 0 {
        let more = human_count(more);
        writeln!(out, "and {more} more pairs: --matrix csv lists all of them")?;
    }
    if let (others @ 1.., _) = traffic.other_pairs {
        let others = human_count(others);
        writeln!(
            out,
            "and {others} messages of other pairs, which are not counted one by one"
        )?;
    }
    Ok(())
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

/// `0 B`, `1 B` or `512 B to 1.0 KiB`, the upper end excluded.
fn size_label(class: usize) -> String {
    match size_class(class) {
        (from, to) if from == to => human_bytes(from),
        (from, to) => format!(
            "{} to {}",
            human_bytes(from),
            human_bytes(to.saturating_add(1))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{size_class, size_label};

    #[test]
    fn size_classes_cover_every_size_once() {
        assert_eq!(size_class(0), (0, 0));
        for i in 1..=64 {
            assert_eq!(size_class(i).0, size_class(i - 1).1 + 1);
        }
        assert_eq!(size_class(64).1, u64::MAX);
        assert_eq!(size_label(1), "1 B");
        assert_eq!(size_label(10), "512 B to 1.0 KiB");
    }
}
