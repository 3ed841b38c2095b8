//! Summary of a recording.

use super::RecordingFile;
use crate::trace::summary::{
    ByRegion, Computation, Summary, bytes, counts, counts_value, keys, messages, ranks_on,
    sent_by_region,
};
use crate::trace::{ComputeTime, TraceFile};
use flitwise_base::quote::cut;
use flitwise_base::stop::Stop;
use flitwise_base::units::{human_count, human_time};
use flitwise_formats::recording::{Overhead, RankInfo, Reason};
use flitwise_formats::source::Input;
use flitwise_formats::traffic::Traffic;
use serde_json::{Map, Value, json};

pub(super) fn summary(input: &Input) -> anyhow::Result<Summary> {
    let file = RecordingFile::open(input, Stop::never())?;
    let (traffic, wall, by_wall) = sent_by_region(&file, Some(ComputeTime::Wall))?;
    let (_, cpu, by_cpu) = sent_by_region(&file, Some(ComputeTime::Cpu))?;
    let (counted, by_region) = match file.clock.clock {
        ComputeTime::Wall => (&wall, by_wall),
        ComputeTime::Cpu => (&cpu, by_cpu),
    };
    let of_regions = by_region.table(file.regions(), counted);
    let by_name = (file.check.calls_by_name.iter()).map(|(name, count)| (&**name, *count));
    let overhead = overhead(&file)?;
    Ok(Summary {
        ranks: file.ranks(),
        rows: rows(&file, &traffic, [&wall, &cpu], &overhead),
        tables: of_regions
            .into_iter()
            .chain([counts("call", by_name)])
            .collect(),
        keys: json_keys(&file, [&wall, &cpu], &by_region, &overhead),
        further_keys: Map::new(),
        traffic,
    })
}

/// The overhead of rank 0: the others have about the same.
fn overhead(file: &RecordingFile) -> anyhow::Result<Overhead> {
    let reader = file.set.reader(0)?;
    Ok(reader
        .header()
        .map(|header| header.overhead)
        .unwrap_or_default())
}

fn rows(
    file: &RecordingFile,
    traffic: &Traffic,
    [wall, cpu]: [&Computation; 2],
    overhead: &Overhead,
) -> Vec<(&'static str, String)> {
    let about = file.set.description();
    let time = |ns: f64| human_time((ns * 1000.0) as u64);
    let total = |count: fn(&RankInfo) -> u64| human_count(file.check.total(count));
    let mark = |clock: ComputeTime, text: String| {
        if clock == file.clock.clock {
            format!("{text}; a replay counts these")
        } else {
            text
        }
    };
    let mut rows = vec![
        (
            "format",
            format!("FLITREC 1, by flitwise {}", cut(&about.flitwise)),
        ),
        ("program", cut(&about.command.join(" ")).to_string()),
        ("MPI", words(&about.mpi)),
        ("ranks", ranks_on(about.ranks, about.hosts.len())),
        ("calls", total(|rank| rank.calls)),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        (
            "collectives",
            format!("{} calls of all ranks", total(|rank| rank.collectives)),
        ),
        (
            "wall time",
            mark(ComputeTime::Wall, wall.time_row("computes ")),
        ),
        (
            "CPU time",
            mark(ComputeTime::Cpu, cpu.time_row("computes ")),
        ),
        (
            "overhead",
            format!(
                "of the recorder {} a call; between calls {} of CPU time and {} of wall time, which are subtracted",
                time(overhead.call_ns.into()),
                time(overhead.cpu_ns.into()),
                time(overhead.wall_ns.into())
            ),
        ),
    ];
    rows.extend(early_end(file).map(|end| ("end", end)));
    rows
}

/// The sums of the ranks that did not end with `MPI_Finalize`; `None` without any.
fn early_end(file: &RecordingFile) -> Option<String> {
    let for_reason = |reason| {
        file.check
            .total(|rank| u64::from(rank.reason == Some(reason)))
    };
    let ends = [
        (
            file.check.total(|rank| rank.cut.into()),
            "without an end: the program was killed, or ended while a thread was in a call; the last calls may be missing",
        ),
        (for_reason(Reason::Abort), "with MPI_Abort"),
        (for_reason(Reason::Exit), "without MPI_Finalize"),
    ];
    let ends = ends.into_iter().filter(|&(streams, _)| streams > 0);
    let ends: Vec<String> = ends
        .map(|(streams, how)| {
            let plural = if streams == 1 { "" } else { "s" };
            format!("{} stream{plural} {how}", human_count(streams))
        })
        .collect();
    (!ends.is_empty()).then(|| ends.join("; "))
}

fn json_keys(
    file: &RecordingFile,
    [wall, cpu]: [&Computation; 2],
    by_region: &ByRegion,
    overhead: &Overhead,
) -> Map<String, Value> {
    let about = file.set.description();
    let check = &file.check;
    let by_name = (check.calls_by_name.iter()).map(|(name, count)| (&**name, *count));
    let threads = check.ranks.iter().map(|rank| rank.threads).max();
    keys(json!({
        "format": "FLITREC 1",
        "recorder": about.flitwise,
        "command": about.command,
        "mpi": about.mpi,
        "ranks": about.ranks,
        "hosts": about.hosts.len(),
        "threads": threads.unwrap_or(0),
        "calls": check.total(|rank| rank.calls),
        "calls_failed": check.total(|rank| rank.failed),
        "calls_by_name": counts_value(by_name),
        "collective_calls": check.total(|rank| rank.collectives),
        "marks": file.known.marks,
        "regions": by_region.value(file.regions()),
        "compute_time": file.clock.clock.name(),
        "compute_wall_ns": wall.value(),
        "compute_cpu_ns": cpu.value(),
        "overhead_call_ns": overhead.call_ns,
        "streams_cut": check.total(|rank| rank.cut.into()),
    }))
}

/// Text of input on one line: MPICH puts tabs between its words.
fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&words.join(" ")).to_string()
}
