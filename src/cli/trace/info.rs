//! `flitwise trace info`.

use crate::cli::{CliError, print};
use crate::results::table::write_table;
use crate::units::{human_bytes, human_count, human_time};
use flitwise_formats::vef::{Info, Version};
use serde_json::{Map, Value, json};
use std::fmt::{self, Write};
use std::path::Path;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-trace-info-1";
/// Rank pairs listed.
const PAIRS: usize = 10;
/// Communicators listed in the text.
const COMMS: usize = 8;

pub(super) fn run(file: &Path, json: bool) -> Result<(), CliError> {
    let info = Info::read(file, PAIRS).map_err(|e| CliError::BadInput(e.to_string()))?;
    if json {
        return print(&format!("{:#}\n", document(file, &info)));
    }
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write_text(&mut text, file, &info);
    print(&text)
}

fn format_name(version: Version) -> &'static str {
    match version {
        Version::Vef => "VEF",
        Version::Vef3 => "VEF3",
    }
}

/// Smallest and largest message of class `i` of [`Info::sizes`].
fn size_class(i: usize) -> (u64, u64) {
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
    let collectives = info
        .collectives
        .iter()
        .map(|(op, count)| (op.name().to_owned(), json!(count)));
    let sizes = info.sizes.iter().enumerate().filter(|&(_, &n)| n > 0);
    json!({
        "schema": SCHEMA,
        "file": file.display().to_string(),
        "format": format_name(info.header.version),
        "ranks": info.header.tasks,
        "records": info.records,
        "messages": info.messages,
        "bytes": info.bytes,
        "self_messages": info.self_messages,
        "markers": info.markers,
        "collectives": collectives.collect::<Map<_, _>>(),
        "communicator_sizes": info.comm_sizes,
        "compute_ps": { "min": min, "max": max, "per_rank": info.compute_ps },
        "message_sizes": sizes.map(|(i, count)| {
            let (from, to) = size_class(i);
            json!({ "from_bytes": from, "to_bytes": to, "messages": count })
        }).collect::<Vec<_>>(),
        "top_pairs": info.pairs.iter().map(|p| json!({
            "src": p.src, "dst": p.dst, "messages": p.messages, "bytes": p.bytes,
        })).collect::<Vec<_>>(),
        "messages_of_other_pairs": info.messages_of_other_pairs,
    })
}

fn write_text(out: &mut String, file: &Path, info: &Info) -> fmt::Result {
    let (min, max) = info.compute_span_ps();
    let collectives: u64 = info.collectives.iter().map(|(_, count)| count).sum();
    let average = match info.messages {
        0 => String::new(),
        n => format!(", {} on average", human_bytes(info.bytes / n)),
    };
    let own = match info.self_messages {
        0 => String::new(),
        n => format!(", {} of them to the rank itself", human_count(n)),
    };
    let rows = [
        ("trace", file.display().to_string()),
        ("format", format_name(info.header.version).to_owned()),
        ("ranks", human_count(info.header.tasks.into())),
        ("records", human_count(info.records)),
        ("messages", format!("{}{own}", human_count(info.messages))),
        ("bytes", format!("{}{average}", human_bytes(info.bytes))),
        ("markers", human_count(info.markers)),
        ("collectives", human_count(collectives)),
        ("communicators", communicators(&info.comm_sizes)),
        (
            "computation",
            format!("{} to {} per rank", human_time(min), human_time(max)),
        ),
    ];
    for (name, value) in rows {
        writeln!(out, "{name:<14}  {value}")?;
    }

    let mut table = vec![row(["collective", "count"])];
    for (op, count) in &info.collectives {
        table.push(vec![op.name().to_owned(), human_count(*count)]);
    }
    write_table(out, &table)?;

    let mut table = vec![row(["message size", "messages", "share"])];
    for (i, &count) in info.sizes.iter().enumerate().filter(|&(_, &n)| n > 0) {
        let share = 100.0 * count as f64 / info.messages.max(1) as f64;
        table.push(vec![
            size_label(i),
            human_count(count),
            format!("{share:.1} %"),
        ]);
    }
    write_table(out, &table)?;

    let mut table = vec![row(["busiest rank pairs", "messages", "bytes"])];
    for p in &info.pairs {
        table.push(vec![
            format!("{} -> {}", p.src, p.dst),
            human_count(p.messages),
            human_bytes(p.bytes),
        ]);
    }
    write_table(out, &table)?;
    if info.messages_of_other_pairs > 0 {
        let others = human_count(info.messages_of_other_pairs);
        writeln!(
            out,
            "and {others} messages of further pairs, not told apart"
        )?;
    }
    Ok(())
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
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
