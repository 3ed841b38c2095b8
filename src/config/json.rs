//! The resolved experiment as JSON: settings as interpreted, quantities as
//! integers with the unit in the key, fractions as exact texts.

use super::experiment::{Background, Experiment, Job, Measure, Placement, SendCompletion};
use super::json_congestion;
use super::json_fabric::{fabric_json, qos};
use crate::fabric::spec::{FabricSpec, Qos};
use crate::replay::Repeat;
use crate::replay::background::{Injection, Pattern};
use crate::replay::collectives::Choices;
use crate::units::Ratio;
use serde_json::{Value, json};
use twox_hash::XxHash3_128;

/// The complete configuration. Equal experiments give equal values.
#[must_use]
pub fn experiment_json(e: &Experiment) -> Value {
    let Experiment {
        seed,
        fabric,
        routing,
        // Its entries belong to the fabric's scheduler.
        dtable: _,
        jobs,
        background: flows,
        measure: measured,
    } = e;
    let control = fabric.congestion_control.as_deref();
    json!({
        "seed": seed,
        "fabric": fabric_json(fabric, routing),
        "qos": qos(fabric),
        "congestion_control": json_congestion::congestion(control, &fabric.qos),
        "jobs": jobs.iter().map(|j| job(j, &fabric.qos)).collect::<Vec<_>>(),
        "background": flows.iter().map(|b| background(b, &fabric.qos)).collect::<Vec<_>>(),
        "measure": measured.as_ref().map(measure),
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
pub fn experiment_hash_with(e: &Experiment, traces: &[u128]) -> String {
    let mut text = experiment_json(e).to_string();
    text += concat!(" ", env!("CARGO_PKG_VERSION"));
    for digest in traces {
        text += &format!(" {digest:032x}");
    }
    format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))
}

/// The graph of the fabric.
pub(super) fn topology(f: &FabricSpec) -> Value {
    let t = &f.topology;
    let mut value = t.family().parameters(t);
    if let Some(map) = value.as_object_mut() {
        map.insert("nics".into(), t.nics().into());
        map.insert("switches".into(), t.switches().into());
        map.insert("radix".into(), t.radix().into());
    }
    value
}

/// A whole number as such, any other as the nearest floating-point number.
pub(super) fn number(value: Ratio) -> Value {
    match value.den() {
        1 => json!(value.num()),
        _ => json!(value.to_f64()),
    }
}

/// A list of numbers in one text: tables have thousands.
pub(super) fn numbers<T: ToString>(list: &[T]) -> String {
    let list: Vec<String> = list.iter().map(T::to_string).collect();
    list.join(" ")
}

fn job(j: &Job, q: &Qos) -> Value {
    let Job {
        name,
        enabled,
        trace,
        // Where the file lies does not matter.
        trace_path: _,
        sl,
        vfabric,
        hosts,
        placement,
        share_nics,
        tasks_per_node,
        start_ps,
        repeat,
        send_completion,
        compute_scale,
        intra_node_latency_ps,
        intra_node_bandwidth,
        reduction_cost_ps_per_byte,
        collectives,
    } = j;
    let (completion, eager) = match *send_completion {
        SendCompletion::Handed => ("handed", Value::Null),
        SendCompletion::Injected => ("injected", Value::Null),
        SendCompletion::Rendezvous { eager_threshold } => ("rendezvous", eager_threshold.into()),
    };
    json!({
        "name": name,
        "enabled": enabled,
        "trace": trace,
        "sl": q.service_levels[usize::from(*sl)].name,
        "vfabric": vfabric,
        "hosts": hosts,
        "placement": match placement {
            Placement::Linear => json!("linear"),
            Placement::RoundRobin => json!("round-robin"),
            Placement::Random => json!("random"),
            Placement::RandomFrom(seed) => json!({ "random": seed }),
            Placement::List(list) => json!({ "list": list }),
        },
        "share_nics": share_nics,
        "tasks_per_node": tasks_per_node,
        "start_ps": start_ps,
        "repeat": match repeat {
            Repeat::Times(times) => json!(times),
            Repeat::UntilOthersEnd => json!("until-others-end"),
        },
        "send_completion": completion,
        "eager_threshold_bytes": eager,
        "compute_scale": compute_scale.to_string(),
        "intra_node_latency_ps": intra_node_latency_ps,
        "intra_node_bandwidth_bytes_per_s": intra_node_bandwidth.to_string(),
        "reduction_cost_ps_per_byte": reduction_cost_ps_per_byte.to_string(),
        "collectives": chosen(collectives),
    })
}

/// The algorithms chosen by hand, by operation.
fn chosen(choices: &Choices) -> Value {
    let mut value = json!(choices);
    if let Value::Object(map) = &mut value {
        map.retain(|_, algorithm| !algorithm.is_null());
        if let Some(bytes) = choices.segment() {
            map.insert("chain_segment_bytes".into(), bytes.into());
        }
    }
    value
}

fn background(b: &Background, q: &Qos) -> Value {
    let Background {
        sl,
        rate,
        injection,
        sizes,
        pattern: flow_pattern,
        start_ps,
        stop_ps,
    } = b;
    let weights: u64 = sizes.iter().map(|size| size.1).sum();
    let share = |weight| Ratio::new(weight, weights).map(|share| share.to_string());
    let messages = sizes.iter();
    json!({
        "sl": q.service_levels[usize::from(*sl)].name,
        "rate_flits_per_cycle_per_nic": rate.to_string(),
        "injection": match injection {
            Injection::Cbr => "cbr",
            Injection::Bernoulli => "bernoulli",
        },
        "messages": messages
            .map(|&(bytes, weight)| json!({ "bytes": bytes, "share": share(weight) }))
            .collect::<Vec<_>>(),
        "pattern": pattern(flow_pattern),
        "start_ps": start_ps,
        "stop_ps": stop_ps,
    })
}

fn pattern(pattern: &Pattern) -> Value {
    match pattern {
        Pattern::Uniform => json!("uniform"),
        Pattern::BitReversal => json!("bit-reversal"),
        Pattern::BitComplement => json!("bit-complement"),
        Pattern::Shuffle => json!("shuffle"),
        Pattern::Transpose => json!("transpose"),
        Pattern::Tornado => json!("tornado"),
        Pattern::Permutation => json!("permutation"),
        Pattern::Neighbour { offset } => json!({ "neighbour": offset }),
        Pattern::Hotspot { node, fraction } => {
            json!({ "hotspot": node, "fraction": fraction.to_string() })
        }
        Pattern::List(list) => json!({ "permutation": list }),
        Pattern::Pair { from, to } => json!({ "from": from, "to": to }),
    }
}

fn measure(m: &Measure) -> Value {
    let Measure {
        loads,
        warm_up,
        max_warm_up,
        batch,
        batches,
        tolerance,
        window,
    } = m;
    json!({
        "loads": loads.iter().map(Ratio::to_string).collect::<Vec<_>>(),
        "warm_up_ticks": warm_up,
        "max_warm_up_ticks": max_warm_up,
        "batch_ticks": batch,
        "batches": batches,
        "tolerance": tolerance.to_string(),
        "window_ticks": window,
    })
}
