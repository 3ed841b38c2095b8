//! The fabric and its service levels as JSON. The code destructures every structure without `..`,
//! so the compiler reports a new field that is missing here.

use super::json::{number, topology};
use super::switch::{scheduler_json, switch_json};
use super::{resolve_routing, resolve_vls};
use crate::fabric::spec::{FabricSpec, LinkLatency, Qos, ServiceLevel, Stages, Units};
use serde_json::{Map, Value, json};

/// The part about the fabric, without service levels and congestion control; `routing` is the name
/// of the algorithm.
#[must_use]
pub fn fabric_json(f: &FabricSpec, routing: &str) -> Value {
    let FabricSpec {
        topology: _,
        routing: own,
        units:
            Units {
                tick,
                flit_bytes,
                flits_per_credit,
                header_bytes,
            },
        link_latency: LinkLatency { switch: link, host },
        qos: _,
        switch,
        congestion_control: _,
    } = f;
    let mut fabric = Map::new();
    fabric.insert("topology".into(), topology(f));
    resolve_routing::describe(own, routing, &mut fabric);
    let rest = [
        ("tick_ps", number(tick.length_ps())),
        ("flit_bytes", json!(flit_bytes)),
        ("flits_per_credit", json!(flits_per_credit)),
        ("header_bytes", json!(header_bytes)),
        ("link_ticks", json!(link)),
        ("host_link_ticks", json!(host)),
        (
            "switch",
            with_stages(switch_json(switch), switch.kind().stages()),
        ),
    ];
    fabric.extend(rest.map(|(key, value)| (key.to_owned(), value)));
    fabric.into()
}

/// Adds the latencies that every kind of switch has.
fn with_stages(mut switch: Value, stages: &Stages) -> Value {
    let Stages {
        input_store,
        routing,
        allocation,
        crossbar,
        output_store,
    } = *stages;
    for (key, ticks) in [
        ("input_ticks", input_store),
        ("routing_ticks", routing),
        ("allocation_ticks", allocation),
        ("crossbar_ticks", crossbar),
        ("output_ticks", output_store),
    ] {
        switch[key] = ticks.into();
    }
    switch
}

/// `[qos]`, with the scheduler or the arbiters of the switches.
pub(super) fn qos(f: &FabricSpec) -> Value {
    let Qos {
        vls,
        service_levels,
        sc2vl,
        vl_policy,
    } = &f.qos;
    let level = |level: &ServiceLevel| {
        let ServiceLevel {
            name,
            traffic_class,
            scs,
            mtu_bytes,
        } = level;
        json!({ "name": name, "tc": traffic_class, "scs": scs, "mtu_bytes": mtu_bytes })
    };
    let mut qos = json!({
        "vls": vls,
        "service_levels": service_levels.iter().map(level).collect::<Vec<_>>(),
        "sc2vl": sc2vl,
        "sl2vl": resolve_vls::tables_json(vl_policy),
        "scheduler": scheduler_json(&f.switch),
    });
    // Only if there is one, so that the results of other experiments stay the same.
    if let Some(policy) = resolve_vls::policy_json(vl_policy) {
        qos["vl_policy"] = policy;
    }
    qos
}
