//! The state of the parts that act: in-ports, outputs and output VLs of switches.
//!
//! An *output* is the sending end of a link: an out-port of a switch, or the port of a NIC.
//! The phases that change this state are in `arrival`, `route`, `crossbar` and `nic`.

use super::arbiter::Pick;
use super::fifos::VlFifos;
use super::layout::{self, Rates};
use super::ports::{InPort, OutPort, Pointer, Port, Ports};
use super::rate::{Rate, SubTick};
use crate::engine::calendar::Wake;
use crate::engine::counters::LinkCounts;
use crate::engine::far_end::FarEnd;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::list::List;
use crate::engine::pool::PacketId;
use crate::engine::power::LinkRate;
use crate::engine::turns::TurnCounts;
use crate::engine::variant::Variant;
use crate::ids::{SwitchId, SwitchPort};
use crate::spec::{FabricSpec, Tick, Voq};
use crate::topology::{Peer, Topology};

/// A FIFO of packets, linked by [`Packet::next`](super::packet::Packet::next).
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    pub head: PacketId,
    pub tail: PacketId,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            head: PacketId::NONE,
            tail: PacketId::NONE,
        }
    }
}

impl Queue {
    /// Appends packet `id`. `next_of` gives access to `Packet::next` of a packet.
    pub fn append<'a>(&mut self, id: PacketId, next_of: impl FnOnce(PacketId) -> &'a mut PacketId) {
        if self.head == PacketId::NONE {
            self.head = id;
        } else {
            *next_of(self.tail) = id;
        }
        self.tail = id;
    }
}

/// A virtual output queue: the packets of an in-port for one (out-port, VL).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OutputQueue {
    pub fifo: Queue,
    /// The counts of the packets granted from it.
    pub counts: TurnCounts,
}

/// The state of an (output, VL): which in-ports request it, and its credits.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputVl<V: Variant> {
    /// In-ports of the switch whose VoQ for this output VL has a head.
    pub heads: Ports<InPort, V::PortSet>,
    /// Credits at the far end of the link, without the returns that have not been applied yet.
    pub credits: u16,
    /// Behind the in-port served last.
    pub pointer: Pointer<InPort>,
    /// Credits of some of these heads are kept beside it.
    pub keeps_heads: bool,
}

/// An in-port of a switch.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Input<V: Variant> {
    /// Out-ports of the switch that grant to it in this tick.
    pub grants: Ports<OutPort, V::PortSet>,
    /// Out-ports that grant nothing while it is in turn there.
    pub watched_by: Ports<OutPort, V::PortSet>,
    /// Output at the other end of the link.
    pub upstream: OutputId,
    pub switch: SwitchId,
    /// Out-port 0 of the switch.
    pub first_output: OutputId,
    /// Its first VoQ.
    pub first_queue: u32,
    /// Number of its VoQs that hold a packet.
    pub queues: u16,
    /// Its number within the switch.
    pub in_port: InPort,
    /// Index of the rate of the link from `upstream`.
    pub rate: u8,
    /// Behind the out-port that it accepted last.
    pub pointer: Pointer<OutPort>,
    /// Its FIFOs, if it has one for each VL.
    pub fifos: VlFifos,
}

// One cache line, with the largest sets of ports, too.
const _: () = assert!(size_of::<Input<crate::engine::variant::Any>>() == 64);

impl<V: Variant> Input<V> {
    /// Number of its VoQ to `out_port` on `vl`, of `vls` VLs.
    #[inline]
    pub(super) fn queue(&self, out_port: OutPort, vls: usize, vl: usize) -> usize {
        self.first_queue as usize + usize::from(out_port.number()) * vls + vl
    }
}

/// The sending end of a link: an out-port of a switch, or the port of a NIC.
///
/// The order of the fields matters: a packet that joins and an output that looks for one to grant
/// need the first cache line only.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Output {
    /// Sub-tick time from which the crossbar port that writes its buffer is free.
    pub free_at: SubTick,
    pub wake: Wake,
    /// First tick in which all heads have lacked credits; `Tick::MAX` if one has them.
    pub blocked_since: Tick,
    /// Bit set of the VLs with a packet in some VoQ for this output.
    pub waiting_vls: u32,
    /// In-port 0 of the switch. For a NIC: of the switch it is attached to.
    pub first_input: InputId,
    /// The VL that it grants in this tick.
    pub grant: Pick,
    /// The in-port of the switch that it grants to in this tick, or [`InPort::NONE`].
    pub granted_to: InPort,
    /// Its number within the switch. For a NIC: of the switch port it is attached to.
    pub out_port: OutPort,
    /// Credits free in the output buffer, without the returns that have not been applied yet.
    pub room: u16,
    /// The other end of the link: an in-port, or a NIC.
    pub to: FarEnd,
    /// Ticks from the start of a flit to its arrival as a whole: L + ⌈q/p⌉ − 1.
    pub flight: u32,
    /// Latency L of the link in ticks: the time that a credit takes.
    pub latency: u32,
    /// Sub-tick time from which the link is free.
    pub link_free: SubTick,
    pub sent: LinkCounts,
    pub sent_bytes: u64,
    /// Index of the rate of the link.
    pub rate: u8,
    /// Index of its rate while it is down; `rate` if it then carries nothing.
    pub low_rate: u8,
    /// The switch at the other end; 0 if there is none.
    pub to_switch: SwitchId,
}

impl Output {
    /// An output with nothing to send to `to`, still without its rate, its times and its room.
    /// `at`: its port; for a NIC, the switch port it is attached to. `radix`: ports per switch.
    fn idle(to: FarEnd, at: SwitchPort, radix: u32) -> Self {
        Self {
            free_at: SubTick::default(),
            wake: Wake::default(),
            blocked_since: Tick::MAX,
            waiting_vls: 0,
            first_input: InputId::first_of(at.switch, radix),
            grant: Pick::default(),
            granted_to: InPort::NONE,
            out_port: OutPort::of(at.port.get() as u8),
            room: 0,
            to,
            flight: 0,
            latency: 0,
            link_free: SubTick::default(),
            sent: LinkCounts::default(),
            sent_bytes: 0,
            rate: 0,
            low_rate: 0,
            to_switch: if to.is_connected() && !to.is_nic() {
                to.input().at(radix).switch
            } else {
                SwitchId::default()
            },
        }
    }

    /// Index of its rate for a packet that the link sends at this rate.
    #[inline(always)]
    pub(super) fn rate_of(&self, rate: LinkRate) -> u8 {
        match rate {
            LinkRate::Own => self.rate,
            LinkRate::LowLanes => self.low_rate,
            LinkRate::Lower(rate) => rate,
        }
    }

    /// Ticks from the start of a flit to its arrival as a whole, as [`Output::flight`], at this rate.
    #[inline(always)]
    pub(super) fn flight_of(&self, rate: LinkRate, rates: &[Rate]) -> Tick {
        if rate == LinkRate::Own {
            return self.flight.into();
        }
        Tick::from(self.latency) + rates[usize::from(self.rate_of(rate))].flit_ticks() - 1
    }

    /// Tick in which the last flit of a packet reaches the other end. The link is free again at
    /// `free` after the packet.
    #[inline]
    pub(super) fn arrival_of_tail(&self, free: SubTick) -> Tick {
        free.first_whole_tick() - 1 + Tick::from(self.latency)
    }

    /// From tick `now` on, packets wait and none of the heads has credits.
    #[inline]
    pub(super) fn begin_credit_wait(&mut self, now: Tick) {
        self.blocked_since = self.blocked_since.min(now);
    }

    /// From the present tick on, some head has credits. Returns the tick since which none had, or
    /// `Tick::MAX`.
    #[inline]
    pub(super) fn end_credit_wait(&mut self) -> Tick {
        std::mem::replace(&mut self.blocked_since, Tick::MAX)
    }
}

/// Notes at each in-port the rate of the link that comes in there.
fn note_rates<V: Variant>(inputs: &mut [Input<V>], outputs: &[Output]) {
    for input in inputs {
        if let Some(upstream) = outputs.get(input.upstream.index()) {
            input.rate = upstream.rate;
        }
    }
}

/// Numbers the VoQs. Only in-ports with a link have some. Returns how many there are.
pub(super) fn number_queues<V: Variant>(
    inputs: &mut [Input<V>],
    outputs: &[Output],
    vls: usize,
) -> usize {
    let connected = outputs.iter().filter(|output| output.to.is_connected());
    let out_ports = connected
        .map(|output| u32::from(output.out_port.number()) + 1)
        .max();
    let mut next = 0;
    for input in inputs {
        input.first_queue = next;
        if input.upstream != OutputId::NONE {
            next += out_ports.unwrap_or(0) * vls as u32;
        }
    }
    next as usize
}

/// All in-ports of switches, still without their upstream output.
fn in_ports<V: Variant>(topology: &Topology) -> List<InputId, Input<V>> {
    let radix = topology.radix();
    InputId::all(topology.switches() * radix)
        .map(|input| input.at(radix))
        .map(|at| Input {
            grants: Ports::NONE,
            watched_by: Ports::NONE,
            upstream: OutputId::NONE,
            switch: at.switch,
            first_output: OutputId::first_of(at.switch, radix),
            first_queue: 0,
            queues: 0,
            in_port: InPort::of(at.port.get() as u8),
            rate: 0,
            pointer: Pointer::START,
            fifos: VlFifos::default(),
        })
        .collect()
}

/// All in-ports of switches, and all outputs: first of switch ports, then of NICs.
pub(super) fn ports<V: Variant>(
    spec: &FabricSpec,
    voq: &Voq,
    rates: &Rates,
    drain: &[Rate],
) -> (List<InputId, Input<V>>, List<OutputId, Output>) {
    let topology = &spec.topology;
    let radix = topology.radix();
    let ports = (topology.switches() * radix) as usize;
    let mut inputs = in_ports(topology);
    let output = |to: FarEnd, at: SwitchPort, room: u32| {
        let (own, latency) = if to.is_connected() {
            let latency = spec.link_latency.at(topology, at.switch, at.port);
            (voq.links.at(topology, at.switch, at.port), latency)
        } else {
            (voq.links.nic, 0)
        };
        let (rate, low_rate) = (rates.index(own), rates.index(layout::low_rate(spec, own)));
        let flight = latency + drain[usize::from(rate)].flit_ticks() - 1;
        Output {
            rate,
            low_rate,
            room: room as u16,
            flight: flight as u32,
            latency: latency as u32,
            ..Output::idle(to, at, radix)
        }
    };
    let room = voq.buffers.output;
    let mut outputs = Vec::with_capacity(ports + topology.endpoints() as usize);
    for out_port in OutputId::all(ports as u32) {
        let at = out_port.at(radix);
        outputs.push(match topology.peer(at.switch, at.port) {
            Peer::None => output(FarEnd::NOTHING, at, 0),
            Peer::Nic(nic) => {
                inputs[InputId::of(at, radix)].upstream = OutputId::of_nic(nic, ports);
                output(FarEnd::of_nic(nic), at, room)
            }
            Peer::Switch { switch, port } => {
                let peer = InputId::of(SwitchPort::new(switch, port), radix);
                inputs[peer].upstream = out_port;
                output(FarEnd::of_input(peer), at, room)
            }
        });
    }
    for nic in topology.endpoint_ids() {
        let at = topology.attachment(nic);
        outputs.push(output(
            FarEnd::of_input(InputId::of(at, radix)),
            at,
            voq.buffers.nic_queue,
        ));
    }
    note_rates(&mut inputs, &outputs);
    (inputs, outputs.into_iter().collect())
}
