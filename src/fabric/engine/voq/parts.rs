//! The parts that act: inputs and outputs of switches, and adapters.

use super::arbiter::Pick;
use super::crossbar::NOT_GRANTED;
use super::layout::Rates;
use super::ports::Ports;
use super::schedule::{Rate, SubTick};
use crate::fabric::engine::calendar::Wake;
use crate::fabric::engine::far_end::FarEnd;
use crate::fabric::engine::pool::{NONE, PacketId};
use crate::fabric::infiniband::Voq;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::fabric::topology::Peer;
use std::collections::VecDeque;

/// A FIFO of packets, linked by [`Packet::next`](super::packet::Packet::next).
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    pub head: PacketId,
    pub tail: PacketId,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
        }
    }
}

/// An (output, VL): who has packets for it, and the credits at the far end of the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputVl<const W: usize> {
    /// Inputs of the switch with a head.
    pub heads: Ports<W>,
    /// Inputs at or after the pointer: those behind the one served last.
    pub ahead: Ports<W>,
    /// Credits, as of the last look.
    pub credits: u16,
}

/// An input port of a switch.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Input<const W: usize> {
    /// Outputs of the switch that offer in this tick.
    pub grants: Ports<W>,
    /// SubTick from which its port into the crossbar is free.
    pub free_at: SubTick,
    /// Output at the other end of the link.
    pub upstream: u32,
    pub switch: u32,
    /// First port of the switch, and which of its ports this is.
    pub first_port: u32,
    /// Virtual output queues that hold a packet.
    pub queues: u16,
    pub local: u8,
    /// Outputs behind the one accepted last.
    pub ahead: Ports<W>,
}

/// The sending end of a link: an output port of a switch, or an adapter.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Output {
    /// SubTick from which the port out of the crossbar is free.
    pub free_at: SubTick,
    pub wake: Wake,
    /// VLs with a packet in some virtual output queue.
    pub waiting_vls: u32,
    /// What is offered in this tick, and to which input of the switch.
    pub grant: Pick,
    pub granted_to: u8,
    /// Index of the rate of the link.
    pub rate: u8,
    /// A credit_return at the far end must wake this output.
    pub waits_for_credits: bool,
    /// Credits free in the output buffer, as of the last look.
    pub room: u16,
    /// The other end: input port, or adapter.
    pub to: FarEnd,
    /// First port of the switch, and which of its ports this is.
    pub first_port: u32,
    pub local: u8,
    /// SubTick from which the link is free.
    pub link_free: SubTick,
    /// Ticks from a flit leaving to its date, and of a credit.
    pub flight: Tick,
    pub latency: Tick,
    /// Since when packets have waited for credits alone.
    pub blocked_since: Tick,
    pub sent: Sent,
}

/// What went over a link.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    pub bytes: u64,
    pub flits: u64,
    pub packets: u64,
    pub credit_wait: u64,
    pub queue_wait: u64,
}

impl Output {
    /// When the last flit of a packet reaches the other end, the link being free again at `free`.
    #[inline]
    pub(super) fn arrival_of_tail(&self, free: SubTick) -> Tick {
        free.first_whole_tick() - 1 + self.latency
    }

    /// Packets wait at `now`, and none of them has credits.
    #[inline]
    pub(super) fn is_blocked(&mut self, now: Tick) {
        self.blocked_since = self.blocked_since.min(now);
    }

    /// That is over.
    #[inline]
    pub(super) fn is_not_blocked(&mut self, now: Tick) {
        let since = std::mem::replace(&mut self.blocked_since, Tick::MAX);
        self.sent.credit_wait += now.saturating_sub(since);
    }
}

/// A host channel adapter; its link is an [`Output`].
#[derive(Debug)]
pub(super) struct Hca {
    pub wake: Wake,
    pub dirty: bool,
    /// VLs with a queue pair that has a packet to send.
    pub waiting_vls: u32,
    /// SubTick from which the send engine, and the sink, is free.
    pub engine_free: SubTick,
    pub sink_free: SubTick,
    /// Output buffer, CNP queue, ACK queue.
    pub buffer: Queue,
    pub cnps: Queue,
    pub acks: Queue,
    /// Per VL: the queue pair after the one served last.
    pub pointers: Vec<u32>,
    /// Queue pairs, (source, SL), whose next ACK carries a BECN.
    pub congested: Vec<(u32, u8)>,
    /// Tails of messages that leave, and must be reported in that tick: token.
    pub injections: VecDeque<(Tick, u64)>,
}

impl Hca {
    pub(super) fn new(vls: usize) -> Self {
        Self {
            wake: Wake::default(),
            dirty: false,
            waiting_vls: 0,
            engine_free: SubTick::default(),
            sink_free: SubTick::default(),
            buffer: Queue::default(),
            cnps: Queue::default(),
            acks: Queue::default(),
            pointers: vec![0; vls],
            congested: Vec::new(),
            injections: VecDeque::new(),
        }
    }
}

/// All inputs, and all outputs: switch ports, then adapters.
pub(super) fn ports<const W: usize>(
    spec: &FabricSpec,
    voq: &Voq,
    rates: &Rates,
    drain: &[Rate],
) -> (Vec<Input<W>>, Vec<Output>) {
    let (topology, timing) = (&spec.topology, &spec.timing);
    let radix = topology.radix();
    let ports = topology.switches() * radix;
    let mut inputs: Vec<_> = (0..ports)
        .map(|port| Input {
            grants: Ports::NONE,
            free_at: SubTick::default(),
            upstream: NONE,
            switch: port / radix,
            first_port: port - port % radix,
            queues: 0,
            local: (port % radix) as u8,
            ahead: Ports::ALL,
        })
        .collect();
    let output = |to: FarEnd, port: u32, room: u32, latency: Tick| {
        let rate = rates.index(if !to.is_connected() {
            voq.links.host
        } else {
            voq.links.at(topology, port / radix, port % radix)
        });
        Output {
            free_at: SubTick::default(),
            wake: Wake::default(),
            waiting_vls: 0,
            grant: Pick::default(),
            granted_to: NOT_GRANTED,
            rate,
            waits_for_credits: false,
            room: room as u16,
            to,
            first_port: port - port % radix,
            local: (port % radix) as u8,
            link_free: SubTick::default(),
            flight: latency + drain[usize::from(rate)].flit_ticks() - 1,
            latency,
            blocked_since: Tick::MAX,
            sent: Sent::default(),
        }
    };
    let room = spec.buffers.output.total;
    let mut outputs = Vec::with_capacity((ports + topology.nics()) as usize);
    for port in 0..ports {
        outputs.push(match topology.peer(port / radix, port % radix) {
            Peer::None => output(FarEnd::NOTHING, port, 0, 0),
            Peer::Nic(nic) => {
                inputs[port as usize].upstream = ports + nic;
                output(FarEnd::nic(nic), port, room, timing.host_link)
            }
            Peer::Switch { switch, port: at } => {
                let peer = switch * radix + at;
                inputs[peer as usize].upstream = port;
                output(FarEnd::input(peer), port, room, timing.link)
            }
        });
    }
    for nic in 0..topology.nics() {
        let (switch, port) = topology.attachment(nic);
        let at = switch * radix + port;
        outputs.push(output(
            FarEnd::input(at),
            at,
            spec.buffers.nic_queue.total,
            timing.host_link,
        ));
    }
    (inputs, outputs)
}
