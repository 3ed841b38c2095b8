//! The resolved experiment as JSON: settings as interpreted, quantities as integers with the unit in
//! the key, fractions as exact texts.
//!
//! The types derive their JSON, so a field that is new is there; the functions here destructure or match
//! exhaustively, so a field or variant that they forget does not compile. What joins several types
//! is put together here: the parts of an experiment, and the names of its service levels.

use super::experiment::{Background, Experiment, Job, Power, SendCompletion};
use super::switch::{scheduler_json, switch_json};
use crate::fabric::spec::{CongestionControl, FabricSpec, Qos};
use crate::oblivious::{self, PathChoice, Request, Subset};
use crate::replay::Repeat;
use crate::replay::background::{Injection, Pattern};
use crate::replay::collectives::Choices;
use crate::units::Ratio;
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Map, Value, json};
use twox_hash::XxHash3_128;

/// The complete configuration. Equal experiments give equal values.
#[must_use]
pub fn experiment_json(e: &Experiment) -> Value {
    let Experiment {
        seed,
        fabric,
        nic_queueing,
        routing,
        // Its entries belong to the fabric's scheduler.
        dtable: _,
        jobs,
        background,
        background_gap_skip_ps,
        measure,
        power,
        congestion: request,
    } = e;
    let levels = &fabric.qos;
    let job = |job: &Job| with_name(json!(job), job.sl, levels);
    let flow = |flow: &Background| with_name(json!(flow), flow.sl, levels);
    let mut value = json!({
        "seed": seed,
        "fabric": fabric_json(fabric, routing),
        "nic_queueing": nic_queueing,
        "qos": qos(fabric),
        "congestion_control": congestion(fabric.congestion_control.as_deref(), levels),
        "jobs": jobs.iter().map(job).collect::<Vec<_>>(),
        "background": background.iter().map(flow).collect::<Vec<_>>(),
        "measure": measure,
    });
    // Only where it is on: a result is then not that of the same experiment without it.
    if let Some(ps) = background_gap_skip_ps {
        insert_behind(
            "background",
            "background_gap_skip_ps",
            (*ps).into(),
            &mut value,
        );
    }
    if let Some(power) = power {
        let value_of_power = power_json(power, fabric);
        insert_behind("congestion_control", "power", value_of_power, &mut value);
    }
    if let Some(request) = request {
        insert_behind("measure", "congestion", analysis(request), &mut value);
    }
    value
}

/// `[congestion]`.
fn analysis(request: &Request) -> Value {
    let Request {
        pattern,
        against,
        part,
        level,
        ranks,
        subset,
        // The loader has found them: `subset` lists them.
        hosts: _,
        in_order,
        path,
        fair,
        delay,
        worst,
        skip_lost,
        runs,
    } = request;
    // Pairs of a file by their content.
    let pairs = match pattern {
        oblivious::Pattern::Given(given) => Some(format!("{:032x}", given.digest())),
        _ => None,
    };
    json!({
        "pattern": pattern.to_string(),
        "pairs": pairs,
        "against": against.as_ref().map(ToString::to_string),
        "part": part,
        "level": level,
        "ranks": ranks,
        "subset": match subset {
            Subset::Random => json!("random"),
            Subset::RandomEachRun => json!("random-each-run"),
            Subset::LinearBfs => json!("linear-bfs"),
            Subset::First => json!("first"),
            Subset::Listed(hosts) => hosts.iter().map(|host| host.get()).collect(),
        },
        "in_order": in_order,
        "path": match path {
            PathChoice::First => "first",
            PathChoice::BySource => "by-source",
            PathChoice::ByPair => "by-pair",
        },
        "fair": fair,
        "delay": delay,
        "worst": worst,
        "skip_lost": skip_lost,
        "runs": runs,
    })
}

/// XXH3, 128 bits, of the compact form of [`experiment_json`] and of the version of this
/// program, as 32 hex digits. It tells configurations apart, but does not protect against forgery.
#[must_use]
pub fn experiment_hash(e: &Experiment) -> String {
    experiment_hash_with(e, &[])
}

/// Like [`experiment_hash`], with the digests of the jobs' traces, in the order of the jobs, as
/// well.
#[must_use]
pub(crate) fn experiment_hash_with(e: &Experiment, traces: &[u128]) -> String {
    let mut text = experiment_json(e).to_string();
    text += concat!(" ", env!("CARGO_PKG_VERSION"));
    for digest in traces {
        text += &format!(" {digest:032x}");
    }
    format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))
}

/// The part about the fabric, without service levels and congestion control; `routing` is the name
/// of the algorithm.
#[must_use]
pub fn fabric_json(f: &FabricSpec, routing: &str) -> Value {
    let mut value = json!(f);
    value["switch"] = switch_json(&f.switch);
    insert_behind("topology", "routing", routing.into(), &mut value);
    value
}

/// `[qos]`, with the scheduler or the arbiters of the switches.
fn qos(f: &FabricSpec) -> Value {
    let mut value = json!(f.qos);
    insert_behind("sl2vl", "scheduler", scheduler_json(&f.switch), &mut value);
    value
}

/// `[congestion_control]`, with the service levels by name.
fn congestion(control: Option<&CongestionControl>, qos: &Qos) -> Value {
    let Some(control) = control else {
        return json!({ "kind": "none" });
    };
    let mut value = json!(control);
    if let Some(Value::Array(levels)) = value.get_mut("service_levels").map(Value::take) {
        let names = qos.service_levels.iter().map(|level| level.name.clone());
        value["service_levels"] = names.zip(levels).collect::<Map<_, _>>().into();
    }
    value
}

/// `[power]`: the states of links, if they have any but up, and what they cost.
fn power_json(power: &Power, fabric: &FabricSpec) -> Value {
    let mut value = match fabric.link_power.as_deref() {
        Some(states) => json!(states),
        None => json!({}),
    };
    if let (Value::Object(all), Value::Object(watts)) = (&mut value, json!(power)) {
        all.extend(watts);
    }
    value
}

/// Inserts a key into an object. The order of keys is part of the hash.
fn insert_behind(earlier: &str, key: &str, value: Value, object: &mut Value) {
    if let Value::Object(map) = object {
        let at = map.keys().position(|key| key == earlier);
        map.shift_insert(at.map_or(map.len(), |at| at + 1), key.to_owned(), value);
    }
}

/// A job or flow with the name of its service level in place of the number.
fn with_name(mut value: Value, sl: u8, qos: &Qos) -> Value {
    value["sl"] = qos.service_levels[usize::from(sl)].name.clone().into();
    value
}

pub(super) fn repeat<S: Serializer>(repeat: &Repeat, s: S) -> Result<S::Ok, S::Error> {
    match repeat {
        Repeat::Times(times) => s.serialize_u32(*times),
        Repeat::UntilOthersEnd => s.serialize_str("until-others-end"),
    }
}

/// Two keys.
pub(super) fn send_completion<S: Serializer>(c: &SendCompletion, s: S) -> Result<S::Ok, S::Error> {
    let (name, eager) = match *c {
        SendCompletion::Handed => ("handed", None),
        SendCompletion::Injected => ("injected", None),
        SendCompletion::Rendezvous { eager_threshold } => ("rendezvous", Some(eager_threshold)),
    };
    json!({ "send_completion": name, "eager_threshold_bytes": eager }).serialize(s)
}

/// The algorithms chosen by hand, by operation.
pub(super) fn collectives<S: Serializer>(choices: &Choices, s: S) -> Result<S::Ok, S::Error> {
    let mut value = json!(choices);
    if let Value::Object(map) = &mut value {
        map.retain(|_, algorithm| !algorithm.is_null());
        if let Some(bytes) = choices.segment() {
            map.insert("chain_segment_bytes".into(), bytes.into());
        }
    }
    value.serialize(s)
}

pub(super) fn injection<S: Serializer>(injection: &Injection, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(match injection {
        Injection::Cbr => "cbr",
        Injection::Bernoulli => "bernoulli",
    })
}

/// Sizes of messages with their shares.
pub(super) fn sizes<S: Serializer>(sizes: &[(u64, u64)], s: S) -> Result<S::Ok, S::Error> {
    let weights: u64 = sizes.iter().map(|size| size.1).sum();
    s.collect_seq(
        sizes.iter().map(
            |&(bytes, weight)| json!({ "bytes": bytes, "share": Ratio::new(weight, weights) }),
        ),
    )
}

pub(super) fn pattern<S: Serializer>(pattern: &Pattern, s: S) -> Result<S::Ok, S::Error> {
    let value = match pattern {
        Pattern::Uniform => json!("uniform"),
        Pattern::BitReversal => json!("bit-reversal"),
        Pattern::BitComplement => json!("bit-complement"),
        Pattern::Shuffle => json!("shuffle"),
        Pattern::Transpose => json!("transpose"),
        Pattern::Tornado => json!("tornado"),
        Pattern::Permutation => json!("permutation"),
        Pattern::Neighbour { offset } => json!({ "neighbour": offset }),
        Pattern::GroupShift { shift } => json!({ "group_shift": shift }),
        Pattern::Hotspot { node, fraction } => json!({ "hotspot": node, "fraction": fraction }),
        Pattern::List(list) => json!({ "permutation": list }),
        Pattern::Pair { from, to } => json!({ "from": from, "to": to }),
    };
    value.serialize(s)
}
