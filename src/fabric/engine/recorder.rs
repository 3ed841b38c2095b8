//! Adds up the payload delivered per flow between two samples of a time series
//! (`docs/model/infiniband.md` §13). Each fabric samples its Port VLs and sources itself.

use super::pool::InFlight;
use crate::ids::NicId;
use crate::series::FlowSample;
use std::collections::BTreeMap;

/// Sums since the sample before.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Per SL: largest payload of a packet in bytes.
    mtu_bytes: Vec<u32>,
    /// Payload delivered in bytes, per (source, destination, SL).
    payload: BTreeMap<(NicId, NicId, u8), u64>,
}

impl Recorder {
    pub(super) fn new(mtu_bytes: Vec<u32>) -> Self {
        Self {
            mtu_bytes,
            payload: BTreeMap::new(),
        }
    }

    /// Counts the payload of packet `index` of `message`, which was delivered.
    pub(super) fn delivered(&mut self, message: &InFlight, index: u32) {
        let mtu = u64::from(self.mtu_bytes[usize::from(message.sl)]);
        let bytes = message
            .bytes
            .saturating_sub(mtu * u64::from(index))
            .min(mtu);
        let flow = (message.src, message.dst, message.sl);
        *self.payload.entry(flow).or_default() += bytes;
    }

    /// Returns the sums, and begins anew.
    pub(super) fn flows(&mut self) -> Vec<FlowSample> {
        let payload = std::mem::take(&mut self.payload);
        let flows = payload.into_iter().filter(|&(_, bytes)| bytes > 0);
        let sample = |((src, dst, sl), bytes)| FlowSample {
            src,
            dst,
            sl,
            bytes,
        };
        flows.map(sample).collect()
    }
}
