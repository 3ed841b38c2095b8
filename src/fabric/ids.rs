//! The ids of NICs, switches and ports. Each is a type of its own, so code that confuses two of
//! them does not compile.

use flitwise_base::define_ids;
use serde::{Deserialize, Serialize};

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
    /// of [`Cabling::port_index`](super::topology::Cabling::port_index).
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

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkEnd {
    /// A NIC.
    Nic(NicId),
    /// A port of a switch.
    Port {
        /// Switch id.
        switch: SwitchId,
        /// Port within the switch.
        port: PortId,
    },
}

impl LinkEnd {
    /// The switch port; `None` of a NIC.
    #[must_use]
    pub fn port(self) -> Option<SwitchPort> {
        match self {
            Self::Nic(_) => None,
            Self::Port { switch, port } => Some(SwitchPort::new(switch, port)),
        }
    }
}

impl From<SwitchPort> for LinkEnd {
    fn from(SwitchPort { switch, port }: SwitchPort) -> Self {
        Self::Port { switch, port }
    }
}
