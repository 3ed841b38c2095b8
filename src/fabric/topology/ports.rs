//! Sets of ports of one switch.

use crate::ids::{NicId, PortId};

/// Most ports of a switch: the hierarchical switch has at most 30 MPorts (the
/// engine keeps the sources of an output in a 64-bit mask).
pub(super) const MAX_RADIX: u64 = 120;

const _: () = assert!(MAX_RADIX <= u128::BITS as u64);

/// A set of ports of one switch, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ports(u128);

impl Ports {
    /// No port.
    pub const NONE: Self = Self(0);

    /// One port; none if no switch has such a port.
    #[must_use]
    pub fn one(port: PortId) -> Self {
        Self(1u128.checked_shl(port.get()).unwrap_or(0))
    }

    /// `count` ports from `first` on.
    #[must_use]
    pub fn range(first: PortId, count: u32) -> Self {
        let end = PortId::new(first.get().saturating_add(count));
        PortId::within(first..end).fold(Self::NONE, Self::with)
    }

    /// These ports and one more.
    #[must_use]
    pub(super) fn with(self, port: PortId) -> Self {
        Self(self.0 | Self::one(port).0)
    }

    /// Number of ports.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The lowest port, if there is any.
    #[must_use]
    pub fn first(self) -> Option<PortId> {
        (self.0 != 0).then(|| PortId::new(self.0.trailing_zeros()))
    }

    /// Removes and returns the lowest port.
    pub fn pop(&mut self) -> Option<PortId> {
        let port = self.first()?;
        self.0 &= self.0 - 1;
        Some(port)
    }

    /// Whether `port` is one of them.
    #[must_use]
    pub fn contains(self, port: PortId) -> bool {
        self.0 & Self::one(port).0 != 0
    }

    /// The ports, ascending.
    pub fn iter(self) -> impl Iterator<Item = PortId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let port = Self(left).first()?;
            left &= left - 1;
            Some(port)
        })
    }

    /// The port that a destination chooses: number `dst` mod [`Ports::count`] of them.
    #[must_use]
    pub fn of_destination(self, dst: NicId) -> Option<PortId> {
        self.iter().nth((dst.get() % self.count().max(1)) as usize)
    }
}
