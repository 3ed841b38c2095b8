//! The input of the schedulers of switches: shares of service levels, and the DTable.

use crate::config::document::{ConfigError, refused, suggestion};
use crate::config::qos::keys::{RawDTable, RawQos, RawScheduler, RawServiceLevel};
use crate::config::qos::presets::QosDefaults;
use crate::fabric::qos::dtable_table::{
    self, DTableError, DTableParameters, DTableSl, DTableTable,
};
use crate::fabric::qos::sbt_weight;
use crate::fabric::spec::ServiceLevel;
use crate::fabric::spec::hierarchical::{DTABLE_UNIT_BYTES, Scheduler};
use crate::units::Ratio;
use flitwise_base::quote::quoted;

/// The input of the scheduler or the arbiters of a fabric.
pub(crate) struct Scheduling<'a> {
    pub raw: &'a RawQos,
    /// The defaults of the preset of `[qos]`.
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

/// `rr`: SBT with equal weights ⌊100/SLs⌋ (Hiperion, Table 1). SBT stays with a VL as long as its SL has weight left, so
/// with a single SL the VLs take turns instead *(ours)*.
pub(crate) fn round_robin(levels: usize) -> Scheduler {
    match levels {
        0 | 1 => Scheduler::RrVl,
        _ => Scheduler::Sbt {
            weights: vec![(100 / levels) as u32; levels],
        },
    }
}

/// SBT weights are the shares in percent, which must add up to 100.
pub(crate) fn sbt(levels: &[RawServiceLevel]) -> Result<Scheduler, ConfigError> {
    let mut weights = Vec::with_capacity(levels.len());
    for (i, level) in levels.iter().enumerate() {
        let key = format!("qos.service_levels.{i}");
        let share = share(level, i, "sbt")?;
        let Some(weight) = sbt_weight(share) else {
            return refused(
                key,
                format!(
                    "share {share} of {} is no whole percentage, which an SBT weight must be",
                    level.name
                ),
            );
        };
        weights.push(weight);
    }
    let sum: u32 = weights.iter().sum();
    if sum != 100 {
        return refused(
            "qos.service_levels",
            format!("the SBT shares add up to {sum} %; they must add up to 100 %"),
        );
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
        Some(unknown) => refused(
            format!("qos.dtable.distances.{unknown}"),
            format!(
                "there is no service level {}{}",
                quoted(unknown),
                suggestion(unknown, &names)
            ),
        ),
    }
}

/// The table of a DTable scheduler.
pub(crate) fn dtable(by: &Scheduling<'_>) -> Result<DTableTable, ConfigError> {
    let parameters = dtable_parameters(
        &by.raw.dtable,
        &by.defaults.dtable,
        by.levels(),
        by.service_levels,
        by.header,
    )?;
    dtable_table::build(&parameters).map_err(unbuilt)
}

pub(crate) fn dtable_parameters(
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
            return refused(
                "qos.dtable.distances",
                format!("{name} has no distance; add e.g. {name} = 8"),
            );
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
pub(crate) fn in_credits(bytes: u64, key: &str) -> Result<u32, ConfigError> {
    u32::try_from(bytes.div_ceil(u64::from(DTABLE_UNIT_BYTES)))
        .map_err(|_| ConfigError::new(key, "is too large: more than 2^32 credits of 64 B"))
}

/// A hint at the cause of a table that cannot be built.
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
