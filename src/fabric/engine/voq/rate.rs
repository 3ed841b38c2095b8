//! Rates of links, crossbars, send engines and sinks, exact to the byte, and the sub-tick times
//! that they lead to (`docs/model/infiniband.md` §1).
//!
//! This module only computes, and belongs to no phase.

use crate::engine::nic::DataPacket;
use crate::spec::Tick;
use flitwise_base::units::Ratio;

/// Most parts that a tick may have: a sub-tick time keeps its parts in 32 bits.
pub(super) const MAX_PARTS: u64 = u32::MAX as u64;

/// A rate of p/q flits per tick, exact to the byte. It divides the tick into equal parts such
/// that every byte takes a whole number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    /// Parts of a tick.
    pub tick: u64,
    /// Parts that a byte takes.
    byte: u64,
    /// Parts that a whole flit takes.
    pub flit: u64,
    /// Ticks that a flit takes, if that is a whole number; else 0.
    pub whole: u64,
    /// Binary logarithm of `tick`; [`NO_POWER`] if that is no power of two.
    pub power: u8,
}

const NO_POWER: u8 = u8::MAX;

impl Rate {
    /// A rate of `flits` per tick, of `flit_bytes` bytes each.
    pub(super) fn new(flits: Ratio, flit_bytes: u32) -> Self {
        let (num, den) = (u128::from(flits.num()), u128::from(flits.den()));
        let bytes = Ratio::reduced(num * u128::from(flit_bytes), den).unwrap_or(Ratio::ONE);
        let tick = bytes.num().max(1);
        let flit = bytes.den().saturating_mul(flit_bytes.into());
        Self {
            tick,
            byte: bytes.den(),
            flit,
            whole: if flit.is_multiple_of(tick) {
                flit / tick
            } else {
                0
            },
            power: if tick.is_power_of_two() {
                tick.trailing_zeros() as u8
            } else {
                NO_POWER
            },
        }
    }

    /// Parts of a tick.
    pub(super) fn parts(self) -> u64 {
        self.tick
    }

    /// ⌈q/p⌉: ticks that a flit takes.
    pub(super) fn flit_ticks(self) -> Tick {
        self.flit.div_ceil(self.tick)
    }

    /// Whether a flit takes a whole number of ticks and a tick has 2^n parts, n ≤ 16. Then a
    /// sub-tick time is one number (see [`SubTick::in_parts`]).
    pub(super) fn is_plain(self) -> bool {
        self.whole != 0 && self.power <= 16
    }

    /// The time that a packet takes; the rate is plain.
    #[inline(always)]
    pub(super) fn plain_packet(self, length: Length) -> PlainPacket {
        let before = u64::from(length.flits - 1) * self.whole;
        let bytes = u64::from(length.bytes) * self.byte;
        PlainPacket {
            before,
            parts: bytes.max(self.tick),
            last_parts: bytes.saturating_sub(before << self.power),
        }
    }

    /// Whether a flit takes a whole number of ticks.
    #[inline]
    pub(super) fn flits_take_whole_ticks(self) -> bool {
        self.whole != 0
    }

    /// `parts` after `start`.
    #[inline]
    pub(super) fn advance(self, start: SubTick, parts: u64) -> SubTick {
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

    /// The time of `n` whole flits after `start`.
    #[inline]
    pub(super) fn after(self, start: SubTick, n: u32) -> SubTick {
        self.advance(start, u64::from(n) * self.flit)
    }

    /// Parts that the last flit of a packet takes.
    #[inline]
    pub(super) fn last_flit_parts(self, length: Length) -> u64 {
        let before = u64::from(length.flits - 1) * self.flit;
        (u64::from(length.bytes) * self.byte).saturating_sub(before)
    }

    /// The time of a packet of `bytes` bytes after `start`; at least a tick after it.
    #[inline]
    pub(super) fn after_packet(self, start: SubTick, bytes: u32) -> SubTick {
        self.advance(start, (u64::from(bytes) * self.byte).max(self.tick))
    }
}

/// The time that a packet takes at a rate that is plain.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainPacket {
    /// Ticks between its header and its last flit.
    pub before: Tick,
    /// Parts that all of it takes.
    pub parts: u64,
    /// Parts that its last flit takes.
    pub last_parts: u64,
}

/// A sub-tick time: a tick, and parts of it as the [`Rate`] of the server divides it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SubTick {
    pub tick: Tick,
    pub part: u32,
}

impl SubTick {
    /// The beginning of `tick`.
    #[inline]
    pub(super) fn at(tick: Tick) -> Self {
        Self { tick, part: 0 }
    }

    /// Parts since tick 0, at a rate that is plain.
    #[inline(always)]
    pub(super) fn in_parts(self, rate: &Rate) -> u64 {
        (self.tick << rate.power) + u64::from(self.part)
    }

    /// The inverse of [`SubTick::in_parts`].
    #[inline(always)]
    pub(super) fn of_parts(parts: u64, rate: &Rate) -> Self {
        Self {
            tick: parts >> rate.power,
            part: (parts & (rate.tick - 1)) as u32,
        }
    }

    /// First tick that begins at this time or later.
    #[inline]
    pub(super) fn first_whole_tick(self) -> Tick {
        self.tick + Tick::from(self.part > 0)
    }
}

/// Length of a packet on the wire, headers included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    pub bytes: u32,
    /// The last one may be short.
    pub flits: u32,
}

impl Length {
    #[inline]
    pub(super) fn of(packet: DataPacket) -> Self {
        Self {
            bytes: packet.bytes,
            flits: packet.flits,
        }
    }
}
