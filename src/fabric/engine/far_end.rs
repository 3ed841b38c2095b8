//! What is at the far end of a link: an in-port, a NIC, or nothing.

use super::pool::NONE;

/// An in-port, numbered over all switches, or a NIC, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FarEnd(u32);

/// Bit that marks a NIC.
const NIC: u32 = 1 << 31;

impl FarEnd {
    /// The far end of a port that is not connected.
    pub(super) const NOTHING: Self = Self(NONE);

    pub(super) fn nic(nic: u32) -> Self {
        Self(NIC | nic)
    }

    pub(super) fn input(port: u32) -> Self {
        Self(port)
    }

    /// Number of the in-port, or of the NIC.
    #[inline]
    pub(super) fn peer(self) -> u32 {
        self.0 & !NIC
    }

    /// True if the far end is a NIC.
    #[inline]
    pub(super) fn is_nic(self) -> bool {
        self.0 & NIC != 0
    }

    pub(super) fn is_connected(self) -> bool {
        self != Self::NOTHING
    }
}
