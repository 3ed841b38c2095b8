//! Keys that nothing uses because another key decides: they are refused, so that nobody takes them
//! for settings of the run.
//!
//! A switch that the file names is a decision, and what it switches off may stay: the `kind`,
//! `marker` and `source` of congestion control, `qos.scheduler`, `enabled`. So sweeps and baselines
//! turn things off without losing their settings. For the same reason only the experiment itself is
//! checked, and not what `[baseline]` makes of it.

use super::document::Document;
use super::error::ConfigError;
use super::experiment::Experiment;
use super::presets;
use super::raw::{RawExperiment, RawQos, RawScheduler};
use super::raw_congestion::{
    RawCongestionControl, RawNotification, RawPortCongestion, RawSlCongestion,
};
use super::raw_fabric::RawFabric;
use super::raw_topology::RawTopology;
use super::raw_traffic::{RawBackground, RawPattern};
use super::switch;
use crate::replay::collectives::Choices;
use toml::de::DeValue;

/// Refuses the first key of `raw` that nothing uses. `document` is what `raw` was read from,
/// `experiment` what it means.
pub(super) fn check(
    raw: &RawExperiment,
    document: &Document<'_>,
    experiment: &Experiment,
) -> Result<(), ConfigError> {
    fabric(&raw.fabric)?;
    qos(&raw.qos, &raw.fabric)?;
    control_is_off(raw, document)?;
    congestion(&raw.congestion_control, experiment)?;
    power(raw)?;
    for (i, entry) in raw.background.iter().enumerate() {
        background(entry, &format!("background.{i}"))?;
    }
    measure(raw, experiment)?;
    series(raw, experiment)?;
    gap_skip(raw, experiment)?;
    collectives(raw)
}

fn refused(key: impl Into<String>, problem: impl Into<String>) -> Result<(), ConfigError> {
    Err(ConfigError::new(key, problem))
}

fn fabric(raw: &RawFabric) -> Result<(), ConfigError> {
    let topology = raw.topology.as_ref();
    let ring = matches!(topology, Some(RawTopology::Torus(_)));
    let trunks = ring
        || matches!(
            topology,
            Some(RawTopology::Mesh(_) | RawTopology::Hyperx(_))
        );
    if raw.ring_tie.is_some() && !ring {
        return refused("fabric.ring_tie", "only a torus has rings; remove it");
    }
    if raw.trunk_selection.is_some() && !trunks {
        let problem = "only a torus, mesh or hyperx has trunks; remove it";
        return refused("fabric.trunk_selection", problem);
    }
    if raw.forwarding.is_some() {
        let decided = [
            ("routing", raw.routing.is_some()),
            ("ring_tie", raw.ring_tie.is_some()),
            ("trunk_selection", raw.trunk_selection.is_some()),
        ];
        if let Some((key, _)) = decided.iter().find(|(_, given)| *given) {
            let problem = "the forwarding tables (fabric.forwarding) name every port and win; \
                           remove one of the two";
            return refused(format!("fabric.{key}"), problem);
        }
    }
    if raw
        .routing
        .is_some_and(|routing| routing.engine().is_some())
    {
        let decided = [
            ("ring_tie", raw.ring_tie.is_some()),
            ("trunk_selection", raw.trunk_selection.is_some()),
        ];
        if let Some((key, _)) = decided.iter().find(|(_, given)| *given) {
            let problem =
                "this routing (fabric.routing) names every port and wins; remove one of the two";
            return refused(format!("fabric.{key}"), problem);
        }
    }
    match switch::ignored(raw)? {
        Some((key, problem)) => refused(key, problem),
        None => Ok(()),
    }
}

fn qos(raw: &RawQos, fabric: &RawFabric) -> Result<(), ConfigError> {
    let defaults = raw.preset.map(|preset| presets::qos(preset, 1));
    let of_preset = defaults.as_ref().map(|d| &d.service_levels);
    let levels = raw.service_levels.as_ref().or(of_preset);
    let levels = levels.map(Vec::as_slice).unwrap_or_default();
    if raw.mtu.is_some() && !levels.is_empty() && levels.iter().all(|level| level.mtu.is_some()) {
        let problem = match raw.service_levels {
            Some(_) => "every service level has an `mtu` of its own, which wins; remove it",
            None => {
                "the preset \"opa-5sl\", which a [qos] table implies, sets the MTU of every service \
                 level and wins; remove it, take qos.preset = \"single\", or list `service_levels`"
            }
        };
        return refused("qos.mtu", problem);
    }
    if raw.vl_policy.is_some() && fabric.sl2vl.is_some() {
        let problem = "the SL-to-VL tables (fabric.sl2vl) decide the VLs and win; remove one of \
                       the two";
        return refused("qos.vl_policy", problem);
    }
    let of_preset = defaults.and_then(|d| d.scheduler);
    match raw.scheduler {
        Some(_) => Ok(()),
        None => scheduling(raw, switch::usual_scheduler(fabric, of_preset)?),
    }
}

/// Settings of other schedulers than the default one.
fn scheduling(raw: &RawQos, scheduler: RawScheduler) -> Result<(), ConfigError> {
    let mut levels = raw.service_levels.iter().flatten();
    let share = levels.position(|level| level.share.is_some());
    let share = share.map_or(String::new(), |i| format!("service_levels.{i}.share"));
    let given = |given: bool, key: &str| if given { key } else { "" }.to_owned();
    let dtable = scheduler == RawScheduler::DTable;
    let by_share = dtable || scheduler == RawScheduler::Sbt;
    let vlarb = scheduler == RawScheduler::IbVlarb;
    let settings = [
        (dtable, given(raw.dtable.is_given(), "dtable"), "dtable"),
        (by_share, share, "dtable\" or \"sbt"),
        (vlarb, given(raw.vlarb.is_some(), "vlarb"), "ib-vlarb"),
        (
            vlarb,
            given(raw.hca_vlarb.is_some(), "hca_vlarb"),
            "ib-vlarb",
        ),
    ];
    let mut unused = settings
        .iter()
        .filter(|(used, key, _)| !used && !key.is_empty());
    let Some((_, key, by)) = unused.next() else {
        return Ok(());
    };
    let name = scheduler.name();
    refused(
        format!("qos.{key}"),
        format!(
            "is used only with qos.scheduler = \"{by}\", and the default here is \"{name}\"; add a \
             `scheduler` (\"{name}\" keeps these settings for another run) or remove it"
        ),
    )
}

/// Settings of a congestion control that no `kind` switches on or off.
fn control_is_off(raw: &RawExperiment, document: &Document<'_>) -> Result<(), ConfigError> {
    const KEY: &str = "congestion_control";
    let (None, Some(DeValue::Table(table))) = (raw.congestion_control.kind, document.get(KEY))
    else {
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

/// Settings of power states that no `policy` switches on or off.
fn power(raw: &RawExperiment) -> Result<(), ConfigError> {
    let Some(raw) = raw.power.as_ref().filter(|raw| raw.policy.is_none()) else {
        return Ok(());
    };
    match raw.first_of_states() {
        None => Ok(()),
        Some(key) => refused(
            format!("power.{key}"),
            "links are always on; add policy = \"on-off\" or \"high-low\", or policy = \
             \"always-on\" to keep the settings for another run",
        ),
    }
}

fn congestion(raw: &RawCongestionControl, experiment: &Experiment) -> Result<(), ConfigError> {
    const KEY: &str = "congestion_control";
    let cnp = matches!(raw.notification, None | Some(RawNotification::Cnp));
    if raw.cnp.is_some() && !cnp {
        let problem = "is used only with notification = \"cnp\"; remove one of the two";
        return refused(format!("{KEY}.cnp"), problem);
    }
    starvation(raw)?;
    let general = RawPortCongestion::general(raw).given();
    let (hosts, switches) = (raw.host_ports.given(), raw.switch_ports.given());
    for (i, (name, given)) in general.into_iter().enumerate() {
        if given && hosts[i].1 && switches[i].1 {
            let problem = "host_ports and switch_ports set it for all ports and win; remove it, \
                           or remove one of them";
            return refused(format!("{KEY}.{name}"), problem);
        }
    }
    let levels = &experiment.fabric.qos.service_levels;
    let own = |level: &str| raw.service_levels.get(level).map(|own| own.given());
    for (i, (name, given)) in RawSlCongestion::general(raw)
        .given()
        .into_iter()
        .enumerate()
    {
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
    let general = RawPortCongestion::general(raw);
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

/// What a list of flows overrides in every one of its flows.
fn background(entry: &RawBackground, key: &str) -> Result<(), ConfigError> {
    let flows = match &entry.pattern {
        Some(RawPattern::With(table)) => table.flows.as_deref().unwrap_or_default(),
        _ => &[],
    };
    if flows.is_empty() {
        return Ok(());
    }
    let overridden = [
        (
            "message",
            entry.message.is_some() && flows.iter().all(|flow| flow.message.is_some()),
        ),
        (
            "start",
            entry.start.is_some() && flows.iter().all(|flow| flow.start.is_some()),
        ),
        (
            "stop",
            entry.stop.is_some() && flows.iter().all(|flow| flow.stop.is_some()),
        ),
    ];
    match overridden.iter().find(|(_, all)| *all) {
        None => Ok(()),
        Some((name, _)) => refused(
            format!("{key}.{name}"),
            "every flow of the list has its own, which wins; remove it",
        ),
    }
}

/// How the fabric is judged where no warm-up is.
fn measure(raw: &RawExperiment, experiment: &Experiment) -> Result<(), ConfigError> {
    let (Some(given), Some(meant)) = (&raw.measure, &experiment.measure) else {
        return Ok(());
    };
    if given.max_warm_up.is_some() || meant.max_warm_up > meant.warm_up {
        return Ok(());
    }
    let judging = [
        ("batch", given.batch.is_some()),
        ("batches", given.batches.is_some()),
        ("tolerance", given.tolerance.is_some()),
    ];
    match judging.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => refused(
            format!("measure.{name}"),
            "so long a warm-up is not judged: max_warm_up is as long; give a longer `max_warm_up` \
             or remove this key",
        ),
    }
}

fn series(raw: &RawExperiment, experiment: &Experiment) -> Result<(), ConfigError> {
    let Some(given) = &raw.series else {
        return Ok(());
    };
    if given.baselines == Some(true) && experiment.measure.is_some() {
        let problem = "a measurement has no baseline; remove it";
        return refused("series.baselines", problem);
    }
    Ok(())
}

/// What cannot be together with gaps that are skipped.
fn gap_skip(raw: &RawExperiment, experiment: &Experiment) -> Result<(), ConfigError> {
    const KEY: &str = "background_gap_skip";
    let problem = match experiment.background_gap_skip_ps {
        None => return Ok(()),
        Some(0) => "is the time simulated before each message of a job: must be longer than 0",
        Some(_) if experiment.measure.is_some() => {
            "skips gaps between the messages of jobs, and there is no job; remove it"
        }
        Some(_) if raw.series.is_some() => {
            "leaves out simulated time, of which [series] would have no samples; remove one of the two"
        }
        Some(_) if experiment.fabric.congestion_control.is_some() => {
            "does not know what the timers of congestion control do in a gap; remove it, or take \
             congestion_control.kind = \"none\""
        }
        Some(_) if experiment.power.is_some() => {
            "leaves out simulated time, whose energy [power] would not count; remove one of the two"
        }
        Some(_) => return Ok(()),
    };
    refused(KEY, problem)
}

/// Algorithms for jobs all of which choose others.
fn collectives(raw: &RawExperiment) -> Result<(), ConfigError> {
    let general = &raw.collectives;
    let used = |own: &Choices| own.or(general) != *own;
    if *general == Choices::default() || raw.job.iter().any(|job| used(&job.collectives)) {
        return Ok(());
    }
    refused(
        "collectives",
        "every job chooses its own algorithms for these operations, which win; remove it",
    )
}
