//! A packet in flight.

use crate::fabric::engine::pool::{MessageId, PacketId};
use crate::fabric::spec::Tick;

/// A packet between the application queue and its destination.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Packet {
    /// Tick in which the header arrived in the input buffer.
    pub arrival: Tick,
    /// Tick in which the header crossed the MPort crossbar.
    pub crossing: Tick,
    /// Tick from which the packet could leave the buffer it queues in for a link.
    pub ready: Tick,
    /// Tick in which the header left the NIC.
    pub injected: Tick,
    /// Next packet of the same FIFO.
    pub next: PacketId,
    /// [`NONE`](crate::fabric::engine::pool::NONE) for a CNP.
    pub message: MessageId,
    pub dst: u32,
    /// Output port of the present switch, counted over all switches.
    pub output: u32,
    pub flits: u32,
    /// Position within the message; of a CNP the NIC that sent it.
    pub index: u32,
    pub credits: u16,
    pub sl: u8,
    pub vl: u8,
    /// Dateline class.
    pub class: u8,
    /// Last packet of its message.
    pub last: bool,
    /// With congestion control: it met congestion, and it came in by this port of its MPort.
    pub fecn: bool,
    pub in_port: u8,
}

#[cfg(test)]
mod tests {
    #[test]
    fn packets_fill_a_cache_line() {
        assert_eq!(size_of::<super::Packet>(), 64);
    }
}
