//! `[congestion_control]` of a resolved experiment as JSON.

use crate::fabric::spec::congestion::{
    CctControl, CctEntry, CctiBound, FillComparison, FlowLevel, IrdBase, Marker, Marking,
    PortCongestion, PortVlMarker, SlCongestion, SlScope, SourceControl, TimerRestart, TimerScope,
};
use crate::fabric::spec::{CongestionControl, Notification, Qos};
use serde_json::{Map, Value, json};

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

/// `[congestion_control]`: the keys of marker, notification and source in one object.
pub(super) fn congestion(control: Option<&CongestionControl>, qos: &Qos) -> Value {
    let Some(control) = control else {
        return json!({ "kind": "none" });
    };
    let CongestionControl {
        marker: at_switches,
        notification,
        source,
    } = control;
    let mut value = json!({ "kind": "ib" });
    let (notification, cnp_bytes) = match notification {
        Notification::Cnp { bytes } => ("cnp", Some(bytes)),
        Notification::Ack => ("ack", None),
        Notification::AckNow => ("ack-at-once", None),
    };
    value["notification"] = notification.into();
    value["cnp_bytes"] = cnp_bytes.copied().into();
    match at_switches {
        Marker::None => value["marker"] = "none".into(),
        Marker::PortVl(settings) => {
            value["marker"] = "port-vl".into();
            marker(settings, &mut value);
        }
    }
    match source {
        SourceControl::None => value["source"] = "none".into(),
        SourceControl::Cct(settings) => {
            value["source"] = "cct".into();
            cct(settings, qos, &mut value);
        }
    }
    value
}

fn marker(marker: &PortVlMarker, value: &mut Value) {
    let PortVlMarker {
        host_ports,
        switch_ports,
        exceptions,
        compare,
        marking,
        // From the seed of the experiment.
        marking_seed: _,
    } = marker;
    let ports = exceptions.iter().map(|(at, settings)| {
        let mut value = port(settings);
        value["switch"] = at.switch.get().into();
        value["port"] = at.port.get().into();
        value
    });
    value["host_ports"] = port(host_ports);
    value["switch_ports"] = port(switch_ports);
    value["port"] = ports.collect();
    value["compare"] = name_of_comparison(*compare).into();
    value["marking"] = name_of_marking(*marking).into();
}

fn cct(control: &CctControl, qos: &Qos, value: &mut Value) {
    let CctControl {
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
    let levels = qos.service_levels.iter().zip(service_levels);
    let levels = levels.map(|(named, own)| (named.name.clone(), level(own)));
    let entries = cct.iter().map(|e| format!("{}/{}", e.multiplier, e.shift));
    value["CCT"] = entries.collect::<Vec<_>>().join(" ").into();
    value["CCTI_Limit"] = (*ccti_limit).into();
    value["service_levels"] = levels.collect::<Map<_, _>>().into();
    for (key, text) in [
        ("level", name_of_level(*flow_level)),
        ("sl_scope", name_of_scope(*sl_scope)),
        ("timer_restart", name_of_restart(*timer_restart)),
        ("ccti_bound", name_of_bound(*ccti_bound)),
        ("ird_base", name_of_base(*ird_base)),
        ("timer", name_of_timer(*timer)),
    ] {
        value[key] = text.into();
    }
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
