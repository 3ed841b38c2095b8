//! The ids of NICs, switches and ports. Each is a type of its own, so code that confuses two of
//! them does not compile.

use flitwise_base::define_ids;
use serde::Serialize;

define_ids! {
    /// A NIC of a fabric.
    ///
    /// ```
    /// use flitwise_fabric::ids::NicId;
    /// use flitwise_fabric::topology::Topology;
    ///
    /// let topology = Topology::single(4)?;
    /// assert_eq!(topology.attachment(NicId::new(3)).port.get(), 3);
    /// # Ok::<(), flitwise_fabric::spec::SpecError>(())
    /// ```
    ///
    /// No other id stands for a NIC:
    ///
    /// ```compile_fail,E0308
    /// use flitwise_fabric::ids::SwitchId;
    /// use flitwise_fabric::topology::Topology;
    ///
    /// let topology = Topology::single(4)?;
    /// assert_eq!(topology.attachment(SwitchId::new(3)).port.get(), 3);
    /// # Ok::<(), flitwise_fabric::spec::SpecError>(())
    /// ```
    NicId;

    /// A switch of a fabric.
    ///
    /// Ids of two kinds do not even compare:
    ///
    /// ```compile_fail,E0308
    /// use flitwise_fabric::ids::{PortId, SwitchId};
    ///
    /// assert!(SwitchId::new(1) == PortId::new(1));
    /// ```
    SwitchId;

    /// A port, counted within its switch.
    PortId;
}

/// A port of a certain switch. Sorts by switch, then by port.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
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
