//! The presets of `[qos]`, and the defaults that each of them sets.

use crate::config::document::{ConfigError, refused};
use crate::config::qos::keys::{QosPreset, RawDTable, RawQos, RawScheduler, RawServiceLevel};
use crate::units::{Bytes, Ratio};

/// Every QoS default that a preset decides.
pub(crate) struct QosDefaults {
    pub scheduler: Option<RawScheduler>,
    pub service_levels: Vec<RawServiceLevel>,
    pub sc2vl: Vec<u8>,
    pub dtable: RawDTable,
}

/// Hiperion Tables 7–10, one traffic class per SL; `(name, SCs, MTU, share,
/// distance)`. The MTU is also the message size of Table 8. The shares are the Inj. column of Table 10 and, times
/// 100, the
/// SBT weights; that table prints 10 for VI, but text and sum say 30.
pub(crate) const OPA_5SL: [(&str, [u8; 2], u64, u64, u32); 5] = [
    ("VO", [0, 1], 128, 10, 2),
    ("VI", [2, 3], 256, 30, 4),
    ("CL", [4, 5], 512, 50, 8),
    ("BE", [6, 7], 1024, 5, 16),
    ("BK", [8, 9], 1024, 5, 16),
];

/// The QoS defaults of a preset for a routing with `classes` VL classes.
pub(crate) fn of_preset(preset: QosPreset, classes: u8) -> QosDefaults {
    match preset {
        // One VL for each VL class.
        QosPreset::Ib => one_level(classes, classes.max(2)),
        // OpaSim's 8 VLs, chosen by destination; one for each VL class if there are several.
        QosPreset::Single => one_level(if classes > 1 { classes } else { 8 }, 8),
        QosPreset::Opa5Sl => QosDefaults {
            scheduler: Some(RawScheduler::DTable),
            service_levels: OPA_5SL
                .iter()
                .enumerate()
                .map(|(i, &(name, scs, mtu, percent, _))| RawServiceLevel {
                    name: name.to_owned(),
                    tc: Some(i as u8),
                    scs: scs.to_vec(),
                    mtu: Some(Bytes(mtu)),
                    share: Ratio::new(percent, 100),
                })
                .collect(),
            sc2vl: vec![0, 1, 2, 3, 4, 5, 6, 7, 6, 7],
            dtable: RawDTable {
                entries: Some(128),
                gmtu: Some(Bytes(1024)),
                w: Some(8),
                k: Some(2),
                distances: Some(
                    OPA_5SL
                        .iter()
                        .map(|&(name, .., d)| (name.to_owned(), d))
                        .collect(),
                ),
            },
        },
    }
}

/// A single service level on `scs` service channels, of which `sc2vl` have a VL.
fn one_level(scs: u8, sc2vl: u8) -> QosDefaults {
    QosDefaults {
        scheduler: None,
        service_levels: vec![RawServiceLevel {
            name: "default".to_owned(),
            tc: Some(0),
            scs: (0..scs).collect(),
            mtu: None,
            share: Some(Ratio::ONE),
        }],
        sc2vl: (0..sc2vl).collect(),
        dtable: RawDTable::default(),
    }
}

/// The defaults of the preset; nothing where the file defines the service levels.
pub(crate) fn defaults(raw: &RawQos, classes: u8) -> Result<QosDefaults, ConfigError> {
    match (raw.preset, &raw.service_levels) {
        (Some(_), Some(_)) => refused(
            "qos.service_levels",
            "a preset already defines the service levels; remove one of `preset` and `service_levels`",
        ),
        (preset, None) => {
            let mut defaults = of_preset(preset.unwrap_or(QosPreset::Single), classes);
            if raw.mtu.is_some() {
                // The file's key wins over the preset's.
                defaults
                    .service_levels
                    .iter_mut()
                    .for_each(|level| level.mtu = raw.mtu);
            }
            Ok(defaults)
        }
        (None, Some(_)) => Ok(QosDefaults {
            scheduler: None,
            service_levels: Vec::new(),
            sc2vl: Vec::new(),
            dtable: RawDTable::default(),
        }),
    }
}
