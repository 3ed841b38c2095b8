//! Parameters of congestion control: our defaults, and the published sets.

use crate::config::congestion_control::keys::{RawCctTable, RawControlPreset, TIMER_UNIT_PS};
use crate::fabric::spec::congestion::{CctEntry, PortCongestion};
use crate::units::{Picoseconds, Ratio};

/// Congestion control where the experiment does not say otherwise.
pub(crate) struct CongestionDefaults {
    pub host_ports: PortCongestion,
    pub switch_ports: PortCongestion,
    pub ccti_limit: u16,
    pub ccti_increase: u8,
    pub ccti_min: u8,
    pub ccti_timer_ps: u64,
    pub trigger_threshold: u8,
    /// The construction of the table.
    pub cct: fn() -> RawCctTable,
    pub cnp: u64,
}

const PORT: PortCongestion = PortCongestion {
    threshold: 12,
    victim_mask: false,
    packet_size: 0,
    marking_rate: 3,
    credit_mask: false,
    cs_threshold: 0,
    cs_return_delay: CctEntry::NONE,
};

/// The same towards adapters, with `Victim_Mask`, as section 2.1 of *InfiniBand Congestion
/// Control: Modelling and validation* (Gran and Reinemo, 2011) has it.
const fn towards_adapters(port: PortCongestion) -> PortCongestion {
    PortCongestion {
        victim_mask: true,
        ..port
    }
}

/// That paper states no values: these are ours, tried on its scenario 1
/// (`tests/run/infiniband_testbed.rs`). A quarter of an input buffer is a queue, not a packet that
/// passes; one mark per 4 packets and a fall of the index per 64 of the specification's units
/// keep contributors at their shares.
pub(crate) const CONGESTION: CongestionDefaults = CongestionDefaults {
    host_ports: towards_adapters(PORT),
    switch_ports: PORT,
    ccti_limit: 127,
    ccti_increase: 1,
    ccti_min: 0,
    ccti_timer_ps: 64 * TIMER_UNIT_PS,
    trigger_threshold: 0,
    cct: || RawCctTable {
        linear: Ratio::new(1, 4),
        ..RawCctTable::default()
    },
    // LRH 8, BTH 12, payload 16, ICRC 4, VCRC 2.
    cnp: 42,
};

const SIMULA_PORT: PortCongestion = PortCongestion {
    threshold: 15,
    marking_rate: 0,
    ..PORT
};

/// Gran, Eimot, Reinemo, Skeie, Lysne, Huse and Shainer, *First experiences with congestion
/// control in InfiniBand hardware* (IPDPS 2010), and later work of the same group: their
/// parameters as remembered, not looked up. The table is the one of the script
/// `opensm-cc-optimizer` (Lawrence Livermore National Laboratory), written after their work:
/// ⌊7 i² / 106² / 0.408⌋, 0.408 us being a packet of 2 KiB at 40 Gb/s, with a shift of 3.
const SIMULA: CongestionDefaults = CongestionDefaults {
    host_ports: towards_adapters(SIMULA_PORT),
    switch_ports: SIMULA_PORT,
    ccti_timer_ps: 150 * TIMER_UNIT_PS,
    cct: || RawCctTable {
        quadratic: Ratio::new(875, 573_036),
        shift: Some(3),
        ..RawCctTable::default()
    },
    ..CONGESTION
};

const MELLANOX_PORT: PortCongestion = PortCongestion {
    threshold: 15,
    marking_rate: 10,
    packet_size: 8,
    ..PORT
};

/// Defaults of the congestion control manager, MLNX OFED user manual 2.1 to 2.3 (section
/// "Congestion Control Manager Options File"). It computes table and timer from the number
/// of nodes, by a rule it does not tell: these two stay ours.
const MELLANOX: CongestionDefaults = CongestionDefaults {
    host_ports: towards_adapters(MELLANOX_PORT),
    switch_ports: MELLANOX_PORT,
    trigger_threshold: 2,
    ..CONGESTION
};

const OPA_PORT: PortCongestion = PortCongestion {
    threshold: 8,
    marking_rate: 0,
    ..PORT
};

/// Last entry of the table of the fabric manager.
const OPA_LONGEST_DELAY: Picoseconds = Picoseconds(8_000_000);

/// Defaults of Intel's Omni-Path fabric manager, from its source.
const OPA_FM: CongestionDefaults = CongestionDefaults {
    host_ports: OPA_PORT,
    switch_ports: OPA_PORT,
    ccti_increase: 5,
    ccti_timer_ps: 10 * TIMER_UNIT_PS,
    trigger_threshold: 8,
    cct: || RawCctTable {
        last: Some(OPA_LONGEST_DELAY),
        shift: Some(3),
        ..RawCctTable::default()
    },
    ..CONGESTION
};

/// The parameters of a preset.
pub(crate) fn published(preset: RawControlPreset) -> &'static CongestionDefaults {
    match preset {
        RawControlPreset::Simula => &SIMULA,
        RawControlPreset::Mellanox => &MELLANOX,
        RawControlPreset::OpaFm => &OPA_FM,
    }
}
