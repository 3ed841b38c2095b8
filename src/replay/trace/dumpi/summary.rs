//! Summary of a DUMPI trace.

use super::DumpiFile;
use crate::trace::summary::{
    Computation, Summary, bytes, counts, counts_value, keys, messages, ranks_on, sent,
};
use crate::trace::{ComputeTime, TraceFile};
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::dumpi::Check;
use flitwise_formats::source::Input;
use flitwise_formats::traffic::Traffic;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub(super) fn summary(input: &Input) -> anyhow::Result<Summary> {
    let file = DumpiFile::open(input, Stop::never())?;
    let trailers = (0..file.ranks()).map(|rank| file.set.trailer(rank));
    let trailers: Vec<_> = trailers.collect::<Result<_, _>>()?;
    let hosts: BTreeSet<&str> = trailers.iter().map(|t| &*t.hostname).collect();
    // The version of the recorder of rank 0.
    let format = format!("DUMPI {}", file.set.trailer(0)?.version);
    let facts = (format, hosts.len());
    let (traffic, _) = sent(&file, None)?;
    let clocks = [ComputeTime::Wall, ComputeTime::Cpu];
    let by_clock = clocks.map(|clock| Some(sent(&file, Some(clock)).ok()?.1));
    let by_name = file.check.calls().map(|(function, n)| (function.name(), n));
    Ok(Summary {
        ranks: file.ranks(),
        rows: rows(&file, &facts, &traffic, &by_clock),
        tables: vec![counts("call", by_name)],
        keys: json_keys(&file.check, facts, by_clock),
        further_keys: Map::new(),
        traffic,
    })
}

fn rows(
    file: &DumpiFile,
    (format, hosts): &(String, usize),
    traffic: &Traffic,
    by_clock: &[Option<Computation>; 2],
) -> Vec<(&'static str, String)> {
    let check = &file.check;
    let mut calls = human_count(check.total(|rank| rank.calls));
    let ignored = check.total(|rank| rank.ignored);
    if ignored > 0 {
        calls += &format!(", and {} that were left out", human_count(ignored));
    }
    let collectives = human_count(check.total(|rank| rank.collectives));
    let mut rows = vec![
        ("format", format.clone()),
        ("ranks", ranks_on(file.ranks(), *hosts)),
        ("calls", calls),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        ("collectives", format!("{collectives} calls of all ranks")),
    ];
    for (name, computation) in ["wall time", "CPU time"].into_iter().zip(by_clock) {
        if let Some(computation) = computation {
            rows.push((name, computation.time_row("computes ")));
        }
    }
    rows
}

fn json_keys(
    check: &Check,
    (format, hosts): (String, usize),
    by_clock: [Option<Computation>; 2],
) -> Map<String, Value> {
    let [wall, cpu] = by_clock.map(|computation| computation.map(|c| c.value()));
    let threads = check.ranks.iter().map(|rank| rank.threads).max();
    let by_name = check.calls().map(|(function, n)| (function.name(), n));
    keys(json!({
        "format": format,
        "ranks": check.ranks.len(),
        "hosts": hosts,
        "threads": threads.unwrap_or(0),
        "calls": check.total(|rank| rank.calls),
        "calls_left_out": check.total(|rank| rank.ignored),
        "calls_by_name": counts_value(by_name),
        "collective_calls": check.total(|rank| rank.collectives),
        "compute_wall_ns": wall,
        "compute_cpu_ns": cpu,
    }))
}
