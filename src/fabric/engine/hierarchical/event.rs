//! Events on the wheel, and how a bucket keeps them.

use crate::engine::calendar::WheelEvent;
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::pool::{EntryId, MessageId, PacketId};
use crate::ids::NicId;

/// An event of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Event {
    /// An input buffer may have an eligible head.
    Input(InputId),
    /// A central buffer may have an eligible head.
    Central(CentralId),
    /// An output may have a packet that can be sent.
    Output(OutputId),
    /// A NIC may move packets to its send queue.
    Nic(NicId),
    /// The tail of a packet reaches its NIC.
    Delivery(PacketId),
    /// The tail of a message has left its NIC.
    Injection(MessageId),
}

impl WheelEvent for Event {
    #[inline(always)]
    fn encode(self) -> (u32, u32) {
        match self {
            Self::Input(input) => (0, input.get()),
            Self::Output(output) => (1, output.get()),
            Self::Nic(nic) => (2, nic.get()),
            Self::Delivery(packet) => (3, packet.number()),
            Self::Injection(message) => (4, message.number()),
            Self::Central(central) => (5, central.get()),
        }
    }

    #[inline(always)]
    fn decode(kind: u32, number: u32) -> Self {
        match kind {
            0 => Self::Input(InputId::new(number)),
            1 => Self::Output(OutputId::new(number)),
            2 => Self::Nic(NicId::new(number)),
            3 => Self::Delivery(PacketId::of(number)),
            5 => Self::Central(CentralId::new(number)),
            _ => Self::Injection(MessageId::of(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_events_unpack_to_themselves() {
        let most = (1 << 29) - 1;
        for event in [
            Event::Input(InputId::new(most)),
            Event::Central(CentralId::new(7)),
            Event::Output(OutputId::new(most)),
            Event::Nic(NicId::new(0)),
            Event::Delivery(PacketId::of(most)),
            Event::Injection(MessageId::of(most)),
        ] {
            assert_eq!(Event::unpack(event.pack()), event);
        }
    }
}
