//! Resolves `[congestion_control]`.

pub(super) mod cct;
pub(super) mod keys;
pub(super) mod presets;

use crate::config::congestion_control::cct::table;
use crate::config::congestion_control::keys::{
    RawCongestionControl, RawMarker, RawNotification, RawPortCongestion, RawSourceControl,
};
use crate::config::congestion_control::presets::{CONGESTION, CongestionDefaults, published};
use crate::config::document::{ConfigError, Document, refused, small, suggestion};
use crate::config::place;
use crate::fabric::spec::congestion::{
    CctControl, CctEntry, MAX_CCT_MULTIPLIER, MAX_CCT_SHIFT, MAX_THRESHOLD, Marker, PortCongestion,
    PortVlMarker, SlCongestion, SourceControl, TimerRestart, TimerScope,
};
use crate::fabric::spec::{CongestionControl, FabricSpec, Notification, Qos, ServiceLevel};
use crate::fabric::topology::Topology;
use crate::units::TickLength;
use flitwise_base::quote::quoted;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::DeValue;

/// The key of the section.
const KEY: &str = "congestion_control";

/// All parameters. Those that nothing uses, because congestion control, its marker or its source
/// control is off, are checked too. Files are looked for in `dir`.
pub(crate) fn congestion(
    raw: &RawCongestionControl,
    spec: &FabricSpec,
    marking_seed: u64,
    dir: &Path,
) -> Result<CongestionControl, ConfigError> {
    let d = match raw.preset {
        None => &CONGESTION,
        Some(preset) => published(preset),
    };
    let port_vl = port_vl_marker(raw, d, marking_seed)?;
    let notification = notification(raw, d)?;
    let cct = cct_control(raw, d, spec, dir)?;
    Ok(CongestionControl {
        marker: match raw.marker {
            None | Some(RawMarker::PortVl) => Marker::PortVl(port_vl),
            Some(RawMarker::None) => Marker::None,
        },
        notification,
        source: match raw.source {
            None | Some(RawSourceControl::Cct) => SourceControl::Cct(cct),
            Some(RawSourceControl::None) => SourceControl::None,
        },
    })
}

fn port_vl_marker(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
    marking_seed: u64,
) -> Result<PortVlMarker, ConfigError> {
    let [host_ports, switch_ports] = ports(raw, d)?;
    Ok(PortVlMarker {
        host_ports,
        switch_ports,
        exceptions: BTreeMap::new(),
        compare: raw.compare.unwrap_or_default(),
        marking: raw.marking.unwrap_or_default(),
        marking_seed,
    })
}

fn cct_control(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
    spec: &FabricSpec,
    dir: &Path,
) -> Result<CctControl, ConfigError> {
    Ok(CctControl {
        level: raw.level.unwrap_or_default(),
        sl_scope: raw.sl_scope.unwrap_or_default(),
        timer: raw.timer.unwrap_or_default(),
        timer_restart: timer_restart(raw)?,
        ccti_bound: raw.ccti_bound.unwrap_or_default(),
        ird_base: raw.ird_base.unwrap_or_default(),
        cct: table(raw, d, spec, dir)?,
        ccti_limit: raw.ccti_limit.unwrap_or(d.ccti_limit),
        service_levels: service_levels(raw, d, &spec.qos.service_levels, spec.units.tick)?,
    })
}

/// Settings of the ports towards adapters, and towards switches.
fn ports(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
) -> Result<[PortCongestion; 2], ConfigError> {
    let all = raw.ports();
    // Ranges first, under the key that was written.
    settings(&all, d.host_ports, "congestion_control")?;
    let side = |own: &RawPortCongestion, default, key| {
        let general = settings(&all, default, "congestion_control")?;
        settings(own, general, key)
    };
    Ok([
        side(
            &raw.host_ports,
            d.host_ports,
            "congestion_control.host_ports",
        )?,
        side(
            &raw.switch_ports,
            d.switch_ports,
            "congestion_control.switch_ports",
        )?,
    ])
}

fn notification(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
) -> Result<Notification, ConfigError> {
    Ok(match raw.notification {
        None | Some(RawNotification::Cnp) => Notification::Cnp {
            bytes: small(raw.cnp.map_or(d.cnp, |b| b.0), "congestion_control.cnp")?,
        },
        Some(RawNotification::Ack) => Notification::Ack,
        Some(RawNotification::AckAtOnce) => Notification::AckNow,
    })
}

fn timer_restart(raw: &RawCongestionControl) -> Result<TimerRestart, ConfigError> {
    match (raw.timer_restart.unwrap_or_default(), raw.timer) {
        (TimerRestart::OnBecn, Some(TimerScope::PerSl)) => refused(
            "congestion_control.timer_restart",
            "the timer of a service level runs freely, no BECN restarts it; remove this key or \
             take `timer = \"per-flow\"`",
        ),
        (restart, _) => Ok(restart),
    }
}

/// Settings of single ports; keys that they leave out are taken from the settings for all ports of their kind.
pub(crate) fn exceptions(
    raw: &RawCongestionControl,
    control: &mut CongestionControl,
    topology: &Topology,
) -> Result<(), ConfigError> {
    let Marker::PortVl(marker) = &mut control.marker else {
        return Ok(());
    };
    for (i, one) in raw.port.iter().enumerate() {
        let key = format!("congestion_control.port.{i}");
        let at = place::port(topology, &one.switch, one.port, one.device_port);
        let at = at.map_err(|problem| ConfigError::new(&key, problem))?;
        let of_kind = marker.port(topology, at.switch, at.port);
        let own = settings(&one.settings(), of_kind, &key)?;
        if marker.exceptions.insert(at, own).is_some() {
            return refused(key, "this port is listed twice; keep one");
        }
    }
    Ok(())
}

fn settings(
    raw: &RawPortCongestion,
    d: PortCongestion,
    key: &str,
) -> Result<PortCongestion, ConfigError> {
    let threshold = raw.threshold.unwrap_or(d.threshold);
    if threshold > MAX_THRESHOLD {
        return refused(
            format!("{key}.Threshold"),
            format!("a weight of {threshold}; it goes from 0 (never mark) to {MAX_THRESHOLD}"),
        );
    }
    let cs_threshold = raw.cs_threshold.unwrap_or(d.cs_threshold);
    if cs_threshold > MAX_THRESHOLD {
        return refused(
            format!("{key}.CS_Threshold"),
            format!(
                "a weight of {cs_threshold}; it goes from 0 (never starved) to {MAX_THRESHOLD}"
            ),
        );
    }
    let delay = raw.cs_return_delay.map(|delay| CctEntry {
        multiplier: delay.multiplier,
        shift: delay.shift,
    });
    if let Some(CctEntry { multiplier, shift }) = delay.filter(|delay| !delay.is_valid()) {
        return refused(
            format!("{key}.CS_ReturnDelay"),
            format!(
                "\"{shift}:{multiplier}\"; a shift goes to {MAX_CCT_SHIFT}, a multiplier to \
                 {MAX_CCT_MULTIPLIER}"
            ),
        );
    }
    Ok(PortCongestion {
        threshold,
        victim_mask: raw.victim_mask.unwrap_or(d.victim_mask),
        packet_size: raw.packet_size.unwrap_or(d.packet_size),
        marking_rate: raw.marking_rate.unwrap_or(d.marking_rate),
        credit_mask: raw.credit_mask.unwrap_or(d.credit_mask),
        cs_threshold,
        cs_return_delay: delay.unwrap_or(d.cs_return_delay),
    })
}

fn service_levels(
    raw: &RawCongestionControl,
    d: &CongestionDefaults,
    levels: &[ServiceLevel],
    tick: TickLength,
) -> Result<Vec<SlCongestion>, ConfigError> {
    let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    let mut given = raw.service_levels.keys();
    if let Some(unknown) = given.find(|name| !names.contains(&name.as_str())) {
        return refused(
            format!("congestion_control.service_levels.{unknown}"),
            format!(
                "there is no service level {}{}",
                quoted(unknown),
                suggestion(unknown, &names)
            ),
        );
    }
    let limit = raw.ccti_limit.unwrap_or(d.ccti_limit);
    let level = |name: &&str| {
        let own = raw.service_levels.get(*name).copied().unwrap_or_default();
        let key = |own: bool, key: &str| {
            if own {
                format!("congestion_control.service_levels.{name}.{key}")
            } else {
                format!("congestion_control.{key}")
            }
        };
        let timer = own.ccti_timer.or(raw.ccti_timer);
        let timer = timer.map_or(d.ccti_timer_ps, |timer| timer.0);
        if timer == 0 {
            return refused(
                key(own.ccti_timer.is_some(), "CCTI_Timer"),
                "is 0; a rate that was lowered would never rise again",
            );
        }
        let ccti_min = own.ccti_min.or(raw.ccti_min).unwrap_or(d.ccti_min);
        if u16::from(ccti_min) > limit {
            return refused(
                key(own.ccti_min.is_some(), "CCTI_Min"),
                format!("{ccti_min} is above CCTI_Limit = {limit}"),
            );
        }
        let increase = own.ccti_increase.or(raw.ccti_increase);
        let trigger = own.trigger_threshold.or(raw.trigger_threshold);
        Ok(SlCongestion {
            ccti_increase: increase.unwrap_or(d.ccti_increase),
            ccti_min,
            ccti_timer: tick.ticks(timer),
            trigger_threshold: trigger.unwrap_or(d.trigger_threshold),
        })
    };
    names.iter().map(level).collect()
}

/// Refuses settings of a congestion control that no `kind` switches on or off.
fn is_off(raw: &RawCongestionControl, document: &Document<'_>) -> Result<(), ConfigError> {
    let (None, Some(DeValue::Table(table))) = (raw.kind, document.get(KEY)) else {
        return Ok(());
    };
    match table.keys().next() {
        None => Ok(()),
        Some(key) => refused(
            format!("{KEY}.{}", key.get_ref()),
            "congestion control is off; add kind = \"ib\" to switch it on, or kind = \"none\" to \
             keep its settings for another run",
        ),
    }
}

/// Refuses the first key that nothing uses.
pub(crate) fn unused(
    raw: &RawCongestionControl,
    document: &Document<'_>,
    qos: &Qos,
) -> Result<(), ConfigError> {
    is_off(raw, document)?;
    let cnp = matches!(raw.notification, None | Some(RawNotification::Cnp));
    if raw.cnp.is_some() && !cnp {
        let problem = "is used only with notification = \"cnp\"; remove one of the two";
        return refused(format!("{KEY}.cnp"), problem);
    }
    starvation(raw)?;
    let general = raw.ports().given();
    let (hosts, switches) = (raw.host_ports.given(), raw.switch_ports.given());
    for (i, (name, given)) in general.into_iter().enumerate() {
        if given && hosts[i].1 && switches[i].1 {
            let problem = "host_ports and switch_ports set it for all ports and win; remove it, \
                           or remove one of them";
            return refused(format!("{KEY}.{name}"), problem);
        }
    }
    let levels = &qos.service_levels;
    let own = |level: &str| raw.service_levels.get(level).map(|own| own.given());
    for (i, (name, given)) in raw.levels().given().into_iter().enumerate() {
        let all = || {
            let mut levels = levels.iter();
            levels.all(|level| own(&level.name).is_some_and(|own| own[i].1))
        };
        if given && all() {
            let problem = "every service level has a value of its own, which wins; remove it";
            return refused(format!("{KEY}.{name}"), problem);
        }
    }
    Ok(())
}

/// Settings of starved ports where no port can be starved.
fn starvation(raw: &RawCongestionControl) -> Result<(), ConfigError> {
    let general = raw.ports();
    let single = raw.port.iter().enumerate();
    let single = single.map(|(i, port)| (format!("port.{i}."), port.settings()));
    let tables: Vec<(String, RawPortCongestion)> = [
        (String::new(), general),
        ("host_ports.".into(), raw.host_ports),
        ("switch_ports.".into(), raw.switch_ports),
    ]
    .into_iter()
    .chain(single)
    .collect();
    // `Credit_Mask = false` is a switch as well.
    if tables.iter().any(|(_, table)| table.credit_mask.is_some()) {
        return Ok(());
    }
    for (path, table) in tables {
        let key = match (table.cs_threshold, table.cs_return_delay) {
            (Some(_), _) => "CS_Threshold",
            (None, Some(_)) => "CS_ReturnDelay",
            (None, None) => continue,
        };
        return refused(
            format!("congestion_control.{path}{key}"),
            "is used only with Credit_Mask = true, and no port has it; add it or remove this key",
        );
    }
    Ok(())
}
