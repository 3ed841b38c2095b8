//! The presets of an experiment file, and the defaults that each of them sets.

use super::error::ConfigError;
use super::presets_congestion::{CONGESTION, CongestionDefaults};
use super::raw::{QosPreset, RawDTable, RawScheduler, RawServiceLevel};
use super::raw_fabric::{FabricPreset, RawFabric, RawKind};
use super::raw_topology::{RawGraph, RawNics, RawSingle, RawTopology, RawXgft};
use crate::fabric::parameters::{Parameters, SwitchParameters};
use crate::units::{Bytes, Ratio};

/// Every fabric default that a preset decides.
pub(super) struct FabricDefaults {
    pub parameters: Parameters,
    pub topology: RawTopology,
    /// Scheduler if none is given and the QoS preset has none.
    pub scheduler: RawScheduler,
    pub congestion: CongestionDefaults,
}

impl FabricDefaults {
    /// One switch with `nics` NICs.
    fn single(parameters: Parameters, nics: u32, scheduler: RawScheduler) -> Self {
        Self {
            parameters,
            topology: RawTopology::Single(RawSingle {
                nics: Some(RawNics::Count(nics)),
            }),
            scheduler,
            congestion: CONGESTION,
        }
    }
}

/// The defaults of a `[fabric]`: of its preset, or of the usual preset of its kind.
pub(super) fn fabric(raw: &RawFabric) -> Result<FabricDefaults, ConfigError> {
    let preset = raw.preset.unwrap_or(match raw.kind {
        RawKind::Hierarchical(_) => FabricPreset::OpaGen1,
        RawKind::Voq(_) => FabricPreset::IbQdr648,
    });
    let (rr, rr_vl, vlarb) = (RawScheduler::Rr, RawScheduler::RrVl, RawScheduler::IbVlarb);
    let single = FabricDefaults::single;
    let defaults = match preset {
        // OpaSim's NUMBER_OF_PORTS.
        FabricPreset::OpaGen1 => single(Parameters::opa_gen1(), 48, rr),
        FabricPreset::Opa400 => single(Parameters::opa_400(), 48, rr),
        FabricPreset::OpaSim => single(Parameters::opasim(), 48, rr_vl),
        FabricPreset::IbQdr => single(Parameters::ib_qdr(), 36, vlarb),
        FabricPreset::IbFdr => single(Parameters::ib_fdr(), 36, vlarb),
        FabricPreset::IbEdr => single(Parameters::ib_edr(), 36, vlarb),
        FabricPreset::IbHdr => single(Parameters::ib_hdr(), 40, vlarb),
        FabricPreset::IbNdr => single(Parameters::ib_ndr(), 64, vlarb),
        FabricPreset::IbQdr648 => FabricDefaults {
            topology: clos_of_648(),
            ..single(Parameters::ib_qdr_648(), 1, vlarb)
        },
        FabricPreset::IbDdrTestbed => FabricDefaults {
            topology: testbed(),
            ..single(Parameters::ib_ddr_testbed(), 1, vlarb)
        },
    };
    let fits = matches!(
        (&raw.kind, &defaults.parameters.switch),
        (RawKind::Hierarchical(_), SwitchParameters::Hierarchical(_))
            | (RawKind::Voq(_), SwitchParameters::Voq(_))
    );
    if !fits {
        return Err(ConfigError::new(
            "fabric.kind",
            "the preset has switches of the other kind; \"opa-gen1\", \"opa-400\" and \"opasim\" are \
             \"hierarchical\", those that begin with \"ib-\" are \"voq\"",
        ));
    }
    Ok(defaults)
}

/// A three-stage Clos network: 36 switches of the first stage with 18 hosts each, 18 above.
fn clos_of_648() -> RawTopology {
    RawTopology::Xgft(RawXgft {
        down: Some(vec![18, 36]),
        up: Some(vec![1, 18]),
        parallel: None,
        hosts: None,
    })
}

/// H1 to H3 (NICs 0 to 2) at one switch, H4 to H7 (3 to 6) at another.
fn testbed() -> RawTopology {
    let hosts = [(0, 3), (1, 4)];
    let nics = hosts.iter().flat_map(|&(s, n)| (0..n).map(move |p| [s, p]));
    RawTopology::Graph(RawGraph {
        switches: Some(2),
        links: Some(vec![[0, 3, 1, 4]]),
        nics: Some(RawNics::At(nics.collect())),
    })
}

/// Every QoS default that a preset decides.
pub(super) struct QosDefaults {
    pub scheduler: Option<RawScheduler>,
    pub service_levels: Vec<RawServiceLevel>,
    pub sc2vl: Vec<u8>,
    pub dtable: RawDTable,
}

/// Hiperion Tables 7–10, one traffic class per SL; `(name, SCs, MTU, share,
/// distance)`. The MTU is also the message size of Table 8. The shares are the Inj. column of Table 10 and, times 100, the
/// SBT weights; that table prints 10 for VI, but text and sum say 30.
pub(super) const OPA_5SL: [(&str, [u8; 2], u64, u64, u32); 5] = [
    ("VO", [0, 1], 128, 10, 2),
    ("VI", [2, 3], 256, 30, 4),
    ("CL", [4, 5], 512, 50, 8),
    ("BE", [6, 7], 1024, 5, 16),
    ("BK", [8, 9], 1024, 5, 16),
];

/// The QoS defaults of a preset for a routing with `classes` VL classes.
pub(super) fn qos(preset: QosPreset, classes: u8) -> QosDefaults {
    match preset {
        // One VL for each VL class.
        QosPreset::Ib => QosDefaults {
            scheduler: None,
            service_levels: vec![RawServiceLevel {
                name: "default".to_owned(),
                tc: Some(0),
                scs: (0..classes).collect(),
                mtu: None,
                share: Some(Ratio::ONE),
            }],
            sc2vl: (0..classes.max(2)).collect(),
            dtable: RawDTable::default(),
        },
        QosPreset::Single => QosDefaults {
            scheduler: None,
            service_levels: vec![RawServiceLevel {
                name: "default".to_owned(),
                tc: Some(0),
                // OpaSim's 8 VLs, chosen by destination; one for each VL class if there are several.
                scs: if classes > 1 {
                    (0..classes).collect()
                } else {
                    (0..8).collect()
                },
                mtu: None,
                share: Some(Ratio::ONE),
            }],
            sc2vl: (0..8).collect(),
            dtable: RawDTable::default(),
        },
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
