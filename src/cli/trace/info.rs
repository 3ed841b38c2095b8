//! `flitwise trace info`.

use super::dumpi;
use super::opened::{Opened, open};
use super::{info_other, matrix};
use crate::cli::{CliError, bad_trace, print};
use clap::Args;
use flitwise::results::write_table;
use flitwise::units::{human_bytes, human_count, human_time};
use flitwise_formats::source::shown;
use flitwise_formats::vef::{Collectives, Info, Op, Pair, Reader, Version};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

/// Version of the JSON.
pub(super) const SCHEMA: &str = "flitwise-trace-info-2";
/// Rank pairs listed.
pub(super) const PAIRS: usize = 10;
/// Communicators listed in the text.
const COMMS: usize = 8;

/// Arguments of `flitwise trace info`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  flitwise trace info traces/hpl-16.vef.gz\n  flitwise trace info traces/hpl-16.vef.gz --matrix csv > matrix.csv\n\ndocs/trace-tools.md explains the figures, docs/result.md the JSON."
)]
pub struct InfoArgs {
    /// Trace file, plain or compressed; - is standard input.
    file: PathBuf,
    /// Prints JSON.
    #[arg(long, conflicts_with = "matrix")]
    json: bool,
    /// Prints the whole communication matrix and nothing else.
    #[arg(long, value_name = "FORM")]
    matrix: Option<matrix::Form>,
}

pub(super) fn run(args: &InfoArgs) -> Result<(), CliError> {
    let file = &args.file;
    let source = match open(file)? {
        Opened::Vef(source) => source,
        Opened::Goal(input) => return run_other(args, &info_other::of_goal(&input)?),
        Opened::Dumpi(input) => return run_other(args, &dumpi::info(&input)?),
        Opened::Ti(input) => return run_other(args, &info_other::of_ti(&input)?),
    };
    let info = Reader::of(source).and_then(Info::of);
    let info = info.map_err(|e| bad_trace(&e))?;
    if let Some(form) = args.matrix {
        let (ranks, others) = (info.header.tasks, info.other_pairs);
        return print(&matrix::whole(ranks, &info.pairs, others, form)?);
    }
    if args.json {
        return print(&format!("{:#}\n", document(file, &info)));
    }
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write_text(&mut text, file, &info);
    print(&text)
}

/// The same for other formats than VEF.
fn run_other(args: &InfoArgs, summary: &info_other::Summary) -> Result<(), CliError> {
    if let Some(form) = args.matrix {
        return print(&summary.matrix(form)?);
    }
    if args.json {
        return print(&format!("{:#}\n", summary.document(&args.file)));
    }
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = summary.write(&mut text, &args.file);
    print(&text)
}

pub(super) fn format_name(version: Version) -> &'static str {
    match version {
        Version::Vef => "VEF",
        Version::Vef3 => "VEF3",
    }
}

/// How much longer the busiest rank computes than the mean: 0.25 is a quarter longer.
fn imbalance(info: &Info) -> f64 {
    match info.compute_mean_ps() {
        0 => 0.0,
        mean => info.compute_span_ps().1 as f64 / mean as f64 - 1.0,
    }
}

/// Smallest and largest message of class `i` of [`Info::sizes`].
pub(super) fn size_class(i: usize) -> (u64, u64) {
    match i {
        0 => (0, 0),
        _ => {
            let from = 1_u64 << (i - 1);
            (from, from + (from - 1))
        }
    }
}

fn document(file: &Path, info: &Info) -> Value {
    let (min, max) = info.compute_span_ps();
    let collectives = info.collectives.iter().map(|c| {
        json!({
            "operation": c.op.name(),
            "communicator": c.comm,
            "ranks": info.comm_sizes.get(c.comm as usize),
            "count": c.count,
            "bytes": c.bytes,
        })
    });
    let sizes = info.sizes.iter().enumerate().filter(|&(_, &n)| n > 0);
    let [start, sent, received, completed] = info.dependencies;
    json!({
        "schema": SCHEMA,
        "file": file.display().to_string(),
        "format": format_name(info.header.version),
        "ps_per_unit": info.header.ps_per_unit,
        "ranks": info.header.tasks,
        "records": info.records,
        "messages": info.messages,
        "bytes": info.bytes,
        "self_messages": info.self_messages,
        "markers": info.markers,
        "collectives": collectives.collect::<Vec<_>>(),
        "collective_bytes": info.collective_bytes(),
        "communicator_sizes": info.comm_sizes,
        "compute_ps": {
            "min": min,
            "mean": info.compute_mean_ps(),
            "max": max,
            "imbalance": imbalance(info),
            "per_rank": info.compute_ps,
        },
        "ideal_span_ps": info.ideal.map(|i| i.span_ps),
        "dependencies": {
            "none": start,
            "sent": sent,
            "received": received,
            "received_early": info.ideal.map(|i| i.early),
            "completed": completed,
            "on_later_lines": info.forward,
        },
        "message_sizes": sizes.map(|(i, count)| {
            let (from, to) = size_class(i);
            json!({ "from_bytes": from, "to_bytes": to, "messages": count })
        }).collect::<Vec<_>>(),
        "pairs": info.pairs.len(),
        "top_pairs": info.pairs.iter().take(PAIRS).map(|p| json!({
            "src": p.src, "dst": p.dst, "messages": p.messages, "bytes": p.bytes,
        })).collect::<Vec<_>>(),
        "other_pairs": { "messages": info.other_pairs.0, "bytes": info.other_pairs.1 },
    })
}

fn write_text(out: &mut String, file: &Path, info: &Info) -> fmt::Result {
    write_summary(out, file, info)?;
    write_collectives(out, info)?;
    write_sizes(out, &info.sizes, info.messages)?;
    if info.header.tasks <= matrix::SMALL && info.messages > 0 {
        return matrix::write_tables(out, info.header.tasks, &info.pairs);
    }
    write_pairs(out, &info.pairs, info.other_pairs)
}

fn write_summary(out: &mut String, file: &Path, info: &Info) -> fmt::Result {
    let (min, max) = info.compute_span_ps();
    let collectives: u64 = info.collectives.iter().map(|c| c.count).sum();
    let average = match info.messages {
        0 => String::new(),
        n => format!(", {} on average", human_bytes(info.bytes / n)),
    };
    let own = match info.self_messages {
        0 => String::new(),
        n => format!(", {} of them to the rank itself", human_count(n)),
    };
    let span = match info.ideal {
        Some(ideal) => human_time(ideal.span_ps),
        None => "unknown: the trace is broken, see `flitwise trace check`".into(),
    };
    let rows = [
        ("trace", shown(file).display().to_string()),
        ("format", format_name(info.header.version).to_owned()),
        ("ranks", human_count(info.header.tasks.into())),
        ("records", human_count(info.records)),
        ("messages", format!("{}{own}", human_count(info.messages))),
        ("bytes", format!("{}{average}", human_bytes(info.bytes))),
        ("markers", human_count(info.markers)),
        (
            "collectives",
            format!(
                "{}, {} if every block goes straight",
                human_count(collectives),
                human_bytes(info.collective_bytes())
            ),
        ),
        ("communicators", communicators(&info.comm_sizes)),
        (
            "computation",
            format!(
                "{} to {} per rank, mean {}, imbalance {:.1} %",
                human_time(min),
                human_time(max),
                human_time(info.compute_mean_ps()),
                100.0 * imbalance(info)
            ),
        ),
        ("ideal span", span),
        ("waits", waits(info)),
    ];
    for (name, value) in rows {
        writeln!(out, "{name:<14}  {value}")?;
    }
    Ok(())
}

fn write_collectives(out: &mut String, info: &Info) -> fmt::Result {
    let mut table = vec![row(["collective", "count", "bytes", "on"])];
    for op in Op::ALL {
        let uses: Vec<&Collectives> = info.collectives.iter().filter(|c| c.op == op).collect();
        if !uses.is_empty() {
            table.push(vec![
                op.name().to_owned(),
                human_count(uses.iter().map(|c| c.count).sum()),
                human_bytes(uses.iter().fold(0, |sum, c| c.bytes.saturating_add(sum))),
                on(&uses, info),
            ]);
        }
    }
    write_table(out, &table)
}

pub(super) fn write_sizes(out: &mut String, sizes: &[u64], messages: u64) -> fmt::Result {
    let mut table = vec![row(["message size", "messages", "share"])];
    for (i, &count) in sizes.iter().enumerate().filter(|&(_, &n)| n > 0) {
        let share = 100.0 * count as f64 / messages.max(1) as f64;
        table.push(vec![
            size_label(i),
            human_count(count),
            format!("{share:.1} %"),
        ]);
    }
    write_table(out, &table)
}

pub(super) fn write_pairs(out: &mut String, pairs: &[Pair], others: (u64, u64)) -> fmt::Result {
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
    if let (others @ 1.., _) = others {
        let others = human_count(others);
        writeln!(
            out,
            "and {others} messages of further pairs, not told apart"
        )?;
    }
    Ok(())
}

/// The lines on waits for messages and collectives, and on messages sent before the wait.
fn waits(info: &Info) -> String {
    let [_, _, received, completed] = info.dependencies;
    let early = match info.ideal {
        Some(ideal) if received > 0 => {
            let share = 100.0 * ideal.early as f64 / received as f64;
            format!(" ({share:.1} % sent before the wait)")
        }
        _ => String::new(),
    };
    format!(
        "{} for messages{early}, {} for collectives",
        human_count(received),
        human_count(completed)
    )
}

/// `C0 (16 ranks), C3 (4 ranks)`.
fn on(uses: &[&Collectives], info: &Info) -> String {
    let one = |c: &&&Collectives| {
        let ranks = info.comm_sizes.get(c.comm as usize).copied().unwrap_or(0);
        format!("C{} ({ranks} ranks)", c.comm)
    };
    let shown: Vec<String> = uses.iter().take(3).map(|c| one(&c)).collect();
    let more = match uses.len().saturating_sub(3) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", shown.join(", "))
}

pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

/// `2 (16, 4 ranks)`.
fn communicators(sizes: &[u32]) -> String {
    let shown: Vec<String> = sizes.iter().take(COMMS).map(u32::to_string).collect();
    let more = if sizes.len() > COMMS { ", ..." } else { "" };
    let count = human_count(sizes.len() as u64);
    format!("{count} (of {}{more} ranks)", shown.join(", "))
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
