//! The resolved experiment as JSON: settings as interpreted, quantities as integers with the unit in
//! the key, fractions as exact texts.
//!
//! The types derive their JSON, so a field that is new is there; the functions here destructure or match
//! exhaustively, so a field or variant that they forget does not compile. What joins several types
//! is put together here: the parts of an experiment, and the names of its service levels.

use crate::config::analysis::analysis_json;
use crate::config::background::Background;
use crate::config::experiment::Experiment;
use crate::config::fabric::{scheduler_json, switch_json};
use crate::config::job::Job;
use crate::config::keys::SATURATED_LIMIT;
use crate::config::power::power_json;
use crate::fabric::spec::{CongestionControl, FabricSpec, Qos};
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
        saturated_limit,
        measure,
        power,
        congestion: request,
        remarks: _,
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
    // Written only where it is on, because the experiment without it has another result.
    if let Some(ps) = background_gap_skip_ps {
        insert_behind(
            "background",
            "background_gap_skip_ps",
            (*ps).into(),
            &mut value,
        );
    }
    if *saturated_limit != SATURATED_LIMIT {
        let limit = (*saturated_limit).into();
        insert_behind("measure", "saturated_limit", limit, &mut value);
    }
    if let Some(power) = power {
        let value_of_power = power_json(power, fabric);
        insert_behind("congestion_control", "power", value_of_power, &mut value);
    }
    if let Some(request) = request {
        insert_behind("measure", "congestion", analysis_json(request), &mut value);
    }
    value
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
