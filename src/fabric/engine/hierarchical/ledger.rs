//! The credit ledger of one buffer: how many credits are in use, and the next credit returns. The
//! number of credits in use in a queue lies in one cache line, and everything else in another one,
//! or in the same one if the buffer has few queues.
//!
//! The rules of quotas, and what does not fit into a ledger, are in [`ledgers`](super::ledgers).

use super::schedule::{CompactSchedule, CreditReturn};
use crate::spec::Tick;

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
    /// Ends of the first pending returns, in order; then [`NO_RETURN`].
    ends: [Tick; RETURNS],
    /// Schedules of the same returns.
    schedules: [CompactSchedule; RETURNS],
    /// Credits in use beyond the exclusive credits of their queues.
    pub shared: u16,
    /// Limit of `shared`.
    pub shareable: u16,
    /// Further pending returns have spilled to [`Ledgers`](super::ledgers::Ledgers).
    pub spilled: bool,
    /// The sender waits for credits: the next packet that leaves must wake it.
    pub sender_waits: bool,
    /// Credits in use by each of the first queues. Credits on their way back count until
    /// they are applied.
    pub used: [u16; USED],
}

/// No credit return ends then.
const NO_RETURN: Tick = Tick::MAX;

impl<const USED: usize> Ledger<USED> {
    /// The ledger of an empty buffer whose queues share `shareable` credits.
    pub(super) fn new(shareable: u16) -> Self {
        Self {
            ends: [NO_RETURN; RETURNS],
            schedules: [CompactSchedule::default(); RETURNS],
            shared: 0,
            shareable,
            spilled: false,
            sender_waits: false,
            used: [0; USED],
        }
    }

    /// The pending return that ends first.
    #[inline]
    pub(super) fn first(&self) -> Option<CreditReturn> {
        (self.ends[0] != NO_RETURN).then_some(CreditReturn {
            end: self.ends[0],
            schedule: self.schedules[0],
        })
    }

    /// Tick of the last credit of the first pending return; [`Tick::MAX`] without one.
    #[inline]
    pub(super) fn first_end(&self) -> Tick {
        self.ends[0]
    }

    /// Notes that `credits` credits of the first pending return have been applied.
    #[inline]
    pub(super) fn set_applied(&mut self, credits: u32) {
        self.schedules[0].applied = credits as u16;
    }

    /// Whether there is no room for another return.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.ends[1] != NO_RETURN
    }

    /// Adds a return. There must be room for it.
    #[inline]
    pub(super) fn push(&mut self, credit_return: CreditReturn) {
        let at = usize::from(self.ends[0] != NO_RETURN);
        self.ends[at] = credit_return.end;
        self.schedules[at] = credit_return.schedule;
    }

    /// Removes the first return, and returns its schedule. There must be one.
    #[inline]
    pub(super) fn pop(&mut self) -> CompactSchedule {
        let first = self.schedules[0];
        self.ends = [self.ends[1], NO_RETURN];
        self.schedules[0] = self.schedules[1];
        first
    }

    /// The returns stored here, in order.
    pub(super) fn returns(&self) -> impl Iterator<Item = CreditReturn> {
        let all = self.ends.into_iter().zip(self.schedules);
        all.take_while(|&(end, _)| end != NO_RETURN)
            .map(|(end, schedule)| CreditReturn { end, schedule })
    }
}

// Ledgers fill cache lines.
const _: () = assert!(size_of::<Ledger<8>>() == 64 && size_of::<Ledger<64>>() == 192);
