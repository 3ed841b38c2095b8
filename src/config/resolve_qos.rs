//! Resolves `[qos]`: service levels, tables and the scheduler.

use super::error::{ConfigError, check_name, suggestion};
use super::presets::{self, QosDefaults};
use super::raw::{QosPreset, RawDTable, RawQos, RawScheduler, RawServiceLevel};
use super::resolve_vls;
use super::switch::{self, FabricDefaults};
use crate::fabric::parameters::SwitchParameters;
use crate::fabric::qos::dtable_table::{
    self, DTableError, DTableParameters, DTableSl, DTableTable,
};
use crate::fabric::spec::hierarchical::{DTABLE_UNIT_BYTES, Scheduler};
use crate::fabric::spec::validate::MAX_LEVELS;
use crate::fabric::spec::{Qos, QueueingScheme, ServiceLevel, SlToVl, VlPolicy};
use crate::units::Ratio;
use flitwise_formats::quote::quoted;

/// What the scheduler or the arbiters of a fabric follow from.
pub(super) struct Scheduling<'a> {
    pub raw: &'a RawQos,
    /// Of the preset of `[qos]`.
    pub defaults: &'a QosDefaults,
    /// Scheduler of the preset of `[fabric]`.
    pub usual: RawScheduler,
    pub service_levels: &'a [ServiceLevel],
    /// Header bytes of a packet.
    pub header: u32,
}

impl Scheduling<'_> {
    /// The service levels as written.
    pub fn levels(&self) -> &[RawServiceLevel] {
        let own = self.raw.service_levels.as_ref();
        own.unwrap_or(&self.defaults.service_levels)
    }
}

/// The QoS of the fabric, still by service channels, and its DTable, if it has one; the scheduling
/// goes into the parameters of `switch`. `classes`: VL classes of the routing. `header`: header bytes of a packet. SL-to-VL tables or a queueing
/// scheme take the place of service channels.
pub(super) fn qos(
    raw: &RawQos,
    fabric: &FabricDefaults,
    switch: &mut SwitchParameters,
    classes: u8,
    header: u32,
    by: (Option<&SlToVl>, Option<QueueingScheme>),
) -> Result<(Qos, Option<DTableTable>), ConfigError> {
    let defaults = defaults(raw, classes)?;
    let qos = with_vls(raw, &defaults, fabric, classes, by)?;
    let scheduling = Scheduling {
        raw,
        defaults: &defaults,
        usual: fabric.scheduler,
        service_levels: &qos.service_levels,
        header,
    };
    let table = switch::schedule(switch, &scheduling)?;
    Ok((qos, table))
}

/// The service levels with their VLs, checked before the scheduler, whose tables go by the
/// service levels; see [`qos`] for the arguments.
fn with_vls(
    raw: &RawQos,
    defaults: &QosDefaults,
    fabric: &FabricDefaults,
    classes: u8,
    (tables, scheme): (Option<&SlToVl>, Option<QueueingScheme>),
) -> Result<Qos, ConfigError> {
    let levels = raw
        .service_levels
        .as_ref()
        .unwrap_or(&defaults.service_levels);
    let default_mtu = raw.mtu.map_or(fabric.parameters.mtu_bytes.into(), |b| b.0);
    let service_levels = service_levels(levels, default_mtu)?;
    let given = raw
        .sc2vl
        .as_ref()
        .or(Some(&defaults.sc2vl).filter(|list| !list.is_empty()));
    let classes = usize::from(classes);
    let limits = fabric.parameters.switch.port_vls();
    let qos = match (scheme, tables) {
        (Some(scheme), _) => {
            // Each VL has an SC, of which one is for management.
            let most_vls = usize::from(limits.most).min(MAX_LEVELS - 1);
            resolve_vls::by_scheme(raw, scheme, classes, most_vls, service_levels)?
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
        (None, Some(tables)) => resolve_vls::by_tables(raw, tables, limits, service_levels)?,
    };
    let by_class = classes > 1 && qos.vl_policy == VlPolicy::ServiceChannels;
    qos.validate_levels(if by_class { classes } else { usize::MAX })?;
    Ok(qos)
}

/// What the preset says; nothing where the file defines the service levels.
fn defaults(raw: &RawQos, classes: u8) -> Result<QosDefaults, ConfigError> {
    match (raw.preset, &raw.service_levels) {
        (Some(_), Some(_)) => Err(ConfigError::new(
            "qos.service_levels",
            "a preset already defines the service levels; remove one of `preset` and `service_levels`",
        )),
        (preset, None) => Ok(presets::qos(preset.unwrap_or(QosPreset::Single), classes)),
        (None, Some(_)) => Ok(QosDefaults {
            scheduler: None,
            service_levels: Vec::new(),
            sc2vl: Vec::new(),
            dtable: RawDTable::default(),
        }),
    }
}

/// What the table of a DTable scheduler is made from; see [`qos`] for the arguments.
pub(super) fn dtable_of(
    raw: &RawQos,
    fabric: &FabricDefaults,
    classes: u8,
    header: u32,
) -> Result<(DTableParameters, Vec<ServiceLevel>), ConfigError> {
    let defaults = defaults(raw, classes)?;
    let scheduler = raw.scheduler.or(defaults.scheduler);
    if scheduler.unwrap_or(fabric.scheduler) != RawScheduler::DTable {
        return Err(ConfigError::new(
            "qos.scheduler",
            "is not \"dtable\", so there is no table to be made; add --set qos.scheduler=dtable",
        ));
    }
    let raw_levels = raw
        .service_levels
        .as_ref()
        .unwrap_or(&defaults.service_levels);
    let levels = service_levels(
        raw_levels,
        raw.mtu.map_or(fabric.parameters.mtu_bytes.into(), |b| b.0),
    )?;
    let parameters = dtable_parameters(&raw.dtable, &defaults.dtable, raw_levels, &levels, header)?;
    Ok((parameters, levels))
}

fn service_levels(
    levels: &[RawServiceLevel],
    default_mtu: u64,
) -> Result<Vec<ServiceLevel>, ConfigError> {
    let mut out: Vec<ServiceLevel> = Vec::with_capacity(levels.len());
    for (i, level) in levels.iter().enumerate() {
        let key = |name: &str| format!("qos.service_levels.{i}.{name}");
        check_name(&level.name, || key("name"))?;
        if out.iter().any(|other| other.name == level.name) {
            return Err(ConfigError::new(
                key("name"),
                format!("two service levels are called {}", quoted(&level.name)),
            ));
        }
        let traffic_class = level.tc.unwrap_or(i as u8);
        if usize::from(traffic_class) >= MAX_LEVELS {
            return Err(ConfigError::new(
                key("tc"),
                format!("traffic class {traffic_class} is above 31"),
            ));
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
            return Err(ConfigError::new(
                KEY,
                format!("{} entries; there are {MAX_LEVELS} SCs", list.len()),
            ));
        }
        if let Some(vl) = list.iter().find(|&&vl| usize::from(vl) >= MAX_LEVELS) {
            return Err(ConfigError::new(KEY, format!("VL {vl} is above 31")));
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
pub(super) fn classes_apart(qos: &Qos, classes: u8) -> Result<(), ConfigError> {
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
                return Err(ConfigError::new(
                    "qos.sc2vl",
                    format!(
                        "VL {vl} carries VL class {before} of {other} (SC {its}) and VL class {class} of \
                         {level} (SC {sc}), which can deadlock; give SCs of different classes \
                         different VLs, whatever their service level"
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// `rr`: SBT with equal weights ⌊100/SLs⌋ (Hiperion, Table 1).
pub(super) fn equal_weights(levels: usize) -> Scheduler {
    Scheduler::Sbt {
        weights: vec![(100 / levels.max(1)) as u32; levels],
    }
}

/// SBT weights are the shares in percent, which must add up to 100.
pub(super) fn sbt(levels: &[RawServiceLevel]) -> Result<Scheduler, ConfigError> {
    let mut weights = Vec::with_capacity(levels.len());
    for (i, level) in levels.iter().enumerate() {
        let key = format!("qos.service_levels.{i}");
        let share = share(level, i, "sbt")?;
        let percent = share
            .checked_mul(Ratio::whole(100))
            .filter(|p| p.den() == 1 && p.num() <= 100);
        let Some(percent) = percent else {
            return Err(ConfigError::new(
                key,
                format!(
                    "share {share} of {} is no whole percentage, which an SBT weight must be",
                    level.name
                ),
            ));
        };
        weights.push(percent.num() as u32);
    }
    let sum: u32 = weights.iter().sum();
    if sum != 100 {
        return Err(ConfigError::new(
            "qos.service_levels",
            format!("the SBT shares add up to {sum} %; they must add up to 100 %"),
        ));
    }
    Ok(Scheduler::Sbt { weights })
}

fn share(level: &RawServiceLevel, i: usize, scheduler: &str) -> Result<Ratio, ConfigError> {
    level.share.ok_or_else(|| {
        ConfigError::new(
            format!("qos.service_levels.{i}"),
            format!(
                "scheduler \"{scheduler}\" needs a `share` for {}, e.g. share = 0.3",
                level.name
            ),
        )
    })
}

/// Distances are of service levels that exist.
fn check_names<'a>(
    mut distances: impl Iterator<Item = &'a String>,
    levels: &[ServiceLevel],
) -> Result<(), ConfigError> {
    let names: Vec<&str> = levels.iter().map(|l| l.name.as_str()).collect();
    match distances.find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(ConfigError::new(
            format!("qos.dtable.distances.{unknown}"),
            format!(
                "there is no service level {}{}",
                quoted(unknown),
                suggestion(unknown, &names)
            ),
        )),
    }
}

/// The table of a DTable scheduler.
pub(super) fn dtable(by: &Scheduling<'_>) -> Result<DTableTable, ConfigError> {
    let parameters = dtable_parameters(
        &by.raw.dtable,
        &by.defaults.dtable,
        by.levels(),
        by.service_levels,
        by.header,
    )?;
    dtable_table::build(&parameters).map_err(unbuilt)
}

fn dtable_parameters(
    raw: &RawDTable,
    defaults: &RawDTable,
    raw_levels: &[RawServiceLevel],
    levels: &[ServiceLevel],
    header: u32,
) -> Result<DTableParameters, ConfigError> {
    let missing = |name: &str, example: &str| {
        ConfigError::new(
            "qos.dtable",
            format!(
                "scheduler \"dtable\" needs `{name}`, e.g. {name} = {example}; or take qos.preset = \"opa-5sl\""
            ),
        )
    };
    let entries = raw
        .entries
        .or(defaults.entries)
        .ok_or_else(|| missing("entries", "128"))?;
    let gmtu = raw
        .gmtu
        .or(defaults.gmtu)
        .ok_or_else(|| missing("gmtu", "\"1KiB\""))?
        .0;
    let w = raw.w.or(defaults.w).ok_or_else(|| missing("w", "8"))?;
    let k = raw.k.or(defaults.k).ok_or_else(|| missing("k", "2"))?;
    let distances = raw
        .distances
        .as_ref()
        .or(defaults.distances.as_ref())
        .ok_or_else(|| missing("distances", "{ CL = 8 }"))?;
    check_names(distances.keys(), levels)?;
    let gmtu = in_credits(gmtu, "qos.dtable.gmtu")?;
    let mut service_levels = Vec::with_capacity(levels.len());
    for (i, (raw_level, level)) in raw_levels.iter().zip(levels).enumerate() {
        let name = level.name.clone();
        let Some(&distance) = distances.get(&name) else {
            return Err(ConfigError::new(
                "qos.dtable.distances",
                format!("{name} has no distance; add e.g. {name} = 8"),
            ));
        };
        let packet = u64::from(level.mtu_bytes) + u64::from(header);
        service_levels.push(DTableSl {
            name,
            distance,
            mtu: in_credits(packet, &format!("qos.service_levels.{i}.mtu"))?,
            share: share(raw_level, i, "dtable")?,
        });
    }
    Ok(DTableParameters {
        entries,
        gmtu,
        w,
        k,
        service_levels,
    })
}

/// Bytes in units of weight, rounded up.
pub(super) fn in_credits(bytes: u64, key: &str) -> Result<u32, ConfigError> {
    u32::try_from(bytes.div_ceil(u64::from(DTABLE_UNIT_BYTES)))
        .map_err(|_| ConfigError::new(key, "is too large: more than 2^32 credits of 64 B"))
}

/// Where to look for the cause of a table that cannot be built.
fn unbuilt(error: DTableError) -> ConfigError {
    let key = match error {
        DTableError::Parameter(_) => "qos.dtable",
        DTableError::Distances(_) => "qos.dtable.distances",
        DTableError::Share(_) => "qos.service_levels",
    };
    let help = match error {
        DTableError::Share(_) => " (`flitwise qos dtable` proposes settings)",
        _ => "",
    };
    ConfigError::new(key, format!("{error}{help}"))
}
