//! The parts that act: inputs, central buffers, outputs and NICs.

use super::calendar::Wheel;
use super::event;
use super::layout;
use super::packet::{MessageId, NONE, PacketId};
use crate::fabric::spec::{FabricSpec, Tick};
use crate::fabric::topology::Peer;

/// The earliest look that a part has asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake(Tick);

impl Wake {
    /// Puts a look at `at` on the wheel, unless one comes earlier. A look that
    /// finds nothing to do is harmless.
    #[inline]
    pub(super) fn ask(&mut self, wheel: &mut Wheel, now: Tick, at: Tick, kind: u32, id: u32) {
        let at = at.max(now + 1).min(now + wheel.horizon());
        if at < self.0 {
            self.0 = at;
            wheel.push(now, at, kind << event::SHIFT | id);
        }
    }

    #[inline]
    pub(super) fn arrived(&mut self, now: Tick) {
        if self.0 == now {
            self.0 = Tick::MAX;
        }
    }
}

/// An input buffer as the allocator sees it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Input {
    /// Tick from which its port into the crossbar is free.
    pub free_at: Tick,
    pub wake: Wake,
    /// VLs with a ready head.
    pub ready: u32,
    /// Output at the other end of the link.
    pub upstream: u32,
    /// Flight time of that link.
    pub latency: u32,
    pub switch: u32,
    /// First port of the switch.
    pub first_port: u32,
    /// Virtual allocation pointer.
    pub next: u8,
    /// VL picked in this tick, and its head.
    pub pick: u8,
    pub picked: PacketId,
    pub dimension: u8,
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
            wake: Wake(Tick::MAX),
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

/// An output buffer and the sending end of its link, or that of a NIC. One cache
/// line, like the other parts that every packet touches.
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

    pub dirty: bool,
    /// The other end is a NIC.
    pub to_nic: bool,
    /// VLs with a packet that is ready.
    pub ready: u32,
    /// Input port or NIC at the other end, [`NONE`] if unconnected.
    pub peer: u32,
    /// Tick from which the link is free.
    pub free_at: Tick,
    pub wake: Wake,
    /// Since when packets have been ready and the link free, but no credits.
    pub blocked_since: Tick,
}

/// What an output has sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    pub flits: u64,
    pub packets: u64,
    pub credit_wait: u64,
    pub queue_wait: u64,
}

impl Output {
    fn new(peer: u32, to_nic: bool, first_central: u32) -> Self {
        Self {
            port_free_at: 0,
            requests: 0,
            sources_waiting: 0,
            first_central,
            next_source: 0,
            dirty: false,
            to_nic,
            ready: 0,
            peer,
            free_at: 0,
            wake: Wake(Tick::MAX),
            blocked_since: Tick::MAX,
        }
    }
}

/// The application side of a NIC.
#[derive(Debug, Clone)]
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

impl Default for Nic {
    fn default() -> Self {
        Self {
            fifos: Vec::new(),
            waiting_sls: 0,
            next: 0,
            wake: Wake(Tick::MAX),
            waiting: false,
            dirty: false,
        }
    }
}

/// All inputs, and all outputs: switch ports, then NICs.
pub(super) fn build_ports(spec: &FabricSpec) -> (Vec<Input>, Vec<Output>) {
    let (topology, timing) = (&spec.topology, &spec.timing);
    let radix = topology.radix();
    let ports = topology.switches() * radix;
    let dimensions = layout::dimensions(topology);
    let mut inputs: Vec<_> = (0..ports)
        .map(|port| Input {
            free_at: 0,
            wake: Wake(Tick::MAX),
            ready: 0,
            upstream: NONE,
            latency: 0,
            switch: port / radix,
            first_port: port / radix * radix,
            next: 0,
            pick: 0,
            picked: NONE,
            dimension: dimensions[(port % radix) as usize],
            dirty: false,
            upstream_waits: false,
        })
        .collect();
    let mut outputs = Vec::with_capacity((ports + topology.nics()) as usize);
    for switch in 0..topology.switches() {
        let first_central = switch * radix / 2;
        for port in 0..radix {
            let own = switch * radix + port;
            outputs.push(match topology.peer(switch, port) {
                Peer::None => Output::new(NONE, false, first_central),
                Peer::Nic(nic) => {
                    let input = &mut inputs[own as usize];
                    input.upstream = ports + nic;
                    input.latency = timing.host_link as u32;
                    Output::new(nic, true, first_central)
                }
                Peer::Switch {
                    switch: other,
                    port: at,
                } => {
                    let peer = other * radix + at;
                    inputs[peer as usize].upstream = own;
                    inputs[peer as usize].latency = timing.link as u32;
                    Output::new(peer, false, first_central)
                }
            });
        }
    }
    for nic in 0..topology.nics() {
        let (switch, port) = topology.attachment(nic);
        outputs.push(Output::new(switch * radix + port, false, 0));
    }
    (inputs, outputs)
}
