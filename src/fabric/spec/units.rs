//! The units of time and data.

use flitwise_base::units::TickLength;
use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::Serializer;

/// Simulated time in ticks ([`Units::tick`]).
pub type Tick = u64;

/// Units of time and data, and the headers of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Units {
    /// Length of one tick, a period of the switch clock (640 ps for 8-byte flits at 12.5 GB/s): a whole number, or the
    /// floating-point number nearest to the fraction (8000/7 ps is 1142.857142857143).
    #[serde(rename = "tick_ps", serialize_with = "tick_ps")]
    #[schemars(with = "f64")]
    pub tick: TickLength,
    /// Bytes in one flit, at least 1.
    pub flit_bytes: u32,
    /// Flits that one credit stands for, at least 1.
    #[schemars(extend("unit" = "flits"))]
    pub flits_per_credit: u32,
    /// Header bytes added to the payload of every data packet (0 for Omni-Path).
    pub header_bytes: u32,
}

/// The length in picoseconds: a whole number as such, any other as the nearest floating-point number.
fn tick_ps<S: Serializer>(tick: &TickLength, s: S) -> Result<S::Ok, S::Error> {
    let ps = tick.length_ps();
    match ps.den() {
        1 => s.serialize_u64(ps.num()),
        _ => s.serialize_f64(ps.to_f64()),
    }
}

impl Units {
    /// Flits of a packet of `bytes` bytes on the wire; at least 1.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn flits(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.flit_bytes).max(1)
    }

    /// Flits of a data packet with `payload` bytes; at least 1.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn data_flits(&self, payload: u32) -> u32 {
        (u64::from(payload) + u64::from(self.header_bytes))
            .div_ceil(u64::from(self.flit_bytes))
            .max(1)
            .try_into()
            .unwrap_or(u32::MAX)
    }

    /// Credits taken by a packet of `flits` flits.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn credits(&self, flits: u32) -> u32 {
        flits.div_ceil(self.flits_per_credit)
    }
}

/// Latencies of the stages of a switch in ticks, which every kind has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stages {
    /// SB: storing a flit in an input buffer.
    #[serde(rename = "input_ticks")]
    pub input_store: Tick,
    /// RT: routing a header.
    #[serde(rename = "routing_ticks")]
    pub routing: Tick,
    /// AT: one allocation (virtual and switch allocation together), at least 1.
    #[serde(rename = "allocation_ticks")]
    pub allocation: Tick,
    /// X: crossing a crossbar, at least 1.
    #[serde(rename = "crossbar_ticks")]
    pub crossbar: Tick,
    /// SB: storing a flit in an output buffer.
    #[serde(rename = "output_ticks")]
    pub output_store: Tick,
}
