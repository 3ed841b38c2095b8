//! The fabric and its service levels as JSON. The code destructures every structure without `..`,
//! so the compiler reports a new field that is missing here.

use super::json::{number, topology};
use super::json_infiniband::{self, arbiter};
use super::{resolve_routing, resolve_vls};
use crate::fabric::spec::hierarchical::{
    Buffers, CentralQueues, Pool, Scheduler, Timing, VirtualAllocation,
};
use crate::fabric::spec::{
    FabricSpec, Hierarchical, LinkLatency, Qos, ServiceLevel, Stages, Switch, Units,
};
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
            match switch {
                Switch::Hierarchical(switch) => {
                    with_stages(hierarchical(switch), &switch.timing.stages)
                }
                Switch::Voq(switch) => with_stages(json_infiniband::voq(switch), &switch.stages),
            },
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

fn hierarchical(switch: &Hierarchical) -> Value {
    let Hierarchical {
        timing:
            Timing {
                // Added by `with_stages`.
                stages: _,
                allocation_gap,
                mport_speedup,
                central_speedup,
            },
        virtual_allocation,
        buffers:
            Buffers {
                nic_queue,
                nic_sink,
                input,
                output,
                central,
                central_queues,
            },
        // `qos` writes it beside the service levels, whose shares it keeps.
        scheduler: _,
    } = switch;
    json!({
        "kind": "hierarchical",
        "allocation_gap_ticks": allocation_gap,
        "mport_speedup": mport_speedup,
        "central_speedup": central_speedup,
        "virtual_allocation": match virtual_allocation {
            VirtualAllocation::Informed => "informed",
            VirtualAllocation::Blind => "blind",
        },
        "nic_queue": pool(nic_queue),
        "nic_sink": pool(nic_sink),
        "input_buffer": pool(input),
        "output_buffer": pool(output),
        "central_buffer": pool(central),
        "central_queues": match central_queues {
            CentralQueues::PerNeighbour => "per-neighbour",
            CentralQueues::PerVl => "per-vl",
        },
    })
}

fn pool(pool: &Pool) -> Value {
    let Pool { total, per_vl } = pool;
    json!({
        "credits": total,
        "exclusive": per_vl.iter().map(|q| q.exclusive).collect::<Vec<_>>(),
        "max": per_vl.iter().map(|q| q.max).collect::<Vec<_>>(),
    })
}

/// `[qos]`, with the scheduler or the arbiters of the switches.
pub(super) fn qos(f: &FabricSpec) -> Value {
    let Qos {
        vls,
        service_levels,
        sc2vl,
        vl_policy,
    } = &f.qos;
    let scheduler = match &f.switch {
        Switch::Hierarchical(switch) => scheduler(&switch.scheduler),
        Switch::Voq(switch) => json!({
            "kind": "ib-vlarb",
            "vlarb": arbiter(&switch.vlarb),
            "hca_vlarb": arbiter(&switch.hca.vlarb),
        }),
    };
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
        "scheduler": scheduler,
    });
    // Only if there is one, so that the results of other experiments stay the same.
    if let Some(policy) = resolve_vls::policy_json(vl_policy) {
        qos["vl_policy"] = policy;
    }
    qos
}

fn scheduler(scheduler: &Scheduler) -> Value {
    match scheduler {
        Scheduler::RrVl => json!({ "kind": "rr-vl" }),
        Scheduler::Sbt { weights } => json!({ "kind": "sbt", "weights": weights }),
        Scheduler::DTable { entries } => json!({
            "kind": "dtable",
            "entries": entries.iter().map(|e| json!([e.sl, e.weight])).collect::<Vec<_>>(),
        }),
    }
}
