//! When the flits of a packet are where, in an idle `voq` fabric: `docs/model-infiniband.md`,
//! sections 1, 4 and 8, flit by flit.

use crate::fabric::infiniband::Voq;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::units::Ratio;

/// The flits of a packet under way; tick 0 is that in which the header leaves the adapter.
pub(super) struct Train {
    /// Ticks in which the flits are dated at the present buffer.
    dated: Vec<Tick>,
    /// Length of the packet, and of a flit.
    bytes: u32,
    flit_bytes: u32,
}

/// When flits that are available from `ready` on leave by a server of `rate` that is free.
fn served(ready: &[Tick], rate: Ratio) -> Vec<Tick> {
    let start = ready.first().copied().unwrap_or(0);
    let line = |i: usize| {
        let moved = i as u128 * u128::from(rate.den()) / u128::from(rate.num().max(1));
        start.saturating_add(u64::try_from(moved).unwrap_or(u64::MAX))
    };
    let flits = ready.iter().enumerate();
    flits.map(|(i, &ready)| ready.max(line(i))).collect()
}

impl Train {
    /// A packet with `payload` bytes leaves adapter `src`.
    pub fn start(spec: &FabricSpec, voq: &Voq, src: u32, payload: u32) -> Self {
        let (switch, port) = spec.topology.attachment(src);
        let link = voq.links.at(&spec.topology, switch, port);
        let flits = spec.timing.flits(payload, spec.header_bytes);
        let fetched = served(&vec![0; flits as usize], voq.hca.send_rate.unwrap_or(link));
        let mut train = Self {
            dated: fetched,
            bytes: payload.saturating_add(spec.header_bytes),
            flit_bytes: spec.timing.flit_bytes,
        };
        train.cross_link(link, spec.timing.host_link);
        train
    }

    fn cross_link(&mut self, rate: Ratio, flight: Tick) {
        let flit = rate.den().div_ceil(rate.num().max(1));
        // The last flit may be short: the link is busy for the bytes of the packet.
        let bytes_per_tick = u128::from(rate.num().max(1)) * u128::from(self.flit_bytes);
        let busy = u128::from(self.bytes) * u128::from(rate.den());
        let busy = u64::try_from(busy.div_ceil(bytes_per_tick).max(1)).unwrap_or(u64::MAX);
        let last = self.dated.len().saturating_sub(1);
        let after = |i: usize| {
            let before = i as u64 * u64::from(self.flit_bytes);
            let rest = u64::from(self.bytes).saturating_sub(before);
            let rest = u128::from(rest) * u128::from(rate.den());
            let ticks = u64::try_from(rest.div_ceil(bytes_per_tick)).unwrap_or(u64::MAX);
            self.dated[i].saturating_add(ticks)
        };
        // The last flit follows the one before.
        let follows = after(last).max(after(last.saturating_sub(1)));
        let end = self.header().saturating_add(busy).max(follows) - 1 + flight;
        self.dated = served(&self.dated, rate);
        for tick in &mut self.dated {
            *tick += flight + flit - 1;
        }
        if let Some(tail) = self.dated.last_mut() {
            *tail = end;
        }
    }

    /// Goes through `switch` and out of `port`, to the other end of a link of latency
    /// `flight`; gives the tick in which the header leaves the output buffer.
    pub fn through(
        &mut self,
        spec: &FabricSpec,
        voq: &Voq,
        (switch, port): (u32, u32),
        flight: Tick,
    ) -> Tick {
        let t = &spec.timing;
        let crossbar = voq.crossbar_rate();
        let crossing = self.header() + t.input_store + t.routing + t.allocation;
        for (i, tick) in self.dated.iter_mut().enumerate() {
            let pace = i as u128 * u128::from(crossbar.den()) / u128::from(crossbar.num().max(1));
            let pace = u64::try_from(pace).unwrap_or(u64::MAX);
            let crosses = (crossing + pace).max(*tick + t.input_store);
            *tick = crosses + t.crossbar + t.output_store;
        }
        let leaves = self.header();
        self.cross_link(voq.links.at(&spec.topology, switch, port), flight);
        leaves
    }

    /// When the header is dated.
    pub fn header(&self) -> Tick {
        self.dated.first().copied().unwrap_or(0)
    }

    /// When the tail is dated.
    pub fn tail(&self) -> Tick {
        self.dated.last().copied().unwrap_or(0)
    }
}
