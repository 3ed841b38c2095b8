//! The report of a run, as both oracles give it.

use super::congestion::FlowKey;
use crate::power::StateTicks;
use flitwise_fabric::spec::Tick;
use std::collections::BTreeMap;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The workload said so.
    Finished,
    /// Everything was delivered and the workload has nothing more to send.
    Drained,
    /// Messages are left, and nothing moves any more.
    Stalled,
    /// The ticks given were not enough.
    OutOfTicks,
}

/// An index into the congestion control table changed, or its timer was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CctiChange {
    /// When.
    pub tick: Tick,
    /// NIC of the flow.
    pub nic: u32,
    /// Flow that the index belongs to.
    pub flow: FlowKey,
    /// The index since then.
    pub ccti: u16,
}

/// Counters of congestion control (`docs/model/infiniband.md` §13).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CongestionCounts {
    /// Packets marked by a switch.
    pub marked: u64,
    /// Notifications that a destination created.
    pub notifications_sent: u64,
    /// Notifications that reached a source.
    pub notifications_received: u64,
    /// Sum over all data packets of the index of their flow when they were sent.
    pub level_sum: u64,
    /// Data packets sent.
    pub packets: u64,
    /// Highest index that a data packet was sent with.
    pub level_max: u16,
    /// The counts of congestion control tables; `None` without a table.
    pub cct: Option<CctCounts>,
}

/// Counters of sources with a congestion control table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CctCounts {
    /// Notifications that left an index at `Trigger_Threshold` or above.
    pub threshold_events: u64,
}

/// The observables at the end of a tick, and the counts since the sample before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The tick at whose end it was taken.
    pub tick: Tick,
    /// Payload delivered of each (source, destination, SL), in bytes.
    pub payload: BTreeMap<(u32, u32, u8), u64>,
    /// Flits waiting, and packets marked since, of each (switch, output, VL) that has any.
    pub port_vls: BTreeMap<(usize, usize, usize), (u64, u64)>,
    /// State of every flow that has sent, by NIC.
    pub flows: BTreeMap<(u32, FlowKey), FlowSample>,
    /// Ticks in power states since the sample before: of links between switches, and of NICs.
    pub power: Option<[StateTicks; 2]>,
}

/// State of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSample {
    /// Its index into the congestion control table.
    pub ccti: u16,
    /// Injection rate delay after its previous packet, in ticks.
    pub delay: Tick,
}
