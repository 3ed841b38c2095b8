//! Reads quantities from an experiment file; writes fractions into records.

use super::parse::{
    BUFFER_HELP, BYTES_HELP, COST_HELP, LATENCY_HELP, RATE_HELP, RATIO_HELP, TIME_HELP,
};
use super::{BufferPart, Bytes, CostPerByte, Latency, Picoseconds, Rate, Ratio};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;

/// Implements `Deserialize` for a quantity that must carry its unit.
macro_rules! with_unit {
    ($type:ty, $help:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($help)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: Error>(self, value: i64) -> Result<$type, E> {
                        Err(E::custom(format!("`{value}` has no unit; write {}", $help)))
                    }
                    fn visit_f64<E: Error>(self, value: f64) -> Result<$type, E> {
                        Err(E::custom(format!("`{value}` has no unit; write {}", $help)))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }
    };
}

with_unit!(Bytes, BYTES_HELP);
with_unit!(Picoseconds, TIME_HELP);
with_unit!(Rate, RATE_HELP);
with_unit!(CostPerByte, COST_HELP);
with_unit!(Latency, LATENCY_HELP);

/// Numbers (fractions) and texts.
struct RatioVisitor;

impl Visitor<'_> for RatioVisitor {
    type Value = Ratio;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RATIO_HELP)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Ratio, E> {
        u64::try_from(value)
            .map(Ratio::whole)
            .map_err(|_| E::custom(format!("`{value}` is negative; write {RATIO_HELP}")))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Ratio, E> {
        Ratio::from_f64(value).ok_or_else(|| {
            let problem = if value < 0.0 {
                "is negative"
            } else {
                "is no fraction of 64-bit numbers"
            };
            E::custom(format!("`{value:?}` {problem}; write {RATIO_HELP}"))
        })
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RatioVisitor)
    }
}

impl Serialize for Ratio {
    /// As text, which reads back as the same fraction.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BufferPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = BufferPart;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(BUFFER_HELP)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<BufferPart, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<BufferPart, E> {
                Err(E::custom(format!(
                    "`{value}` has no unit; write {BUFFER_HELP}"
                )))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<BufferPart, E> {
                let share = BufferPart::share(RatioVisitor.visit_f64(value)?);
                share.ok_or_else(|| E::custom(format!("`{value}` is more than the whole buffer")))
            }
        }
        deserializer.deserialize_any(Text)
    }
}
