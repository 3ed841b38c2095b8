//! Resolves `[qos]` for the VL policies that need no service channels in the file: DBBM, and
//! SL-to-VL tables.

use super::error::ConfigError;
use super::raw::RawQos;
use crate::fabric::spec::validate::{MANAGEMENT_SC, MAX_LEVELS};
use crate::fabric::spec::{Qos, ServiceLevel, SlToVl, VlPolicy};
use crate::fabric::switch::PortVls;
use serde::Deserialize;

/// `qos.vl_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawVlPolicy {
    ServiceChannels,
    Dbbm,
}

/// Queues of DBBM where the file names no number.
const DEFAULT_QUEUES: u8 = 4;

/// Queues per VL class, with DBBM.
pub(super) fn queues(raw: &RawQos, tables: Option<&SlToVl>) -> Result<Option<u8>, ConfigError> {
    let problem = match (raw.vl_policy, raw.queues, tables) {
        (Some(RawVlPolicy::Dbbm), _, Some(_)) => {
            "SL-to-VL tables (fabric.sl2vl) decide the VLs; remove one of the two"
        }
        (Some(RawVlPolicy::Dbbm), queues, None) => {
            return Ok(Some(queues.unwrap_or(DEFAULT_QUEUES)));
        }
        (_, Some(_), _) => "belongs to DBBM; add vl_policy = \"dbbm\" or remove it",
        (_, None, _) => return Ok(None),
    };
    let key = match raw.vl_policy {
        Some(RawVlPolicy::Dbbm) => "qos.vl_policy",
        _ => "qos.queues",
    };
    Err(ConfigError::new(key, problem))
}

/// Service levels of DBBM: each has `queues` SCs in each of `classes` VL classes, all of them on
/// VLs of their own, of which there are at most `most_vls`.
pub(super) fn by_destination(
    raw: &RawQos,
    queues: u8,
    classes: usize,
    most_vls: usize,
    mut service_levels: Vec<ServiceLevel>,
) -> Result<Qos, ConfigError> {
    no_channels(
        raw,
        "DBBM (qos.vl_policy) gives every service level its SCs and VLs; remove one of the two",
    )?;
    if queues == 0 {
        let problem = "is 0; a packet needs at least 1";
        return Err(ConfigError::new("qos.queues", problem));
    }
    let scs = classes * usize::from(queues);
    let vls = scs * service_levels.len();
    if vls > most_vls {
        let levels = service_levels.len();
        let problem = format!(
            "{levels} service levels with {classes} VL classes of {queues} queues take {vls} VLs; there are \
             at most {most_vls}"
        );
        return Err(ConfigError::new("qos.queues", problem));
    }
    let mut sc2vl = [None; 32];
    let mut channels = (0u8..).filter(|&sc| sc != MANAGEMENT_SC);
    let mut vl = 0..;
    for level in &mut service_levels {
        level.scs = channels.by_ref().take(scs).collect();
        for &sc in &level.scs {
            sc2vl[usize::from(sc)] = vl.next();
        }
    }
    Ok(Qos {
        vls: vls as u8,
        service_levels,
        sc2vl,
        vl_policy: VlPolicy::Dbbm { queues },
    })
}

/// Refuses SCs and their VLs in a file whose VLs follow from something else.
fn no_channels(raw: &RawQos, problem: &str) -> Result<(), ConfigError> {
    if raw.sc2vl.is_some() {
        return Err(ConfigError::new("qos.sc2vl", problem));
    }
    let mut levels = raw.service_levels.iter().flatten();
    match levels.position(|level| !level.scs.is_empty()) {
        None => Ok(()),
        Some(i) => Err(ConfigError::new(
            format!("qos.service_levels.{i}.scs"),
            problem,
        )),
    }
}

/// Service levels whose VLs SL-to-VL tables decide. Each has one SC, which stands for the default
/// table. A port has at most these `limits`.
pub(super) fn by_tables(
    raw: &RawQos,
    tables: &SlToVl,
    limits: PortVls,
    mut service_levels: Vec<ServiceLevel>,
) -> Result<Qos, ConfigError> {
    no_channels(
        raw,
        "SL-to-VL tables (fabric.sl2vl) decide the VLs in place of service channels; remove one of \
         the two",
    )?;
    let count = service_levels.len();
    if tables.default.len() < count || count >= MAX_LEVELS {
        return Err(ConfigError::new(
            "fabric.sl2vl",
            format!(
                "{} entries for {count} service levels",
                tables.default.len()
            ),
        ));
    }
    let mut sc2vl = [None; 32];
    // Each level gets one SC, in name only; the SC of management stays free.
    let channels = (0u8..).filter(|&sc| sc != MANAGEMENT_SC);
    for ((sc, level), &vl) in channels.zip(&mut service_levels).zip(&tables.default) {
        level.scs = vec![sc];
        sc2vl[usize::from(sc)] = Some(vl);
    }
    let own = tables.hcas.values().chain(tables.ports.values());
    let all = own.chain([&tables.default]);
    let highest = all.flat_map(|table| table.iter().take(count)).max();
    let vls = highest.map_or(1, |&vl| vl.saturating_add(1));
    let PortVls { port, most } = limits;
    if vls > most {
        let (vl, last) = (vls - 1, most - 1);
        let problem = format!("VL {vl}; {port} has at most {most} for data, VL 0 to VL {last}");
        return Err(ConfigError::new("fabric.sl2vl", problem));
    }
    Ok(Qos {
        vls,
        service_levels,
        sc2vl,
        vl_policy: VlPolicy::ServiceChannels,
    })
}
