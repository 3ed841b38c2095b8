//! A packet in flight.

use super::schedule::{Length, Schedule};
use crate::fabric::engine::pool::{MessageId, NONE, PacketId};
use crate::fabric::spec::Tick;

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Purpose {
    /// Payload of a message.
    #[default]
    Data,
    /// An ACK or a CNP: what an adapter answers.
    Answer,
}

/// A packet between the send queue and its destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet<const L: usize> {
    /// When its flits reach the buffer that the header is in or on its way to; in the
    /// output buffer of an adapter, when they may leave.
    pub schedule: Schedule<L>,
    /// Tick from which it waits for what it waits for now.
    pub waiting_since: Tick,
    /// Tick in which the header left the adapter.
    pub injected: Tick,
    /// Next packet of the same FIFO.
    pub next: PacketId,
    pub message: MessageId,
    /// Position within the message.
    pub index: u32,
    pub src: u32,
    pub dst: u32,
    /// Input port, over all switches, that the header is at or on its way to.
    pub input: u32,
    /// Output, over all switches, that it is routed to; at first and at last an adapter.
    pub output: u32,
    /// Whole length on the wire.
    pub bytes: u32,
    /// Tick in which the link behind the output that granted it starts it.
    pub starts: Tick,
    pub flits: u16,
    pub credits: u16,
    pub sl: u8,
    /// VL that was decided last.
    pub vl: u8,
    /// VL of the buffer that the header is in or on its way to.
    pub buffer_vl: u8,
    /// Dateline class.
    pub class: u8,
    pub purpose: Purpose,
    /// Last packet of its message.
    pub last: bool,
    pub fecn: bool,
    pub becn: bool,
    /// It has not been delivered: the entry of the pool is in use.
    pub alive: bool,
}

impl<const L: usize> Default for Packet<L> {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            waiting_since: 0,
            injected: 0,
            next: NONE,
            message: NONE,
            index: 0,
            src: 0,
            dst: 0,
            input: NONE,
            output: NONE,
            bytes: 1,
            starts: 0,
            flits: 1,
            credits: 1,
            sl: 0,
            vl: 0,
            buffer_vl: 0,
            class: 0,
            purpose: Purpose::Data,
            last: false,
            fecn: false,
            becn: false,
            alive: true,
        }
    }
}

impl<const L: usize> Packet<L> {
    #[inline]
    pub(super) fn length(&self) -> Length {
        Length {
            bytes: self.bytes,
            flits: self.flits.into(),
        }
    }
}
