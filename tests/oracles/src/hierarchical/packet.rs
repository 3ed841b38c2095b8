//! Packets and the flits they are made of.

use crate::routing::{Header, Leg};
use flitwise_fabric::spec::Tick;

/// Index of a packet in the fabric's list of all packets ever cut.
pub type PacketId = usize;

/// One flit. The buffers and links of the oracle really hold flits.
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

/// A packet: the common data of its flits, and the place of its header.
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
    /// Payload in bytes.
    pub payload: u32,
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
    /// Which central buffer of the MPort it takes there, if it changes the MPort.
    pub central_link: usize,
    /// Tick in which the packet was passed over in the buffer that it is in.
    pub passed_over: Option<Tick>,
    /// The tick in which each flit reaches the buffer that the header is in. A packet
    /// is only ever granted a way on when this is certain: it moves as a whole.
    pub flit_ticks: Vec<Tick>,
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

    /// The header that routing reads.
    pub fn header(&self) -> Header {
        Header {
            src: self.src,
            dst: self.dst,
            sl: self.sl,
            class: self.class,
            leg: self.leg,
            vl: self.vl,
        }
    }
}
