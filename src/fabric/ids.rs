//! The ids of NICs, switches and ports. Each is a type of its own, so code that confuses two of
//! them does not compile.

use serde::Serialize;

/// Defines ids that count from 0. They print and serialise as their bare numbers.
macro_rules! define_ids {
    ($($(#[$text:meta])* $name:ident;)+) => {$(
        $(#[$text])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The id with this number.
            #[inline]
            #[must_use]
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The number.
            #[inline]
            #[must_use]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The number as an index into a list by id.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The first `count` ids, ascending.
            #[must_use]
            pub fn all(
                count: u32,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                (0..count).map(Self)
            }

            /// The ids of a range, ascending.
            #[must_use]
            pub fn within(
                range: ::std::ops::Range<Self>,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                (range.start.0..range.end.0).map(Self)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

pub(crate) use define_ids;

define_ids! {
    /// A NIC of a fabric.
    ///
    /// ```
    /// use flitwise::fabric::ids::NicId;
    /// use flitwise::fabric::topology::Topology;
    ///
    /// let topology = Topology::single(4)?;
    /// assert_eq!(topology.attachment(NicId::new(3)).port.get(), 3);
    /// # Ok::<(), flitwise::fabric::spec::SpecError>(())
    /// ```
    ///
    /// No other id stands for a NIC:
    ///
    /// ```compile_fail,E0308
    /// use flitwise::fabric::ids::SwitchId;
    /// use flitwise::fabric::topology::Topology;
    ///
    /// let topology = Topology::single(4)?;
    /// assert_eq!(topology.attachment(SwitchId::new(3)).port.get(), 3);
    /// # Ok::<(), flitwise::fabric::spec::SpecError>(())
    /// ```
    NicId;

    /// A switch of a fabric.
    ///
    /// Ids of two kinds do not even compare:
    ///
    /// ```compile_fail,E0308
    /// use flitwise::fabric::ids::{PortId, SwitchId};
    ///
    /// assert!(SwitchId::new(1) == PortId::new(1));
    /// ```
    SwitchId;

    /// A port, counted within its switch.
    PortId;
}

/// A port of a certain switch. Sorts by switch, then by port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SwitchPort {
    /// Switch.
    pub switch: SwitchId,
    /// Port of that switch.
    pub port: PortId,
}

impl SwitchPort {
    /// Port `port` of `switch`.
    #[inline]
    #[must_use]
    pub const fn new(switch: SwitchId, port: PortId) -> Self {
        Self { switch, port }
    }

    /// Port number `index` when the ports of all switches are counted, `radix` of each: the inverse
    /// of [`Topology::port_index`](super::topology::Topology::port_index).
    #[inline]
    #[must_use]
    pub const fn of_index(index: u32, radix: u32) -> Self {
        let (switch, port) = (index / radix, index % radix);
        Self::new(SwitchId::new(switch), PortId::new(port))
    }
}

/// Two NICs, one of which sends to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NicPair {
    /// Sending NIC.
    pub src: NicId,
    /// Receiving NIC.
    pub dst: NicId,
}
