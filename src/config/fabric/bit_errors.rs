//! `fabric.bit_error_rate`.

use crate::config::document::{Forms, form_schemas, read_forms};
use crate::fabric::spec::BitErrors;
use schemars::json_schema;
use serde::de::Error;

/// Units of 2^-64 in a probability of 1.
const UNITS: f64 = 18_446_744_073_709_551_616.0;

/// The probability that a bit is wrong, in units of 2^-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawBitErrorRate(u64);

impl RawBitErrorRate {
    /// The bit errors of all links, with random streams of `seed`; `None` if there are none.
    pub(crate) fn errors(self, seed: u64) -> Option<BitErrors> {
        (self.0 > 0).then_some(BitErrors { rate: self.0, seed })
    }
}

impl Forms for RawBitErrorRate {
    const EXPECTED: &'static str = "a probability from 1e-16 to 0.001 such as 1e-12, or 0";

    fn number<E: Error>(value: f64) -> Result<Self, E> {
        if value == 0.0 || (1e-16..=1e-3).contains(&value) {
            return Ok(Self((value * UNITS).round() as u64));
        }
        Err(E::custom(format!("{value:e} is not {}", Self::EXPECTED)))
    }

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        Self::number(value as f64)
    }
}

read_forms! { RawBitErrorRate }

form_schemas! {
    RawBitErrorRate: |_generator| json_schema!({
        "type": "number",
        "minimum": 0,
        "maximum": 0.001,
        "examples": [1e-12],
    });
}
