//! `[[background]]` and `[measure]` as written.

use super::raw_place::RawPlace;
use crate::units::{Bytes, Latency, Picoseconds, Rate, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBackground {
    pub preset: Option<RawTrafficPreset>,
    pub sl: Option<String>,
    pub rate: RawInjectionRate,
    pub injection: Option<RawInjection>,
    pub message: Option<RawMessage>,
    pub pattern: Option<RawPattern>,
    pub start: Option<Picoseconds>,
    pub stop: Option<Picoseconds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum RawTrafficPreset {
    #[serde(rename = "opa-5sl")]
    Opa5Sl,
    #[serde(rename = "opa-5sl-equal")]
    Opa5SlEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawInjection {
    Cbr,
    Bernoulli,
}

/// Flits per cycle and NIC, or bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawInjectionRate {
    Load(Ratio),
    Absolute(Rate),
}

/// One size, or several with their shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawMessage {
    One(Bytes),
    Mix(Vec<RawShare>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShare {
    pub size: Bytes,
    pub share: Ratio,
}

/// A pattern by its name, or with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawPattern {
    Named(RawPatternName),
    With(RawPatternTable),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPatternName {
    Uniform,
    BitReversal,
    BitComplement,
    Transpose,
    Shuffle,
    Tornado,
    Neighbour,
    Permutation,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPatternTable {
    pub neighbour: Option<i64>,
    pub group_shift: Option<i64>,
    pub hotspot: Option<RawPlace>,
    pub fraction: Option<Ratio>,
    pub permutation: Option<Vec<RawPlace>>,
    pub flows: Option<Vec<RawFlow>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFlow {
    pub from: RawPlace,
    pub to: RawPlace,
    pub rate: Option<RawInjectionRate>,
    pub message: Option<RawMessage>,
    pub start: Option<Picoseconds>,
    pub stop: Option<Picoseconds>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMeasure {
    pub loads: Option<Vec<Ratio>>,
    pub warm_up: Option<Latency>,
    pub max_warm_up: Option<Latency>,
    pub batch: Option<Latency>,
    pub batches: Option<u32>,
    pub tolerance: Option<Ratio>,
    pub window: Option<Latency>,
}

impl RawMeasure {
    /// Nothing said.
    pub(super) const DEFAULT: Self = Self {
        loads: None,
        warm_up: None,
        max_warm_up: None,
        batch: None,
        batches: None,
        tolerance: None,
        window: None,
    };
}

impl<'de> Deserialize<'de> for RawInjectionRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = RawInjectionRate;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a load in flits per cycle and NIC such as 0.05, or \"3.3GB/s\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawInjectionRate, E> {
                if Rate::names_unit(text) {
                    let rate = text.parse().map(RawInjectionRate::Absolute);
                    return rate.map_err(E::custom);
                }
                let load = text.parse().map(RawInjectionRate::Load);
                load.map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawInjectionRate, E> {
                ratio(serde::de::IntoDeserializer::into_deserializer(value))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<RawInjectionRate, E> {
                ratio(serde::de::IntoDeserializer::into_deserializer(value))
            }
        }
        fn ratio<'de, D: Deserializer<'de>>(value: D) -> Result<RawInjectionRate, D::Error> {
            Ratio::deserialize(value).map(RawInjectionRate::Load)
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for RawMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawMessage;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"1KiB\", or [{ size = \"1KiB\", share = 0.2 }, ...]")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawMessage, E> {
                text.parse().map(RawMessage::One).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawMessage, E> {
                let problem = format!("`{value}` has no unit; write a size such as \"64KiB\"");
                Err(E::custom(problem))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawMessage, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = list.next_element()? {
                    sizes.push(size);
                }
                Ok(RawMessage::Mix(sizes))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for RawPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawPattern;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a pattern, or { hotspot = 0, fraction = 0.1 }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<RawPattern, E> {
                if text == "hotspot" {
                    return Err(E::custom(
                        "a hotspot names its NIC and its share of senders: \
                         { hotspot = 0, fraction = 0.1 }",
                    ));
                }
                let name = serde::de::value::StrDeserializer::new(text);
                RawPatternName::deserialize(name).map(RawPattern::Named)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawPattern, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(map);
                RawPatternTable::deserialize(table).map(RawPattern::With)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
