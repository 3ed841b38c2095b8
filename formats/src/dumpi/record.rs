//! A record: a call with its times.

use super::call::{Call, Function};
use super::wire::{Cursor, Decode, Fault};

/// A call of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record<'a> {
    /// Bytes of the unpacked file before it.
    pub offset: u64,
    /// The thread that called, if threads were recorded. It counts threads of this rank from 0.
    pub thread: Option<u16>,
    /// Processor time of the process at the start and the end of the call, if recorded.
    pub cpu: Option<Span>,
    /// Wall-clock time at the start and the end of the call, if recorded.
    pub wall: Option<Span>,
    /// The function and its arguments.
    pub call: Call<'a>,
}

/// Start and end of a call, in nanoseconds of a clock of the rank's own.
///
/// The clocks of two ranks are not comparable, as they may count from the start of each machine. Only differences
/// within a rank mean something. A call may seem to end before it starts where a clock was set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// When the call began.
    pub start: i64,
    /// When it returned.
    pub stop: i64,
}

impl Span {
    /// How long the call took; 0 if the clock was set back.
    #[must_use]
    pub fn nanoseconds(self) -> u64 {
        u64::try_from(self.stop.saturating_sub(self.start)).unwrap_or(0)
    }
}

/// Parts that a record has.
pub(super) mod mask {
    pub const STATUSES: u8 = 0x03;
    pub const CPU: u8 = 0x04;
    pub const WALL: u8 = 0x08;
    pub const THREAD: u8 = 0x40;
    pub const COUNTERS: u8 = 0x80;
    pub const KNOWN: u8 = STATUSES | CPU | WALL | THREAD | COUNTERS;
}

const SECOND: i64 = 1_000_000_000;

/// A clock, of which records have the lowest 16 bits of the seconds only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// Seconds of the clock at second 0 of the file.
    bias: i64,
    /// The last second seen, counted from there.
    last: i64,
}

impl Clock {
    /// Seconds after which the 16 bits begin again.
    const WRAP: i64 = 1 << 16;
    /// A clock that went back by more seconds than this has begun again. Records of several threads may go back by
    /// as much as one call takes.
    const BACK: i64 = 1 << 14;

    pub fn new(bias: i32) -> Self {
        let bias = bias.into();
        Self { bias, last: 0 }
    }

    /// The time that is next in the bytes, in nanoseconds.
    #[inline]
    fn time(&mut self, cursor: &mut Cursor<'_>) -> Result<i64, Fault> {
        let at = cursor.pos();
        let seconds = i64::from(u16::decode(cursor)?);
        let ns = u32::decode(cursor)?;
        if i64::from(ns) >= SECOND {
            return Err(Fault::Nanoseconds(at, ns));
        }
        let mut now = self.last & !(Self::WRAP - 1) | seconds;
        let earliest = self.last - Self::BACK;
        if now < earliest {
            now += Self::WRAP;
        } else if now >= earliest + Self::WRAP && now >= Self::WRAP {
            now -= Self::WRAP;
        }
        self.last = now;
        let whole = self
            .bias
            .checked_add(now)
            .and_then(|s| s.checked_mul(SECOND));
        let time = whole.and_then(|t| t.checked_add(ns.into()));
        time.ok_or(Fault::Time(at))
    }

    #[inline]
    fn span(&mut self, cursor: &mut Cursor<'_>) -> Result<Span, Fault> {
        let start = self.time(cursor)?;
        let stop = self.time(cursor)?;
        Ok(Span { start, stop })
    }
}

/// The clocks of a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Clocks {
    pub cpu: Clock,
    pub wall: Clock,
}

/// The mark in place of the number of a function after the last call.
pub(super) const END_OF_CALLS: u16 = Function::END;

/// Decodes the record at the cursor, of the function with this number, which was read already.
#[inline]
pub(super) fn record<'a>(
    number: u16,
    offset: u64,
    clocks: &mut Clocks,
    cursor: &mut Cursor<'a>,
) -> Result<Record<'a>, Fault> {
    // The function first: what follows has no meaning without one.
    if number >= END_OF_CALLS || Function::from_number(number).is_none() {
        return Err(Fault::Function(number));
    }
    let mask = u8::decode(cursor)?;
    if mask & !mask::KNOWN != 0 {
        return Err(Fault::Mask(mask));
    }
    let has = |part| mask & part != 0;
    cursor.statuses(has(mask::STATUSES));
    let thread = if has(mask::THREAD) {
        Some(u16::decode(cursor)?)
    } else {
        None
    };
    let cpu = if has(mask::CPU) {
        Some(clocks.cpu.span(cursor)?)
    } else {
        None
    };
    let wall = if has(mask::WALL) {
        Some(clocks.wall.span(cursor)?)
    } else {
        None
    };
    if has(mask::COUNTERS) {
        let counters = u8::decode(cursor)?;
        cursor.bytes(usize::from(counters) * 2 * size_of::<i64>())?;
    }
    let call = Call::decode(number, cursor)?;
    Ok(Record {
        offset,
        thread,
        cpu,
        wall,
        call,
    })
}
