//! Resolves `[qos]`: service levels, tables and the scheduler.

pub(super) mod implied;
pub(super) mod keys;
pub(super) mod presets;
pub(super) mod remarks;
pub(super) mod scheduler;
pub(super) mod vls;

use crate::config::document::{ConfigError, check_name, refused, suggestion};
use crate::config::qos::keys::{RawQos, RawScheduler, RawServiceLevel};
use crate::config::qos::presets::{OPA_5SL, QosDefaults};
use crate::fabric::parameters::Parameters;
use crate::fabric::spec::validate::MAX_LEVELS;
use crate::fabric::spec::{Qos, QueueingScheme, ServiceLevel, SlToVl, VlPolicy};
use flitwise_base::quote::quoted;

/// SL of MPI traffic in the five-level preset (Hiperion, Table 8).
const HPC_SL: &str = "CL";

/// The service levels with their VLs; they still use service channels. They are checked before the scheduler because
/// its tables are indexed by service level. `classes`: VL classes of the routing. `usual`: the parameters of the preset
/// of `[fabric]`. SL-to-VL tables or a queueing scheme take the place of service channels.
pub(crate) fn with_vls(
    raw: &RawQos,
    defaults: &QosDefaults,
    usual: &Parameters,
    classes: u8,
    (tables, scheme): (Option<&SlToVl>, Option<QueueingScheme>),
) -> Result<Qos, ConfigError> {
    let levels = raw
        .service_levels
        .as_ref()
        .unwrap_or(&defaults.service_levels);
    let default_mtu = raw.mtu.map_or(usual.mtu_bytes.into(), |b| b.0);
    let service_levels = service_levels(levels, default_mtu)?;
    let given = raw
        .sc2vl
        .as_ref()
        .or(Some(&defaults.sc2vl).filter(|list| !list.is_empty()));
    let classes = usize::from(classes);
    let limits = usual.switch.port_vls();
    let qos = match (scheme, tables) {
        (Some(scheme), _) => {
            // Each VL has an SC, of which one is for management.
            let most_vls = usize::from(limits.most).min(MAX_LEVELS - 1);
            vls::by_scheme(raw, scheme, classes, most_vls, service_levels)?
        }
        (None, None) => {
            let sc2vl = sc2vl(given, &service_levels)?;
            Qos {
                vls: sc2vl.iter().flatten().max().map_or(1, |&vl| vl + 1),
                service_levels,
                sc2vl,
                vl_policy: VlPolicy::ServiceChannels,
            }
        }
        (None, Some(tables)) => vls::by_tables(raw, tables, limits, service_levels)?,
    };
    let by_class = classes > 1 && qos.vl_policy == VlPolicy::ServiceChannels;
    qos.validate_levels(if by_class { classes } else { usize::MAX })?;
    Ok(qos)
}

pub(crate) fn service_levels(
    levels: &[RawServiceLevel],
    default_mtu: u64,
) -> Result<Vec<ServiceLevel>, ConfigError> {
    let mut out: Vec<ServiceLevel> = Vec::with_capacity(levels.len());
    for (i, level) in levels.iter().enumerate() {
        let key = |name: &str| format!("qos.service_levels.{i}.{name}");
        check_name(&level.name, || key("name"))?;
        if out.iter().any(|other| other.name == level.name) {
            return refused(
                key("name"),
                format!("two service levels are called {}", quoted(&level.name)),
            );
        }
        let traffic_class = level.tc.unwrap_or(i as u8);
        if usize::from(traffic_class) >= MAX_LEVELS {
            return refused(
                key("tc"),
                format!("traffic class {traffic_class} is above 31"),
            );
        }
        let mtu = level.mtu.map_or(default_mtu, |b| b.0);
        out.push(ServiceLevel {
            name: level.name.clone(),
            traffic_class,
            scs: level.scs.clone(),
            mtu_bytes: u32::try_from(mtu)
                .map_err(|_| ConfigError::new(key("mtu"), "is larger than 4 GiB"))?,
        });
    }
    Ok(out)
}

/// VL of every SC in use, where there is one; where no list is given, VL = SC.
fn sc2vl(list: Option<&Vec<u8>>, levels: &[ServiceLevel]) -> Result<[Option<u8>; 32], ConfigError> {
    const KEY: &str = "qos.sc2vl";
    if let Some(list) = list {
        if list.len() > MAX_LEVELS {
            return refused(
                KEY,
                format!("{} entries; there are {MAX_LEVELS} SCs", list.len()),
            );
        }
        if let Some(vl) = list.iter().find(|&&vl| usize::from(vl) >= MAX_LEVELS) {
            return refused(KEY, format!("VL {vl} is above 31"));
        }
    }
    let mut out = [None; 32];
    for &sc in levels.iter().flat_map(|level| &level.scs) {
        let sc = usize::from(sc);
        if let Some(slot) = out.get_mut(sc) {
            *slot = match list {
                None => Some(sc as u8),
                Some(list) => list.get(sc).copied(),
            };
        }
    }
    Ok(out)
}

/// No VL serves two of the `classes` VL classes of any SLs, which would close the cycle that a
/// dateline cuts. Fabrics made by hand may do it, so that deadlocks can be studied; `validate` has
/// seen to it that every SL has an SC for each class, on VLs of their own.
pub(crate) fn classes_apart(qos: &Qos, classes: u8) -> Result<(), ConfigError> {
    struct User<'a> {
        level: &'a str,
        sc: u8,
        class: usize,
    }
    let mut users: [Option<User<'_>>; MAX_LEVELS] = [const { None }; MAX_LEVELS];
    let classes = usize::from(classes);
    for level in &qos.service_levels {
        let queues = (level.scs.len() / classes).max(1);
        for (i, &sc) in level.scs.iter().enumerate().take(classes * queues) {
            let class = i / queues;
            let vl = qos.sc2vl.get(usize::from(sc)).copied().flatten();
            let Some((vl, user)) = vl.and_then(|vl| Some((vl, users.get_mut(usize::from(vl))?)))
            else {
                continue;
            };
            let level = level.name.as_str();
            let first = user.get_or_insert(User { level, sc, class });
            if first.class != class {
                let User {
                    level: other,
                    sc: its,
                    class: before,
                } = first;
                return refused(
                    "qos.sc2vl",
                    format!(
                        "VL {vl} carries VL class {before} of {other} (SC {its}) and VL class {class} of \
                         {level} (SC {sc}), which can deadlock; give SCs of different classes \
                         different VLs, whatever their service level"
                    ),
                );
            }
        }
    }
    Ok(())
}

/// Index of the SL called `name`; without a name the only one, or CL.
pub(crate) fn service_level(name: Option<&str>, qos: &Qos, key: &str) -> Result<u8, ConfigError> {
    let names: Vec<&str> = qos.service_levels.iter().map(|l| l.name.as_str()).collect();
    let name = match name {
        Some(name) => name,
        None if names.len() == 1 => names[0],
        None if names.contains(&HPC_SL) => HPC_SL,
        None => {
            let names = names.join(", ");
            return refused(
                key,
                format!("is missing; name one of the service levels {names}"),
            );
        }
    };
    names
        .iter()
        .position(|&n| n == name)
        .map(|sl| sl as u8)
        .ok_or_else(|| {
            let is_known = names.len() == 1 && OPA_5SL.iter().any(|(level, ..)| *level == name);
            let cure = if is_known {
                "; it is one of the five of qos.preset = \"opa-5sl\""
            } else {
                ""
            };
            let problem = format!(
                "there is no service level {}{}{cure}",
                quoted(name),
                suggestion(name, &names)
            );
            ConfigError::new(key, problem)
        })
}

/// Refuses the first key that nothing uses. `has_tables`: SL-to-VL tables decide the VLs. `usual` returns the
/// scheduler of
/// a file that names none, from the one of the preset.
pub(crate) fn unused(
    raw: &RawQos,
    has_tables: bool,
    usual: impl FnOnce(Option<RawScheduler>) -> Result<RawScheduler, ConfigError>,
) -> Result<(), ConfigError> {
    let defaults = raw.preset.map(|preset| presets::of_preset(preset, 1));
    let levels = raw.service_levels.as_deref().unwrap_or_default();
    if raw.mtu.is_some() && !levels.is_empty() && levels.iter().all(|level| level.mtu.is_some()) {
        let problem = "every service level has an `mtu` of its own, which wins; remove it";
        return refused("qos.mtu", problem);
    }
    if raw.vl_policy.is_some() && has_tables {
        let problem = "the SL-to-VL tables (fabric.sl2vl) decide the VLs and win; remove one of \
                       the two";
        return refused("qos.vl_policy", problem);
    }
    let of_preset = defaults.and_then(|d| d.scheduler);
    match raw.scheduler {
        Some(_) => Ok(()),
        None => unused_scheduling(raw, usual(of_preset)?),
    }
}

/// Settings of other schedulers than the default one.
fn unused_scheduling(raw: &RawQos, scheduler: RawScheduler) -> Result<(), ConfigError> {
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
