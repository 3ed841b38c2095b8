//! The InfiniBand switch and its NICs as plain data (`docs/model-infiniband.md`).

use super::{FabricSpec, Stages, Switch};
use crate::fabric::ids::{PortId, SwitchId, SwitchPort};
use crate::fabric::topology::{Peer, Topology};
use crate::units::Ratio;
use std::collections::BTreeMap;

/// The InfiniBand switch, and its host channel adapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voq {
    /// Latencies inside the switch.
    pub stages: Stages,
    /// Rates of the links.
    pub links: LinkRates,
    /// Rate of the crossbar over the rate of the fastest link, at least 1.
    pub crossbar_speedup: u32,
    /// How input buffers of switches organise the packets of a VL.
    pub input_queues: InputQueues,
    /// Buffer sizes.
    pub buffers: Buffers,
    /// Arbiter of every switch output.
    pub vlarb: VlArb,
    /// The adapters.
    pub hca: Hca,
}

/// How an input buffer of a switch organises the packets of a VL (`docs/model-infiniband.md` §2).
/// Which VL a packet takes is a choice of its own, [`Qos::vl_policy`](super::Qos::vl_policy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputQueues {
    /// Virtual output queues: the first packet for each (out-port, VL) may request it.
    #[default]
    VirtualOutput,
    /// One FIFO: only its first packet may request an output (Karol, Hluchyj and Morgan, *Input
    /// Versus Output Queueing on a Space-Division Packet Switch*, IEEE Transactions on
    /// Communications 35 (12), 1987).
    Fifo,
}

/// Sizes of the buffers in credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffers {
    /// Output buffer of a NIC.
    pub nic_queue: u32,
    /// Receive buffer of a NIC.
    pub nic_sink: StaticPool,
    /// Switch input buffer.
    pub input: StaticPool,
    /// Switch output buffer.
    pub output: u32,
}

/// A buffer that is divided statically between VLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPool {
    /// Size of the buffer in credits.
    pub total: u32,
    /// Credits of each VL, indexed by VL; as many as [`Qos::vls`](super::Qos::vls).
    pub per_vl: Vec<u32>,
}

/// Rates of links in flits per tick, above 0 and at most 1; both directions alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRates {
    /// Links between an adapter and its switch.
    pub host: Ratio,
    /// Links between switches.
    pub switch: Ratio,
    /// Links that differ, by either end.
    pub exceptions: BTreeMap<SwitchPort, Ratio>,
}

impl LinkRates {
    /// Rate of the fastest link in flits per tick.
    #[must_use]
    pub fn fastest(&self) -> Ratio {
        let exceptions = self.exceptions.values().copied();
        exceptions.chain([self.switch]).fold(self.host, Ratio::max)
    }

    /// Rate of the link at `port` of `switch`, in flits per tick.
    #[must_use]
    pub fn at(&self, topology: &Topology, switch: SwitchId, port: PortId) -> Ratio {
        let own = self.exceptions.get(&SwitchPort { switch, port });
        match (own, topology.peer(switch, port)) {
            (Some(&rate), _) => rate,
            (None, Peer::Switch { switch, port }) => {
                let other = self.exceptions.get(&SwitchPort { switch, port });
                other.copied().unwrap_or(self.switch)
            }
            (None, Peer::Nic(_) | Peer::None) => self.host,
        }
    }
}

impl Voq {
    /// Flits per tick from an input buffer to an output buffer.
    #[must_use]
    pub fn crossbar_rate(&self) -> Ratio {
        let fastest = self.links.fastest();
        let rate = fastest.checked_mul(Ratio::whole(self.crossbar_speedup.into()));
        rate.unwrap_or(fastest)
    }
}

/// Arbiter over VLs, of a switch output or an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VlArb {
    /// One packet per VL in turn.
    RoundRobin,
    /// The arbitration tables of InfiniBand (IBA 1.2.1, 7.6.9).
    Tables {
        /// High-priority table, at most 64 entries.
        high: Vec<VlWeight>,
        /// Low-priority table, at most 64 entries.
        low: Vec<VlWeight>,
        /// Limit of High Priority: units of 4 KiB that high-priority packets may send
        /// before a low-priority packet gets its turn; 0: one packet, 255: no limit.
        high_limit: u8,
    },
}

/// Entry of an arbitration table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlWeight {
    /// VL served.
    pub vl: u8,
    /// Units of 64 bytes per turn, rounded up to whole packets; 0 skips the entry.
    pub weight: u8,
}

/// Bytes of one unit of weight in an arbitration table.
pub const VL_WEIGHT_BYTES: u32 = 64;
/// Bytes of one unit of the Limit of High Priority.
pub const HIGH_LIMIT_BYTES: u32 = 4096;

/// Which packets a receiving adapter acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// None: unreliable transport.
    None,
    /// The last packet of every message.
    PerMessage,
    /// Every packet.
    PerPacket,
}

/// Host channel adapters; rates in flits per tick, headers included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hca {
    /// Rate at which packets come from the host; `None`: at the rate of the link.
    pub send_rate: Option<Ratio>,
    /// Rate at which the host takes packets; `None`: as they come.
    pub sink_rate: Option<Ratio>,
    /// Arbiter over the VLs of an adapter.
    pub vlarb: VlArb,
    /// Acknowledgements.
    pub acks: Acks,
    /// Whole length of an ACK in bytes (30: LRH, BTH, AETH, ICRC, VCRC).
    pub ack_bytes: u32,
}

impl FabricSpec {
    /// The InfiniBand switch, if the fabric has switches of this kind.
    #[must_use]
    pub fn voq(&self) -> Option<&Voq> {
        match &self.switch {
            Switch::Hierarchical(_) => None,
            Switch::Voq(switch) => Some(switch),
        }
    }
}
