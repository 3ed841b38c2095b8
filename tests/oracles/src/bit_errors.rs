//! Bit errors of links (`docs/model/fabric.md` §10).

use crate::wiring::End;
use flitwise_base::random::{Purpose, Stream};
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::{FabricSpec, Tick};

/// The bit errors of a link.
#[derive(Debug, Clone)]
pub struct BitErrors {
    stream: Stream,
    /// The probability that a bit is wrong.
    rate: f64,
    flit_bits: f64,
    /// Ticks that a failed try takes.
    retry: Tick,
    /// Failed tries.
    pub retries: u64,
}

impl BitErrors {
    /// The bit errors of the link that begins at `from`; `None` if there are none.
    pub fn new(spec: &FabricSpec, from: End, latency: Tick, rate: Ratio) -> Option<Self> {
        let errors = spec.bit_errors?;
        let radix = u64::from(spec.topology.radix());
        let component = match from {
            End::Nic(nic) => [nic as u64, 1],
            End::Port { switch, port } => [switch as u64 * radix + port as u64, 0],
        };
        // 128 bytes.
        let flit = u64::from(spec.units.flit_bytes);
        let block = (128 * rate.den()).div_ceil(flit * rate.num());
        Some(Self {
            stream: Stream::new(errors.seed, Purpose::BitErrors, component),
            rate: errors.rate as f64 / 2f64.powi(64),
            flit_bits: 8.0 * flit as f64,
            retry: 2 * (block + latency),
            retries: 0,
        })
    }

    /// A packet of `flits` flits starts. Returns the ticks that failed tries take.
    pub fn held(&mut self, flits: u32) -> Tick {
        let wrong = -(self.flit_bits * f64::from(flits) * (-self.rate).ln_1p()).exp_m1();
        let mut held = 0;
        while (self.stream.bits() as f64) < wrong * 2f64.powi(64) {
            self.retries += 1;
            held += self.retry;
        }
        held
    }
}
