//! Time series (section 13).

use super::congestion::FlowKey;
use flitwise::fabric::spec::Tick;
use std::collections::BTreeMap;

/// What is seen at the end of a tick, or has happened since the sample before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub tick: Tick,
    /// Payload delivered of each (source, destination, SL).
    pub payload: BTreeMap<(u32, u32, u8), u64>,
    /// Flits waiting, and packets marked since, of each (switch, output, VL) that has any.
    pub port_vls: BTreeMap<(usize, usize, usize), (u64, u64)>,
    /// State of every flow that has sent, by adapter.
    pub flows: BTreeMap<(u32, FlowKey), FlowSample>,
}

/// State of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSample {
    pub ccti: u16,
    /// Injection rate delay after its previous packet, in ticks.
    pub delay: Tick,
}
