//! The InfiniBand side of a resolved experiment as JSON.

use crate::fabric::ids::SwitchPort;
use crate::fabric::spec::congestion::{
    CctEntry, CctiBound, FillComparison, FlowLevel, IrdBase, Marking, PortCongestion, SlCongestion,
    SlScope, TimerRestart, TimerScope,
};
use crate::fabric::spec::voq::{Acks, Buffers, Hca, LinkRates, StaticPool, VlArb, VlWeight};
use crate::fabric::spec::{CongestionControl, Notification, Qos, Voq};
use serde_json::{Map, Value, json};

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

fn port(port: &PortCongestion) -> Value {
    let PortCongestion {
        threshold,
        victim_mask,
        packet_size,
        marking_rate,
        credit_mask,
        cs_threshold,
        cs_return_delay: CctEntry { multiplier, shift },
    } = port;
    json!({
        "Threshold": threshold,
        "Victim_Mask": victim_mask,
        "Packet_Size": packet_size,
        "Marking_Rate": marking_rate,
        "Credit_Mask": credit_mask,
        "CS_Threshold": cs_threshold,
        "CS_ReturnDelay": format!("{shift}:{multiplier}"),
    })
}

fn level(level: &SlCongestion) -> Value {
    let SlCongestion {
        ccti_increase,
        ccti_min,
        ccti_timer,
        trigger_threshold,
    } = level;
    json!({
        "CCTI_Increase": ccti_increase,
        "CCTI_Min": ccti_min,
        "CCTI_Timer_ticks": ccti_timer,
        "Trigger_Threshold": trigger_threshold,
    })
}

/// `[congestion_control]`.
pub(super) fn congestion(control: Option<&CongestionControl>, qos: &Qos) -> Value {
    let Some(control) = control else {
        return json!({ "kind": "none" });
    };
    let CongestionControl {
        host_ports,
        switch_ports,
        exceptions,
        compare,
        marking,
        // From the seed of the experiment.
        marking_seed: _,
        notification,
        level: flow_level,
        sl_scope,
        timer,
        timer_restart,
        ccti_bound,
        ird_base,
        cct,
        ccti_limit,
        service_levels,
    } = control;
    let ports = exceptions.iter().map(|(at, settings)| {
        let mut value = port(settings);
        value["switch"] = at.switch.get().into();
        value["port"] = at.port.get().into();
        value
    });
    let levels = qos.service_levels.iter().zip(service_levels);
    let levels = levels.map(|(named, own)| (named.name.clone(), level(own)));
    let entries = cct.iter().map(|e| format!("{}/{}", e.multiplier, e.shift));
    let (notification, cnp_bytes) = match notification {
        Notification::Cnp { bytes } => ("cnp", Some(bytes)),
        Notification::Ack => ("ack", None),
        Notification::AckNow => ("ack-at-once", None),
    };
    let mut value = json!({
        "kind": "ib",
        "host_ports": port(host_ports),
        "switch_ports": port(switch_ports),
        "port": ports.collect::<Vec<_>>(),
        "notification": notification,
        "cnp_bytes": cnp_bytes,
        "CCT": entries.collect::<Vec<_>>().join(" "),
        "CCTI_Limit": ccti_limit,
        "service_levels": levels.collect::<Map<_, _>>(),
    });
    for (key, text) in [
        ("compare", name_of_comparison(*compare)),
        ("marking", name_of_marking(*marking)),
        ("level", name_of_level(*flow_level)),
        ("sl_scope", name_of_scope(*sl_scope)),
        ("timer_restart", name_of_restart(*timer_restart)),
        ("ccti_bound", name_of_bound(*ccti_bound)),
        ("ird_base", name_of_base(*ird_base)),
        ("timer", name_of_timer(*timer)),
    ] {
        value[key] = text.into();
    }
    value
}

/// Defines functions that name the values of settings as an experiment file does.
macro_rules! names {
    ($($function:ident($type:ident) { $($value:ident => $name:literal,)* })*) => {
        $(fn $function(value: $type) -> &'static str {
            match value {
                $($type::$value => $name,)*
            }
        })*
    };
}

names! {
    name_of_comparison(FillComparison) {
        AnyQueue => "any-queue",
        Sum => "sum",
        SumShared => "sum-shared",
    }
    name_of_marking(Marking) {
        Random => "random",
        Fixed => "fixed",
    }
    name_of_level(FlowLevel) {
        Qp => "qp",
        Sl => "sl",
    }
    name_of_scope(SlScope) {
        Flow => "flow",
        Link => "link",
    }
    name_of_restart(TimerRestart) {
        AtExpiry => "at-expiry",
        OnBecn => "on-becn",
    }
    name_of_bound(CctiBound) {
        Saturate => "saturate",
        Skip => "skip",
    }
    name_of_base(IrdBase) {
        Packet => "packet",
        MaxPacket => "max-packet",
    }
    name_of_timer(TimerScope) {
        PerFlow => "per-flow",
        PerSl => "per-sl",
    }
}
