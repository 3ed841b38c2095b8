//! Time series: samples of the state of a fabric at regular times (`docs/model/infiniband.md`,
//! section 13).

use super::ids::{NicId, PortId, SwitchId};
use super::spec::Tick;
use super::stats::{LinkStateTicks, LinkStats};

/// The observables at the end of a tick, and the counts since the sample before. Every list
/// is sorted by the names of its rows and omits rows of zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// The tick at whose end it was taken: k · interval − 1, k ≥ 1.
    pub tick: Tick,
    /// Queue pairs that payload of was delivered since the sample before.
    pub flows: Vec<FlowSample>,
    /// Port VLs with flits waiting, or with packets marked since the sample before.
    pub port_vls: Vec<PortVlSample>,
    /// Sources under congestion control that have sent; empty without congestion control.
    pub sources: Vec<SourceSample>,
    /// Power states of the links since the sample before; `None` if they are always up.
    pub power: Option<PowerSample>,
}

/// The ticks that links spent in each power state since the sample before, summed over the links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PowerSample {
    /// Links between switches.
    pub switch_links: LinkStateTicks,
    /// Links between NICs and switches, in both directions.
    pub nic_links: LinkStateTicks,
}

/// Payload delivered of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowSample {
    /// Sending NIC.
    pub src: NicId,
    /// Receiving NIC.
    pub dst: NicId,
    /// Service level.
    pub sl: u8,
    /// Payload in bytes.
    pub bytes: u64,
}

/// Occupancy of a Port VL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortVlSample {
    /// Switch.
    pub switch: SwitchId,
    /// Output port of that switch.
    pub port: PortId,
    /// Virtual lane.
    pub vl: u8,
    /// Flits waiting for the output (section 9).
    pub flits: u64,
    /// Packets marked since the sample before.
    pub marked: u64,
}

/// The control of a flow, or of a service level of a NIC, at its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceSample {
    /// Sending NIC.
    pub nic: NicId,
    /// Service level.
    pub sl: u8,
    /// Destination of the queue pair; `None` where control is per service level.
    pub dst: Option<NicId>,
    /// Control level (a congestion control table: the CCTI of the flow).
    pub level: u16,
    /// Ticks by which its next packet is delayed after its previous one.
    pub delay: Tick,
}

/// Asks for a [`Sample`] at the end of every tick k · `interval` − 1.
pub struct Sampling<'a> {
    /// Ticks from one sample to the next, at least 1.
    pub interval: Tick,
    /// Takes the samples, in order.
    pub take: &'a mut dyn FnMut(&Sample),
}

/// Asks for the counters of all links at the end of every tick k · `interval` − 1.
pub struct LinkSampling<'a> {
    /// Ticks from one sample to the next, at least 1.
    pub interval: Tick,
    /// Takes the tick and the counters up to its end, in the order of
    /// [`FabricStats::links`](super::stats::FabricStats::links), without what is
    /// [attributed](super::held_up) to links.
    pub take: &'a mut dyn FnMut(Tick, &[LinkStats]),
}
