//! What a link leads to.

use super::pool::NONE;

/// An input port, counted over all switches, or a NIC; or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FarEnd(u32);

/// Marks a NIC.
const NIC: u32 = 1 << 31;

impl FarEnd {
    /// The port is not connected.
    pub(super) const NOTHING: Self = Self(NONE);

    pub(super) fn nic(nic: u32) -> Self {
        Self(NIC | nic)
    }

    pub(super) fn input(port: u32) -> Self {
        Self(port)
    }

    /// Number of the input port, or of the NIC.
    #[inline]
    pub(super) fn peer(self) -> u32 {
        self.0 & !NIC
    }

    /// True for a NIC.
    #[inline]
    pub(super) fn is_nic(self) -> bool {
        self.0 & NIC != 0
    }

    pub(super) fn is_connected(self) -> bool {
        self != Self::NOTHING
    }
}
