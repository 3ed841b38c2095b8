//! Flit schedules: in which tick each flit of a packet passes a place, in closed form, behind
//! servers of exact rates (`docs/model/infiniband.md` §1 and §4).
//!
//! A flit schedule has one line ⌊start + i · q/p⌋ for each rate p/q that the packet has passed.
//! Flit i passes in the latest tick of all lines. Of two lines of the same rate the later one
//! decides, so one is kept. The last flit may be short, so its tick is kept by itself.
//!
//! Where the only rate takes a whole number k of ticks for a flit, as in plain fabrics
//! (`layout::is_plain`), flit i passes i · k ticks after the header, and no lines are kept.
//!
//! This module only computes. It belongs to no phase, and knows neither buffers nor credits.

use super::rate::{Length, PlainPacket, Rate, SubTick};
use crate::engine::variant::Variant;
use crate::spec::Tick;
use std::fmt::Debug;

/// The ticks ⌊start + i · q/p⌋ in which a server of rate p/q takes flits i.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Line {
    /// The start, a [`SubTick`] in two fields: so a line takes 16 bytes.
    tick: Tick,
    part: u32,
    /// Index of the rate; [`NO_RATE`] if there is no line.
    rate: u8,
}

const NO_RATE: u8 = u8::MAX;

impl Line {
    const NONE: Self = Self {
        tick: 0,
        part: 0,
        rate: NO_RATE,
    };

    #[inline]
    fn new(start: SubTick, rate: u8) -> Self {
        let SubTick { tick, part } = start;
        Self { tick, part, rate }
    }

    #[inline]
    fn start(&self) -> SubTick {
        SubTick {
            tick: self.tick,
            part: self.part,
        }
    }
}

/// The lines of a flit schedule, as a packet keeps them beside the tick of its header.
pub(in crate::engine) trait KeptLines: Debug + Copy + Eq + Send {
    /// The same lines by themselves.
    type Lines: Debug + Copy + Eq + Send + AsRef<[Line]> + AsMut<[Line]>;
    /// No lines in use.
    const NONE: Self::Lines;
    /// Keeps lines of which the first begins with the header.
    fn of(lines: Self::Lines) -> Self;
    /// The lines; `header`: tick of the header.
    fn lines(self, header: Tick) -> Self::Lines;
}

impl<const N: usize> KeptLines for [Line; N] {
    type Lines = Self;
    const NONE: Self = [Line::NONE; N];

    #[inline(always)]
    fn of(lines: Self) -> Self {
        lines
    }

    #[inline(always)]
    fn lines(self, _header: Tick) -> Self {
        self
    }
}

/// The line of the only rate: it begins in this part of the header's tick. With it a packet fits a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct OnlyLine {
    part: u32,
}

impl KeptLines for OnlyLine {
    type Lines = [Line; 1];
    const NONE: [Line; 1] = [Line::NONE];

    #[inline(always)]
    fn of([Line { part, .. }]: [Line; 1]) -> Self {
        Self { part }
    }

    #[inline(always)]
    fn lines(self, header: Tick) -> [Line; 1] {
        let part = self.part;
        [Line {
            tick: header,
            part,
            rate: 0,
        }]
    }
}

/// In which ticks the flits of a packet but the last one pass a place: the latest of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lines<V: Variant>(<V::KeptLines as KeptLines>::Lines);

impl<V: Variant> Default for Lines<V> {
    fn default() -> Self {
        Self(V::KeptLines::NONE)
    }
}

impl<V: Variant> Lines<V> {
    /// The lines in use.
    #[inline]
    fn used(&self) -> impl Iterator<Item = &Line> {
        let lines = self.0.as_ref().iter();
        lines.take_while(|line| V::RATES == 1 || line.rate != NO_RATE)
    }

    /// Tick of flit `i`, which is not the last one; 0 if it was available from the first.
    /// `header`: tick of the header.
    #[inline]
    pub(super) fn tick_of(&self, header: Tick, rates: &[Rate], i: u32) -> Tick {
        match self.0.as_ref() {
            [] => header + u64::from(i) * rates[0].whole,
            [line] => rates[0].after(line.start(), i).tick,
            _ => {
                let tick = |line: &Line| {
                    let rate = rates.get(usize::from(line.rate));
                    rate.map_or(0, |rate| rate.after(line.start(), i).tick)
                };
                self.used().map(tick).max().unwrap_or(0)
            }
        }
    }

    /// The number of the `flits` flits that pass in tick `now` or before. The last one counts as if it were
    /// whole. `header`: tick of the header.
    #[inline]
    pub(super) fn flits_by(&self, header: Tick, rates: &[Rate], now: Tick, flits: u32) -> u32 {
        let mut passed = u64::from(flits);
        if V::IS_PLAIN {
            return match now.checked_sub(header) {
                Some(ticks) => passed.min(ticks / rates[0].whole.max(1) + 1) as u32,
                None => 0,
            };
        }
        for line in self.used() {
            let Some(rate) = rates.get(usize::from(line.rate)) else {
                continue;
            };
            if line.tick > now {
                return 0;
            }
            // Flits i with start + i · q/p < now + 1.
            let ticks = now - line.tick + 1;
            let parts = ticks
                .saturating_mul(rate.tick)
                .saturating_sub(line.part.into());
            passed = passed.min(parts.div_ceil(rate.flit));
        }
        passed as u32
    }
}

/// In which ticks the flits of a packet pass a place.
// Packed, as a packet has the room for a part of 32 bits, but not for padding behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub(in crate::engine) struct Schedule<V: Variant> {
    /// Tick of the header.
    header: Tick,
    /// Tick of the last flit.
    tail: Tick,
    /// The line of the last server comes first; it decides the tick of the header, as no server
    /// lets the header wait for later flits. Unused entries are at the end.
    lines: V::KeptLines,
}

impl<V: Variant> Default for Schedule<V> {
    fn default() -> Self {
        Self::new(0, 0, Lines::default())
    }
}

/// A packet of a plain fabric crosses from tick `start` on, between crossbar ports that are free
/// from `reader` and `writer` on. Its last flit is available in tick `available`. Returns the tick
/// in which its last flit crosses, and the time from which both ports are free again.
#[inline(always)]
pub(super) fn cross_plainly(
    rate: &Rate,
    (reader, writer): (SubTick, SubTick),
    start: Tick,
    available: Tick,
    packet: PlainPacket,
) -> (Tick, SubTick) {
    let PlainPacket { before, parts, .. } = packet;
    let begin = (start << rate.power)
        .max(reader.in_parts(rate))
        .max(writer.in_parts(rate));
    let free = (begin + parts).max((available + 1) << rate.power);
    let tail = available.max(start + before);
    (tail, SubTick::of_parts(free, rate))
}

impl<V: Variant> Schedule<V> {
    #[inline(always)]
    fn new(header: Tick, tail: Tick, lines: Lines<V>) -> Self {
        let lines = V::KeptLines::of(lines.0);
        Self {
            header,
            tail,
            lines,
        }
    }

    /// All flits are available from tick 0 on.
    #[cfg(test)]
    pub(super) fn at_once() -> Self {
        Self::default()
    }

    /// Tick of the header.
    #[inline]
    pub(super) fn header(&self) -> Tick {
        self.header
    }

    /// Tick of the last flit.
    #[inline]
    pub(super) fn tail(&self) -> Tick {
        self.tail
    }

    /// The ticks of all flits but the last.
    #[inline(always)]
    pub(super) fn lines(&self) -> Lines<V> {
        Lines(self.lines.lines(self.header))
    }

    /// Tick of flit `i`, which is not the last one; 0 if it was available from the first.
    #[inline]
    pub(super) fn tick_of(&self, rates: &[Rate], i: u32) -> Tick {
        self.lines().tick_of(self.header, rates, i)
    }

    /// The same schedule, later by `ticks`.
    #[inline]
    pub(super) fn later(self, ticks: Tick) -> Self {
        let mut lines = self.lines();
        for line in lines.0.as_mut() {
            line.tick += ticks;
        }
        Self::new(self.header + ticks, self.tail + ticks, lines)
    }

    /// The same schedule, with the last flit in tick `tail`.
    #[inline]
    pub(super) fn with_tail(mut self, tail: Tick) -> Self {
        self.tail = tail;
        self
    }

    /// The schedule on which flits that leave by a link on this schedule reach its other end: `flight` ticks
    /// later. The last one of the `flits` flits may be short and reaches it in tick `tail`.
    #[inline]
    pub(super) fn arriving(self, flight: Tick, tail: Tick, flits: u32) -> Self {
        let arriving = self.later(flight);
        if flits > 1 {
            return arriving.with_tail(tail);
        }
        let mut lines = arriving.lines();
        if let Some(line) = lines.0.as_mut().first_mut() {
            (line.tick, line.part) = (tail, 0);
        }
        Self::new(tail, tail, lines)
    }

    /// A server of rate index `rate` takes a packet whose flits become available on this
    /// schedule. The server is free from `free` on and starts in tick `start`, not before the
    /// header is available. Returns the schedule on which the flits leave, and the sub-tick time
    /// from which the server is free again.
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
        let own = &rates[if V::RATES <= 1 { 0 } else { usize::from(rate) }];
        if V::IS_PLAIN {
            return self.served_plainly(own, free, start, own.plain_packet(length));
        }
        let begin = free.max(SubTick::at(start));
        let last = own.after(begin, length.flits - 1).tick;
        let mut free = own.after_packet(begin, length.bytes);
        let last_parts = own.last_flit_parts(length);
        // Flits that were available from the first have tick 0 and change nothing.
        free = free.max(own.advance(SubTick::at(self.tail), last_parts));
        let (mut header, mut lines) = (begin.tick, Lines::<V>::default());
        if let Some(line) = lines.0.as_mut().first_mut() {
            *line = Line::new(begin, rate);
        }
        // With a single rate and flits of whole ticks, only the last flit can become available
        // later than the server would take it.
        if V::RATES > 1 || V::RATES == 1 && !own.flits_take_whole_ticks() {
            header = self.keep_lines(&mut lines, start);
            if length.flits > 1 {
                // The last flit follows the one before.
                let before = SubTick::at(self.tick_of(rates, length.flits - 2));
                free = free.max(own.advance(before, own.flit + last_parts));
            }
        }
        (Self::new(header, last.max(self.tail), lines), free)
    }

    /// [`Schedule::served`] in a plain fabric.
    #[inline(always)]
    pub(super) fn served_plainly(
        &self,
        own: &Rate,
        free: SubTick,
        start: Tick,
        packet: PlainPacket,
    ) -> (Self, SubTick) {
        let PlainPacket {
            before,
            parts,
            last_parts,
        } = packet;
        let begin = free.in_parts(own).max(start << own.power);
        let free = (begin + parts).max((self.tail << own.power) + last_parts);
        let header = begin >> own.power;
        let leaving = Self::new(header, self.tail.max(header + before), Lines::default());
        (leaving, SubTick::of_parts(free, own))
    }

    /// Adds to `leaving`, which has the line of a server that starts in tick `start`, the lines of
    /// this schedule that may still decide behind that server. Returns the tick of the header.
    #[inline(never)]
    fn keep_lines(&self, leaving: &mut Lines<V>, start: Tick) -> Tick {
        let leaving = leaving.0.as_mut();
        let rate = leaving[0].rate;
        let mut count = 1;
        for line in self.lines().used().filter(|line| line.rate != NO_RATE) {
            if line.rate == rate {
                leaving[0] = Line::new(leaving[0].start().max(line.start()), rate);
            } else if line.tick < start && line.rate < rate {
                // This line began before `start` and is faster: its flits stay ahead of the
                // server's line.
            } else {
                leaving[count] = *line;
                count += 1;
            }
        }
        leaving[0].tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::variant::{Any, OneRate, Plain};
    use flitwise_base::units::Ratio;
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
        /// If flits take whole ticks, lines follow from the header.
        #[test]
        fn whole_ticks_need_no_lines(
            divisor in 1u64..12,
            chain in prop::collection::vec((0u64..20, 0u64..9, 1u32..400), 1..6),
            bytes in 1u32..400,
        ) {
            let rates = [Rate::new(Ratio::new(1, divisor).unwrap(), FLIT)];
            let length = |bytes: u32| Length { bytes, flits: bytes.div_ceil(FLIT) };
            let (mut brief, mut exact) = (Schedule::<Plain>::at_once(), Schedule::<OneRate>::at_once());
            for (wait, flight, before) in chain {
                let (_, free) =
                    Schedule::<OneRate>::at_once().served(&rates, 0, SubTick::default(), 0, length(before));
                let start = free.tick.max(exact.header()) + wait;
                let (brief_free, exact_free);
                (brief, brief_free) = brief.served(&rates, 0, free, start, length(bytes));
                (exact, exact_free) = exact.served(&rates, 0, free, start, length(bytes));
                prop_assert_eq!(brief_free, exact_free);
                for _ in 0..2 {
                    prop_assert_eq!((brief.header(), brief.tail()), (exact.header(), exact.tail()));
                    let (flits, header) = (length(bytes).flits, exact.header());
                    for i in 0..flits - 1 {
                        prop_assert_eq!(brief.tick_of(&rates, i), exact.tick_of(&rates, i));
                    }
                    for now in header.saturating_sub(2)..exact.tail() + 2 {
                        let found = brief.lines().flits_by(header, &rates, now, flits);
                        prop_assert_eq!(found, exact.lines().flits_by(header, &rates, now, flits));
                    }
                    let tail = exact_free.first_whole_tick() - 1 + flight;
                    let flight = flight + rates[0].flit_ticks() - 1;
                    brief = brief.arriving(flight, tail.max(brief.tail()), flits);
                    exact = exact.arriving(flight, tail.max(exact.tail()), flits);
                }
            }
        }

        /// The lines agree with a chain of servers that is simulated flit by flit.
        #[test]
        fn lines_agree_with_greedy_servers(
            chain in prop::collection::vec((0usize..7, 0u64..20, 0u64..9, 1u32..400), 1..6),
            bytes in 1u32..400,
        ) {
            let mut order: Vec<usize> = (0..7).collect();
            let value = |i: usize| Ratio::new(RATES[i].0, RATES[i].1).unwrap();
            order.sort_by_key(|&i| std::cmp::Reverse(value(i)));
            let rates: Vec<Rate> = order.iter().map(|&i| rates()[i]).collect();
            let flits = bytes.div_ceil(FLIT);
            let length = Length { bytes, flits };
            let mut schedule = Schedule::<Any>::at_once();
            let (mut available, mut delayed) = (vec![0u128; flits as usize], false);
            for (rate, wait, flight, before) in chain {
                let (p, q) = RATES[order[rate]];
                // Sub-tick times in units of 1/(p · FLIT) tick.
                let (tick, byte) = (u128::from(p) * u128::from(FLIT), u128::from(q));
                let flit = byte * u128::from(FLIT);
                // The server sent a packet of `before` bytes from tick 0 on.
                let before = Length { bytes: before, flits: before.div_ceil(FLIT) };
                let (_, free) =
                    Schedule::<Any>::at_once().served(&rates, rate as u8, SubTick::default(), 0, before);
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
                let found = u128::from(free.tick) * parts + u128::from(free.part);
                prop_assert_eq!(found * (tick / parts), end);
                for i in 0..flits - 1 {
                    prop_assert_eq!(u128::from(leaving.tick_of(&rates, i)), leaves[i as usize]);
                }
                prop_assert_eq!(u128::from(leaving.tail()), leaves[flits as usize - 1]);
                for now in start.saturating_sub(2)..leaving.tail() + 3 {
                    let by = leaves.iter().filter(|&&tick| tick <= now.into()).count();
                    let found = leaving.lines().flits_by(leaving.header(), &rates, now, flits);
                    let found = found.min(flits - 1) as usize;
                    prop_assert_eq!(found, by.min(flits as usize - 1));
                }
                let flight = flight + rates[rate].flit_ticks();
                let tail = free.first_whole_tick() - 1 + flight;
                schedule = leaving.arriving(flight, tail, flits);
                available = leaves.iter().map(|tick| tick + u128::from(flight)).collect();
                available[flits as usize - 1] = tail.into();
                prop_assert_eq!(u128::from(schedule.header()), available[0]);
            }
        }
    }
}
