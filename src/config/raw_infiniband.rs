//! The keys of InfiniBand fabrics as written: links, adapters, tables and
//! `[congestion_control]`.

use super::raw_congestion::{
    RawCctiBound, RawControlPreset, RawIrdBase, RawMarking, RawReturnDelay, RawSlScope,
    RawTimerRestart,
};
use crate::fabric::parameters::AdapterRate;
use crate::fabric::spec::LinkSpeed;
use crate::units::{Bytes, Picoseconds, Rate, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Data rate of a link in bit/s, by name or as a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawSpeed(pub Ratio);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLinkSpeed {
    pub switch: u32,
    pub port: u32,
    pub speed: RawSpeed,
}

/// Rate at which an adapter fetches or delivers packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawHcaRate(pub AdapterRate);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawAcks {
    None,
    PerMessage,
    PerPacket,
}

/// Output ports by switch and NIC, or a file that `opensm` wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawForwarding {
    Ports(Vec<Vec<u16>>),
    File(String),
}

/// The default table, tables of adapters and ports as well, or a file of `opensm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawSl2Vl {
    Tables(RawSl2VlTables),
    File(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSl2VlTables {
    pub default: Vec<u8>,
    #[serde(default)]
    pub hca: Vec<RawHcaTable>,
    #[serde(default)]
    pub port: Vec<RawPortTable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHcaTable {
    pub hca: u32,
    pub vls: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPortTable {
    pub switch: u32,
    #[serde(rename = "in")]
    pub input: u32,
    #[serde(rename = "out")]
    pub output: u32,
    pub vls: Vec<u8>,
}

/// Arbitration tables: lists of [VL, weight].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVlArb {
    #[serde(default)]
    pub high: Vec<(u8, u8)>,
    #[serde(default)]
    pub low: Vec<(u8, u8)>,
    pub high_limit: Option<u8>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCongestionControl {
    pub kind: Option<RawControlKind>,
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
    pub compare: Option<RawCompare>,
    pub marking: Option<RawMarking>,
    pub notification: Option<RawNotification>,
    pub cnp: Option<Bytes>,
    pub level: Option<RawLevel>,
    pub sl_scope: Option<RawSlScope>,
    pub timer: Option<RawTimerScope>,
    pub timer_restart: Option<RawTimerRestart>,
    pub ccti_bound: Option<RawCctiBound>,
    pub ird_base: Option<RawIrdBase>,
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
pub(super) enum RawControlKind {
    None,
    Ib,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPortCongestion {
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

/// A port with settings of its own.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOnePort {
    pub switch: u32,
    pub port: u32,
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
pub(super) enum RawCompare {
    AnyQueue,
    Sum,
    SumShared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawNotification {
    Cnp,
    Ack,
    AckAtOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawLevel {
    Sl,
    Qp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawTimerScope {
    PerFlow,
    PerSl,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSlCongestion {
    #[serde(rename = "CCTI_Increase")]
    pub ccti_increase: Option<u8>,
    #[serde(rename = "CCTI_Min")]
    pub ccti_min: Option<u8>,
    #[serde(rename = "CCTI_Timer")]
    pub ccti_timer: Option<RawTimer>,
    #[serde(rename = "Trigger_Threshold")]
    pub trigger_threshold: Option<u8>,
}

/// A time, in picoseconds; written as such or in the specification's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawTimer(pub u64);

/// Unit of a `CCTI_Timer` in the specification: 1.024 us (IBA 1.2.1, table 520).
pub(super) const TIMER_UNIT_PS: u64 = 1_024_000;

/// The congestion control table, or how it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawCct {
    Entries(Vec<(u16, u8)>),
    Made(RawCctTable),
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCctTable {
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

impl<'de> Deserialize<'de> for RawSpeed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        const HELP: &str = "a link speed such as \"QDR x4\", or a rate such as \"34.2Gb/s\"";
        impl Visitor<'_> for Text {
            type Value = RawSpeed;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(HELP)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawSpeed, E> {
                if !text.trim_end().ends_with("/s") {
                    let speed: LinkSpeed = text.parse().map_err(E::custom)?;
                    return Ok(RawSpeed(speed.bits_per_second()));
                }
                let rate: Rate = text.parse().map_err(E::custom)?;
                let bits = rate.0.checked_mul(Ratio::whole(8));
                bits.filter(|bits| !bits.is_zero())
                    .map(RawSpeed)
                    .ok_or_else(|| {
                        E::custom(format!("`{text}` is no rate of a link; write {HELP}"))
                    })
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl<'de> Deserialize<'de> for RawHcaRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = RawHcaRate;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a rate of payload such as \"13.1Gb/s\", flits per tick such as \"2/5\", or \
                     \"unlimited\"",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawHcaRate, E> {
                match text.trim() {
                    "unlimited" => Ok(RawHcaRate(AdapterRate::Unlimited)),
                    text if text.ends_with("/s") => {
                        let rate = text.parse().map_err(E::custom)?;
                        Ok(RawHcaRate(AdapterRate::Payload(rate)))
                    }
                    text if text.starts_with(|c: char| c.is_ascii_digit()) => {
                        let flits = text.parse().map_err(E::custom)?;
                        Ok(RawHcaRate(AdapterRate::Flits(flits)))
                    }
                    text => Err(E::unknown_variant(text, &["unlimited"])),
                }
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawHcaRate, E> {
                flits(serde::de::IntoDeserializer::into_deserializer(value))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<RawHcaRate, E> {
                flits(serde::de::IntoDeserializer::into_deserializer(value))
            }
        }
        fn flits<'de, D: Deserializer<'de>>(value: D) -> Result<RawHcaRate, D::Error> {
            Ratio::deserialize(value).map(|flits| RawHcaRate(AdapterRate::Flits(flits)))
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for RawForwarding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawForwarding;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file, or a list of ports per switch: [[0, 1, 4], [2, 0, 1]]")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawForwarding, E> {
                Ok(RawForwarding::File(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawForwarding, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Vec::deserialize(list).map(RawForwarding::Ports)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for RawSl2Vl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawSl2Vl;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of VLs, { default = [0, 1], hca = [], port = [] }, or a file")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawSl2Vl, E> {
                Ok(RawSl2Vl::File(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawSl2Vl, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Ok(RawSl2Vl::Tables(RawSl2VlTables {
                    default: Vec::deserialize(list)?,
                    hca: Vec::new(),
                    port: Vec::new(),
                }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawSl2Vl, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(map);
                RawSl2VlTables::deserialize(table).map(RawSl2Vl::Tables)
            }
        }
        deserializer.deserialize_any(Either)
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
