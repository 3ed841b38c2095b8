//! The state of a packet, which all phases read and write.

use crate::engine::ids::OutputId;
use crate::engine::pool::{MessageId, PacketId};
use crate::engine::probe::PacketSeen;
use crate::ids::NicId;
use crate::spec::Tick;

/// A packet from the send queue of its NIC to its delivery. It fills one cache line.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::engine) struct Packet {
    /// Tick in which the header arrived in the input buffer.
    pub arrival: Tick,
    /// Tick in which the header started to cross out of the input buffer.
    pub crossing: Tick,
    /// Tick in which the packet became ready to be scheduled onto its next link; in an input or central buffer, in which it
    /// was passed over, or [`NEVER`](super::yielding::NEVER).
    pub ready: Tick,
    /// Tick in which the header left the NIC.
    pub injected: Tick,
    /// Next packet of the same FIFO.
    pub next: PacketId,
    /// [`MessageId::NONE`] for a CNP.
    pub message: MessageId,
    pub dst: NicId,
    /// Out-port of the present switch.
    pub output: OutputId,
    pub flits: u32,
    /// Position within the message; for a CNP the NIC that sent it.
    pub index: u32,
    pub credits: u16,
    pub sl: u8,
    pub vl: u8,
    /// VL class, which changes at a dateline.
    pub class: u8,
    /// Last packet of its message.
    pub last: bool,
    /// A switch has marked the packet. Only with congestion control.
    pub fecn: bool,
    /// In-port within the MPort of the present switch. Only with congestion control.
    pub in_port: u8,
}

impl Packet {
    /// The packet, which has number `id`, as a probe sees it.
    #[inline(always)]
    pub(super) fn seen(&self, id: PacketId) -> PacketSeen {
        PacketSeen {
            number: id.get(),
            dst: self.dst,
            sl: self.sl,
            vl: self.vl,
            flits: self.flits,
        }
    }
}

// Packets fill a cache line.
const _: () = assert!(size_of::<Packet>() == 64);
