//! The InfiniBand side of a resolved experiment as JSON.

use crate::fabric::infiniband::{
    Acks, CctiBound, CongestionControl, FillComparison, FlowLevel, IrdBase, Marking, Notification,
    PortCongestion, SlScope, TimerRestart, TimerScope, VlArb, VlMap, VlWeight, Voq,
};
use crate::fabric::spec::Qos;
use serde_json::{Map, Value, json};

/// A list of numbers in one text: tables have thousands.
fn numbers<T: ToString>(list: &[T]) -> String {
    let list: Vec<String> = list.iter().map(T::to_string).collect();
    list.join(" ")
}

/// What only the `voq` switch has, as members of the fabric.
pub(super) fn voq(voq: &Voq) -> Value {
    let links = &voq.links;
    let exceptions = links.exceptions.iter().map(|((switch, port), rate)| {
        json!({ "switch": switch, "port": port, "flits_per_tick": rate.to_string() })
    });
    json!({
        "host_link_flits_per_tick": links.host.to_string(),
        "link_flits_per_tick": links.switch.to_string(),
        "links": exceptions.collect::<Vec<_>>(),
        "crossbar_speedup": voq.crossbar_speedup,
        "hca_send_flits_per_tick": voq.hca.send_rate.map(|rate| rate.to_string()),
        "hca_sink_flits_per_tick": voq.hca.sink_rate.map(|rate| rate.to_string()),
        "acks": match voq.hca.acks {
            Acks::None => "none",
            Acks::PerMessage => "per-message",
            Acks::PerPacket => "per-packet",
        },
        "ack_bytes": voq.hca.ack_bytes,
        "sl2vl": match &voq.vl_map {
            VlMap::ServiceChannels => Value::Null,
            VlMap::SlToVl(tables) => json!({
                "default": numbers(&tables.default),
                "hcas": tables.hcas.iter().map(|(hca, table)| {
                    (hca.to_string(), numbers(table).into())
                }).collect::<Map<_, _>>(),
                "ports": tables.ports.iter().map(|((switch, input, output), table)| {
                    (format!("{switch} {input} {output}"), numbers(table).into())
                }).collect::<Map<_, _>>(),
            }),
        },
        "forwarding": voq.forwarding.as_ref().map(|tables| {
            tables.ports.iter().map(|row| numbers(row)).collect::<Vec<_>>()
        }),
    })
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

fn port(port: &PortCongestion) -> Value {
    json!({
        "Threshold": port.threshold,
        "Victim_Mask": port.victim_mask,
        "Packet_Size": port.packet_size,
        "Marking_Rate": port.marking_rate,
        "Credit_Mask": port.credit_mask,
        "CS_Threshold": port.cs_threshold,
        "CS_ReturnDelay": format!(
            "{}:{}", port.cs_return_delay.shift, port.cs_return_delay.multiplier
        ),
    })
}

/// `[congestion_control]`.
pub(super) fn congestion(control: Option<&CongestionControl>, qos: &Qos) -> Value {
    let Some(c) = control else {
        return json!({ "kind": "none" });
    };
    let ports = c.exceptions.iter().map(|(&(switch, number), settings)| {
        let mut value = port(settings);
        value["switch"] = switch.into();
        value["port"] = number.into();
        value
    });
    let levels = qos.service_levels.iter().zip(&c.service_levels);
    let levels = levels.map(|(level, own)| {
        let value = json!({
            "CCTI_Increase": own.ccti_increase,
            "CCTI_Min": own.ccti_min,
            "CCTI_Timer_ticks": own.ccti_timer,
            "Trigger_Threshold": own.trigger_threshold,
        });
        (level.name.clone(), value)
    });
    let entries = c.cct.iter();
    let entries = entries.map(|e| format!("{}/{}", e.multiplier, e.shift));
    json!({
        "kind": "ib",
        "host_ports": port(&c.host_ports),
        "switch_ports": port(&c.switch_ports),
        "port": ports.collect::<Vec<_>>(),
        "compare": match c.compare {
            FillComparison::AnyQueue => "any-queue",
            FillComparison::Sum => "sum",
            FillComparison::SumShared => "sum-shared",
        },
        "marking": match c.marking {
            Marking::Random => "random",
            Marking::Fixed => "fixed",
        },
        "notification": match c.notification {
            Notification::Cnp { .. } => "cnp",
            Notification::Ack => "ack",
            Notification::AckNow => "ack-at-once",
        },
        "cnp_bytes": match c.notification {
            Notification::Cnp { bytes } => Some(bytes),
            Notification::Ack | Notification::AckNow => None,
        },
        "level": match c.level {
            FlowLevel::Qp => "qp",
            FlowLevel::Sl => "sl",
        },
        "sl_scope": match c.sl_scope {
            SlScope::Flow => "flow",
            SlScope::Link => "link",
        },
        "timer_restart": match c.timer_restart {
            TimerRestart::AtExpiry => "at-expiry",
            TimerRestart::OnBecn => "on-becn",
        },
        "ccti_bound": match c.ccti_bound {
            CctiBound::Saturate => "saturate",
            CctiBound::Skip => "skip",
        },
        "ird_base": match c.ird_base {
            IrdBase::Packet => "packet",
            IrdBase::MaxPacket => "max-packet",
        },
        "timer": match c.timer {
            TimerScope::PerFlow => "per-flow",
            TimerScope::PerSl => "per-sl",
        },
        "CCT": entries.collect::<Vec<_>>().join(" "),
        "CCTI_Limit": c.ccti_limit,
        "service_levels": levels.collect::<Map<_, _>>(),
    })
}
