//! Parameters of the publications.

use super::error::ConfigError;
use super::presets_congestion::{CONGESTION, CongestionDefaults};
use super::presets_infiniband::{
    CABLE_PS, EDR, FDR, HDR, NDR, QDR, VoqDefaults, ib_ddr_testbed, ib_qdr_648, infiniband,
};
use super::raw::{
    FabricPreset, QosPreset, RawDTable, RawFabric, RawNics, RawScheduler, RawServiceLevel,
    RawTopology, TopologyKind,
};
use super::raw_infiniband::RawKind;
use crate::units::{Bytes, Latency, Ratio, Space};

/// Every fabric default that a preset decides.
pub(super) struct FabricDefaults {
    pub topology: RawTopology,
    pub flit: u64,
    pub header: u64,
    pub credit: u64,
    pub link: Latency,
    pub host_link: Latency,
    pub input: Latency,
    pub routing: Latency,
    pub allocation: Latency,
    pub crossbar: Latency,
    pub output: Latency,
    pub input_buffer: u64,
    pub output_buffer: u64,
    pub nic_queue: u64,
    pub nic_sink: u64,
    /// MTU of service levels that have none.
    pub mtu: u64,
    /// Scheduler if none is given and the QoS preset has none.
    pub scheduler: RawScheduler,
    pub kind: KindDefaults,
    pub congestion: CongestionDefaults,
}

/// What only one kind of switch has.
pub(super) enum KindDefaults {
    Hierarchical(HierarchicalDefaults),
    Voq(VoqDefaults),
}

pub(super) struct HierarchicalDefaults {
    /// Bytes per second.
    pub link_rate: u64,
    pub mport_speedup: u32,
    pub central_speedup: u32,
    pub central_buffer: u64,
    /// Exclusive quota of a VL, and what is taken where that does not fit.
    pub exclusive: [Space; 2],
    pub max: Space,
}

impl FabricDefaults {
    /// The defaults of the hierarchical switch, if that is the kind.
    pub(super) fn hierarchical(&self) -> Option<&HierarchicalDefaults> {
        match &self.kind {
            KindDefaults::Hierarchical(h) => Some(h),
            KindDefaults::Voq(_) => None,
        }
    }
}

/// The defaults that a `[fabric]` asks for: of its preset, or of the usual preset of its
/// kind.
pub(super) fn fabric(raw: &RawFabric) -> Result<FabricDefaults, ConfigError> {
    let preset = match (raw.preset, raw.kind) {
        (Some(preset), _) => preset,
        (None, None | Some(RawKind::Hierarchical)) => FabricPreset::OpaGen1,
        (None, Some(RawKind::Voq)) => FabricPreset::IbQdr648,
    };
    let defaults = match preset {
        FabricPreset::OpaGen1 => opa_gen1(),
        FabricPreset::OpaSim => opasim(),
        FabricPreset::IbDdrTestbed => ib_ddr_testbed(),
        FabricPreset::IbQdr648 => ib_qdr_648(),
        FabricPreset::IbQdr => infiniband(&QDR),
        FabricPreset::IbFdr => infiniband(&FDR),
        FabricPreset::IbEdr => infiniband(&EDR),
        FabricPreset::IbHdr => infiniband(&HDR),
        FabricPreset::IbNdr => infiniband(&NDR),
        FabricPreset::Opa400 => opa_400(),
    };
    let is = match defaults.kind {
        KindDefaults::Hierarchical(_) => RawKind::Hierarchical,
        KindDefaults::Voq(_) => RawKind::Voq,
    };
    if raw.kind.is_some_and(|kind| kind != is) {
        return Err(ConfigError::new(
            "fabric.kind",
            "the preset has switches of the other kind; \"opa-gen1\", \"opa-400\" and \"opasim\" are \
             \"hierarchical\", those that begin with \"ib-\" are \"voq\"",
        ));
    }
    only_keys_of(raw, is)?;
    Ok(defaults)
}

/// Refuses keys that mean nothing for the kind of switch.
fn only_keys_of(raw: &RawFabric, kind: RawKind) -> Result<(), ConfigError> {
    let hierarchical = [
        ("link_rate", raw.link_rate.is_some()),
        ("mport_speedup", raw.mport_speedup.is_some()),
        ("central_speedup", raw.central_speedup.is_some()),
        ("central_buffer", raw.central_buffer.is_some()),
        ("exclusive", raw.exclusive.is_some()),
        ("max", raw.max.is_some()),
        ("central_exclusive", raw.central_exclusive.is_some()),
        ("central_max", raw.central_max.is_some()),
        ("central_queues", raw.central_queues.is_some()),
        ("virtual_allocation", raw.virtual_allocation.is_some()),
    ];
    let voq = [
        ("link_speed", raw.link_speed.is_some()),
        ("host_link_speed", raw.host_link_speed.is_some()),
        ("link_speeds", raw.link_speeds.is_some()),
        ("tick", raw.tick.is_some()),
        ("crossbar_speedup", raw.crossbar_speedup.is_some()),
        ("input_buffer_vls", raw.input_buffer_vls.is_some()),
        ("nic_sink_vls", raw.nic_sink_vls.is_some()),
        ("hca_send_rate", raw.hca_send_rate.is_some()),
        ("hca_sink_rate", raw.hca_sink_rate.is_some()),
        ("acks", raw.acks.is_some()),
        ("ack", raw.ack.is_some()),
        ("sl2vl", raw.sl2vl.is_some()),
        ("forwarding", raw.forwarding.is_some()),
    ];
    let (foreign, other, cure): (&[(&str, bool)], _, _) = match kind {
        RawKind::Hierarchical => (
            &voq,
            "voq",
            "remove it, or take fabric.kind = \"voq\" or an InfiniBand preset",
        ),
        RawKind::Voq => (
            &hierarchical,
            "hierarchical",
            "remove it (docs/experiment.md has the keys of the \"voq\" switch)",
        ),
    };
    match foreign.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(ConfigError::new(
            format!("fabric.{name}"),
            format!("belongs to the \"{other}\" kind of switch; {cure}"),
        )),
    }
}

/// OpaSim (DIAB-18-12-1) Table 1: RT 32, SB 50 twice, X 2 twice, FLY 8. The table
/// prints AT 16; 8 per allocation, 16 in total, make the table, the formula and
/// the printed 160 cycles agree: 50+32+8+2+8+2+50+8 through the central
/// crossbar, 50+32+8+2+50+8 = 150 inside an MPort. INJ has no value there: 8.
/// Its cycle is 640 ps, a flit of 8 B at 100 Gb/s; latencies are times, so that they stay when
/// the link rate changes. FLY, 5.12 ns, is a metre of cable.
/// Hiperion section 4.1: 64 KiB per port buffer, 32 KiB per NIC, 128 KiB central
/// per MPort (two of 64 KiB), 64 B credits. Quotas are ours.
fn opa_gen1() -> FabricDefaults {
    omni_path(12_500_000_000, cycles(8))
}

/// Switches of 48 ports behind links of `link_rate` bytes per second.
fn omni_path(link_rate: u64, cable: Latency) -> FabricDefaults {
    FabricDefaults {
        // OpaSim's NUMBER_OF_PORTS.
        topology: RawTopology {
            nics: Some(RawNics::Count(48)),
            ..RawTopology::of(TopologyKind::Single)
        },
        flit: 8,
        header: 0,
        credit: 64,
        link: cable,
        host_link: cable,
        input: cycles(50),
        routing: cycles(32),
        allocation: cycles(8),
        crossbar: cycles(2),
        output: cycles(50),
        input_buffer: 65_536,
        output_buffer: 65_536,
        nic_queue: 32_768,
        nic_sink: 32_768,
        mtu: 1024,
        scheduler: RawScheduler::Rr,
        kind: KindDefaults::Hierarchical(HierarchicalDefaults {
            link_rate,
            mport_speedup: 3,
            central_speedup: 4,
            central_buffer: 65_536,
            exclusive: [Space::Packets(4), Space::Packets(1)],
            max: Space::Share(Ratio::new(3, 4).unwrap_or(Ratio::ONE)),
        }),
        congestion: CONGESTION,
    }
}

/// Cycles of OpaSim, 640 ps each.
const fn cycles(count: u64) -> Latency {
    Latency::Time(640 * count)
}

/// Omni-Path at 400 Gb/s. The pipeline of `opa-gen1`, 97 ns through the central crossbar, agrees
/// with the "< 100 ns" of a switch in Cornelis' *CN5000 Topologies and Routing* (4.2.3); cables of
/// 5 m at the 5 ns/m of NVIDIA's *DGX SuperPOD Cabling Data Centers Design Guide*.
fn opa_400() -> FabricDefaults {
    omni_path(50_000_000_000, Latency::Time(CABLE_PS))
}

/// OpaSim section 2.3: QUEUE_SIZE 256 flits of 8 B, FLITS_PER_CREDIT 4, so 64 credits;
/// MAX_VC_CREDITS 48. Its EXCLUSIVE_VC_CREDITS of 16 times 8 VLs do not fit in 64: 4
/// here. PACKET_SIZE 16 flits.
fn opasim() -> FabricDefaults {
    FabricDefaults {
        credit: 32,
        input_buffer: 2048,
        output_buffer: 2048,
        nic_queue: 2048,
        nic_sink: 2048,
        mtu: 128,
        scheduler: RawScheduler::RrVl,
        kind: KindDefaults::Hierarchical(HierarchicalDefaults {
            link_rate: 12_500_000_000,
            mport_speedup: 3,
            central_speedup: 4,
            central_buffer: 2048,
            exclusive: [Space::Credits(4), Space::Credits(4)],
            max: Space::Credits(48),
        }),
        ..opa_gen1()
    }
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

/// The QoS defaults of a preset; `rings` tells whether the topology has any.
pub(super) fn qos(preset: QosPreset, rings: bool) -> QosDefaults {
    match preset {
        // One VL; two dateline classes on rings.
        QosPreset::Ib => QosDefaults {
            scheduler: None,
            service_levels: vec![RawServiceLevel {
                name: "default".to_owned(),
                tc: Some(0),
                scs: if rings { vec![0, 1] } else { vec![0] },
                mtu: None,
                share: Some(Ratio::ONE),
            }],
            sc2vl: vec![0, 1],
            dtable: RawDTable::default(),
        },
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
