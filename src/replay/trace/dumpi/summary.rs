//! Summary of a DUMPI trace.

use super::DUMPI;
use crate::trace::ComputeTime;
use crate::trace::summary::{Computation, Summary, bytes, counts, keys, messages, sent};
use flitwise_base::stop::Stop;
use flitwise_base::units::{human_count, human_time};
use flitwise_formats::dumpi::info::RankInfo;
use flitwise_formats::dumpi::{Info, Set};
use flitwise_formats::source::Input;
use flitwise_formats::traffic::Traffic;
use serde_json::{Map, Value, json};

pub(super) fn summary(input: &Input) -> anyhow::Result<Summary> {
    let set = Set::of_input(input, Stop::never())?;
    let info = Info::read(&set)?;
    // The ranks need not agree.
    let file = (DUMPI.check)(input, Stop::never())?;
    let (traffic, _) = sent(&*file, None)?;
    let clocks = [ComputeTime::Wall, ComputeTime::Cpu];
    let by_clock = clocks.map(|clock| Some(sent(&*file, Some(clock)).ok()?.1));
    let by_name = info.calls().map(|(function, n)| (function.name(), n));
    Ok(Summary {
        ranks: file.ranks(),
        rows: rows(&info, &traffic, &by_clock),
        tables: vec![counts("call", by_name)],
        keys: json_keys(&info, by_clock),
        further_keys: Map::new(),
        traffic,
    })
}

fn format(info: &Info) -> String {
    format!("DUMPI {}", info.version)
}

/// The sum of a count over the ranks.
fn sum(info: &Info, count: impl Fn(&RankInfo) -> u64) -> u64 {
    info.ranks.iter().map(count).sum()
}

fn rows(
    info: &Info,
    traffic: &Traffic,
    by_clock: &[Option<Computation>; 2],
) -> Vec<(&'static str, String)> {
    let hosts = match info.hosts {
        1 => "1 host".to_owned(),
        n => format!("{} hosts", human_count(n)),
    };
    let ranks = human_count(info.ranks.len() as u64);
    let mut calls = human_count(sum(info, |rank| rank.calls));
    let ignored = sum(info, |rank| rank.ignored);
    if ignored > 0 {
        calls += &format!(", and {} that were left out", human_count(ignored));
    }
    let collectives = human_count(sum(info, |rank| rank.collectives));
    let mut rows = vec![
        ("format", format(info)),
        ("ranks", format!("{ranks} on {hosts}")),
        ("calls", calls),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        ("collectives", format!("{collectives} calls of all ranks")),
    ];
    let time = |ns: f64| human_time((ns * 1000.0) as u64);
    for (name, computation) in ["wall time", "CPU time"].into_iter().zip(by_clock) {
        if let Some(computation) = computation {
            rows.push((name, computation.row("computes ", time)));
        }
    }
    rows
}

fn json_keys(info: &Info, by_clock: [Option<Computation>; 2]) -> Map<String, Value> {
    let calls_by_name: Map<String, Value> = (info.calls())
        .map(|(function, n)| (function.name().to_owned(), n.into()))
        .collect();
    let [wall, cpu] = by_clock.map(|computation| computation.map(|c| c.value()));
    let threads = info.ranks.iter().map(|rank| rank.threads).max();
    keys(json!({
        "format": format(info),
        "ranks": info.ranks.len(),
        "hosts": info.hosts,
        "threads": threads.unwrap_or(0),
        "calls": sum(info, |rank| rank.calls),
        "calls_left_out": sum(info, |rank| rank.ignored),
        "calls_by_name": calls_by_name,
        "collective_calls": sum(info, |rank| rank.collectives),
        "compute_wall_ns": wall,
        "compute_cpu_ns": cpu,
    }))
}
