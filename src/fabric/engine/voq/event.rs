//! Events on the wheel, and how a bucket keeps them.

use crate::engine::calendar::WheelEvent;
use crate::engine::ids::OutputId;
use crate::engine::pool::{EntryId, PacketId};
use crate::ids::NicId;

/// An event of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Event {
    /// The header of this packet joins its VoQ.
    Join(PacketId),
    /// This output may have something to grant.
    Output(OutputId),
    /// This NIC may send.
    Nic(NicId),
    /// The tail of this packet reaches its NIC.
    Delivery(PacketId),
    /// The tail of a message has left this NIC.
    Injection(NicId),
    /// A stop or a go reaches this output.
    StopOrGo(OutputId),
    /// Announcements of packets reach their outputs.
    Announcement,
}

impl WheelEvent for Event {
    #[inline(always)]
    fn encode(self) -> (u32, u32) {
        match self {
            Self::Join(packet) => (0, packet.number()),
            Self::Output(output) => (1, output.get()),
            Self::Nic(nic) => (2, nic.get()),
            Self::Delivery(packet) => (3, packet.number()),
            Self::Injection(nic) => (4, nic.get()),
            Self::StopOrGo(output) => (5, output.get()),
            Self::Announcement => (6, 0),
        }
    }

    #[inline(always)]
    fn decode(kind: u32, number: u32) -> Self {
        match kind {
            0 => Self::Join(PacketId::of(number)),
            1 => Self::Output(OutputId::new(number)),
            2 => Self::Nic(NicId::new(number)),
            3 => Self::Delivery(PacketId::of(number)),
            5 => Self::StopOrGo(OutputId::new(number)),
            6 => Self::Announcement,
            _ => Self::Injection(NicId::new(number)),
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
            Event::Join(PacketId::of(most)),
            Event::Output(OutputId::new(7)),
            Event::Nic(NicId::new(0)),
            Event::Delivery(PacketId::of(most)),
            Event::Injection(NicId::new(most)),
            Event::StopOrGo(OutputId::new(most)),
            Event::Announcement,
        ] {
            assert_eq!(Event::unpack(event.pack()), event);
        }
    }
}
