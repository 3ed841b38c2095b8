//! The far end of a link: an in-port, a NIC, or nothing.

use super::ids::InputId;
use crate::ids::NicId;
use crate::stats::LinkEnd;

/// An in-port, or a NIC, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FarEnd(u32);

/// Bit that marks a NIC.
const NIC: u32 = 1 << 31;

impl FarEnd {
    /// The far end of a port that is not connected.
    pub(super) const NOTHING: Self = Self(u32::MAX);

    pub(super) fn of_nic(nic: NicId) -> Self {
        Self(NIC | nic.get())
    }

    pub(super) fn of_input(input: InputId) -> Self {
        Self(input.get())
    }

    /// The NIC, which the far end must be.
    #[inline]
    pub(super) fn nic(self) -> NicId {
        debug_assert!(self.is_nic(), "an in-port is no NIC");
        NicId::new(self.0 & !NIC)
    }

    /// The in-port, which the far end must be.
    #[inline]
    pub(super) fn input(self) -> InputId {
        debug_assert!(!self.is_nic(), "a NIC is no in-port");
        InputId::new(self.0)
    }

    /// Whether the far end is a NIC.
    #[inline]
    pub(super) fn is_nic(self) -> bool {
        self.0 & NIC != 0
    }

    /// The far end, which must not be nothing, in words of the topology; its switches have `radix`
    /// ports.
    pub(super) fn link_end(self, radix: u32) -> LinkEnd {
        if self.is_nic() {
            LinkEnd::Nic(self.nic())
        } else {
            self.input().at(radix).into()
        }
    }

    pub(super) fn is_connected(self) -> bool {
        self != Self::NOTHING
    }
}
