//! A packet between a NIC's send queue and its destination.

use super::rate::Length;
use super::schedule::Schedule;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::pool::{MessageId, PacketId, Pool};
use crate::engine::probe::PacketSeen;
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::prefetch::prefetch;
use crate::spec::Tick;

/// The purpose of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Purpose {
    /// Payload of a message.
    #[default]
    Data,
    /// An ACK or a CNP: the answer of a NIC to a data packet.
    Answer,
}

/// A packet, as the switches on its way need it. Payload in a send queue is no packet yet: it
/// belongs to its message.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(in crate::engine) struct Packet<V: Variant> {
    /// The ticks in which its flits reach the buffer that the header is in or on its way to. In a NIC: the
    /// ticks from which they may leave the output buffer.
    pub schedule: Schedule<V>,
    /// Tick in which its present wait began: in a VoQ, in an output buffer or a queue of a NIC.
    /// After a grant, the tick from which it may leave the output buffer.
    pub waiting_since: Tick,
    /// Tick in which the link behind `output` starts it. Before a grant, a tick of the past: when
    /// it became the head of its FIFO by the grant of another, or when the link before started it.
    pub starts: Tick,
    /// Next packet of the same FIFO.
    pub next: PacketId,
    /// In-port that the header is at or on its way to; [`InputId::NONE`] on its way to a NIC.
    pub input: InputId,
    /// Output that it was last routed to; [`OutputId::NONE`] before it leaves its NIC.
    pub output: OutputId,
    pub dst: NicId,
    /// Length on the wire in bytes, headers included.
    pub bytes: u32,
    pub flits: u16,
    /// Credits that it takes in any buffer.
    pub credits: u16,
    pub sl: u8,
    /// VL of its VoQ and of its next link, once it has been routed.
    pub vl: u8,
    /// VL of the buffer that the header is in or on its way to.
    pub buffer_vl: u8,
    /// VL class with respect to the datelines: 0 before, 1 behind.
    pub class: u8,
}

/// The packets in flight. An entry without a packet starts in tick 0.
pub(super) type Packets<V> = Pool<PacketId, Packet<V>>;

/// The part of a packet that only the NICs at both ends of its path need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// Tick in which the header left the NIC.
    pub injected: Tick,
    pub message: MessageId,
    /// Position within the message.
    pub index: u32,
    pub src: NicId,
    pub purpose: Purpose,
    /// Last packet of its message.
    pub last: bool,
    pub becn: bool,
    pub fecn: bool,
}

/// The origins of the packets of a pool, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Origins(Vec<Origin>);

impl Origins {
    /// Notes the origin of packet `id`, which has just joined the pool.
    #[inline]
    pub(super) fn set(&mut self, id: PacketId, origin: Origin) {
        match self.0.get_mut(id.index()) {
            Some(entry) => *entry = origin,
            None => self.0.push(origin),
        }
    }
}

impl Origins {
    #[inline]
    pub(super) fn prefetch(&self, id: PacketId) {
        prefetch(&self.0, id.index());
    }
}

impl std::ops::Index<PacketId> for Origins {
    type Output = Origin;
    #[inline]
    fn index(&self, id: PacketId) -> &Origin {
        &self.0[id.index()]
    }
}

impl std::ops::IndexMut<PacketId> for Origins {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Origin {
        &mut self.0[id.index()]
    }
}

impl<V: Variant> Default for Packet<V> {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            waiting_since: 0,
            starts: 0,
            next: PacketId::NONE,
            input: InputId::NONE,
            output: OutputId::NONE,
            dst: NicId::default(),
            bytes: 1,
            flits: 1,
            credits: 1,
            sl: 0,
            vl: 0,
            buffer_vl: 0,
            class: 0,
        }
    }
}

/// A packet of a fabric with one rate lies in one cache line, as one of a plain fabric does.
const _: () = assert!(size_of::<Packet<crate::engine::variant::OneRate>>() == 64);

impl<V: Variant> Packet<V> {
    /// The packet, which has number `id`, as a probe sees it.
    #[inline(always)]
    pub(super) fn seen(&self, id: PacketId) -> PacketSeen {
        PacketSeen {
            number: id.get(),
            dst: self.dst,
            sl: self.sl,
            vl: self.vl,
            flits: self.flits.into(),
        }
    }

    #[inline]
    pub(super) fn length(&self) -> Length {
        Length {
            bytes: self.bytes,
            flits: self.flits.into(),
        }
    }
}
