//! The InfiniBand side of a resolved experiment as JSON.

use crate::fabric::ids::SwitchPort;
use crate::fabric::spec::Voq;
use crate::fabric::spec::voq::{
    Acks, Buffers, Hca, InputQueues, LinkRates, StaticPool, VlArb, VlWeight,
};
use serde_json::{Value, json};

/// A list of numbers in one text: tables have thousands.
pub(super) fn numbers<T: ToString>(list: &[T]) -> String {
    let list: Vec<String> = list.iter().map(T::to_string).collect();
    list.join(" ")
}

/// The `voq` switch with its adapters.
pub(super) fn voq(switch: &Voq) -> Value {
    let Voq {
        // Added by `json_fabric`, as for every kind.
        stages: _,
        links:
            LinkRates {
                host,
                switch: between,
                exceptions,
            },
        crossbar_speedup,
        input_queues,
        buffers:
            Buffers {
                nic_queue,
                nic_sink,
                input,
                output,
            },
        // With the service levels.
        vlarb: _,
        hca:
            Hca {
                send_rate,
                sink_rate,
                vlarb: _,
                acks,
                ack_bytes,
            },
    } = switch;
    let exceptions = exceptions.iter().map(|(SwitchPort { switch, port }, rate)| {
        json!({ "switch": switch, "port": port, "flits_per_tick": rate.to_string() })
    });
    json!({
        "kind": "voq",
        "crossbar_speedup": crossbar_speedup,
        "input_queues": match input_queues {
            InputQueues::VirtualOutput => "virtual-output",
            InputQueues::Fifo => "fifo",
        },
        "host_link_flits_per_tick": host.to_string(),
        "link_flits_per_tick": between.to_string(),
        "links": exceptions.collect::<Vec<_>>(),
        "nic_queue_credits": nic_queue,
        "nic_sink": pool(nic_sink),
        "input_buffer": pool(input),
        "output_buffer_credits": output,
        "hca_send_flits_per_tick": send_rate.map(|rate| rate.to_string()),
        "hca_sink_flits_per_tick": sink_rate.map(|rate| rate.to_string()),
        "acks": match acks {
            Acks::None => "none",
            Acks::PerMessage => "per-message",
            Acks::PerPacket => "per-packet",
        },
        "ack_bytes": ack_bytes,
    })
}

fn pool(pool: &StaticPool) -> Value {
    let StaticPool { total, per_vl } = pool;
    json!({ "credits": total, "per_vl": per_vl })
}

/// An arbiter: round robin, or its tables.
pub(super) fn arbiter(arbiter: &VlArb) -> Value {
    let entries = |list: &[VlWeight]| -> Vec<Value> {
        let entries = list.iter();
        entries.map(|e| json!([e.vl, e.weight])).collect()
    };
    match arbiter {
        VlArb::RoundRobin => json!({ "kind": "round-robin" }),
        VlArb::Tables {
            high,
            low,
            high_limit,
        } => json!({
            "kind": "tables",
            "high": entries(high),
            "low": entries(low),
            "high_limit": high_limit,
        }),
    }
}
