//! The keys of InfiniBand as written: links, adapters and tables.

use crate::fabric::parameters::AdapterRate;
use crate::fabric::spec::LinkSpeed;
use crate::units::{Rate, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
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
pub(super) enum RawInputQueues {
    VirtualOutput,
    Fifo,
}

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
