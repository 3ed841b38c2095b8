//! The credits of one buffer, in one or two cache lines.

use super::schedule::{CompactSchedule, CreditReturn};
use crate::fabric::spec::Tick;

/// Departures that lie in the [`Ledger`] itself: nearly always enough.
const DEPARTURES: usize = 2;
/// Most credits of a buffer: an ledger counts them in 16 bits.
pub(super) const MAX_CREDITS: u32 = u16::MAX as u32;

/// Credits in use, and the departures whose credits are not all counted back.
/// `USED`: queues whose credits are kept here; the buffers has the others.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Ledger<const USED: usize> {
    /// The first departures in order; the buffers has the others.
    ends: [Tick; DEPARTURES],
    schedule: [CompactSchedule; DEPARTURES],
    /// Credits in use beyond the exclusive ones of their queues.
    pub shared: u16,
    /// Credits that may be.
    pub shareable: u16,
    /// Departures that lie here.
    len: u8,
    /// More of them lie in the buffers.
    pub spilled: bool,
    /// Credits in use by each of the first queues, those on their way back included.
    pub used: [u16; USED],
}

impl<const USED: usize> Ledger<USED> {
    /// An empty buffer of which so many credits are shared between its queues.
    pub(super) fn new(shareable: u16) -> Self {
        Self {
            ends: [0; DEPARTURES],
            schedule: [CompactSchedule::default(); DEPARTURES],
            shared: 0,
            shareable,
            len: 0,
            spilled: false,
            used: [0; USED],
        }
    }

    /// The departure that ends first.
    #[inline]
    pub(super) fn first(&self) -> Option<CreditReturn> {
        (self.len > 0).then_some(CreditReturn {
            end: self.ends[0],
            schedule: self.schedule[0],
        })
    }

    /// Date of the last credit of the first departure; the end of time without one.
    #[inline]
    pub(super) fn first_end(&self) -> Tick {
        if self.len > 0 {
            self.ends[0]
        } else {
            Tick::MAX
        }
    }

    /// Notes that so many credits of the first departure have come back.
    #[inline]
    pub(super) fn set_done(&mut self, credits: u32) {
        self.schedule[0].done = credits as u16;
    }

    /// True if there is no room for a departure here.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        usize::from(self.len) == DEPARTURES
    }

    /// Adds a departure; there is room for it.
    #[inline]
    pub(super) fn push(&mut self, credit_return: CreditReturn) {
        let at = usize::from(self.len);
        self.ends[at] = credit_return.end;
        self.schedule[at] = credit_return.schedule;
        self.len += 1;
    }

    /// Removes the first departure; there is one.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.ends[0] = self.ends[1];
        self.schedule[0] = self.schedule[1];
        self.len -= 1;
    }

    /// The departures that lie here, in order.
    pub(super) fn near(&self) -> impl Iterator<Item = CreditReturn> {
        (0..usize::from(self.len)).map(|at| CreditReturn {
            end: self.ends[at],
            schedule: self.schedule[at],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_fill_cache_lines() {
        assert_eq!(size_of::<Ledger<8>>(), 64);
        assert_eq!(size_of::<Ledger<40>>(), 128);
    }
}
