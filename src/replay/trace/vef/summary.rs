//! Summary of a VEF trace, and verdict on it.

use crate::trace::summary::{Summary, bytes, keys, messages};
use crate::trace::verdict::{Count, RECORD_AGAIN, Verdict};
use flitwise_base::stop::Stop;
use flitwise_base::units::{human_bytes, human_count, human_time};
use flitwise_formats::source::Input;
use flitwise_formats::vef::{Check, Collectives, Info, Op, Reader, observe};
use flitwise_formats::{Error, Problems};
use serde_json::json;

/// Communicators that the text lists.
const COMMS: usize = 8;

pub(super) fn summary(input: &Input) -> Result<Summary, Error> {
    let info = Info::of(Reader::of(input.open()?)?)?;
    let collectives = info.collectives.iter().map(|c| {
        json!({
            "operation": c.op.name(),
            "communicator": c.comm,
            "ranks": info.comm_sizes.get(c.comm as usize),
            "count": c.count,
            "bytes": c.bytes,
        })
    });
    let (min, max) = info.compute_span_ps();
    let [start, sent, received, completed] = info.dependencies;
    let further_keys = keys(json!({
        "markers": info.markers,
        "collectives": collectives.collect::<Vec<_>>(),
        "collective_bytes": info.collective_bytes(),
        "communicator_sizes": info.comm_sizes,
        "compute_ps": {
            "min": min,
            "mean": info.compute_mean_ps(),
            "max": max,
            "imbalance": imbalance(&info),
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
    }));
    let keys = keys(json!({
        "format": info.header.version.name(),
        "ps_per_unit": info.header.ps_per_unit,
        "ranks": info.header.tasks,
        "records": info.records,
    }));
    Ok(Summary {
        ranks: info.header.tasks,
        rows: rows(&info),
        tables: vec![collective_table(&info)],
        keys,
        further_keys,
        traffic: info.traffic,
    })
}

/// How much longer the busiest rank computes than the mean: 0.25 is a quarter longer.
fn imbalance(info: &Info) -> f64 {
    match info.compute_mean_ps() {
        0 => 0.0,
        mean => info.compute_span_ps().1 as f64 / mean as f64 - 1.0,
    }
}

fn rows(info: &Info) -> Vec<(&'static str, String)> {
    let (min, max) = info.compute_span_ps();
    let collectives: u64 = info.collectives.iter().map(|c| c.count).sum();
    let span = match info.ideal {
        Some(ideal) => human_time(ideal.span_ps),
        None => "unknown: the trace is broken, see `flitwise trace check`".into(),
    };
    vec![
        ("format", info.header.version.name().to_owned()),
        ("ranks", human_count(info.header.tasks.into())),
        ("records", human_count(info.records)),
        ("messages", messages(&info.traffic)),
        ("bytes", bytes(&info.traffic)),
        ("markers", human_count(info.markers)),
        (
            "collectives",
            format!(
                "{}, {} if every block is sent directly to its destination",
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
    ]
}

/// `2 (of 16, 4 ranks)`.
fn communicators(sizes: &[u32]) -> String {
    let shown: Vec<String> = sizes.iter().take(COMMS).map(u32::to_string).collect();
    let more = if sizes.len() > COMMS { ", ..." } else { "" };
    let count = human_count(sizes.len() as u64);
    format!("{count} (of {}{more} ranks)", shown.join(", "))
}

/// The numbers of lines on waits for messages and collectives, and of messages sent before the wait.
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

fn collective_table(info: &Info) -> Vec<Vec<String>> {
    let mut table = vec![
        ["collective", "count", "bytes", "on"]
            .map(String::from)
            .to_vec(),
    ];
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
    table
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

pub(super) fn verdict(input: &Input) -> Result<Verdict, Error> {
    let check =
        Reader::of(input.open()?).and_then(|mut reader| observe(&mut reader, (), Stop::never()));
    let mut verdict = Verdict {
        cure: RECORD_AGAIN,
        is_one_text: true,
        ..Verdict::default()
    };
    match check {
        Ok((check, ())) => {
            verdict.counts = Some(counts(&check));
            (verdict.errors, verdict.warnings) = (check.errors, check.warnings);
        }
        // A trace broken within its header has a verdict, too.
        Err(e) => verdict.errors = Problems::one(e.into_problem()?),
    }
    Ok(verdict)
}

fn counts(check: &Check) -> Vec<Count> {
    vec![
        Count::new("ranks", check.header.tasks.into()),
        Count::new("records", check.records.iter().sum()),
        Count::new("messages", check.messages),
        Count::new("bytes", check.bytes),
        Count::new("markers", check.markers),
        Count::new("collectives", check.collectives),
        Count {
            in_text: false,
            ..Count::new("collective_lines", check.members)
        },
        Count::new("unverified", check.unverified),
    ]
}
