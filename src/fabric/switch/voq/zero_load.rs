//! The flit schedule of one packet at zero load in a `voq` fabric, flit by flit
//! (`docs/model/infiniband.md`, sections 1, 4 and 8). The engine computes the same in closed
//! form. This module does not use the engine.

use super::Voq;
use crate::ids::{NicId, SwitchPort};
use crate::spec::{FabricSpec, Hop, Tick};
use crate::switch::zero_load::{Passage, ZeroLoad};
use flitwise_base::units::Ratio;

/// The ticks in which the flits of a packet arrive at the present buffer. In tick 0 the header leaves the
/// NIC.
pub(crate) struct FlitSchedule<'a> {
    voq: &'a Voq,
    /// Tick in which each flit arrives.
    arrivals: Vec<Tick>,
    /// Length of the packet in bytes.
    bytes: u32,
    /// Length of a full flit in bytes.
    flit_bytes: u32,
}

/// Ticks in which flits leave over a free server of `rate` flits per tick, each not before
/// its tick in `ready`.
fn served(ready: &[Tick], rate: Ratio) -> Vec<Tick> {
    let start = ready.first().copied().unwrap_or(0);
    let line = |i: usize| {
        let moved = i as u128 * u128::from(rate.den()) / u128::from(rate.num().max(1));
        start.saturating_add(u64::try_from(moved).unwrap_or(u64::MAX))
    };
    let flits = ready.iter().enumerate();
    flits.map(|(i, &ready)| ready.max(line(i))).collect()
}

impl<'a> FlitSchedule<'a> {
    /// The schedule of a packet with `payload` bytes behind the link of NIC `src`.
    pub fn start(spec: &FabricSpec, voq: &'a Voq, src: NicId, payload: u32) -> Self {
        let SwitchPort { switch, port } = spec.topology.attachment(src);
        let link = voq.links.at(&spec.topology, switch, port);
        let flits = spec.units.data_flits(payload);
        let fetched = served(&vec![0; flits as usize], voq.hca.send_rate.unwrap_or(link));
        let mut schedule = Self {
            voq,
            arrivals: fetched,
            bytes: payload.saturating_add(spec.units.header_bytes),
            flit_bytes: spec.units.flit_bytes,
        };
        let latency = spec.link_latency.at(&spec.topology, switch, port);
        schedule.cross_link(link, latency);
        schedule
    }

    /// Moves the flits over a link of `rate` flits per tick and `latency` ticks.
    fn cross_link(&mut self, rate: Ratio, latency: Tick) {
        let flit = rate.den().div_ceil(rate.num().max(1));
        // The last flit may be short: the link is busy for the bytes of the packet.
        let bytes_per_tick = u128::from(rate.num().max(1)) * u128::from(self.flit_bytes);
        let busy = u128::from(self.bytes) * u128::from(rate.den());
        let busy = u64::try_from(busy.div_ceil(bytes_per_tick).max(1)).unwrap_or(u64::MAX);
        let last = self.arrivals.len().saturating_sub(1);
        let after = |i: usize| {
            let before = i as u64 * u64::from(self.flit_bytes);
            let rest = u64::from(self.bytes).saturating_sub(before);
            let rest = u128::from(rest) * u128::from(rate.den());
            let ticks = u64::try_from(rest.div_ceil(bytes_per_tick)).unwrap_or(u64::MAX);
            self.arrivals[i].saturating_add(ticks)
        };
        // The last flit leaves after the one before it.
        let follows = after(last).max(after(last.saturating_sub(1)));
        let end = self.header().saturating_add(busy).max(follows) - 1 + latency;
        self.arrivals = served(&self.arrivals, rate);
        for tick in &mut self.arrivals {
            *tick += latency + flit - 1;
        }
        if let Some(tail) = self.arrivals.last_mut() {
            *tail = end;
        }
    }
}

impl ZeroLoad for FlitSchedule<'_> {
    fn pass(&mut self, spec: &FabricSpec, hop: Hop, latency: Tick) -> Passage {
        let t = &self.voq.stages;
        let crossbar = self.voq.crossbar_rate();
        let crossing = self.header() + t.input_store + t.routing + t.allocation;
        for (i, tick) in self.arrivals.iter_mut().enumerate() {
            let offset = i as u128 * u128::from(crossbar.den()) / u128::from(crossbar.num().max(1));
            let offset = u64::try_from(offset).unwrap_or(u64::MAX);
            let crosses = (crossing + offset).max(*tick + t.input_store);
            *tick = crosses + t.crossbar + t.output_store;
        }
        let leaves = self.header();
        let link = &self.voq.links;
        self.cross_link(link.at(&spec.topology, hop.switch, hop.out_port), latency);
        let central = None;
        Passage { leaves, central }
    }

    fn header(&self) -> Tick {
        self.arrivals.first().copied().unwrap_or(0)
    }

    fn tail(&self) -> Tick {
        self.arrivals.last().copied().unwrap_or(0)
    }
}
