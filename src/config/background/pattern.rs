//! The pattern of a flow: which NIC sends to which.

use crate::config::background::message::{RawInjectionRate, RawMessage};
use crate::config::document::error::ConfigError;
use crate::config::place::RawPlace;
use crate::fabric::topology::Topology;
use crate::replay::background::Pattern;
use crate::units::{Picoseconds, Ratio};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::json;
use std::fmt;

/// A pattern by its name, or with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawPattern {
    Named(RawPatternName),
    With(RawPatternTable),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawPatternName {
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
pub(crate) struct RawPatternTable {
    pub neighbour: Option<i64>,
    pub group_shift: Option<i64>,
    pub hotspot: Option<RawPlace>,
    pub fraction: Option<Ratio>,
    pub permutation: Option<Vec<RawPlace>>,
    pub flows: Option<Vec<RawFlow>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFlow {
    pub from: RawPlace,
    pub to: RawPlace,
    pub rate: Option<RawInjectionRate>,
    pub message: Option<RawMessage>,
    pub start: Option<Picoseconds>,
    pub stop: Option<Picoseconds>,
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

pub(crate) fn pattern(
    raw: Option<&RawPattern>,
    topology: &Topology,
    key: &str,
) -> Result<Pattern, ConfigError> {
    let table = match raw {
        None => return Ok(Pattern::Uniform),
        Some(RawPattern::Named(name)) => {
            return Ok(match name {
                RawPatternName::Uniform => Pattern::Uniform,
                RawPatternName::BitReversal => Pattern::BitReversal,
                RawPatternName::BitComplement => Pattern::BitComplement,
                RawPatternName::Transpose => Pattern::Transpose,
                RawPatternName::Shuffle => Pattern::Shuffle,
                RawPatternName::Tornado => Pattern::Tornado,
                RawPatternName::Neighbour => Pattern::Neighbour { offset: 1 },
                RawPatternName::Permutation => Pattern::Permutation,
            });
        }
        Some(RawPattern::With(table)) => table,
    };
    let RawPatternTable {
        neighbour,
        group_shift,
        hotspot,
        fraction,
        permutation,
        flows,
    } = table;
    match (
        neighbour,
        group_shift,
        hotspot,
        fraction,
        permutation,
        flows,
    ) {
        (&Some(offset), None, None, None, None, None) => Ok(Pattern::Neighbour { offset }),
        (None, &Some(shift), None, None, None, None) => Ok(Pattern::GroupShift { shift }),
        (None, None, Some(node), &Some(fraction), None, None) => Ok(Pattern::Hotspot {
            node: node.nic_at(topology, &format!("{key}.pattern.hotspot"))?,
            fraction,
        }),
        (None, None, Some(_), None, None, None) => Err(ConfigError::new(
            format!("{key}.pattern"),
            "`fraction` is missing, the share of the NICs that send to the hotspot: { hotspot = 0, fraction = 0.1 }",
        )),
        (None, None, None, None, Some(list), None) => {
            let nic = |(i, nic): (usize, &RawPlace)| {
                nic.nic_at(topology, &format!("{key}.pattern.permutation.{i}"))
            };
            let list = list.iter().enumerate().map(nic);
            Ok(Pattern::List(list.collect::<Result<_, _>>()?))
        }
        // Each flow has a pattern of its own.
        (None, None, None, None, None, Some(list)) if !list.is_empty() => Ok(Pattern::Uniform),
        _ => Err(ConfigError::new(
            format!("{key}.pattern"),
            "must be one of { neighbour = 1 }, { group_shift = 1 }, { hotspot = 0, fraction = 0.1 }, \
             { permutation = [1, 0, ...] } and { flows = [{ from = 0, to = 1 }, ...] }",
        )),
    }
}

pub(crate) fn pattern_json<S: Serializer>(pattern: &Pattern, s: S) -> Result<S::Ok, S::Error> {
    let value = match pattern {
        Pattern::Uniform => json!("uniform"),
        Pattern::BitReversal => json!("bit-reversal"),
        Pattern::BitComplement => json!("bit-complement"),
        Pattern::Shuffle => json!("shuffle"),
        Pattern::Transpose => json!("transpose"),
        Pattern::Tornado => json!("tornado"),
        Pattern::Permutation => json!("permutation"),
        Pattern::Neighbour { offset } => json!({ "neighbour": offset }),
        Pattern::GroupShift { shift } => json!({ "group_shift": shift }),
        Pattern::Hotspot { node, fraction } => json!({ "hotspot": node, "fraction": fraction }),
        Pattern::List(list) => json!({ "permutation": list }),
        Pattern::Pair { from, to } => json!({ "from": from, "to": to }),
    };
    value.serialize(s)
}
