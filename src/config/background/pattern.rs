//! The pattern of a flow: which NIC sends to which.

use crate::config::background::message::{RawInjectionRate, RawMessage};
use crate::config::document::{ConfigError, Forms, forms, read_forms, refused};
use crate::config::place::RawPlace;
use crate::fabric::topology::Topology;
use crate::replay::background::Pattern;
use crate::units::{Picoseconds, Ratio};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Error, IntoDeserializer, MapAccess};
use serde::ser::{Serialize, Serializer};
use serde_json::json;

/// A pattern by its name, or with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
pub(crate) enum RawPattern {
    Named(RawPatternName),
    With(RawPatternTable),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawPatternName {
    /// Any other NIC with equal probability, drawn anew for every message.
    Uniform,
    /// The bits of the number in reverse order.
    BitReversal,
    /// Every bit of the number inverted.
    BitComplement,
    /// NIC (x, y) of a square sends to (y, x).
    Transpose,
    /// The bits of the number rotated to the left by one.
    Shuffle,
    /// Almost half way round each dimension of a torus or mesh.
    Tornado,
    /// NIC x sends to x + 1.
    Neighbour,
    /// A random permutation without fixed points, drawn from the seed.
    Permutation,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPatternTable {
    /// NIC x sends to (x + this) mod N; may be negative.
    pub neighbour: Option<i64>,
    /// NIC x sends to the NIC at its place of the group that is this far away; may be negative.
    pub group_shift: Option<i64>,
    /// The NIC that a `fraction` of the others send to.
    pub hotspot: Option<RawPlace>,
    /// The share of the other NICs that send to the `hotspot`.
    pub fraction: Option<Ratio>,
    /// The destination of each NIC.
    pub permutation: Option<Vec<RawPlace>>,
    /// Only the listed pairs send.
    pub flows: Option<Vec<RawFlow>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFlow {
    /// The NIC that sends.
    pub from: RawPlace,
    /// The NIC that it sends to.
    pub to: RawPlace,
    /// An upper limit: give 1 to a flow that should take all it can get.
    #[schemars(extend("x-default" = "the entry's"))]
    pub rate: Option<RawInjectionRate>,
    /// Message size, or a mix.
    #[schemars(extend("x-default" = "the entry's"))]
    pub message: Option<RawMessage>,
    /// The flow creates messages from this time on.
    #[schemars(extend("x-default" = "the entry's"))]
    pub start: Option<Picoseconds>,
    /// The flow creates no messages from this time on.
    #[schemars(extend("x-default" = "the entry's"))]
    pub stop: Option<Picoseconds>,
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
        (None, None, Some(_), None, None, None) => refused(
            format!("{key}.pattern"),
            "`fraction`, the share of the NICs that send to the hotspot, is missing: { hotspot = 0, fraction = 0.1 }",
        ),
        (None, None, None, None, Some(list), None) => {
            let nic = |(i, nic): (usize, &RawPlace)| {
                nic.nic_at(topology, &format!("{key}.pattern.permutation.{i}"))
            };
            let list = list.iter().enumerate().map(nic);
            Ok(Pattern::List(list.collect::<Result<_, _>>()?))
        }
        // Each flow has a pattern of its own.
        (None, None, None, None, None, Some(list)) if !list.is_empty() => Ok(Pattern::Uniform),
        _ => refused(
            format!("{key}.pattern"),
            "must be one of { neighbour = 1 }, { group_shift = 1 }, { hotspot = 0, fraction = 0.1 }, \
             { permutation = [1, 0, ...] } and { flows = [{ from = 0, to = 1 }, ...] }",
        ),
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

impl Forms for RawPattern {
    const EXPECTED: &'static str = "the name of a pattern, or { hotspot = 0, fraction = 0.1 }";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        if text == "hotspot" {
            return Err(E::custom(
                "a hotspot needs its NIC and the share of the NICs that send to it: { hotspot = 0, fraction = 0.1 }",
            ));
        }
        RawPatternName::deserialize(text.into_deserializer()).map(Self::Named)
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        forms::keys(map).map(Self::With)
    }
}

read_forms! { RawPattern }
