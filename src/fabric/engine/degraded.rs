//! Degradations of links (`docs/model/fabric.md` §10): the rate at which a link sends a packet follows from the tick of its
//! start, and is known before a run. [`outages`](super::outages) asks for it.

use crate::spec::{Degradation, Tick};
use flitwise_base::units::Ratio;

/// The rates of a link over time, at its sending end. A rate is the index of one of the fabric's; `None` is the link's own.
#[derive(Debug)]
pub(super) struct RateChanges {
    /// Its rate from each of these ticks on, in their order.
    changes: Vec<(Tick, Option<u8>)>,
    /// The rate of the packet sent last, and the first tick that begins without it.
    last: Option<u8>,
    free_at: Tick,
    /// Per rate of the fabric: the ticks that a byte takes longer than at the link's own rate.
    longer: Vec<f64>,
}

impl RateChanges {
    /// The changes by `events`, in a fabric of these `rates` and `flit_bytes`, of a link with the rate `own`; `None` if
    /// there are none.
    pub(super) fn new<'a>(
        events: impl Iterator<Item = &'a Degradation>,
        (rates, flit_bytes): (&[Ratio], u32),
        own: Ratio,
    ) -> Option<Self> {
        let events: Vec<&Degradation> = events.filter(|event| event.rate < own).collect();
        let ends = events
            .iter()
            .flat_map(|event| [Some(event.from), event.until]);
        let mut ticks: Vec<Tick> = ends.flatten().collect();
        ticks.sort_unstable();
        ticks.dedup();
        let index = |rate: Ratio| rates.iter().position(|&known| known == rate);
        let change = |tick: Tick| {
            let lasting = events
                .iter()
                .filter(|event| event.from <= tick && event.until.is_none_or(|until| tick < until));
            let lowest = lasting.map(|event| event.rate).min();
            (tick, lowest.and_then(index).map(|rate| rate as u8))
        };
        let byte = |rate: Ratio| 1.0 / (rate.to_f64() * f64::from(flit_bytes));
        let longer = |&rate: &Ratio| byte(rate) - byte(own);
        (!events.is_empty()).then(|| Self {
            changes: ticks.into_iter().map(change).collect(),
            last: None,
            free_at: 0,
            longer: rates.iter().map(longer).collect(),
        })
    }

    /// The rate of a packet that starts in `tick`.
    fn at(&self, tick: Tick) -> Option<u8> {
        let begun = self.changes.partition_point(|&(from, _)| from <= tick);
        self.changes[..begun].last().and_then(|&(_, rate)| rate)
    }

    /// The first tick from `tick` on in which a packet can start: not beside a packet of another rate. `tick` is the one in
    /// which the link becomes free, or later.
    pub(super) fn next_start(&self, tick: Tick) -> Tick {
        if tick < self.free_at && self.at(tick) != self.last {
            return self.free_at;
        }
        tick
    }

    /// A packet of `bytes` will start in tick `start`. Returns its rate, and the ticks that it takes longer than usual.
    pub(super) fn starts(&mut self, start: Tick, bytes: u32) -> Option<(u8, f64)> {
        self.last = self.at(start);
        let rate = self.last?;
        Some((rate, self.longer[usize::from(rate)] * f64::from(bytes)))
    }

    /// All packets that will start have left in tick `end`.
    pub(super) fn is_free_at(&mut self, end: Tick) {
        self.free_at = end;
    }
}
