//! The keys of `[congestion_control]`.

use crate::config::document::{Forms, form_schemas, forms, read_forms};
use crate::config::place::RawPlace;
use crate::fabric::spec::congestion::{
    CctiBound, FillComparison, FlowLevel, IrdBase, Marking, SlScope, TimerRestart, TimerScope,
};
use crate::units::{Bytes, Picoseconds, Ratio};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess, Unexpected};
use std::collections::BTreeMap;

/// Defines the tables of settings. The settings of ports are keys of the section, of two tables in it, and of single
/// ports;
/// the settings of service levels are keys of the section and of single levels.
macro_rules! tables {
    (
        ports { $($(#[$of_port:meta])* $port:ident = $port_name:literal: $port_type:ty,)* }
        levels { $($(#[$of_level:meta])* $level:ident = $level_name:literal: $level_type:ty,)* }
        section { $($(#[$of_section:meta])* $key:ident: $type:ty,)* }
    ) => {
        /// The keys of `[congestion_control]`.
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct RawCongestionControl {
            $($(#[$of_section])* pub $key: $type,)*
            $($(#[$of_port])* #[serde(rename = $port_name)] pub $port: Option<$port_type>,)*
            $($(#[$of_level])* #[serde(rename = $level_name)] pub $level: Option<$level_type>,)*
        }

        /// Settings of ports.
        #[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct RawPortCongestion {
            $($(#[$of_port])* #[serde(rename = $port_name)] pub $port: Option<$port_type>,)*
        }

        /// A port with settings of its own.
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct RawOnePort {
            /// The switch, by its number or, with an `ibnetdiscover` topology, by its name.
            pub switch: RawPlace,
            /// The port, which counts from 0.
            pub port: Option<u32>,
            /// The port as on the device, where ports count from 1; with an `ibnetdiscover` topology.
            pub device_port: Option<u32>,
            $($(#[$of_port])* #[serde(rename = $port_name)] pub $port: Option<$port_type>,)*
        }

        /// Settings of a service level.
        #[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct RawSlCongestion {
            $($(#[$of_level])* #[serde(rename = $level_name)] pub $level: Option<$level_type>,)*
        }

        impl RawCongestionControl {
            /// The settings of all ports.
            pub(crate) fn ports(&self) -> RawPortCongestion {
                RawPortCongestion { $($port: self.$port,)* }
            }

            /// The settings of all service levels.
            pub(crate) fn levels(&self) -> RawSlCongestion {
                RawSlCongestion { $($level: self.$level,)* }
            }
        }

        impl RawOnePort {
            /// Its settings.
            pub(crate) fn settings(&self) -> RawPortCongestion {
                RawPortCongestion { $($port: self.$port,)* }
            }
        }

        impl RawPortCongestion {
            /// Each key, and whether it is given.
            pub(crate) fn given(&self) -> Vec<(&'static str, bool)> {
                vec![$(($port_name, self.$port.is_some()),)*]
            }
        }

        impl RawSlCongestion {
            /// Each key, and whether it is given.
            pub(crate) fn given(&self) -> Vec<(&'static str, bool)> {
                vec![$(($level_name, self.$level.is_some()),)*]
            }
        }
    };
}

tables! {
    ports {
        /// Weight w, 0–15: a port's VL is congested from a fill of (16 − w)/16 on; 0: never.
        #[schemars(extend("default" = 12))]
        threshold = "Threshold": u8,
        /// True: a port's VL without credits can be congested.
        #[schemars(extend("x-default" = "true towards NICs, else false"))]
        victim_mask = "Victim_Mask": bool,
        /// Packets below this many 64 B are not marked (0–255).
        #[schemars(extend("default" = 0))]
        packet_size = "Packet_Size": u8,
        /// Mean number of eligible packets between two marks (0–65535).
        #[schemars(extend("default" = 3))]
        marking_rate = "Marking_Rate": u16,
        /// True: the port may be starved of credits.
        #[schemars(extend("default" = false))]
        credit_mask = "Credit_Mask": bool,
        /// Weight c of credit starvation, 0–15, with `Credit_Mask`; 0: never.
        ///
        /// A VL of a port with a fill from (16 − c)/16 on, and without credits, is starved: its packets are marked as
        /// if it were congested.
        #[schemars(extend("default" = 0))]
        cs_threshold = "CS_Threshold": u8,
        /// Delay of a starved VL's credits, shift:multiplier (0–3, 0–16383).
        ///
        /// The credits of packets granted to it go back later by multiplier / 2^shift times the time that the packet
        /// took on the link by which it came.
        #[schemars(extend("default" = "0:0"))]
        cs_return_delay = "CS_ReturnDelay": RawReturnDelay,
    }
    levels {
        /// Added to the index by a BECN (0–255).
        #[schemars(extend("default" = 1))]
        ccti_increase = "CCTI_Increase": u8,
        /// Smallest index (0–255).
        #[schemars(extend("default" = 0))]
        ccti_min = "CCTI_Min": u8,
        /// Time after which the index falls by 1, in 1.024 us (0–65535), or such as `"30us"`.
        ///
        /// The time may be too long for 16 bits.
        #[schemars(extend("default" = 64))]
        ccti_timer = "CCTI_Timer": RawTimer,
        /// Index from which on a BECN counts as an event of the log (0–255); 0: none.
        ///
        /// It is the index after the BECN. Rates do not depend on it.
        #[schemars(extend("default" = 0))]
        trigger_threshold = "Trigger_Threshold": u8,
    }
    section {
        /// `"ib"` switches congestion control on.
        ///
        /// With `kind = "none"` all other keys may remain and are ignored; without a `kind` they are an error.
        #[schemars(extend("default" = "none"))]
        kind: Option<RawControlKind>,
        /// Part of a switch that marks packets: VLs of ports; or `"none"`.
        ///
        /// VLs of ports mark by `Threshold` and the keys after it. With `marker = "none"`, unless `CCTI_Min` is above
        /// 0, a hierarchical fabric differs from one without congestion control only by the queues of its NICs, which
        /// are per destination.
        #[schemars(extend("default" = "port-vl"))]
        marker: Option<RawMarker>,
        /// Reaction of a source to notifications: delays by the table `CCT`; or `"none"`.
        ///
        /// `source = "none"` is the control experiment: the same marks and notifications, which take bandwidth and are
        /// counted, but no reaction. It tells what the reaction is worth, and how often a threshold marks when no
        /// source slows down.
        #[schemars(extend("default" = "cct"))]
        source: Option<RawSourceControl>,
        /// Published parameters; given keys override them.
        ///
        /// A preset does not switch congestion control on by itself.
        preset: Option<RawControlPreset>,
        /// `Threshold` to `CS_ReturnDelay` for ports that lead to NICs: `{ Threshold = 8 }`.
        #[serde(default)]
        host_ports: RawPortCongestion,
        /// The same keys for ports that lead to switches.
        #[serde(default)]
        switch_ports: RawPortCongestion,
        /// The same keys for single ports: `[{ switch = 1, port = 2, Threshold = 0 }]`.
        ///
        /// The switch may be given by name, and the port as `device_port`, as in `link_speeds`.
        #[serde(default)]
        port: Vec<RawOnePort>,
        /// Fill compared with the threshold: each queue's; or `"sum"`, `"sum-shared"`.
        ///
        /// `"sum-shared"`: the sum, with the threshold divided by the number of queues in use.
        #[schemars(extend("default" = "any-queue"))]
        compare: Option<FillComparison>,
        /// `"random"`: with probability 1/(`Marking_Rate` + 1); `"fixed"`: after every `Marking_Rate` packets.
        ///
        /// Only eligible packets count. `"random"` draws from the seed of the experiment; `"fixed"` can lock onto the
        /// order in which flows take turns.
        #[schemars(extend("default" = "random"))]
        marking: Option<Marking>,
        /// `"cnp"`: a packet of its own; `"ack"`: BECN on the next ACK; `"ack-at-once"`: on an immediate ACK.
        ///
        /// `"ack"` needs `fabric.acks`. `"ack-at-once"` is what Linux's driver `hfi1` does.
        #[schemars(extend("default" = "cnp"))]
        notification: Option<RawNotification>,
        /// Whole length of a CNP.
        #[schemars(extend("default" = "42B"))]
        cnp: Option<Bytes>,
        /// Flow that is slowed down: a queue pair; or `"sl"`, the SL of a NIC.
        ///
        /// A queue pair is (source, destination, SL).
        #[schemars(extend("default" = "qp"))]
        level: Option<FlowLevel>,
        /// With `level = "sl"`: an SL waits by its own index; or `"link"`: by the largest of its NIC.
        ///
        /// With `"link"` the largest index of all SLs holds the whole NIC, as `hfi1` does.
        #[schemars(extend("default" = "flow"))]
        sl_scope: Option<SlScope>,
        /// `"per-flow"`: a BECN starts the timer; `"per-sl"`: one per SL of a NIC runs freely.
        #[schemars(extend("default" = "per-flow"))]
        timer: Option<TimerScope>,
        /// A running timer restarts when it expires; or `"on-becn"`, at each BECN, too.
        ///
        /// It is the timer of a flow. `hfi1` restarts it at expiry.
        #[schemars(extend("default" = "at-expiry"))]
        timer_restart: Option<TimerRestart>,
        /// An increase beyond `CCTI_Limit` leads to it; with `"skip"` it is not applied.
        ///
        /// `"skip"` is what Intel's PSM library does.
        #[schemars(extend("default" = "saturate"))]
        ccti_bound: Option<CctiBound>,
        /// Delays are multiples of the last packet's time; or `"max-packet"`, of the largest packet's.
        ///
        /// The multiplier is the table's entry. `"max-packet"` is the largest data packet of any SL, as in `hfi1`.
        #[schemars(extend("default" = "packet"))]
        ird_base: Option<IrdBase>,
        /// Congestion control table.
        #[schemars(extend("default" = {"linear": "1/4"}))]
        #[serde(rename = "CCT")]
        cct: Option<RawCct>,
        /// Largest index.
        #[schemars(extend("default" = 127))]
        #[serde(rename = "CCTI_Limit")]
        ccti_limit: Option<u16>,
        /// `CCTI_Increase` to `Trigger_Threshold` of single SLs: `{ CL = { CCTI_Timer = 16 } }`.
        ///
        /// The keys are `CCTI_Increase`, `CCTI_Min`, `CCTI_Timer` and `Trigger_Threshold`.
        #[serde(default)]
        service_levels: BTreeMap<String, RawSlCongestion>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawControlKind {
    /// Off.
    None,
    /// InfiniBand's congestion control.
    Ib,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawMarker {
    /// Nothing marks.
    None,
    /// The VLs of ports, by their thresholds.
    PortVl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawSourceControl {
    /// No reaction: the control experiment.
    None,
    /// Delays packets by the congestion control table.
    Cct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawNotification {
    /// A packet of its own.
    Cnp,
    /// The next acknowledgement, which needs `fabric.acks`.
    Ack,
    /// An acknowledgement that is sent at once, as Linux's driver `hfi1` does.
    AckAtOnce,
}

/// A time, in picoseconds; written as such or in the specification's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawTimer(pub u64);

/// Unit of a `CCTI_Timer` in the specification: 1.024 us (IBA 1.2.1, table 520).
pub(crate) const TIMER_UNIT_PS: u64 = 1_024_000;

/// The congestion control table, or how it is made.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
pub(crate) enum RawCct {
    Entries(Vec<(u16, u8)>),
    Made(RawCctTable),
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCctTable {
    /// Entry i is a delay of i times this; the multiplier is rounded to the nearest.
    pub linear: Option<Ratio>,
    /// A linear table with this delay of the largest data packet at `CCTI_Limit`.
    pub last: Option<Picoseconds>,
    /// The multiplier of entry i is ⌊this · i²⌋, whatever the `shift`.
    pub quadratic: Option<Ratio>,
    /// The factor from one entry to the next, from `first` on.
    pub exponential: Option<Ratio>,
    /// The delay of entry 1 of an exponential table.
    pub first: Option<Ratio>,
    /// A file with a line for each entry: multiplier and shift.
    pub file: Option<String>,
    /// Number of entries.
    #[schemars(extend("x-default" = "`CCTI_Limit` + 1, at least 128"))]
    pub entries: Option<u32>,
    /// Shift of all entries.
    #[schemars(extend("x-default" = "the largest with which an entry fits; 3 with `last`, 0 with `quadratic`"))]
    pub shift: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawControlPreset {
    /// Gran et al., First experiences with congestion control in InfiniBand hardware (IPDPS 2010).
    Simula,
    /// The congestion control manager of MLNX OFED.
    Mellanox,
    /// Intel's Omni-Path fabric manager.
    OpaFm,
}

/// `CS_ReturnDelay`: shift and multiplier, as tools write an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawReturnDelay {
    pub shift: u8,
    pub multiplier: u16,
}

impl Forms for RawReturnDelay {
    const EXPECTED: &'static str = "a shift and a multiplier such as \"3:16\"";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        let parts = text.split_once(':').and_then(|(shift, multiplier)| {
            Some(Self {
                shift: shift.trim().parse().ok()?,
                multiplier: multiplier.trim().parse().ok()?,
            })
        });
        parts.ok_or_else(|| forms::unfit::<Self, E>(Unexpected::Str(text)))
    }
}

read_forms! { RawReturnDelay }

impl Forms for RawTimer {
    const EXPECTED: &'static str =
        "a time such as \"32us\", or a number of units of 1.024 us up to 65535";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        let time: Picoseconds = text.parse().map_err(E::custom)?;
        Ok(Self(time.0))
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        let units = forms::whole::<Self, u16, E>(value)?;
        Ok(Self(u64::from(units) * TIMER_UNIT_PS))
    }
}

read_forms! { RawTimer }

impl Forms for RawCct {
    const EXPECTED: &'static str = "{ linear = \"1/4\" }, { exponential = 1.05, first = \"1/4\" }, \
                                    { file = \"cct.txt\" }, or a list of [multiplier, shift]";

    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        forms::elements(list).map(Self::Entries)
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        forms::keys(map).map(Self::Made)
    }
}

read_forms! { RawCct }

form_schemas! {
    RawReturnDelay: |_generator| json_schema!({ "type": "string", "pattern": r"^\s*\d+\s*:\s*\d+\s*$", "examples": ["3:16"] });
    RawTimer: |generator| json_schema!({ "anyOf": [u16::json_schema(generator), Picoseconds::json_schema(generator)] });
}
