//! Packets and the flits they are made of.

use super::routing::Leg;
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::workload::Message;

/// Index of a packet in the fabric's list of all packets ever cut.
pub type PacketId = usize;

/// One flit: what the buffers and links of the oracle really hold.
#[derive(Debug, Clone, Copy)]
pub struct Flit {
    pub packet: PacketId,
    /// Position in the packet; flit 0 is the header.
    pub index: u32,
    /// Service level, written on every flit only to see that it never changes.
    pub sl: u8,
    /// VL of the buffer that the flit is in or on its way to.
    pub vl: usize,
}

/// A packet: what every flit of it has in common, and where its header is.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Message of a data packet; none of a congestion notification packet.
    pub message: Option<usize>,
    pub index: u32,
    /// True for the last packet of its message.
    pub last: bool,
    pub src: u32,
    pub dst: u32,
    pub sl: u8,
    pub flits: u32,
    pub credits: u32,
    /// Place in the order of its flow, the packets of one (source,
    /// destination, SL).
    pub place_in_flow: u64,
    /// Tick from which the header could leave the buffer before the link it
    /// takes next, or took last.
    pub ready: Tick,
    /// Tick in which the header left the NIC.
    pub injected: Tick,
    /// VL class within its leg, 0 or 1; only means something on rings and dragonflies.
    pub class: usize,
    /// The leg of its path decided last.
    pub leg: Leg,
    /// Forward explicit congestion notification: it met congestion.
    pub fecn: bool,
    /// The input port at the switch that routed the packet last.
    pub input: usize,
    /// The VL decided last: at injection, then at every switch.
    pub vl: usize,
    /// The output port at the switch that routed the packet last.
    pub output: usize,
    /// When each flit is dated in the buffer that the header is in. A packet
    /// is only ever granted a way on when this is certain: it moves as a whole.
    pub dates: Vec<Tick>,
}

impl Packet {
    pub fn flit(&self, packet: PacketId, index: u32) -> Flit {
        Flit {
            packet,
            index,
            sl: self.sl,
            vl: self.vl,
        }
    }
}

/// Payload of packet `index` of `message`, and whether it is the last one.
pub fn payload(spec: &FabricSpec, message: &Message, index: u32) -> (u32, bool) {
    let mtu = u64::from(spec.qos.service_levels[usize::from(message.sl)].mtu_bytes);
    let rest = message.bytes - mtu * u64::from(index);
    (rest.min(mtu) as u32, rest <= mtu)
}

/// True if a credit of a packet of `flits` flits has wholly left a buffer once
/// flit `index` has: it was the last of `per_credit` flits, or of the packet.
pub fn completes_credit(index: u32, flits: u32, per_credit: u32) -> bool {
    (index + 1).is_multiple_of(per_credit) || index + 1 == flits
}
