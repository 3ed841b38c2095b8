//! Input buffers that isolate flows (`docs/model/infiniband.md` §15, `Isolating`): the normal FIFOs, the
//! congested-flow queues (CFQs), and the sorting.
//!
//! As in `fifos`, only heads are in VoQs; the packets behind them are listed here.

use super::stops::{Notice, Stops};
use super::table::Flow;
use crate::engine::ids::InputId;
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::engine::voq::packet::{Packet, Packets};
use crate::engine::voq::state::Queue;
use crate::ids::NicId;
use crate::spec::voq::Isolation;

/// The packets behind a head, and the credits of the whole FIFO.
#[derive(Debug, Clone, Copy, Default)]
struct Fifo {
    behind: Queue,
    held: u32,
}

impl Fifo {
    fn push<V: Variant>(&mut self, id: PacketId, packets: &mut Packets<V>) {
        packets[id].next = PacketId::NONE;
        match self.behind.head {
            PacketId::NONE => self.behind.head = id,
            _ => packets[self.behind.tail].next = id,
        }
        self.behind.tail = id;
    }

    /// Takes out the first packet behind the head.
    fn pop<V: Variant>(&mut self, packets: &mut Packets<V>) -> Option<PacketId> {
        let id = self.behind.head;
        if id == PacketId::NONE {
            return None;
        }
        self.behind.head = std::mem::replace(&mut packets[id].next, PacketId::NONE);
        Some(id)
    }
}

/// A congested-flow queue. It always has a head, but between the grant of one and the end of phase 6.
#[derive(Debug, Clone, Copy)]
struct Cfq {
    dst: NicId,
    head: PacketId,
    fifo: Fifo,
    off: bool,
}

/// The queues of an (in-port, VL).
#[derive(Debug, Default)]
struct Queues {
    /// Head of the normal FIFO, or [`PacketId::NONE`].
    head: PacketId,
    normal: Fifo,
    cfqs: Vec<Cfq>,
    /// A packet has joined in this tick, or a CFQ has ended.
    detects: bool,
}

impl Queues {
    /// Packet `id`, which has left the normal FIFO, joins the CFQ at place `existing`, or a new one. Returns that CFQ.
    fn join_cfq<V: Variant>(
        &mut self,
        existing: Option<usize>,
        id: PacketId,
        packets: &mut Packets<V>,
    ) -> &mut Cfq {
        let place = existing.unwrap_or(self.cfqs.len());
        match self.cfqs.get_mut(place) {
            Some(cfq) => cfq.fifo.push(id, packets),
            None => self.cfqs.push(Cfq {
                dst: packets[id].dst,
                head: id,
                fifo: Fifo::default(),
                off: false,
            }),
        }
        &mut self.cfqs[place]
    }
}

/// The queues of all in-ports.
#[derive(Debug)]
pub(in super::super) struct Isolating {
    vls: usize,
    settings: Isolation,
    /// Per in-port · VLs + VL on which packets come.
    queues: Vec<Queues>,
    pub stops: Stops,

    // Work of the present phase; empty between phases.
    /// Which queues to sort.
    unsorted: Vec<usize>,
    /// Packets that have become heads.
    pub new_heads: Vec<PacketId>,
    /// Stops and goes to send, with the in-port that sends them.
    pub notices: Vec<(InputId, Notice)>,
}

impl Isolating {
    pub(in super::super) fn new(
        settings: &Isolation,
        in_ports: usize,
        outputs: usize,
        vls: usize,
    ) -> Self {
        let empty = |_| Queues {
            head: PacketId::NONE,
            ..Queues::default()
        };
        Self {
            vls,
            settings: settings.clone(),
            queues: (0..in_ports * vls).map(empty).collect(),
            stops: Stops::new(outputs),
            unsorted: Vec::new(),
            new_heads: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn at(&self, input: InputId, came_on: u8) -> usize {
        input.index() * self.vls + usize::from(came_on)
    }

    /// Packet `id`, whose header has become ready, joins its normal FIFO. Returns whether it is sure to wait behind
    /// another packet, or likely.
    pub(in super::super) fn join<V: Variant>(
        &mut self,
        id: PacketId,
        packets: &mut Packets<V>,
    ) -> bool {
        let Packet {
            input,
            buffer_vl,
            dst,
            credits,
            ..
        } = packets[id];
        let at = self.at(input, buffer_vl);
        let queues = &mut self.queues[at];
        let waits = queues.head != PacketId::NONE || queues.cfqs.iter().any(|cfq| cfq.dst == dst);
        queues.normal.push(id, packets);
        queues.normal.held += u32::from(credits);
        queues.detects = true;
        self.unsorted.push(at);
        waits
    }

    /// The head of the normal FIFO of (`input`, `came_on`).
    pub(in super::super) fn head_of_normal(&self, input: InputId, came_on: u8) -> Option<PacketId> {
        let head = self.queues[self.at(input, came_on)].head;
        (head != PacketId::NONE).then_some(head)
    }

    /// A stop may concern the head of the normal FIFO of (`input`, `came_on`).
    pub(in super::super) fn sort_later(&mut self, input: InputId, came_on: u8) {
        self.unsorted.push(self.at(input, came_on));
    }

    /// Packet `id` for `dst`, a head of (`input`, `came_on`), is granted.
    pub(in super::super) fn head_granted<V: Variant>(
        &mut self,
        id: PacketId,
        (input, came_on): (InputId, u8),
        packets: &mut Packets<V>,
    ) {
        let at = self.at(input, came_on);
        self.unsorted.push(at);
        let Packet { dst, credits, .. } = packets[id];
        let go = self.settings.go[usize::from(came_on)];
        let queues = &mut self.queues[at];
        if queues.head == id {
            queues.head = PacketId::NONE;
            queues.normal.held -= u32::from(credits);
            return;
        }
        let Some(place) = queues.cfqs.iter().position(|cfq| cfq.head == id) else {
            debug_assert!(false, "a head that is none");
            return;
        };
        let cfq = &mut queues.cfqs[place];
        cfq.fifo.held -= u32::from(credits);
        if cfq.off && cfq.fifo.held <= go {
            cfq.off = false;
            let flow = Flow::new(came_on, dst);
            self.notices.push((input, Notice { flow, stop: false }));
        }
        match cfq.fifo.pop(packets) {
            Some(next) => {
                cfq.head = next;
                self.new_heads.push(next);
            }
            None => {
                queues.cfqs.remove(place);
                queues.detects = true;
            }
        }
    }

    /// Sorts the queues that something has happened to.
    pub(in super::super) fn sort<V: Variant>(&mut self, packets: &mut Packets<V>) {
        let mut unsorted = std::mem::take(&mut self.unsorted);
        unsorted.sort_unstable();
        for &at in &unsorted {
            self.sort_one(at, packets);
        }
        unsorted.clear();
        self.unsorted = unsorted;
    }

    fn sort_one<V: Variant>(&mut self, at: usize, packets: &mut Packets<V>) {
        let vl = at % self.vls;
        let input = InputId::new((at / self.vls) as u32);
        let queues = &mut self.queues[at];
        let mut detects = std::mem::take(&mut queues.detects);
        loop {
            let was_head = queues.head != PacketId::NONE;
            let id = if was_head {
                queues.head
            } else {
                queues.normal.behind.head
            };
            if id == PacketId::NONE {
                return;
            }
            let packet = packets[id];
            let credits = u32::from(packet.credits);
            let existing = queues.cfqs.iter().position(|cfq| cfq.dst == packet.dst);
            if existing.is_none() {
                let is_stopped = (self.stops).has(packet.output, Flow::new(packet.vl, packet.dst));
                let is_detected = detects && queues.normal.held >= self.settings.detect[vl];
                if queues.cfqs.len() >= self.settings.queues as usize || !is_stopped && !is_detected
                {
                    break;
                }
                detects &= is_stopped;
            }
            // It leaves the normal FIFO.
            if was_head {
                queues.head = PacketId::NONE
            } else {
                _ = queues.normal.pop(packets)
            }
            queues.normal.held -= credits;
            if existing.is_none() && !was_head {
                self.new_heads.push(id);
            }
            let cfq = queues.join_cfq(existing, id, packets);
            cfq.fifo.held += credits;
            if !cfq.off && cfq.fifo.held >= self.settings.stop[vl] {
                cfq.off = true;
                let flow = Flow::new(vl as u8, packet.dst);
                self.notices.push((input, Notice { flow, stop: true }));
            }
        }
        if queues.head == PacketId::NONE
            && let Some(id) = queues.normal.pop(packets)
        {
            queues.head = id;
            self.new_heads.push(id);
        }
    }

    /// The packets behind the heads.
    pub(in super::super) fn behind_heads<'a, V: Variant>(
        &'a self,
        packets: &'a Packets<V>,
    ) -> impl Iterator<Item = &'a Packet<V>> {
        let or_none = |id| (id != PacketId::NONE).then_some(id);
        let fifos = self.queues.iter().flat_map(|queues| {
            let cfqs = queues.cfqs.iter().map(|cfq| &cfq.fifo);
            cfqs.chain([&queues.normal])
        });
        fifos.flat_map(move |fifo| {
            let next = move |&id: &PacketId| or_none(packets[id].next);
            std::iter::successors(or_none(fifo.behind.head), next).map(|id| &packets[id])
        })
    }

    /// The head of the CFQ of (`input`, `came_on`) for `dst`, if the flow is stopped.
    pub(in super::super) fn head_of_stopped(
        &self,
        input: InputId,
        came_on: u8,
        dst: NicId,
    ) -> Option<PacketId> {
        let queues = &self.queues[self.at(input, came_on)];
        let cfq = queues.cfqs.iter().find(|cfq| cfq.dst == dst)?;
        cfq.off.then_some(cfq.head)
    }
}
