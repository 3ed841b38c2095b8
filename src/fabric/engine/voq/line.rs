//! Flits in closed form: when each flit of a packet is where, behind servers of exact
//! rates (`docs/model-infiniband.md` §1 and §4).
//!
//! The dates of the flits of a packet are the latest of a few lines ⌊start + i · q/p⌋, one for
//! each rate that it has passed: of two lines of the same rate the later one decides.

use crate::fabric::spec::Tick;
use crate::units::Ratio;

/// Largest numerator of a rate: parts of a tick are kept in 32 bits.
pub(super) const MAX_NUMERATOR: u64 = u32::MAX as u64;

/// A rate of p/q flits per tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    p: u64,
    q: u64,
}

impl Rate {
    pub(super) fn new(rate: Ratio) -> Self {
        Self {
            p: rate.num(),
            q: rate.den(),
        }
    }

    /// ⌈q/p⌉: ticks that a flit takes.
    pub(super) fn flit_ticks(self) -> Tick {
        self.q.div_ceil(self.p)
    }

    /// `start` + n · q/p.
    #[inline]
    fn after(self, start: Moment, n: u32) -> Moment {
        let parts = u64::from(start.part) + u64::from(n) * self.q;
        if self.p == 1 {
            return Moment {
                tick: start.tick + parts,
                part: 0,
            };
        }
        Moment {
            tick: start.tick + parts / self.p,
            part: (parts % self.p) as u32,
        }
    }
}

/// A moment: tick + part/p, of a server of p/q flits per tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub tick: Tick,
    part: u32,
}

impl Moment {
    /// First tick that begins at this moment or after.
    pub(super) fn first_whole_tick(self) -> Tick {
        self.tick + Tick::from(self.part > 0)
    }
}

/// The dates ⌊start + i · q/p⌋ of flits i, of a server of rate p/q.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    start: Moment,
    /// Index of the rate; [`NO_RATE`]: no line.
    rate: u8,
}

const NO_RATE: u8 = u8::MAX;

impl Line {
    const NONE: Self = Self {
        start: Moment { tick: 0, part: 0 },
        rate: NO_RATE,
    };
}

/// When the flits of a packet reach a place: the latest of up to `L` lines, `L` being at
/// least the number of different rates in the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dates<const L: usize> {
    /// The line of the last server comes first; what is used comes before what is not.
    lines: [Line; L],
}

impl<const L: usize> Default for Dates<L> {
    fn default() -> Self {
        Self {
            lines: [Line::NONE; L],
        }
    }
}

impl<const L: usize> Dates<L> {
    #[inline]
    fn used(&self) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .take_while(|line| L == 1 || line.rate != NO_RATE)
    }

    /// Nothing has delayed the flits.
    #[cfg(test)]
    pub(super) fn at_once() -> Self {
        Self::default()
    }

    /// Date of the header: no server lets it wait for later flits.
    #[inline]
    pub(super) fn header(&self) -> Tick {
        self.lines[0].start.tick
    }

    /// Date of flit `i`, 0 if nothing delays it.
    #[inline]
    pub(super) fn of(&self, rates: &[Rate], i: u32) -> Tick {
        if L == 1 {
            return rates[0].after(self.lines[0].start, i).tick;
        }
        let mut date = 0;
        for line in self.used() {
            let rate = match rates.get(usize::from(line.rate)) {
                Some(rate) => *rate,
                None => continue,
            };
            date = date.max(rate.after(line.start, i).tick);
        }
        date
    }

    /// All dates later by `ticks`.
    #[inline]
    pub(super) fn later(mut self, ticks: Tick) -> Self {
        for line in &mut self.lines {
            line.start.tick += ticks;
        }
        self
    }

    /// Flits, of `flits`, dated `now` or before.
    #[inline]
    pub(super) fn flits_by(&self, rates: &[Rate], now: Tick, flits: u32) -> u32 {
        let mut by = u64::from(flits);
        for line in self.used() {
            let Some(&Rate { p, q }) = rates.get(usize::from(line.rate)) else {
                continue;
            };
            if line.start.tick > now {
                return 0;
            }
            // start + i · q/p < now + 1
            let ticks = now - line.start.tick + 1;
            let parts = ticks
                .saturating_mul(p)
                .saturating_sub(line.start.part.into());
            by = by.min(parts.div_ceil(q));
        }
        by as u32
    }

    /// A server of `rate`, free from `free` on, takes a packet of `flits` whose flits are
    /// available at these dates, in tick `start`, at or after the header: when they leave,
    /// and when the server is free again.
    #[inline(always)]
    pub(super) fn served(
        &self,
        rates: &[Rate],
        rate: u8,
        free: Moment,
        start: Tick,
        flits: u32,
    ) -> (Self, Moment) {
        if L == 1 && rates[0].p == 1 {
            // One rate, of whole ticks: no flit comes later than the server takes it.
            debug_assert!(free.tick <= start, "a server serves one packet at a time");
            let mut leaving = Self::default();
            let begin = Moment {
                tick: start,
                part: 0,
            };
            leaving.lines[0] = Line { start: begin, rate };
            return (leaving, rates[0].after(begin, flits));
        }
        self.served_exactly(rates, rate, free, start, flits)
    }

    #[inline(never)]
    fn served_exactly(
        &self,
        rates: &[Rate],
        rate: u8,
        free: Moment,
        start: Tick,
        flits: u32,
    ) -> (Self, Moment) {
        let own = rates[usize::from(rate)];
        let begin = free.max(Moment {
            tick: start,
            part: 0,
        });
        debug_assert_eq!(begin.tick, start, "a server serves one packet at a time");
        let by_rate = own.after(begin, flits);
        let tail = Moment {
            tick: self.of(rates, flits - 1),
            part: 0,
        };
        let free = by_rate.max(own.after(tail, 1));
        let mut leaving = Self::default();
        leaving.lines[0] = Line { start: begin, rate };
        let mut count = 1;
        for line in self.used().filter(|line| line.rate != NO_RATE) {
            if line.rate == rate {
                leaving.lines[0].start = leaving.lines[0].start.max(line.start);
            } else if line.start.tick < start && line.rate < rate {
                // A faster server that was ahead by more than a tick stays ahead.
            } else {
                leaving.lines[count] = *line;
                count += 1;
            }
        }
        (leaving, free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rates from fast to slow.
    fn rates() -> Vec<Rate> {
        [(1, 1), (3, 4), (2, 3), (171, 256), (1, 2), (3, 7), (1, 5)]
            .map(|(p, q)| Rate { p, q })
            .to_vec()
    }

    proptest! {
        /// A chain of servers, flit by flit, against the lines.
        #[test]
        fn lines_are_what_greedy_servers_do(
            chain in prop::collection::vec((0usize..7, 0u64..20, 0u64..9, 1u32..60), 1..6),
            flits in 1u32..60,
        ) {
            let mut sorted = rates();
            sorted.sort_by(|a, b| (b.p * a.q).cmp(&(a.p * b.q)));
            let rates = sorted;
            let mut dates = Dates::<7>::at_once();
            let mut available = vec![0u64; flits as usize];
            let mut header = 0;
            for (rate, wait, flight, before) in chain {
                let Rate { p, q } = rates[rate];
                // A packet of `before` flits went before at tick 0.
                let (_, free) = Dates::<7>::at_once()
                    .served(&rates, rate as u8, Moment::default(), 0, before);
                let start = free.tick.max(header + wait);
                let mut moment = (u128::from(free.tick) * u128::from(p) + u128::from(free.part))
                    .max(u128::from(start) * u128::from(p));
                let first = moment;
                let leaves: Vec<u64> = (0..flits).map(|i| {
                    let line = (first + u128::from(i) * u128::from(q)) / u128::from(p);
                    (line as u64).max(available[i as usize])
                }).collect();
                moment = (first + u128::from(flits) * u128::from(q))
                    .max(u128::from(available[flits as usize - 1]) * u128::from(p) + u128::from(q));
                let (leaving, free) = dates.served(&rates, rate as u8, free, start, flits);
                let exact = u128::from(free.tick) * u128::from(p) + u128::from(free.part);
                prop_assert_eq!(exact, moment);
                for i in 0..flits {
                    prop_assert_eq!(leaving.of(&rates, i), leaves[i as usize], "flit {}", i);
                }
                for now in start.saturating_sub(2)..leaves[flits as usize - 1] + 3 {
                    let by = leaves.iter().filter(|&&date| date <= now).count();
                    prop_assert_eq!(leaving.flits_by(&rates, now, flits) as usize, by);
                }
                dates = leaving.later(flight);
                prop_assert_eq!(dates.header(), leaves[0] + flight);
                available = leaves.iter().map(|date| date + flight).collect();
                header = available[0];
            }
        }
    }
}
