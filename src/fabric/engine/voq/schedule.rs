//! Flits in closed form: when each flit of a packet is where, behind servers of exact
//! rates (`docs/model-infiniband.md` §1 and §4).
//!
//! The schedule of all flits of a packet but the last are the latest of a few lines
//! ⌊start + i · q/p⌋, one for each rate that it has passed: of two lines of the same rate the
//! later one decides. The last flit may be short, so its date is kept by itself.

use crate::fabric::spec::Tick;
use crate::units::Ratio;

/// Most parts of a tick: they are kept in 32 bits.
pub(super) const MAX_PARTS: u64 = u32::MAX as u64;

/// A rate, p/q flits per tick, in parts of a tick in which every byte takes a whole number of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    /// Parts of a tick.
    tick: u64,
    /// Parts that a byte takes, and a flit.
    byte: u64,
    flit: u64,
    /// Parts of a tick as a power of two; [`NO_POWER`] if they are none.
    power: u8,
}

const NO_POWER: u8 = u8::MAX;

impl Rate {
    /// `flits` per tick, of `flit_bytes` each.
    pub(super) fn new(flits: Ratio, flit_bytes: u32) -> Self {
        let (num, den) = (u128::from(flits.num()), u128::from(flits.den()));
        let bytes = Ratio::reduced(num * u128::from(flit_bytes), den).unwrap_or(Ratio::ONE);
        let tick = bytes.num().max(1);
        Self {
            tick,
            byte: bytes.den(),
            flit: bytes.den().saturating_mul(flit_bytes.into()),
            power: match tick.is_power_of_two() {
                true => tick.trailing_zeros() as u8,
                false => NO_POWER,
            },
        }
    }

    /// Parts of a tick: they are kept in 32 bits.
    pub(super) fn parts(self) -> u64 {
        self.tick
    }

    /// ⌈q/p⌉: ticks that a flit takes.
    pub(super) fn flit_ticks(self) -> Tick {
        self.flit.div_ceil(self.tick)
    }

    /// A flit takes a whole number of ticks.
    #[inline]
    fn flits_take_whole_ticks(self) -> bool {
        self.flit.is_multiple_of(self.tick)
    }

    #[inline]
    fn advance(self, start: SubTick, parts: u64) -> SubTick {
        let parts = u64::from(start.part) + parts;
        if self.power != NO_POWER {
            return SubTick {
                tick: start.tick + (parts >> self.power),
                part: (parts & (self.tick - 1)) as u32,
            };
        }
        SubTick {
            tick: start.tick + parts / self.tick,
            part: (parts % self.tick) as u32,
        }
    }

    /// `start` and the time of `n` flits.
    #[inline]
    fn after(self, start: SubTick, n: u32) -> SubTick {
        self.advance(start, u64::from(n) * self.flit)
    }

    /// Parts that the last flit of a packet takes.
    #[inline]
    fn last_flit(self, length: Length) -> u64 {
        let before = u64::from(length.flits - 1) * self.flit;
        (u64::from(length.bytes) * self.byte).saturating_sub(before)
    }

    /// `start` and the time of a packet of `bytes`: at least a tick.
    #[inline]
    pub(super) fn after_packet(self, start: SubTick, bytes: u32) -> SubTick {
        self.advance(start, (u64::from(bytes) * self.byte).max(self.tick))
    }
}

/// A moment: a tick and parts of it, in the parts of a [`Rate`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SubTick {
    pub tick: Tick,
    part: u32,
}

impl SubTick {
    /// The beginning of `tick`.
    #[inline]
    pub(super) fn at(tick: Tick) -> Self {
        Self { tick, part: 0 }
    }

    /// First tick that begins at this moment or after.
    #[inline]
    pub(super) fn first_whole_tick(self) -> Tick {
        self.tick + Tick::from(self.part > 0)
    }
}

/// Length of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    pub bytes: u32,
    pub flits: u32,
}

/// The schedule ⌊start + i · q/p⌋ of flits i, of a server of rate p/q.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    start: SubTick,
    /// Index of the rate; [`NO_RATE`]: no line.
    rate: u8,
}

const NO_RATE: u8 = u8::MAX;

impl Line {
    const NONE: Self = Self {
        start: SubTick { tick: 0, part: 0 },
        rate: NO_RATE,
    };
}

/// When the flits of a packet reach a place: the latest of up to `L` lines, `L` being at
/// least the number of different rates in the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule<const L: usize> {
    /// The line of the last server comes first; what is used comes before what is not.
    lines: [Line; L],
    /// Date of the last flit.
    tail: Tick,
}

impl<const L: usize> Default for Schedule<L> {
    fn default() -> Self {
        Self {
            lines: [Line::NONE; L],
            tail: 0,
        }
    }
}

impl<const L: usize> Schedule<L> {
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

    /// Date of the last flit.
    #[inline]
    pub(super) fn tail(&self) -> Tick {
        self.tail
    }

    /// Date of flit `i`, not the last one; 0 if nothing delays it.
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

    /// All schedule later by `ticks`.
    #[inline]
    pub(super) fn later(mut self, ticks: Tick) -> Self {
        for line in &mut self.lines {
            line.start.tick += ticks;
        }
        self.tail += ticks;
        self
    }

    /// The same with another date of the last flit.
    #[inline]
    pub(super) fn with_tail(mut self, tail: Tick) -> Self {
        self.tail = tail;
        self
    }

    /// Of flits that leave by a link at these schedule: when they reach its other end, `flight`
    /// later; the last one, which may be short, reaches it at `tail`.
    #[inline]
    pub(super) fn arriving(self, flight: Tick, tail: Tick, flits: u32) -> Self {
        let mut arriving = self.later(flight);
        arriving.tail = tail;
        if flits == 1 {
            arriving.lines[0].start = SubTick::at(tail);
        }
        arriving
    }

    /// Flits, of `flits`, dated `now` or before; the last one as if it were whole.
    #[inline]
    pub(super) fn flits_by(&self, rates: &[Rate], now: Tick, flits: u32) -> u32 {
        let mut by = u64::from(flits);
        for line in self.used() {
            let Some(rate) = rates.get(usize::from(line.rate)) else {
                continue;
            };
            if line.start.tick > now {
                return 0;
            }
            // start + i flits < now + 1
            let ticks = now - line.start.tick + 1;
            let parts = ticks
                .saturating_mul(rate.tick)
                .saturating_sub(line.start.part.into());
            by = by.min(parts.div_ceil(rate.flit));
        }
        by as u32
    }

    /// A server of `rate`, free from `free` on, takes a packet whose flits are available at
    /// these schedule, in tick `start`, at or after the header: when its flits leave, and when the
    /// server is free again.
    #[inline(always)]
    pub(super) fn served(
        &self,
        rates: &[Rate],
        rate: u8,
        free: SubTick,
        start: Tick,
        length: Length,
    ) -> (Self, SubTick) {
        debug_assert!(free.tick <= start, "a server serves one packet at a time");
        let own = rates[if L == 1 { 0 } else { usize::from(rate) }];
        let begin = free.max(SubTick::at(start));
        let last = own.after(begin, length.flits - 1).tick.max(self.tail);
        let mut free = own.after_packet(begin, length.bytes);
        let short = own.last_flit(length);
        if self.lines[0].rate != NO_RATE {
            free = free.max(own.advance(SubTick::at(self.tail), short));
        }
        let mut leaving = Self {
            tail: last,
            ..Self::default()
        };
        leaving.lines[0] = Line { start: begin, rate };
        // With one rate of whole ticks, only the last flit may come later than the server
        // would take it.
        if L > 1 || !own.flits_take_whole_ticks() {
            self.keep_lines(&mut leaving, start);
            if length.flits > 1 {
                // The last flit follows the one before.
                let before = SubTick::at(self.of(rates, length.flits - 2));
                free = free.max(own.advance(before, own.flit + short));
            }
        }
        (leaving, free)
    }

    /// Keeps the lines that may still decide behind the server whose line is in `leaving`.
    #[inline(never)]
    fn keep_lines(&self, leaving: &mut Self, start: Tick) {
        let rate = leaving.lines[0].rate;
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rates from fast to slow, in flits of 8 B.
    const RATES: [(u64, u64); 7] = [(1, 1), (3, 4), (2, 3), (171, 256), (1, 2), (3, 7), (1, 5)];
    const FLIT: u32 = 8;

    fn rates() -> Vec<Rate> {
        RATES
            .map(|(p, q)| Rate::new(Ratio::new(p, q).unwrap(), FLIT))
            .to_vec()
    }

    proptest! {
        /// A chain of servers, flit by flit, against the lines.
        #[test]
        fn lines_are_what_greedy_servers_do(
            chain in prop::collection::vec((0usize..7, 0u64..20, 0u64..9, 1u32..400), 1..6),
            bytes in 1u32..400,
        ) {
            let mut order: Vec<usize> = (0..7).collect();
            let value = |i: usize| Ratio::new(RATES[i].0, RATES[i].1).unwrap();
            order.sort_by_key(|&i| std::cmp::Reverse(value(i)));
            let rates: Vec<Rate> = order.iter().map(|&i| rates()[i]).collect();
            let flits = bytes.div_ceil(FLIT);
            let length = Length { bytes, flits };
            let mut schedule = Schedule::<7>::at_once();
            let (mut available, mut delayed) = (vec![0u128; flits as usize], false);
            for (rate, wait, flight, before) in chain {
                let (p, q) = RATES[order[rate]];
                // Moments in 1/(p · FLIT) tick.
                let (tick, byte) = (u128::from(p) * u128::from(FLIT), u128::from(q));
                let flit = byte * u128::from(FLIT);
                // A packet of `before` bytes went before at tick 0.
                let before = Length { bytes: before, flits: before.div_ceil(FLIT) };
                let (_, free) =
                    Schedule::<7>::at_once().served(&rates, rate as u8, SubTick::default(), 0, before);
                let exact_free = (u128::from(before.bytes) * byte).max(tick);
                let start = ((exact_free / tick) as u64).max(available[0] as u64 + wait);
                let first = exact_free.max(u128::from(start) * tick);
                let leaves: Vec<u128> = (0..u128::from(flits))
                    .map(|i| ((first + i * flit) / tick).max(available[i as usize]))
                    .collect();
                let mut end = first + (u128::from(bytes) * byte).max(tick);
                let last = flits as usize - 1;
                if delayed {
                    let short = u128::from(bytes) * byte - last as u128 * flit;
                    end = end.max(available[last] * tick + short);
                    if last > 0 {
                        end = end.max(available[last - 1] * tick + flit + short);
                    }
                }
                delayed = true;
                let (leaving, free) = schedule.served(&rates, rate as u8, free, start, length);
                // The engine may have reduced the fraction.
                let parts = u128::from(rates[rate].tick);
                let moment = u128::from(free.tick) * parts + u128::from(free.part);
                prop_assert_eq!(moment * (tick / parts), end);
                for i in 0..flits - 1 {
                    prop_assert_eq!(u128::from(leaving.of(&rates, i)), leaves[i as usize]);
                }
                prop_assert_eq!(u128::from(leaving.tail()), leaves[flits as usize - 1]);
                for now in start.saturating_sub(2)..leaving.tail() + 3 {
                    let by = leaves.iter().filter(|&&date| date <= now.into()).count();
                    let found = leaving.flits_by(&rates, now, flits).min(flits - 1) as usize;
                    prop_assert_eq!(found, by.min(flits as usize - 1));
                }
                let flight = flight + rates[rate].flit_ticks();
                let tail = free.first_whole_tick() - 1 + flight;
                schedule = leaving.arriving(flight, tail, flits);
                available = leaves.iter().map(|date| date + u128::from(flight)).collect();
                available[flits as usize - 1] = tail.into();
                prop_assert_eq!(u128::from(schedule.header()), available[0]);
            }
        }
    }
}
