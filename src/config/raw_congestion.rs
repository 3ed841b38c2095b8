//! The keys of `[congestion_control]` for choices that the InfiniBand specification leaves open,
//! and the names of the published sets of parameters.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawControlPreset {
    Simula,
    Mellanox,
    OpaFm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawMarking {
    Random,
    Fixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawSlScope {
    Flow,
    Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawTimerRestart {
    AtExpiry,
    OnBecn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawCctiBound {
    Saturate,
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawIrdBase {
    Packet,
    MaxPacket,
}

/// `CS_ReturnDelay`: shift and multiplier, as tools write an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawReturnDelay {
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
