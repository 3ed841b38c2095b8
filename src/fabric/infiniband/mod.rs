//! The InfiniBand side of a fabric as plain data (`docs/model-infiniband.md`): the
//! `voq` switch, the host channel adapter, links of different speeds, and congestion
//! control.

mod congestion;
mod speed;
mod validate;

pub use congestion::{
    CctEntry, CctiBound, CongestionControl, FillComparison, FlowLevel, IrdBase, MAX_CCT_ENTRIES,
    MAX_CCT_MULTIPLIER, MAX_CCT_SHIFT, MAX_THRESHOLD, MIN_CCT_ENTRIES, Marking, Notification,
    PortCongestion, SlCongestion, SlScope, TimerRestart, TimerScope,
};
pub use speed::{LinkSpeed, flits_per_tick};
pub use validate::MAX_DATA_VLS;

use super::spec::FabricSpec;
use super::topology::{Peer, Topology};
use crate::units::Ratio;
use std::collections::BTreeMap;

/// The kind of the switches, with what only that kind has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchKind {
    /// Omni-Path: MPorts, central buffers (`docs/model.md`).
    Hierarchical,
    /// InfiniBand: virtual output queues (`docs/model-infiniband.md`).
    Voq(Box<Voq>),
}

/// The `voq` switch and its host channel adapters.
///
/// Of [`Timing`](super::spec::Timing) it uses everything but the two speed-ups; of
/// [`Buffers`](super::spec::Buffers) `input` and `nic_sink` with static quotas, and the
/// totals of `output` and `nic_queue`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voq {
    /// Rates of the links.
    pub links: LinkRates,
    /// Rate of the crossbar over that of the fastest link, at least 1.
    pub crossbar_speedup: u32,
    /// Arbiter of every switch output.
    pub vlarb: VlArb,
    /// The adapters.
    pub hca: Hca,
    /// Which VL a packet takes.
    pub vl_map: VlMap,
    /// Linear forwarding tables; `None`: the topology's own routing.
    pub forwarding: Option<ForwardingTables>,
}

/// Rates of links in flits per tick, above 0 and at most 1; both directions alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRates {
    /// Links between an adapter and its switch.
    pub host: Ratio,
    /// Links between switches.
    pub switch: Ratio,
    /// Links that differ, by (switch, port) of either end.
    pub exceptions: BTreeMap<(u32, u32), Ratio>,
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
    pub fn at(&self, topology: &Topology, switch: u32, port: u32) -> Ratio {
        let own = self.exceptions.get(&(switch, port));
        match (own, topology.peer(switch, port)) {
            (Some(&rate), _) => rate,
            (None, Peer::Switch { switch, port }) => {
                let other = self.exceptions.get(&(switch, port));
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

impl FabricSpec {
    /// Rate of the fastest link in flits per tick; its inverse is a *cycle*, in which loads are
    /// given. 1 on hierarchical fabrics.
    #[must_use]
    pub fn fastest_link(&self) -> Ratio {
        match &self.kind {
            SwitchKind::Hierarchical => Ratio::ONE,
            SwitchKind::Voq(voq) => voq.links.fastest(),
        }
    }

    /// Units in which the links of this fabric count time, per flit: a link of a hierarchical
    /// fabric is taken for whole flits, an InfiniBand link for the bytes of a packet.
    #[must_use]
    pub fn link_units_per_flit(&self) -> u32 {
        match &self.kind {
            SwitchKind::Hierarchical => 1,
            SwitchKind::Voq(_) => self.timing.flit_bytes,
        }
    }

    /// Units of [`FabricSpec::link_units_per_flit`] for which a packet with `payload` bytes
    /// takes a link.
    #[must_use]
    pub fn link_units(&self, payload: u32) -> u32 {
        match &self.kind {
            SwitchKind::Hierarchical => self.timing.flits(payload, self.header_bytes),
            SwitchKind::Voq(_) => payload.saturating_add(self.header_bytes),
        }
    }

    /// Rate of the link at `port` of `switch` in flits per tick: 1 on hierarchical fabrics.
    #[must_use]
    pub fn link_rate(&self, switch: u32, port: u32) -> Ratio {
        match &self.kind {
            SwitchKind::Hierarchical => Ratio::ONE,
            SwitchKind::Voq(voq) => voq.links.at(&self.topology, switch, port),
        }
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
    /// Rate at which packets come from the host; `None`: that of the link.
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

/// How a packet gets its VL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VlMap {
    /// By service channel, as in `docs/model.md` section 7.
    ServiceChannels,
    /// By InfiniBand's SL-to-VL tables.
    SlToVl(SlToVl),
}

/// SL-to-VL tables, each a VL per SL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlToVl {
    /// The table of every adapter and port that has none of its own.
    pub default: Vec<u8>,
    /// Tables of adapters.
    pub hcas: BTreeMap<u32, Vec<u8>>,
    /// Tables of switches, by (switch, input port, output port).
    pub ports: BTreeMap<(u32, u32, u32), Vec<u8>>,
}

impl SlToVl {
    /// VL of a packet of `sl` that leaves adapter `hca`; `None` if the table is short.
    #[must_use]
    pub fn at_hca(&self, hca: u32, sl: u8) -> Option<u8> {
        let table = self.hcas.get(&hca).unwrap_or(&self.default);
        table.get(usize::from(sl)).copied()
    }

    /// VL on which a packet of `sl` leaves `output` of `switch`, having come in by `input`.
    #[must_use]
    pub fn at_switch(&self, switch: u32, input: u32, output: u32, sl: u8) -> Option<u8> {
        let own = self.ports.get(&(switch, input, output));
        let table = own.unwrap_or(&self.default);
        table.get(usize::from(sl)).copied()
    }
}

/// Linear forwarding tables: the output port for every destination, at every switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardingTables {
    /// `[switch][destination NIC]`.
    pub ports: Vec<Vec<u16>>,
}
