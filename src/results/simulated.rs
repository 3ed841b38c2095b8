//! The lines that open a summary: what was simulated, and what the baseline is.

use super::compared::{KINDS, differences};
use super::nic_rate::gbit_per_s;
use crate::config::{Experiment, Plan, WrittenKey, experiment_json};
use crate::fabric::spec::FabricSpec;
use crate::units::{Ratio, counted, human_count, number};
use flitwise_base::quote::cut;
use serde_json::{Map, Value};
use std::fmt::{self, Write};

/// Most jobs, flows and differences that a line names.
const NAMED: usize = 4;

/// Writes the lines `fabric`, `set up` and, with a job, `compared with`.
pub(super) fn write_simulated(out: &mut String, plan: &Plan) -> fmt::Result {
    let experiment = &plan.experiment;
    writeln!(out, "fabric          {}", fabric(plan))?;
    writeln!(out, "set up          {}", set_up(plan).join(", "))?;
    if experiment.jobs.is_empty() {
        return Ok(());
    }
    writeln!(out, "compared with   {}", baseline(plan))
}

/// `8-ary 2-tree: 64 NICs, 16 switches, links 100 Gb/s (preset opa-gen1)`.
fn fabric(plan: &Plan) -> String {
    let fabric = &plan.experiment.fabric;
    let topology = &fabric.topology;
    let rate = |flits_per_tick: Ratio| number(gbit_per_s(fabric, flits_per_tick));
    let host = rate(fabric.host_link_rate());
    let mut links = format!("links {host} Gb/s");
    if topology.directed_switch_links() > 0 {
        let between = rate(fabric.switch_link_rate());
        if between != host {
            links = format!("links {between} Gb/s, to NICs {host} Gb/s");
        }
    }
    let others = fabric.switch.kind().links();
    match others.map_or(0, |links| links.exceptions.len()) {
        0 => {}
        others => links += &format!(", {} of another speed", human_count(others as u64)),
    }
    if !plan.speeds.from.is_empty() {
        links += &format!(" ({})", plan.speeds.from);
    }
    let failed = match fabric.routing.failed.len() {
        0 => String::new(),
        failed => format!(", {} failed", human_count(failed as u64)),
    };
    format!(
        "{}: {}, {}, {links}{failed}",
        topology.family().name(),
        counted(topology.nics().into(), "NIC"),
        counted(topology.switches().into(), "switch"),
    )
}

/// Routing, scheduler, placement, seed, and what else is not as usual.
fn set_up(plan: &Plan) -> Vec<String> {
    let experiment = &plan.experiment;
    let json = experiment_json(experiment);
    let mut parts = vec![match &plan.tables_from {
        Some(tables) => format!("routing by the forwarding tables of {}", cut(tables)),
        None => format!("routing {}", experiment.routing),
    }];
    match experiment.fabric.routing.source_routes.0.len() {
        0 => {}
        routes => parts.push(format!(
            "{} of single pairs",
            counted(routes as u64, "route")
        )),
    }
    if let Some(paths) = json["fabric"]["paths"].as_str() {
        parts.push(format!("paths {paths}"));
    }
    parts.push(format!(
        "scheduler {}",
        scheduler_name(&json["qos"]["scheduler"])
    ));
    let control = &json["congestion_control"]["kind"];
    if control != "none" {
        parts.push(format!("congestion control {}", short(control)));
    }
    match experiment.fabric.outages.len() {
        0 => {}
        outages => parts.push(counted(outages as u64, "outage")),
    }
    match experiment.fabric.degraded.len() {
        0 => {}
        slow => parts.push(counted(slow as u64, "link") + " at a lower rate"),
    }
    if let Some(policy) = json["power"]["policy"].as_str() {
        parts.push(format!("power {policy}"));
    }
    let jobs: Vec<&Value> = json["jobs"].as_array().into_iter().flatten().collect();
    let enabled = || jobs.iter().copied().filter(|job| job["enabled"] == true);
    let scaled = enabled().filter(|job| job["compute_scale"] != "1");
    parts.extend(of_each(enabled(), "placement", jobs.len()));
    parts.extend(of_each(scaled, "compute_scale", jobs.len()));
    parts.push(format!("seed {}", experiment.seed));
    let flows: Vec<&Value> = json["background"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    match flows.len() {
        0 => {}
        many if many > NAMED / 2 => parts.push(format!("{many} background flows")),
        _ => parts.extend(flows.iter().map(|flow| {
            let rate = short(&flow["rate_flits_per_cycle_per_nic"]);
            let rate = match (&experiment.measure, &*rate) {
                (Some(_), "1") => "each load".to_owned(),
                (Some(_), rate) => format!("{rate} of each load"),
                (None, rate) => format!("{rate} of the link rate"),
            };
            let (pattern, sl) = (short(&flow["pattern"]), short(&flow["sl"]));
            format!("background {pattern} {rate} in {sl}")
        })),
    }
    parts
}

/// `placement random`, or where jobs differ `placement random (hpl), linear (lammps)`.
fn of_each<'a>(jobs: impl Iterator<Item = &'a Value>, key: &str, all: usize) -> Option<String> {
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    let mut count = 0;
    for job in jobs {
        count += 1;
        let (value, name) = (short(&job[key]), short(&job["name"]));
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(name),
            None => values.push((value, vec![name])),
        }
    }
    let text = match &values[..] {
        [] => return None,
        [(only, _)] if count == all => only.clone(),
        several if several.len() <= NAMED => {
            let one = |(value, names): &(String, Vec<String>)| match names.len() {
                1..=NAMED => format!("{value} ({})", names.join(", ")),
                many => format!("{value} ({many} jobs)"),
            };
            several.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        several => format!("of {} kinds", several.len()),
    };
    Some(format!("{key} {text}"))
}

/// The text about a baseline that is the experiment once more.
const SAME: &str = "nothing: the baseline is the same experiment";

/// Whether the baseline is the experiment once more, so that a slowdown would tell nothing.
pub(super) fn compares_nothing(plan: &Plan) -> bool {
    baseline(plan).starts_with(SAME)
}

/// The baseline, and how it differs from the experiment.
fn baseline(plan: &Plan) -> String {
    let Some(first) = plan.baselines.first() else {
        return "no baseline".to_owned();
    };
    let jobs = |experiment: &Experiment| experiment.jobs.iter().filter(|job| job.enabled).count();
    let alone = match (
        plan.baselines.len(),
        jobs(&plan.experiment),
        jobs(&first.experiment),
    ) {
        (1, all, here) if all == here => "",
        (1, ..) => "its jobs alone, ",
        _ => "each job alone, ",
    };
    let [of, other] = [&plan.experiment, &first.experiment].map(experiment_json);
    let mut found = changes(&of, &other);
    let more = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    if more > 0 {
        found.push(format!("and {more} keys more"));
    }
    if found.is_empty() && alone.is_empty() {
        let experiment = &plan.experiment;
        let overrides = undisturbed(&experiment.fabric).join(", ");
        return if !overrides.is_empty() {
            format!(
                "{SAME}, disturbed links included; baseline.overrides = {{ {overrides} }} leaves them out"
            )
        } else if experiment.background.is_empty() && jobs(experiment) == 1 {
            format!(
                "{SAME}, and nothing in it slows the job down; add a [[background]] or another [[job]]"
            )
        } else {
            format!("{SAME}; change what it leaves out with baseline.overrides")
        };
    }
    if found.is_empty() {
        return alone.trim_end_matches(", ").to_owned();
    }
    format!("{alone}{}", found.join(", "))
}

/// The overrides after which the links of `fabric` are always up, at their full rates and without errors.
fn undisturbed(fabric: &FabricSpec) -> Vec<&'static str> {
    let has_events = !fabric.outages.is_empty() || !fabric.degraded.is_empty();
    let disturbances = [
        (has_events, "event = []"),
        (fabric.bit_errors.is_some(), "\"fabric.bit_error_rate\" = 0"),
        (
            fabric.link_power.is_some(),
            "\"power.policy\" = \"always-on\"",
        ),
    ];
    let present = disturbances.into_iter().filter(|(is_there, _)| *is_there);
    present.map(|(_, cure)| cure).collect()
}

/// The keys in which a baseline differs, each with its value there. Jobs that it leaves out are no difference of keys.
fn changes(of: &Value, baseline: &Value) -> Vec<String> {
    let is_left_out = |key: &str| key.starts_with("jobs.") && key.ends_with(".enabled");
    let all = differences(of, baseline).into_iter();
    let all = all.filter(|difference| !is_left_out(&difference.key));
    let mut found = Vec::new();
    for difference in all {
        let [_, there] = difference.values;
        let WrittenKey { path, unit } = difference.written();
        let text = match (there, unit) {
            (Value::Array(none), _) if none.is_empty() => format!("no {path}"),
            (there, Some(unit)) => format!("{path} {}{unit}", short(there)),
            (_, None) => format!("another {path}"),
        };
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// The name of the scheduler of an experiment in a result.
pub(crate) fn scheduler_name(scheduler: &Value) -> String {
    short(scheduler)
}

/// A setting in a word: the name of what has parameters, and no lists.
fn short(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => cut(text).to_string(),
        Value::Object(keys) if is_round_robin(keys) => "rr".to_owned(),
        Value::Object(keys) => match (
            KINDS.iter().find_map(|kind| keys.get(*kind)),
            keys.keys().next(),
        ) {
            (Some(kind), _) => short(kind),
            (None, Some(name)) => name.clone(),
            (None, None) => "none".to_owned(),
        },
        Value::Array(list)
            if list.len() <= NAMED && !list.iter().any(|one| one.is_object() || one.is_array()) =>
        {
            let all: Vec<String> = list.iter().map(short).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Array(list) => format!("{} entries", list.len()),
        other => other.to_string(),
    }
}

/// Whether a scheduler gives all service levels the same weight.
fn is_round_robin(scheduler: &Map<String, Value>) -> bool {
    let weights = scheduler.get("weights").and_then(Value::as_array);
    let equal = |weights: &Vec<Value>| weights.iter().all(|weight| *weight == weights[0]);
    scheduler.get("kind").is_some_and(|kind| kind == "sbt") && weights.is_some_and(equal)
}
