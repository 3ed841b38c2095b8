//! The resolved experiment as JSON: settings as interpreted, quantities as
//! integers with the unit in the key, fractions as exact texts.

use super::experiment::{Background, Experiment, Job, Measure, Placement, SendCompletion};
use super::json_infiniband;
use crate::fabric::infiniband::SwitchKind;
use crate::fabric::spec::{
    CentralQueues, FabricSpec, Pool, Qos, RingTie, Scheduler, Timing, TrunkSelection,
    VirtualAllocation,
};
use crate::replay::Repeat;
use crate::replay::background::{Injection, Pattern};
use crate::replay::collectives::Choices;
use crate::units::Ratio;
use serde_json::{Value, json};

/// The complete configuration. Equal experiments give equal values.
#[must_use]
pub fn experiment_json(e: &Experiment) -> Value {
    json!({
        "seed": e.seed,
        "fabric": fabric_json(&e.fabric, e.routing),
        "qos": qos(&e.fabric),
        "congestion_control":
            json_infiniband::congestion(e.fabric.congestion_control.as_deref(), &e.fabric.qos),
        "jobs": e.jobs.iter().map(|j| job(j, &e.fabric.qos)).collect::<Vec<_>>(),
        "background": e.background.iter().map(|b| background(b, &e.fabric.qos)).collect::<Vec<_>>(),
        "measure": e.measure.as_ref().map(measure),
    })
}

/// FNV-1a, 128 bits, of the compact form of [`experiment_json`], as 32 hex digits. It tells
/// configurations apart; it is no protection against forgery.
#[must_use]
pub fn experiment_hash(e: &Experiment) -> String {
    experiment_hash_with(e, &[])
}

/// Like [`experiment_hash`], of the digests of the traces as well: those of the jobs in their
/// order.
#[must_use]
pub fn experiment_hash_with(e: &Experiment, traces: &[u128]) -> String {
    let mut text = experiment_json(e).to_string();
    for digest in traces {
        text += &format!(" {digest:032x}");
    }
    format!("{:032x}", fnv1a_128(text.as_bytes()))
}

/// draft-eastlake-fnv, 128-bit parameters.
fn fnv1a_128(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, &b| {
        (hash ^ u128::from(b)).wrapping_mul(PRIME)
    })
}

/// The part about the fabric; `routing` is the name of the algorithm.
#[must_use]
pub fn fabric_json(f: &FabricSpec, routing: &str) -> Value {
    let b = &f.buffers;
    let (kind, voq) = match &f.kind {
        SwitchKind::Hierarchical => ("hierarchical", Value::Null),
        SwitchKind::Voq(voq) => ("voq", json_infiniband::voq(voq)),
    };
    json!({
        "kind": kind,
        "voq": voq,
        "topology": topology(f),
        "routing": routing,
        "ring_tie": match f.routing.ring_tie {
            RingTie::Positive => "positive",
            RingTie::SourceParity => "source-parity",
        },
        "trunk_selection": match f.routing.trunk {
            TrunkSelection::Destination => "destination",
            TrunkSelection::RoundRobin => "round-robin",
            TrunkSelection::LeastQueued => "least-queued",
        },
        "timing": timing(&f.timing),
        "virtual_allocation": match (&f.kind, f.virtual_allocation) {
            (SwitchKind::Voq(_), _) => Value::Null,
            (_, VirtualAllocation::Informed) => json!("informed"),
            (_, VirtualAllocation::Blind) => json!("blind"),
        },
        "header_bytes": f.header_bytes,
        "flits_per_credit": b.flits_per_credit,
        "nic_queue": pool(&b.nic_queue),
        "nic_sink": pool(&b.nic_sink),
        "input_buffer": pool(&b.input),
        "output_buffer": pool(&b.output),
        "central_buffer": pool(&b.central),
        "central_queues": match b.central_queues {
            CentralQueues::PerNeighbour => "per-neighbour",
            CentralQueues::PerVl => "per-vl",
        },
    })
}

fn topology(f: &FabricSpec) -> Value {
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
fn number(value: Ratio) -> Value {
    match value.den() {
        1 => json!(value.num()),
        _ => json!(value.to_f64()),
    }
}

fn timing(t: &Timing) -> Value {
    json!({
        "tick_ps": number(t.tick.length_ps()),
        "flit_bytes": t.flit_bytes,
        "link_ticks": t.link,
        "host_link_ticks": t.host_link,
        "input_ticks": t.input_store,
        "routing_ticks": t.routing,
        "allocation_ticks": t.allocation,
        "allocation_gap_ticks": t.allocation_gap,
        "crossbar_ticks": t.crossbar,
        "output_ticks": t.output_store,
        "mport_speedup": t.mport_speedup,
        "central_speedup": t.central_speedup,
    })
}

fn pool(p: &Pool) -> Value {
    json!({
        "credits": p.total,
        "exclusive": p.per_vl.iter().map(|q| q.exclusive).collect::<Vec<_>>(),
        "max": p.per_vl.iter().map(|q| q.max).collect::<Vec<_>>(),
    })
}

fn qos(f: &FabricSpec) -> Value {
    let q = &f.qos;
    let scheduler = match (&f.kind, &q.scheduler) {
        (SwitchKind::Voq(voq), _) => json!({
            "kind": "ib-vlarb",
            "vlarb": json_infiniband::arbiter(&voq.vlarb),
            "hca_vlarb": json_infiniband::arbiter(&voq.hca.vlarb),
        }),
        (_, Scheduler::RrVl) => json!({ "kind": "rr-vl" }),
        (_, Scheduler::Sbt { weights }) => json!({ "kind": "sbt", "weights": weights }),
        (_, Scheduler::DTable { entries }) => json!({
            "kind": "dtable",
            "entries": entries.iter().map(|e| json!([e.sl, e.weight])).collect::<Vec<_>>(),
        }),
    };
    let levels: Vec<Value> = q
        .service_levels
        .iter()
        .map(|l| json!({ "name": l.name, "tc": l.traffic_class, "scs": l.scs, "mtu_bytes": l.mtu_bytes }))
        .collect();
    json!({ "vls": q.vls, "service_levels": levels, "sc2vl": q.sc2vl, "scheduler": scheduler })
}

fn job(j: &Job, q: &Qos) -> Value {
    let (send_completion, eager) = match j.send_completion {
        SendCompletion::Handed => ("handed", Value::Null),
        SendCompletion::Injected => ("injected", Value::Null),
        SendCompletion::Rendezvous { eager_threshold } => ("rendezvous", eager_threshold.into()),
    };
    json!({
        "name": j.name,
        "enabled": j.enabled,
        "trace": j.trace,
        "sl": q.service_levels[usize::from(j.sl)].name,
        "vfabric": j.vfabric,
        "hosts": j.hosts,
        "placement": match &j.placement {
            Placement::Linear => json!("linear"),
            Placement::RoundRobin => json!("round-robin"),
            Placement::Random => json!("random"),
            Placement::RandomFrom(seed) => json!({ "random": seed }),
            Placement::List(list) => json!({ "list": list }),
        },
        "share_nics": j.share_nics,
        "tasks_per_node": j.tasks_per_node,
        "start_ps": j.start_ps,
        "repeat": match j.repeat {
            Repeat::Times(times) => json!(times),
            Repeat::UntilOthersEnd => json!("until-others-end"),
        },
        "send_completion": send_completion,
        "eager_threshold_bytes": eager,
        "compute_scale": j.compute_scale.to_string(),
        "intra_node_latency_ps": j.intra_node_latency_ps,
        "intra_node_bandwidth_bytes_per_s": j.intra_node_bandwidth.to_string(),
        "reduction_cost_ps_per_byte": j.reduction_cost_ps_per_byte.to_string(),
        "collectives": chosen(&j.collectives),
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
    let weights: u64 = b.sizes.iter().map(|size| size.1).sum();
    let share = |weight| Ratio::new(weight, weights).map(|share| share.to_string());
    let messages = b.sizes.iter();
    json!({
        "sl": q.service_levels[usize::from(b.sl)].name,
        "rate_flits_per_cycle_per_nic": b.rate.to_string(),
        "injection": match b.injection {
            Injection::Cbr => "cbr",
            Injection::Bernoulli => "bernoulli",
        },
        "messages": messages
            .map(|&(bytes, weight)| json!({ "bytes": bytes, "share": share(weight) }))
            .collect::<Vec<_>>(),
        "pattern": pattern(&b.pattern),
        "start_ps": b.start_ps,
        "stop_ps": b.stop_ps,
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
    json!({
        "loads": m.loads.iter().map(Ratio::to_string).collect::<Vec<_>>(),
        "warm_up_ticks": m.warm_up,
        "max_warm_up_ticks": m.max_warm_up,
        "batch_ticks": m.batch,
        "batches": m.batches,
        "tolerance": m.tolerance.to_string(),
        "window_ticks": m.window,
    })
}

#[cfg(test)]
mod tests {
    use super::fnv1a_128;

    #[test]
    fn fnv_test_vectors() {
        assert_eq!(fnv1a_128(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a_128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
