//! Parameters of the publications.

use super::raw::{
    FabricPreset, QosPreset, RawDTable, RawScheduler, RawServiceLevel, RawTopology, TopologyKind,
};
use crate::units::{Bytes, Ratio, Space};

/// Every fabric default that a preset decides; latencies in ticks.
pub(super) struct FabricDefaults {
    /// Bytes per second.
    pub link_rate: u64,
    pub flit: u64,
    pub credit: u64,
    pub link: u64,
    pub host_link: u64,
    pub input: u64,
    pub routing: u64,
    pub allocation: u64,
    pub crossbar: u64,
    pub output: u64,
    pub mport_speedup: u32,
    pub central_speedup: u32,
    pub port_buffer: u64,
    pub nic_queue: u64,
    pub central_buffer: u64,
    /// Exclusive quota of a VL, and what is taken where that does not fit.
    pub exclusive: [Space; 2],
    pub max: Space,
    /// MTU of service levels that have none.
    pub mtu: u64,
    /// Scheduler if none is given and the QoS preset has none.
    pub scheduler: RawScheduler,
}

/// OpaSim (DIAB-18-12-1) Table 1: RT 32, SB 50 twice, X 2 twice, FLY 8. The table
/// prints AT 16; 8 per allocation, 16 in total, make the table, the formula and
/// the printed 160 cycles agree: 50+32+8+2+8+2+50+8 through the central
/// crossbar, 50+32+8+2+50+8 = 150 inside an MPort. INJ has no value there: 8.
/// Hiperion section 4.1: 64 KiB per port buffer, 32 KiB per NIC, 128 KiB central
/// per MPort (two of 64 KiB), 64 B credits. Quotas are ours.
const OPA_GEN1: FabricDefaults = FabricDefaults {
    link_rate: 12_500_000_000,
    flit: 8,
    credit: 64,
    link: 8,
    host_link: 8,
    input: 50,
    routing: 32,
    allocation: 8,
    crossbar: 2,
    output: 50,
    mport_speedup: 3,
    central_speedup: 4,
    port_buffer: 65_536,
    nic_queue: 32_768,
    central_buffer: 65_536,
    exclusive: [Space::Packets(4), Space::Packets(1)],
    max: Space::Credits(0), // three quarters; see `fabric`
    mtu: 1024,
    scheduler: RawScheduler::Rr,
};

/// The fabric defaults of a preset.
pub(super) fn fabric(preset: FabricPreset) -> FabricDefaults {
    let three_quarters = Space::Share(Ratio::new(3, 4).unwrap_or(Ratio::ONE));
    match preset {
        FabricPreset::OpaGen1 => FabricDefaults {
            max: three_quarters,
            ..OPA_GEN1
        },
        // OpaSim section 2.3: QUEUE_SIZE 256 flits of 8 B, FLITS_PER_CREDIT 4, so
        // 64 credits; MAX_VC_CREDITS 48. Its EXCLUSIVE_VC_CREDITS of 16 times 8
        // VLs do not fit in 64: 4 here. PACKET_SIZE 16 flits.
        FabricPreset::OpaSim => FabricDefaults {
            credit: 32,
            port_buffer: 2048,
            nic_queue: 2048,
            central_buffer: 2048,
            exclusive: [Space::Credits(4), Space::Credits(4)],
            max: Space::Credits(48),
            mtu: 128,
            scheduler: RawScheduler::RrVl,
            ..OPA_GEN1
        },
    }
}

/// The topology where none is given: OpaSim's NUMBER_OF_PORTS.
pub(super) const DEFAULT_TOPOLOGY: RawTopology = RawTopology {
    kind: TopologyKind::Single,
    nics: Some(48),
    dimensions: None,
    concentration: None,
    trunk: None,
    k: None,
    n: None,
    hosts: None,
};

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

/// The QoS defaults of a preset; `rings` tells whether the topology has any.
pub(super) fn qos(preset: QosPreset, rings: bool) -> QosDefaults {
    match preset {
        QosPreset::Single => QosDefaults {
            scheduler: None,
            service_levels: vec![RawServiceLevel {
                name: "default".to_owned(),
                tc: Some(0),
                // OpaSim's 8 VLs, chosen by destination; two dateline classes on rings.
                scs: if rings { vec![0, 1] } else { (0..8).collect() },
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
