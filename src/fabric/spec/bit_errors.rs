//! Bit errors of links as plain data (`docs/model/fabric.md` §10): how often a link sends a packet again.
//!
//! The engine's side is `src/fabric/engine/bit_errors.rs`, the oracle's `tests/oracles/src/bit_errors.rs`.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Bytes that a receiver checks at once, as Omni-Path's link transfer packets.
pub const BLOCK_BYTES: u32 = 128;

/// Wrong bits on all links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BitErrors {
    /// The probability that a bit is wrong on a link, in units of 2^-64; in results as a number.
    #[serde(rename = "bit_error_rate", serialize_with = "as_number")]
    #[schemars(with = "f64", extend("unit" = "fraction"))]
    pub rate: u64,
    /// Seed of the random streams of links.
    #[serde(skip)]
    pub seed: u64,
}

/// The probability to nine digits, so that 1e-9 is written as it was read.
fn as_number<S: Serializer>(rate: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    let exact = *rate as f64 / 2f64.powi(64);
    let rounded = format!("{exact:.8e}").parse();
    serializer.serialize_f64(rounded.unwrap_or(exact))
}
