//! Packets on their way through the crossbar, and the ticks of a crossing (section 4).

use super::input::CrossbarPort;
use super::packet::{Packet, PacketId};
use super::rates::crossbar_rate;
use flitwise_fabric::spec::{Tick, Voq};

/// A packet between an input and an output buffer.
#[derive(Debug, Clone)]
pub struct Crossing {
    pub packet: PacketId,
    pub input: usize,
    pub output: usize,
    pub start: Tick,
    pub next: u32,
    pub flits: u32,
    /// VL on which the packet is leaving.
    pub vl: usize,
    /// The tick in which each flit crosses.
    pub foreseen: Vec<Tick>,
    /// The delay of its credits.
    pub held_back: Tick,
}

/// The tick in which each flit of a packet crosses if its crossing starts at `start`.
pub fn foresee(voq: &Voq, packet: &Packet, start: Tick) -> Vec<Tick> {
    let rate = crossbar_rate(voq);
    (0..packet.flits)
        .map(|i| {
            let by_rate = start + u64::from(i) * rate.den() / rate.num();
            by_rate.max(packet.dated[i as usize] + voq.stages.input_store)
        })
        .collect()
}

/// The moment, in parts of a tick, from which the reading and the writing port are free behind this packet.
pub fn free_from(
    voq: &Voq,
    packet: &Packet,
    start: Tick,
    [read, write]: [&CrossbarPort; 2],
) -> u128 {
    let (tick, byte) = (read.tick, u128::from(crossbar_rate(voq).den()));
    let tail = packet.dated.last().expect("a packet has flits") + voq.stages.input_store;
    let begin = (u128::from(start) * tick).max(read.free).max(write.free);
    let by_rate = begin + (u128::from(packet.bytes) * byte).max(tick);
    by_rate.max(u128::from(tail + 1) * tick)
}
