//! What a time series adds up between two samples.

use super::pool::InFlight;
use crate::fabric::series::FlowSample;
use std::collections::BTreeMap;

/// Sums since the sample before.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Largest payload of a packet, per SL.
    mtu_bytes: Vec<u32>,
    /// Payload delivered per (source, destination, SL).
    payload: BTreeMap<(u32, u32, u8), u64>,
}

impl Recorder {
    pub(super) fn new(mtu_bytes: Vec<u32>) -> Self {
        Self {
            mtu_bytes,
            payload: BTreeMap::new(),
        }
    }

    /// Packet `index` of `message` was delivered.
    pub(super) fn delivered(&mut self, message: &InFlight, index: u32) {
        let mtu = u64::from(self.mtu_bytes[usize::from(message.sl)]);
        let bytes = message
            .bytes
            .saturating_sub(mtu * u64::from(index))
            .min(mtu);
        let flow = (message.src, message.dst, message.sl);
        *self.payload.entry(flow).or_default() += bytes;
    }

    /// Takes what was delivered.
    pub(super) fn flows(&mut self) -> Vec<FlowSample> {
        let payload = std::mem::take(&mut self.payload);
        let moved = payload.into_iter().filter(|&(_, bytes)| bytes > 0);
        let sample = |((src, dst, sl), bytes)| FlowSample {
            src,
            dst,
            sl,
            bytes,
        };
        moved.map(sample).collect()
    }
}
