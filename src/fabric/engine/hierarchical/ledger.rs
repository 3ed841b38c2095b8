//! The credit ledger of one buffer, in one or two cache lines.
//!
//! It stores how many credits are in use, and the next credit returns. The rules of quotas,
//! and what does not fit into a ledger, are in [`ledgers`](super::ledgers).

use super::schedule::{CompactSchedule, CreditReturn};
use crate::fabric::spec::Tick;

/// Credit returns that a [`Ledger`] stores itself. More are rarely pending.
const RETURNS: usize = 2;
/// Most credits of a buffer: a ledger counts them in 16 bits.
pub(super) const MAX_CREDITS: u32 = u16::MAX as u32;

/// Credits in use, and the pending credit returns, of which some credits are yet to be
/// applied. Counts the credits in use by the first `USED` queues.
/// [`Ledgers`](super::ledgers::Ledgers) counts the credits of the other queues.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Ledger<const USED: usize> {
    /// Ends of the first pending returns, in order.
    ends: [Tick; RETURNS],
    /// Schedules of the same returns.
    schedules: [CompactSchedule; RETURNS],
    /// Credits in use beyond the exclusive credits of their queues.
    pub shared: u16,
    /// Limit of `shared`.
    pub shareable: u16,
    /// Returns stored here.
    len: u8,
    /// Further pending returns have spilled to [`Ledgers`](super::ledgers::Ledgers).
    pub spilled: bool,
    /// The sender waits for credits: the next packet that leaves must wake it.
    pub sender_waits: bool,
    /// Credits in use by each of the first queues. Credits on their way back count until
    /// they are applied.
    pub used: [u16; USED],
}

impl<const USED: usize> Ledger<USED> {
    /// The ledger of an empty buffer whose queues share `shareable` credits.
    pub(super) fn new(shareable: u16) -> Self {
        Self {
            ends: [0; RETURNS],
            schedules: [CompactSchedule::default(); RETURNS],
            shared: 0,
            shareable,
            len: 0,
            spilled: false,
            sender_waits: false,
            used: [0; USED],
        }
    }

    /// The pending return that ends first.
    #[inline]
    pub(super) fn first(&self) -> Option<CreditReturn> {
        (self.len > 0).then_some(CreditReturn {
            end: self.ends[0],
            schedule: self.schedules[0],
        })
    }

    /// Tick of the last credit of the first pending return; [`Tick::MAX`] without one.
    #[inline]
    pub(super) fn first_end(&self) -> Tick {
        if self.len > 0 {
            self.ends[0]
        } else {
            Tick::MAX
        }
    }

    /// Notes that `credits` credits of the first pending return have been applied.
    #[inline]
    pub(super) fn set_applied(&mut self, credits: u32) {
        self.schedules[0].applied = credits as u16;
    }

    /// True if there is no room for another return.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        usize::from(self.len) == RETURNS
    }

    /// Adds a return. There must be room for it.
    #[inline]
    pub(super) fn push(&mut self, credit_return: CreditReturn) {
        let at = usize::from(self.len);
        self.ends[at] = credit_return.end;
        self.schedules[at] = credit_return.schedule;
        self.len += 1;
    }

    /// Removes the first return. There must be one.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.ends[0] = self.ends[1];
        self.schedules[0] = self.schedules[1];
        self.len -= 1;
    }

    /// The returns stored here, in order.
    pub(super) fn returns(&self) -> impl Iterator<Item = CreditReturn> {
        (0..usize::from(self.len)).map(|at| CreditReturn {
            end: self.ends[at],
            schedule: self.schedules[at],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledgers_fill_cache_lines() {
        assert_eq!(size_of::<Ledger<8>>(), 64);
        assert_eq!(size_of::<Ledger<40>>(), 128);
    }
}
