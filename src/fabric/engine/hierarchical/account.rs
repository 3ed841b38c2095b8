//! The credits of one buffer, in one or two cache lines.

use super::train::{Cars, Train};
use crate::fabric::spec::Tick;

/// Departures that lie in the [`Account`] itself: nearly always enough.
const DEPARTURES: usize = 2;
/// Most credits of a buffer: an account counts them in 16 bits.
pub(super) const MAX_CREDITS: u32 = u16::MAX as u32;

/// Credits in use, and the departures whose credits are not all counted back.
/// `USED`: queues whose credits are kept here; the bank has the others.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Account<const USED: usize> {
    /// The first departures in order; the bank has the others.
    ends: [Tick; DEPARTURES],
    cars: [Cars; DEPARTURES],
    /// Credits in use beyond the exclusive ones of their queues.
    pub shared: u16,
    /// Credits that may be.
    pub shareable: u16,
    /// Departures that lie here.
    len: u8,
    /// More of them lie in the bank.
    pub spilled: bool,
    /// Credits in use by each of the first queues, those on their way back included.
    pub used: [u16; USED],
}

impl<const USED: usize> Account<USED> {
    /// An empty buffer of which so many credits are shared between its queues.
    pub(super) fn new(shareable: u16) -> Self {
        Self {
            ends: [0; DEPARTURES],
            cars: [Cars::default(); DEPARTURES],
            shared: 0,
            shareable,
            len: 0,
            spilled: false,
            used: [0; USED],
        }
    }

    /// The departure that ends first.
    #[inline]
    pub(super) fn first(&self) -> Option<Train> {
        (self.len > 0).then_some(Train {
            end: self.ends[0],
            cars: self.cars[0],
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
        self.cars[0].done = credits as u16;
    }

    /// True if there is no room for a departure here.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        usize::from(self.len) == DEPARTURES
    }

    /// Adds a departure; there is room for it.
    #[inline]
    pub(super) fn push(&mut self, train: Train) {
        let at = usize::from(self.len);
        self.ends[at] = train.end;
        self.cars[at] = train.cars;
        self.len += 1;
    }

    /// Removes the first departure; there is one.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.ends[0] = self.ends[1];
        self.cars[0] = self.cars[1];
        self.len -= 1;
    }

    /// The departures that lie here, in order.
    pub(super) fn near(&self) -> impl Iterator<Item = Train> {
        (0..usize::from(self.len)).map(|at| Train {
            end: self.ends[at],
            cars: self.cars[at],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_fill_cache_lines() {
        assert_eq!(size_of::<Account<8>>(), 64);
        assert_eq!(size_of::<Account<40>>(), 128);
    }
}
