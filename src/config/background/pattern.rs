//! The pattern of a flow: which NIC sends to which.

use crate::config::background::message::{RawInjectionRate, RawMessage};
use crate::config::document::{ConfigError, Forms, forms, read_forms, refused};
use crate::config::place::RawPlace;
use crate::fabric::ids::NicId;
use crate::fabric::topology::Topology;
use crate::replay::background::Pattern;
use crate::units::{Picoseconds, Ratio};
use schemars::JsonSchema;
use serde::de::{Error, IntoDeserializer, MapAccess};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

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
        flows.as_deref(),
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
        (None, None, None, None, None, Some([_, ..])) => Ok(Pattern::Uniform),
        (None, None, None, None, None, Some([])) => refused(
            format!("{key}.pattern.flows"),
            "is empty; list a flow or more, such as { from = 0, to = 1 }",
        ),
        _ => refused(
            format!("{key}.pattern"),
            "must be one of { neighbour = 1 }, { group_shift = 1 }, { hotspot = 0, fraction = 0.1 }, \
             { permutation = [1, 0, ...] } and { flows = [{ from = 0, to = 1 }, ...] }",
        ),
    }
}

/// [`Pattern`] in results: its name, or its parameters.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PatternForm<'a> {
    Named(&'static str),
    With(PatternParameters<'a>),
}

/// The parameters of a pattern: each pattern has some of them.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PatternParameters<'a> {
    /// The NIC that NIC 0, 1, … sends to.
    #[serde(skip_serializing_if = "Option::is_none")]
    permutation: Option<&'a [NicId]>,
    /// Of one of `flows`, each an entry: the sending NIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<NicId>,
    /// Of one of `flows`, each an entry: the receiving NIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<NicId>,
    /// The offset of a neighbour.
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbour: Option<i64>,
    /// The shift in groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_shift: Option<i64>,
    /// The NIC that is the hotspot.
    #[serde(skip_serializing_if = "Option::is_none")]
    hotspot: Option<NicId>,
    /// The part of the other NICs that send to the hotspot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "fraction"))]
    fraction: Option<Ratio>,
}

pub(crate) fn pattern_json<S: Serializer>(pattern: &Pattern, s: S) -> Result<S::Ok, S::Error> {
    let none = PatternParameters::default();
    let form = match *pattern {
        Pattern::Uniform => PatternForm::Named("uniform"),
        Pattern::BitReversal => PatternForm::Named("bit-reversal"),
        Pattern::BitComplement => PatternForm::Named("bit-complement"),
        Pattern::Shuffle => PatternForm::Named("shuffle"),
        Pattern::Transpose => PatternForm::Named("transpose"),
        Pattern::Tornado => PatternForm::Named("tornado"),
        Pattern::Permutation => PatternForm::Named("permutation"),
        Pattern::Neighbour { offset } => PatternForm::With(PatternParameters {
            neighbour: Some(offset),
            ..none
        }),
        Pattern::GroupShift { shift } => PatternForm::With(PatternParameters {
            group_shift: Some(shift),
            ..none
        }),
        Pattern::Hotspot { node, fraction } => PatternForm::With(PatternParameters {
            hotspot: Some(node),
            fraction: Some(fraction),
            ..none
        }),
        Pattern::List(ref list) => PatternForm::With(PatternParameters {
            permutation: Some(list),
            ..none
        }),
        Pattern::Pair { from, to } => PatternForm::With(PatternParameters {
            from: Some(from),
            to: Some(to),
            ..none
        }),
    };
    form.serialize(s)
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
