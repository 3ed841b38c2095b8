//! `flitwise trace info` of schedules and TI traces.

pub(super) use super::info::row;
use super::info::{PAIRS, SCHEMA, size_class, write_pairs, write_sizes};
use super::matrix;
use super::traffic::Traffic;
use crate::cli::{CliError, bad_trace};
use flitwise::results::write_table;
use flitwise::units::{human_bytes, human_count, human_time};
use flitwise_formats::goal::{self, Schedule};
use flitwise_formats::source::{Input, shown};
use flitwise_formats::ti;
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::path::Path;

/// A summary: its rows, the keys of its JSON, and what both formats have.
pub(super) struct Summary {
    pub rows: Vec<(&'static str, String)>,
    pub tables: Vec<Vec<Vec<String>>>,
    pub keys: Value,
    pub traffic: Traffic,
}

pub(super) fn of_goal(input: &Input) -> Result<Summary, CliError> {
    let bad = |e: flitwise_formats::Error| bad_trace(&e);
    // It never stops.
    let schedule = loop {
        if let Some(schedule) = Schedule::read(input, &mut || true).map_err(bad)? {
            break schedule;
        }
    };
    let info = goal::Info::read(&schedule).map_err(bad)?;
    let traffic = Traffic::of_schedule(&schedule).map_err(bad)?;
    let form = match schedule.form() {
        goal::Form::Text => "GOAL, text",
        goal::Form::Binary => "GOAL, binary",
    };
    let rows = goal_rows(form, &info, &traffic);
    let keys = json!({
        "format": form,
        "ranks": info.ranks,
        "operations": info.sends + info.recvs + info.calcs,
        "calcs": info.calcs,
        "receives": info.recvs,
        "receives_of_any_source": info.any_source,
        "receives_of_any_tag": info.any_tag,
        "requires": info.requires,
        "irequires": info.irequires,
        "cpus": info.cpus,
        "nics": info.nics,
        "compute_ns": spread(&traffic),
    });
    Ok(Summary {
        rows,
        tables: Vec::new(),
        keys,
        traffic,
    })
}

fn goal_rows(form: &str, info: &goal::Info, traffic: &Traffic) -> Vec<(&'static str, String)> {
    let operations = info.sends + info.recvs + info.calcs;
    let ns = |time: f64| human_time((time * 1000.0) as u64);
    vec![
        ("format", form.to_owned()),
        ("ranks", human_count(info.ranks.into())),
        (
            "operations",
            format!(
                "{}, at most {} of a rank",
                human_count(operations),
                human_count(info.largest_rank.into())
            ),
        ),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        (
            "receives",
            format!(
                "{}, {} of any source, {} of any tag",
                human_count(info.recvs),
                human_count(info.any_source),
                human_count(info.any_tag)
            ),
        ),
        (
            "computation",
            computation(traffic, &format!("{} calcs, ", human_count(info.calcs)), ns),
        ),
        (
            "dependencies",
            format!(
                "{} on ends, {} on starts",
                human_count(info.requires),
                human_count(info.irequires)
            ),
        ),
        (
            "CPUs, NICs",
            format!("{} and {} of a rank", info.cpus, info.nics),
        ),
    ]
}

pub(super) fn of_ti(input: &Input) -> Result<Summary, CliError> {
    let bad = |e: flitwise_formats::Error| bad_trace(&e);
    let trace = loop {
        if let Some(trace) = ti::Trace::read(input, &mut || true).map_err(bad)? {
            break trace;
        }
    };
    let info = ti::Info::read(&trace).map_err(bad)?;
    let traffic = Traffic::of_actions(&trace).map_err(bad)?;
    let rows = ti_rows(&info, &traffic);
    let mut table = vec![row(["action", "count"])];
    let named = info.by_name.iter();
    table.extend(named.map(|(name, &count)| vec![(*name).to_owned(), human_count(count)]));
    let keys = json!({
        "format": "TI",
        "ranks": info.ranks,
        "actions": info.actions,
        "actions_by_name": info.by_name,
        "receives": info.recvs + info.sendrecvs,
        "receives_of_any": info.any,
        "collective_calls": info.collectives,
        "collective_calls_started": info.immediate_collectives,
        "unknown_sizes": info.unknown_sizes,
        "polls": info.polls,
        "sleep_s": info.sleep_seconds,
        "compute_flops": spread(&traffic),
    });
    Ok(Summary {
        rows,
        tables: vec![table],
        keys,
        traffic,
    })
}

fn ti_rows(info: &ti::Info, traffic: &Traffic) -> Vec<(&'static str, String)> {
    let flops = |flops: f64| format!("{flops:.4e} flops");
    let mut rows = vec![
        ("format", "TI".to_owned()),
        ("ranks", human_count(info.ranks.into())),
        ("actions", human_count(info.actions)),
        ("messages", messages(traffic)),
        ("bytes", bytes(traffic)),
        (
            "receives",
            format!(
                "{}, {} of any source or tag",
                human_count(info.recvs + info.sendrecvs),
                human_count(info.any)
            ),
        ),
        (
            "collectives",
            format!(
                "{} calls of all ranks, {} only started",
                human_count(info.collectives),
                human_count(info.immediate_collectives)
            ),
        ),
        ("computation", computation(traffic, "", flops)),
    ];
    if info.unknown_sizes > 0 {
        let unknown = human_count(info.unknown_sizes);
        rows.push(("unknown sizes", format!("{unknown}: counted as no bytes")));
    }
    rows
}

pub(super) fn messages(traffic: &Traffic) -> String {
    let own = match traffic.self_messages {
        0 => String::new(),
        n => format!(", {} of them to the rank itself", human_count(n)),
    };
    format!("{}{own}", human_count(traffic.messages))
}

pub(super) fn bytes(traffic: &Traffic) -> String {
    let average = match traffic.messages {
        0 => String::new(),
        n => format!(", {} on average", human_bytes(traffic.bytes / n)),
    };
    format!("{}{average}", human_bytes(traffic.bytes))
}

pub(super) fn computation(traffic: &Traffic, first: &str, shown: impl Fn(f64) -> String) -> String {
    let [least, mean, most] = traffic.span().map(shown);
    let imbalance = 100.0 * traffic.imbalance();
    format!("{first}{least} to {most} per rank, mean {mean}, imbalance {imbalance:.1} %")
}

pub(super) fn spread(traffic: &Traffic) -> Value {
    let [min, mean, max] = traffic.span();
    json!({
        "min": min,
        "mean": mean,
        "max": max,
        "imbalance": traffic.imbalance(),
        "per_rank": traffic.computation,
    })
}

impl Summary {
    pub fn matrix(&self, form: matrix::Form) -> Result<String, CliError> {
        let traffic = &self.traffic;
        matrix::whole(traffic.ranks, &traffic.pairs, traffic.other_pairs, form)
    }

    pub fn document(&self, file: &Path) -> Value {
        let traffic = &self.traffic;
        let sizes = traffic.sizes.iter().enumerate().filter(|&(_, &n)| n > 0);
        let mut document = json!({ "schema": SCHEMA, "file": file.display().to_string() });
        let shared = json!({
            "messages": traffic.messages,
            "bytes": traffic.bytes,
            "self_messages": traffic.self_messages,
            "message_sizes": sizes.map(|(i, count)| {
                let (from, to) = size_class(i);
                json!({ "from_bytes": from, "to_bytes": to, "messages": count })
            }).collect::<Vec<_>>(),
            "pairs": traffic.pairs.len(),
            "top_pairs": traffic.pairs.iter().take(PAIRS).map(|p| json!({
                "src": p.src, "dst": p.dst, "messages": p.messages, "bytes": p.bytes,
            })).collect::<Vec<_>>(),
            "other_pairs": { "messages": traffic.other_pairs.0, "bytes": traffic.other_pairs.1 },
        });
        if let Value::Object(document) = &mut document {
            for part in [self.keys.clone(), shared] {
                if let Value::Object(part) = part {
                    document.extend(part);
                }
            }
        }
        document
    }

    pub fn write(&self, out: &mut String, file: &Path) -> fmt::Result {
        let name = shown(file).display();
        writeln!(out, "{:<14}  {name}", "trace")?;
        for (row, value) in &self.rows {
            writeln!(out, "{row:<14}  {value}")?;
        }
        for table in &self.tables {
            write_table(out, table)?;
        }
        let traffic = &self.traffic;
        write_sizes(out, &traffic.sizes, traffic.messages)?;
        if traffic.ranks <= matrix::SMALL && traffic.messages > 0 {
            return matrix::write_tables(out, traffic.ranks, &traffic.pairs);
        }
        write_pairs(out, &traffic.pairs, traffic.other_pairs)
    }
}
