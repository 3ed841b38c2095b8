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
    /// Per rate of the fabric.
    slower: Vec<Slower>,
}

/// The effect of a rate on a packet.
#[derive(Debug)]
enum Slower {
    /// Each byte takes this number of ticks longer than at the link's own rate.
    Bytes(f64),
    /// The link holds the packet until its flits can leave in a row and end as late as they would at this rate.
    Held(Ratio),
}

/// A packet that is sent at a lower rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlowPacket {
    /// The rate, as the index of one of the fabric's.
    pub rate: u8,
    /// Ticks that it takes longer than at the link's own rate.
    pub longer: f64,
    /// Ticks for which the link holds it before its flits leave.
    pub held: Tick,
}

impl RateChanges {
    /// The changes by `events`, in a fabric of these `rates`, of a link with the rate `own`; `None` if there are none. Packets are sent
    /// at any rate where `flit_bytes` are given, and held elsewhere.
    pub(super) fn new<'a>(
        events: impl Iterator<Item = &'a Degradation>,
        (rates, flit_bytes): (&[Ratio], Option<u32>),
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
        let slower = |&rate: &Ratio| match flit_bytes {
            Some(bytes) => {
                let byte = |rate: Ratio| 1.0 / (rate.to_f64() * f64::from(bytes));
                Slower::Bytes(byte(rate) - byte(own))
            }
            None => Slower::Held(rate),
        };
        (!events.is_empty()).then(|| Self {
            changes: ticks.into_iter().map(change).collect(),
            last: None,
            free_at: 0,
            slower: rates.iter().map(slower).collect(),
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

    /// A packet of `bytes` and `flits` will start in tick `start`. Returns how it is sent, unless that is at the link's own rate.
    pub(super) fn starts(&mut self, start: Tick, (bytes, flits): (u32, u32)) -> Option<SlowPacket> {
        self.last = self.at(start);
        let rate = self.last?;
        let (longer, held) = match self.slower[usize::from(rate)] {
            Slower::Bytes(longer) => (longer * f64::from(bytes), 0),
            Slower::Held(rate) => {
                let held = held_ticks(flits, rate);
                (held as f64, held)
            }
        };
        Some(SlowPacket { rate, longer, held })
    }

    /// All packets that will start have left in tick `end`.
    pub(super) fn is_free_at(&mut self, end: Tick) {
        self.free_at = end;
    }
}

/// Ticks that `flits` flits at `rate`, at most 1, take longer than in a row.
fn held_ticks(flits: u32, rate: Ratio) -> Tick {
    let ticks =
        (u128::from(flits) * u128::from(rate.den())).div_ceil(u128::from(rate.num()).max(1));
    Tick::try_from(ticks).map_or(Tick::MAX, |ticks| ticks - Tick::from(flits))
}
