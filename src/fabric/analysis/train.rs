//! When the flits of a packet are where, in an idle `voq` fabric: `docs/model-infiniband.md`,
//! sections 1, 4 and 8, flit by flit.

use crate::fabric::infiniband::Voq;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::units::Ratio;

/// The flits of a packet under way; tick 0 is that in which the header leaves the adapter.
pub(super) struct Train {
    /// Ticks in which the flits are dated at the present buffer.
    dated: Vec<Tick>,
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
    /// A packet of `flits` flits leaves adapter `src`.
    pub fn start(spec: &FabricSpec, voq: &Voq, src: u32, flits: u32) -> Self {
        let (switch, port) = spec.topology.attachment(src);
        let link = voq.links.at(&spec.topology, switch, port);
        let fetched = served(&vec![0; flits as usize], voq.hca.send_rate.unwrap_or(link));
        let mut train = Self { dated: fetched };
        train.cross_link(link, spec.timing.host_link);
        train
    }

    fn cross_link(&mut self, rate: Ratio, flight: Tick) {
        let rest = rate.den().div_ceil(rate.num().max(1)) - 1;
        self.dated = served(&self.dated, rate);
        for tick in &mut self.dated {
            *tick += flight + rest;
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
        let crossing = self.header() + t.input_store + t.routing + t.allocation;
        for (i, tick) in self.dated.iter_mut().enumerate() {
            let pace = i as u64 / u64::from(voq.crossbar_speedup.max(1));
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
