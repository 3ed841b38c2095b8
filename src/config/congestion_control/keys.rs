//! The keys of `[congestion_control]` as written.

use crate::config::place::RawPlace;
use crate::fabric::spec::congestion::{
    CctiBound, FillComparison, FlowLevel, IrdBase, Marking, SlScope, TimerRestart, TimerScope,
};
use crate::units::{Bytes, Picoseconds, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCongestionControl {
    pub kind: Option<RawControlKind>,
    pub marker: Option<RawMarker>,
    pub source: Option<RawSourceControl>,
    pub preset: Option<RawControlPreset>,
    #[serde(rename = "Threshold")]
    pub threshold: Option<u8>,
    #[serde(rename = "Victim_Mask")]
    pub victim_mask: Option<bool>,
    #[serde(rename = "Packet_Size")]
    pub packet_size: Option<u8>,
    #[serde(rename = "Marking_Rate")]
    pub marking_rate: Option<u16>,
    #[serde(rename = "Credit_Mask")]
    pub credit_mask: Option<bool>,
    #[serde(rename = "CS_Threshold")]
    pub cs_threshold: Option<u8>,
    #[serde(rename = "CS_ReturnDelay")]
    pub cs_return_delay: Option<RawReturnDelay>,
    #[serde(default)]
    pub host_ports: RawPortCongestion,
    #[serde(default)]
    pub switch_ports: RawPortCongestion,
    #[serde(default)]
    pub port: Vec<RawOnePort>,
    pub compare: Option<FillComparison>,
    pub marking: Option<Marking>,
    pub notification: Option<RawNotification>,
    pub cnp: Option<Bytes>,
    pub level: Option<FlowLevel>,
    pub sl_scope: Option<SlScope>,
    pub timer: Option<TimerScope>,
    pub timer_restart: Option<TimerRestart>,
    pub ccti_bound: Option<CctiBound>,
    pub ird_base: Option<IrdBase>,
    #[serde(rename = "CCT")]
    pub cct: Option<RawCct>,
    #[serde(rename = "CCTI_Limit")]
    pub ccti_limit: Option<u16>,
    #[serde(rename = "CCTI_Increase")]
    pub ccti_increase: Option<u8>,
    #[serde(rename = "CCTI_Min")]
    pub ccti_min: Option<u8>,
    #[serde(rename = "CCTI_Timer")]
    pub ccti_timer: Option<RawTimer>,
    #[serde(rename = "Trigger_Threshold")]
    pub trigger_threshold: Option<u8>,
    #[serde(default)]
    pub service_levels: BTreeMap<String, RawSlCongestion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawControlKind {
    None,
    Ib,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawMarker {
    None,
    PortVl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawSourceControl {
    None,
    Cct,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPortCongestion {
    #[serde(rename = "Threshold")]
    pub threshold: Option<u8>,
    #[serde(rename = "Victim_Mask")]
    pub victim_mask: Option<bool>,
    #[serde(rename = "Packet_Size")]
    pub packet_size: Option<u8>,
    #[serde(rename = "Marking_Rate")]
    pub marking_rate: Option<u16>,
    #[serde(rename = "Credit_Mask")]
    pub credit_mask: Option<bool>,
    #[serde(rename = "CS_Threshold")]
    pub cs_threshold: Option<u8>,
    #[serde(rename = "CS_ReturnDelay")]
    pub cs_return_delay: Option<RawReturnDelay>,
}

impl RawPortCongestion {
    /// The settings of all ports.
    pub fn general(raw: &RawCongestionControl) -> Self {
        Self {
            threshold: raw.threshold,
            victim_mask: raw.victim_mask,
            packet_size: raw.packet_size,
            marking_rate: raw.marking_rate,
            credit_mask: raw.credit_mask,
            cs_threshold: raw.cs_threshold,
            cs_return_delay: raw.cs_return_delay,
        }
    }

    /// Each key, and whether it is given.
    pub fn given(&self) -> [(&'static str, bool); 7] {
        [
            ("Threshold", self.threshold.is_some()),
            ("Victim_Mask", self.victim_mask.is_some()),
            ("Packet_Size", self.packet_size.is_some()),
            ("Marking_Rate", self.marking_rate.is_some()),
            ("Credit_Mask", self.credit_mask.is_some()),
            ("CS_Threshold", self.cs_threshold.is_some()),
            ("CS_ReturnDelay", self.cs_return_delay.is_some()),
        ]
    }
}

/// A port with settings of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawOnePort {
    pub switch: RawPlace,
    pub port: Option<u32>,
    pub device_port: Option<u32>,
    #[serde(rename = "Threshold")]
    pub threshold: Option<u8>,
    #[serde(rename = "Victim_Mask")]
    pub victim_mask: Option<bool>,
    #[serde(rename = "Packet_Size")]
    pub packet_size: Option<u8>,
    #[serde(rename = "Marking_Rate")]
    pub marking_rate: Option<u16>,
    #[serde(rename = "Credit_Mask")]
    pub credit_mask: Option<bool>,
    #[serde(rename = "CS_Threshold")]
    pub cs_threshold: Option<u8>,
    #[serde(rename = "CS_ReturnDelay")]
    pub cs_return_delay: Option<RawReturnDelay>,
}

impl RawOnePort {
    pub fn settings(&self) -> RawPortCongestion {
        RawPortCongestion {
            threshold: self.threshold,
            victim_mask: self.victim_mask,
            packet_size: self.packet_size,
            marking_rate: self.marking_rate,
            credit_mask: self.credit_mask,
            cs_threshold: self.cs_threshold,
            cs_return_delay: self.cs_return_delay,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawNotification {
    Cnp,
    Ack,
    AckAtOnce,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSlCongestion {
    #[serde(rename = "CCTI_Increase")]
    pub ccti_increase: Option<u8>,
    #[serde(rename = "CCTI_Min")]
    pub ccti_min: Option<u8>,
    #[serde(rename = "CCTI_Timer")]
    pub ccti_timer: Option<RawTimer>,
    #[serde(rename = "Trigger_Threshold")]
    pub trigger_threshold: Option<u8>,
}

impl RawSlCongestion {
    /// The settings of all service levels.
    pub fn general(raw: &RawCongestionControl) -> Self {
        Self {
            ccti_increase: raw.ccti_increase,
            ccti_min: raw.ccti_min,
            ccti_timer: raw.ccti_timer,
            trigger_threshold: raw.trigger_threshold,
        }
    }

    /// Each key, and whether it is given.
    pub fn given(&self) -> [(&'static str, bool); 4] {
        [
            ("CCTI_Increase", self.ccti_increase.is_some()),
            ("CCTI_Min", self.ccti_min.is_some()),
            ("CCTI_Timer", self.ccti_timer.is_some()),
            ("Trigger_Threshold", self.trigger_threshold.is_some()),
        ]
    }
}

/// A time, in picoseconds; written as such or in the specification's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawTimer(pub u64);

/// Unit of a `CCTI_Timer` in the specification: 1.024 us (IBA 1.2.1, table 520).
pub(crate) const TIMER_UNIT_PS: u64 = 1_024_000;

/// The congestion control table, or how it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawCct {
    Entries(Vec<(u16, u8)>),
    Made(RawCctTable),
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCctTable {
    pub linear: Option<Ratio>,
    /// A linear table up to this delay.
    pub last: Option<Picoseconds>,
    pub quadratic: Option<Ratio>,
    pub exponential: Option<Ratio>,
    pub first: Option<Ratio>,
    pub file: Option<String>,
    pub entries: Option<u32>,
    pub shift: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawControlPreset {
    Simula,
    Mellanox,
    OpaFm,
}

/// `CS_ReturnDelay`: shift and multiplier, as tools write an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawReturnDelay {
    pub shift: u8,
    pub multiplier: u16,
}

impl<'de> Deserialize<'de> for RawReturnDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = RawReturnDelay;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a shift and a multiplier such as \"3:16\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawReturnDelay, E> {
                let parts = text.split_once(':').and_then(|(shift, multiplier)| {
                    Some(RawReturnDelay {
                        shift: shift.trim().parse().ok()?,
                        multiplier: multiplier.trim().parse().ok()?,
                    })
                });
                parts.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl<'de> Deserialize<'de> for RawTimer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = RawTimer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"32us\", or a number of units of 1.024 us up to 65535")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawTimer, E> {
                let time: Picoseconds = text.parse().map_err(E::custom)?;
                Ok(RawTimer(time.0))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawTimer, E> {
                let units = u16::try_from(value)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(value), &self))?;
                Ok(RawTimer(u64::from(units) * TIMER_UNIT_PS))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for RawCct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawCct;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "{ linear = \"1/4\" }, { exponential = 1.05, first = \"1/4\" }, \
                     { file = \"cct.txt\" }, or a list of [multiplier, shift]",
                )
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawCct, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Vec::deserialize(list).map(RawCct::Entries)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawCct, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(map);
                RawCctTable::deserialize(table).map(RawCct::Made)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
