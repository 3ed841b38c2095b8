//! The parts that act: inputs, central buffers, outputs and NICs.

use super::buffers::{Heads, NEAR_VLS};
use crate::fabric::engine::calendar::Wake;
use crate::fabric::engine::far_end::FarEnd;
use crate::fabric::engine::pool::{MessageId, NONE, PacketId};
use crate::fabric::spec::Tick;
use crate::fabric::topology::{Peer, Topology};

/// An input buffer as the allocator sees it: one cache line, like all parts that
/// every packet touches.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Input {
    /// Tick from which its port into the crossbar is free.
    pub free_at: Tick,
    pub wake: Wake,
    pub heads: Heads<NEAR_VLS>,
    /// VLs with a ready head.
    pub ready: u32,
    /// Output at the other end of the link.
    pub upstream: u32,
    pub switch: u32,
    /// Virtual allocation pointer.
    pub next: u8,
    /// VL picked in this tick.
    pub pick: u8,
    pub dirty: bool,
    /// A departure must wake the output at the other end.
    pub upstream_waits: bool,
}

/// A central buffer as the allocator sees it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Central {
    /// Tick from which its port into the central crossbar is free.
    pub free_at: Tick,
    pub wake: Wake,
    /// Queues with a ready head, of the first 64.
    pub ready: u64,
    /// Virtual allocation pointer.
    pub next: u32,
    /// Queue picked in this tick, and its head.
    pub pick: u32,
    pub picked: PacketId,

    /// Tick from which its port out of the MPort crossbar is free.
    pub port_free_at: Tick,
    /// Inputs of the MPort requesting it in this tick.
    pub requests: u8,
    /// Inputs to wake when a packet starts to leave.
    pub inputs_waiting: u8,
    /// Switch allocation pointer.
    pub next_source: u8,

    /// Its position among the sources of an output.
    pub position: u8,
    pub dirty: bool,
}

impl Central {
    /// Central buffer `local` of a switch.
    pub(super) fn new(local: u32) -> Self {
        Self {
            free_at: 0,
            wake: Wake::default(),
            ready: 0,
            next: 0,
            pick: 0,
            picked: NONE,
            port_free_at: 0,
            requests: 0,
            inputs_waiting: 0,
            next_source: 0,
            position: 4 + local as u8,
            dirty: false,
        }
    }
}

/// An output buffer as the crossbars see it, and what has been sent from it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Output {
    /// Tick from which its port out of the crossbars is free.
    pub port_free_at: Tick,
    /// Sources requesting it in this tick, by position.
    pub requests: u64,
    /// Sources to wake when a packet starts to leave, by position.
    pub sources_waiting: u64,
    /// First central buffer of the switch.
    pub first_central: u32,
    /// Switch allocation pointer.
    pub next_source: u8,
    pub sent: Sent,
}

/// What went over a link.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    pub flits: u64,
    pub packets: u64,
    pub credit_wait: u64,
    pub queue_wait: u64,
}

/// The sending end of the link of an output buffer, or of a NIC.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Link {
    /// Tick from which the link is free.
    pub free_at: Tick,
    pub wake: Wake,
    /// Since when packets have been ready and the link free, but no credits.
    pub blocked_since: Tick,
    pub heads: Heads<NEAR_VLS>,
    /// VLs with a packet that is ready.
    pub ready: u32,
    /// The other end.
    pub to: FarEnd,
}

impl Link {
    fn new(to: FarEnd) -> Self {
        Self {
            free_at: 0,
            wake: Wake::default(),
            blocked_since: Tick::MAX,
            heads: [NONE; NEAR_VLS],
            ready: 0,
            to,
        }
    }
}

impl Output {
    fn new(first_central: u32) -> Self {
        Self {
            port_free_at: 0,
            requests: 0,
            sources_waiting: 0,
            first_central,
            next_source: 0,
            sent: Sent::default(),
        }
    }
}

/// The application side of a NIC.
#[derive(Debug, Clone, Default)]
pub(super) struct Nic {
    /// FIFO of messages per SL: first and last; grown to the SLs in use.
    pub fifos: Vec<(MessageId, MessageId)>,
    /// SLs with a message.
    pub waiting_sls: u32,
    /// SL after the one that moved last.
    pub next: u8,
    pub wake: Wake,
    /// A departure from the send queue must wake this NIC.
    pub waiting: bool,
    pub dirty: bool,
}

/// All parts at links.
pub(super) struct Ports {
    pub inputs: Vec<Input>,
    /// Switch ports, then NICs; and so the links.
    pub outputs: Vec<Output>,
    pub links: Vec<Link>,
}

impl Ports {
    pub(super) fn new(topology: &Topology) -> Self {
        let radix = topology.radix();
        let ports = topology.switches() * radix;
        let mut inputs: Vec<_> = (0..ports)
            .map(|port| Input {
                free_at: 0,
                wake: Wake::default(),
                heads: [NONE; NEAR_VLS],
                ready: 0,
                upstream: NONE,
                switch: port / radix,
                next: 0,
                pick: 0,
                dirty: false,
                upstream_waits: false,
            })
            .collect();
        let mut links = Vec::with_capacity((ports + topology.nics()) as usize);
        for port in 0..ports {
            links.push(match topology.peer(port / radix, port % radix) {
                Peer::None => Link::new(FarEnd::NOTHING),
                Peer::Nic(nic) => {
                    inputs[port as usize].upstream = ports + nic;
                    Link::new(FarEnd::nic(nic))
                }
                Peer::Switch { switch, port: at } => {
                    let peer = switch * radix + at;
                    inputs[peer as usize].upstream = port;
                    Link::new(FarEnd::input(peer))
                }
            });
        }
        for nic in 0..topology.nics() {
            let (switch, port) = topology.attachment(nic);
            links.push(Link::new(FarEnd::input(switch * radix + port)));
        }
        let outputs = (0..links.len() as u32)
            .map(|output| Output::new((output / radix * radix / 2).min(ports / 2)))
            .collect();
        Self {
            inputs,
            outputs,
            links,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_one_cache_line_each() {
        assert_eq!(size_of::<Input>(), 64);
        assert_eq!(size_of::<Central>(), 64);
        assert_eq!(size_of::<Output>(), 64);
        assert_eq!(size_of::<Link>(), 64);
    }
}
