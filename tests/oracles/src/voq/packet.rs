//! Packets and the flits they are made of.

use crate::routing::{Header, Leg};
use flitwise_fabric::spec::Tick;

/// Index of a packet in the fabric's list of all packets ever made.
pub type PacketId = usize;

/// The kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// Part of a message.
    Data,
    /// Acknowledgement.
    Ack,
    /// Congestion notification packet.
    Cnp,
}

/// One flit. The buffers and links of the oracle really hold flits.
#[derive(Debug, Clone, Copy)]
pub struct Flit {
    pub packet: PacketId,
    /// Position in the packet; flit 0 is the header.
    pub index: u32,
    /// VL of the buffer that the flit is in or on its way to.
    pub vl: usize,
    /// Destination of the packet.
    pub dst: u32,
}

/// A packet: the common data of its flits, and the place of its header.
#[derive(Debug, Clone)]
pub struct Packet {
    pub kind: PacketKind,
    /// Message of a data packet.
    pub message: Option<usize>,
    pub index: u32,
    /// True for the last packet of its message.
    pub last: bool,
    pub src: u32,
    pub dst: u32,
    pub sl: u8,
    pub payload: u32,
    pub flits: u32,
    /// Whole length on the wire.
    pub bytes: u32,
    pub credits: u32,
    pub fecn: bool,
    pub becn: bool,
    /// VL class within its leg, 0 or 1; only means something on rings and dragonflies.
    pub class: usize,
    /// The leg of its path decided last.
    pub leg: Leg,
    /// The VL decided last: at the source, then at every switch.
    pub vl: usize,
    /// The output port at the switch that routed the packet last.
    pub output: usize,
    /// Tick since which the packet waits for the present resource.
    pub waiting_since: Tick,
    /// Tick in which the header left the NIC.
    pub injected: Tick,
    /// The tick in which each flit arrives at the input or receive buffer that the header is in or
    /// on its way to.
    pub dated: Vec<Tick>,
    /// The tick from which each flit may leave the buffer before the link that it takes next.
    pub available: Vec<Tick>,
}

impl Packet {
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
