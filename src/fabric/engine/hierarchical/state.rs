//! The state of the parts that act in the phases: input buffers, central buffers,
//! outputs and the sending ends of links. The phases themselves, NICs ([`nics`](super::nics)), and the FIFOs and credits
//! of the buffers ([`fifos`](super::fifos), [`ledgers`](super::ledgers)), are elsewhere.

use super::fifos::{Heads, NEAR_VLS};
use crate::engine::calendar::Wake;
use crate::engine::counters::LinkCounts;
use crate::engine::far_end::FarEnd;
use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::list::List;
use crate::engine::pool::PacketId;
use crate::ids::{SwitchId, SwitchPort};
use crate::spec::Tick;
use crate::topology::{Peer, Topology};

/// A buffer of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Buffer {
    Input(InputId),
    Central(CentralId),
    Output(OutputId),
}

/// A FIFO: its buffer, and the queue within it.
pub(in crate::engine) type Queue = (Buffer, usize);

/// An input buffer as the allocator sees it. Like every part that each packet touches, it
/// fills one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Input {
    /// Tick from which its port into the crossbar is free.
    pub free_at: Tick,
    pub wake: Wake,
    pub heads: Heads<NEAR_VLS>,
    /// VLs with a ready head, a bit each.
    pub ready: u32,
    /// Output at the sending end of the link.
    pub upstream: OutputId,
    pub switch: SwitchId,
    /// Virtual allocation pointer.
    pub next: u8,
    /// VL picked in this tick.
    pub pick: u8,
    /// It is listed for phase 5 of this tick.
    pub dirty: bool,
}

/// A central buffer as the allocator sees it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Central {
    /// Tick from which its port into the central crossbar is free.
    pub free_at: Tick,
    pub wake: Wake,
    /// Which of the first 64 queues have a ready head, a bit each.
    pub ready: u64,
    /// Virtual allocation pointer.
    pub next: u32,
    /// Queue picked in this tick.
    pub pick: u32,
    /// Head of that queue.
    pub picked: PacketId,

    /// Tick from which its port out of the MPort crossbar is free.
    pub port_free_at: Tick,
    /// Input buffers of the MPort that request it in this tick, a bit each.
    pub requests: u8,
    /// Input buffers to wake when the next packet starts to leave, a bit each.
    pub inputs_waiting: u8,
    /// Input buffers with a head that was passed over, a bit each; some may have none any more.
    pub passed_over: u8,
    /// Input buffers with a head that yields, a bit each.
    pub yielding: u8,
    /// Credits of the longest head that was passed over; an upper bound.
    pub longest: u16,
    /// Switch allocation pointer.
    pub next_source: u8,

    /// Its position among the sources of an output.
    pub position: u8,
    /// It is listed for phase 5 of this tick.
    pub dirty: bool,
}

impl Central {
    /// Central buffer number `local` of a switch, with an idle port.
    pub(super) fn new(local: u32) -> Self {
        Self {
            free_at: 0,
            wake: Wake::default(),
            ready: 0,
            next: 0,
            pick: 0,
            picked: PacketId::NONE,
            port_free_at: 0,
            requests: 0,
            inputs_waiting: 0,
            passed_over: 0,
            yielding: 0,
            longest: 0,
            next_source: 0,
            position: 4 + local as u8,
            dirty: false,
        }
    }
}

/// An output buffer as the crossbars see it, and the counts of its link. NICs have one
/// too, of which only the counts are used.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Output {
    /// Tick from which its port out of the crossbars is free.
    pub port_free_at: Tick,
    /// Sources that request it in this tick, a bit per position.
    pub requests: u64,
    /// Sources to wake when the next packet starts to leave, a bit per position.
    pub sources_waiting: u64,
    /// First central buffer of the switch.
    pub first_central: CentralId,
    /// Credits of the longest head that was passed over; an upper bound.
    pub longest: u16,
    /// Some head yields.
    pub holds_back: bool,
    /// Switch allocation pointer.
    pub next_source: u8,
    pub sent: LinkCounts,
}

/// The sending end of the link of an output buffer, or of a NIC.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Sender {
    /// Tick from which the link is free.
    pub free_at: Tick,
    pub wake: Wake,
    /// First tick of the present credit wait; [`Tick::MAX`] if there is none.
    pub blocked_since: Tick,
    pub heads: Heads<NEAR_VLS>,
    /// VLs with a ready head, a bit each.
    pub ready: u32,
    /// The receiving end.
    pub to: FarEnd,
}

impl Sender {
    fn new(to: FarEnd) -> Self {
        Self {
            free_at: 0,
            wake: Wake::default(),
            blocked_since: Tick::MAX,
            heads: [PacketId::NONE; NEAR_VLS],
            ready: 0,
            to,
        }
    }
}

impl Output {
    fn new(first_central: CentralId) -> Self {
        Self {
            port_free_at: 0,
            requests: 0,
            sources_waiting: 0,
            first_central,
            longest: 0,
            holds_back: false,
            next_source: 0,
            sent: LinkCounts::default(),
        }
    }
}

/// All parts at the ends of links.
pub(super) struct Ports {
    pub inputs: List<InputId, Input>,
    /// Of switch ports, then of NICs.
    pub outputs: List<OutputId, Output>,
    /// The sending end of the link of each output.
    pub senders: List<OutputId, Sender>,
}

impl Ports {
    pub(super) fn new(topology: &Topology) -> Self {
        let radix = topology.radix();
        let ports = topology.switches() * radix;
        let mut inputs: List<_, _> = InputId::all(ports)
            .map(|input| Input {
                free_at: 0,
                wake: Wake::default(),
                heads: [PacketId::NONE; NEAR_VLS],
                ready: 0,
                upstream: OutputId::NONE,
                switch: input.at(radix).switch,
                next: 0,
                pick: 0,
                dirty: false,
            })
            .collect();
        let mut senders = Vec::with_capacity((ports + topology.endpoints()) as usize);
        for output in OutputId::all(ports) {
            let at = output.at(radix);
            senders.push(match topology.peer(at.switch, at.port) {
                Peer::None => Sender::new(FarEnd::NOTHING),
                Peer::Nic(nic) => {
                    let input = InputId::of(at, radix);
                    inputs[input].upstream = OutputId::of_nic(nic, ports as usize);
                    Sender::new(FarEnd::of_nic(nic))
                }
                Peer::Switch { switch, port } => {
                    let peer = InputId::of(SwitchPort::new(switch, port), radix);
                    inputs[peer].upstream = output;
                    Sender::new(FarEnd::of_input(peer))
                }
            });
        }
        for nic in topology.endpoint_ids() {
            let input = InputId::of(topology.attachment(nic), radix);
            senders.push(Sender::new(FarEnd::of_input(input)));
        }
        let outputs = (0..senders.len() as u32)
            .map(|output| CentralId::new((output / radix * radix / 2).min(ports / 2)))
            .map(Output::new)
            .collect();
        Self {
            inputs,
            outputs,
            senders: senders.into_iter().collect(),
        }
    }
}

// Parts are one cache line each.
const _: () = assert!(size_of::<Input>() == 64 && size_of::<Central>() == 64);
const _: () = assert!(size_of::<Output>() == 64 && size_of::<Sender>() == 64);
