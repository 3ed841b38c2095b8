//! The rate of a flow, and the sizes of its messages.

use crate::config::document::{ConfigError, Forms, forms, read_forms, refused};
use crate::fabric::spec::{FabricSpec, flits_per_tick};
use crate::replay::background::MAX_SIZES;
use crate::units::{Bytes, Rate, Ratio};
use flitwise_base::quote::quoted;
use schemars::JsonSchema;
use serde::de::{Error, IntoDeserializer, SeqAccess};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// Flits per cycle and NIC, or bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
pub(crate) enum RawInjectionRate {
    Load(Ratio),
    Absolute(Rate),
}

/// One size, or several with their shares.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
pub(crate) enum RawMessage {
    One(Bytes),
    Mix(Vec<RawShare>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawShare {
    /// Size of a message.
    pub size: Bytes,
    /// Share of the messages that have this size; the shares of a mix add up to 1.
    pub share: Ratio,
}

pub(crate) fn too_fine(key: &str) -> ConfigError {
    ConfigError::new(
        key,
        "is no fraction of 64-bit numbers; take a rounder number",
    )
}

/// In flits per cycle, the time of a flit on the fastest link.
pub(crate) fn rate(
    raw: RawInjectionRate,
    fabric: &FabricSpec,
    key: &str,
) -> Result<Ratio, ConfigError> {
    let load = match raw {
        RawInjectionRate::Load(load) => load,
        RawInjectionRate::Absolute(rate) => {
            let bits = rate.0.checked_mul(Ratio::whole(8));
            let (units, fastest) = (fabric.units, fabric.fastest_link());
            let load = bits.and_then(|bits| {
                let flits = flits_per_tick(bits, units.tick, units.flit_bytes, "background");
                flits.ok()?.checked_div(fastest)
            });
            load.ok_or_else(|| too_fine(key))?
        }
    };
    if load > Ratio::ONE {
        return refused(
            key,
            format!("{load} flits per cycle and NIC; it must be at most 1"),
        );
    }
    Ok(load)
}

/// Sizes in bytes with whole weights.
pub(crate) fn sizes(
    raw: Option<&RawMessage>,
    mtu: u64,
    key: &str,
) -> Result<Vec<(u64, u64)>, ConfigError> {
    let mix = match raw {
        None => return Ok(vec![(mtu, 1)]),
        Some(RawMessage::One(bytes)) => return Ok(vec![(bytes.0, 1)]),
        Some(RawMessage::Mix(mix)) => mix,
    };
    let bad = |problem: String| ConfigError::new(key, problem);
    if mix.is_empty() || mix.len() > MAX_SIZES {
        return Err(bad(format!(
            "lists {} sizes; list 1 to {MAX_SIZES}",
            mix.len()
        )));
    }
    if mix.iter().any(|part| part.share.is_zero()) {
        return Err(bad("a share is 0; leave this size out".to_owned()));
    }
    // The common denominator of the shares.
    let unit = mix.iter().try_fold(1_u64, |unit, part| {
        let shared = Ratio::new(unit, part.share.den())?;
        unit.checked_mul(shared.den())
    });
    let weight = |share: Ratio| share.checked_mul(Ratio::whole(unit?)).map(Ratio::num);
    let weights: Option<Vec<u64>> = mix.iter().map(|part| weight(part.share)).collect();
    let sum = weights
        .as_ref()
        .and_then(|all| all.iter().try_fold(0_u64, |sum, &w| sum.checked_add(w)));
    let (Some(unit), Some(weights), Some(sum)) = (unit, weights, sum) else {
        return Err(too_fine(key));
    };
    if sum != unit {
        let sum = Ratio::new(sum, unit).map_or(0.0, Ratio::to_f64);
        return Err(bad(format!("the shares add up to {sum}; they must to 1")));
    }
    Ok(mix.iter().map(|part| part.size.0).zip(weights).collect())
}

/// A size of messages in results.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SizeForm {
    /// The size.
    bytes: u64,
    /// The part of the messages that has this size.
    #[schemars(with = "Ratio", extend("unit" = "fraction"))]
    share: Option<Ratio>,
}

/// Sizes of messages with their shares.
pub(crate) fn sizes_json<S: Serializer>(sizes: &[(u64, u64)], s: S) -> Result<S::Ok, S::Error> {
    let weights: u64 = sizes.iter().map(|size| size.1).sum();
    s.collect_seq(sizes.iter().map(|&(bytes, weight)| SizeForm {
        bytes,
        share: Ratio::new(weight, weights),
    }))
}

impl Forms for RawInjectionRate {
    const EXPECTED: &'static str = "a load in flits per cycle and NIC such as 0.05, or \"3.3GB/s\"";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        if Rate::names_unit(text) {
            return text.parse().map(Self::Absolute).map_err(E::custom);
        }
        text.parse().map(Self::Load).map_err(|_| {
            E::custom(format!(
                "{} is no rate; write a fraction of the link's rate (0.1) or a rate such as \"10Gb/s\"",
                quoted(text)
            ))
        })
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        Ratio::deserialize(value.into_deserializer()).map(Self::Load)
    }

    fn number<E: Error>(value: f64) -> Result<Self, E> {
        Ratio::deserialize(value.into_deserializer()).map(Self::Load)
    }
}

read_forms! { RawInjectionRate }

impl Forms for RawMessage {
    const EXPECTED: &'static str =
        "a size such as \"1KiB\", or [{ size = \"1KiB\", share = 0.2 }, ...]";

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        text.parse().map(Self::One).map_err(E::custom)
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        Err(E::custom(format!(
            "`{value}` has no unit; write a size such as \"64KiB\""
        )))
    }

    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        forms::elements(list).map(Self::Mix)
    }
}

read_forms! { RawMessage }
