//! NICs: application queues, the send queue, CNPs, and the receive buffer.

use super::link::Link;
use super::packet::{Flit, Packet, PacketId};
use super::sender::Sender;
use super::switch_of;
use crate::congestion::{FlowKey, Flows};
use crate::sizes::completes_credit;
use crate::wiring::Wiring;
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::{FabricSpec, Tick};
use std::collections::{BTreeMap, VecDeque};

/// One NIC.
#[derive(Debug, Clone)]
pub struct Nic<'s> {
    /// Its number.
    id: u32,
    /// NICs of the fabric.
    nics: u32,
    /// Application queues: packets that have not left the host. One per SL (as 0), with congestion control one per SL
    /// and number of NICs between this one and the destination.
    waiting: BTreeMap<(u8, u32), VecDeque<PacketId>>,
    /// Queue at which the next packet for the send queue is looked for.
    pointer: (u8, u32),
    /// Per VL, the queue whose head is next: shorter ones yield to it.
    next: BTreeMap<usize, (u8, u32)>,
    /// Send queue, scheduler and link.
    pub sender: Sender,
    /// Packets in the send queue that the link has not started.
    queued: Vec<PacketId>,
    /// Congestion notification packets that wait for the link.
    pub cnps: VecDeque<PacketId>,
    flit_bytes: u32,
    /// There is congestion control.
    controlled: bool,
    /// With a source control only.
    pub flows: Option<Flows<'s>>,
    /// Receive buffer.
    pub received: VecDeque<Flit>,
    /// The link that arrives here, to which credits return.
    pub arriving: usize,
}

impl<'s> Nic<'s> {
    pub fn new(spec: &'s FabricSpec, wiring: &Wiring, id: usize) -> Self {
        let (leaving, arriving) = wiring.nic_links[id];
        let buffers = &switch_of(spec).buffers;
        Self {
            id: id as u32,
            nics: wiring.homes.len() as u32,
            waiting: BTreeMap::new(),
            pointer: (0, 0),
            next: BTreeMap::new(),
            sender: Sender::new(spec, &buffers.nic_queue, 0, &buffers.input, Some(leaving)),
            queued: Vec::new(),
            cnps: VecDeque::new(),
            flit_bytes: spec.units.flit_bytes,
            controlled: spec.congestion_control.is_some(),
            flows: Flows::new(spec, Ratio::ONE),
            received: VecDeque::new(),
            arriving,
        }
    }

    fn queue(&mut self, sl: u8, dst: u32) -> &mut VecDeque<PacketId> {
        let between = (dst + self.nics - self.id - 1) % self.nics;
        let between = if self.controlled { between } else { 0 };
        self.waiting.entry((sl, between)).or_default()
    }

    /// Phase 3: a packet joins its application queue.
    pub fn enqueue(&mut self, id: PacketId, packet: &Packet) {
        self.queue(packet.sl, packet.dst).push_back(id);
    }

    /// No packet of the application queue of `packet` is left.
    pub fn is_empty_behind(&mut self, packet: &Packet) -> bool {
        self.queue(packet.sl, packet.dst).is_empty()
    }

    /// Phase 3: the next packet moves from the application queues to the send queue, one
    /// queue after the other, if there is one that fits and is not held.
    pub fn fill(&mut self, now: Tick, packets: &mut [Packet]) -> Option<PacketId> {
        let mut next = std::mem::take(&mut self.next);
        next.retain(|&vl, next| {
            let head = &packets[self.waiting[next][0]];
            !self.sender.ledger.has_quota(vl, 1) || !self.holds(now, head, packets)
        });
        self.next = next;
        let after = self.waiting.range(self.pointer..);
        let queues = after.chain(self.waiting.range(..self.pointer));
        let heads = queues.filter_map(|(&key, queue)| Some((key, *queue.front()?)));
        let heads: Vec<_> = heads.collect();
        let (key, id) = heads
            .into_iter()
            .find(|&(key, id)| self.moves(now, key, &packets[id], packets))?;
        let vl = packets[id].vl;
        self.next.retain(|&on, &mut next| (on, next) != (vl, key));
        self.waiting.get_mut(&key).expect("has a head").pop_front();
        self.pointer = (key.0, key.1 + 1);
        let packet = &mut packets[id];
        self.sender.ledger.take(packet.vl, packet.credits);
        for index in 0..packet.flits {
            self.sender
                .buffer
                .arrive(now, packet.vl, packet.flit(id, index));
        }
        self.queued.push(id);
        Some(id)
    }

    /// Whether `packet`, the head of the queue `key`, may move to the send queue, now that the search has come to it.
    fn moves(&mut self, now: Tick, key: (u8, u32), packet: &Packet, packets: &[Packet]) -> bool {
        let (vl, credits) = (packet.vl, packet.credits);
        if self.controlled && !self.sender.ledger.has_quota(vl, 1) {
            return false;
        }
        if self.holds(now, packet, packets) {
            return false;
        }
        if !self.sender.ledger.has_quota(vl, credits) {
            self.next.entry(vl).or_insert(key);
            return false;
        }
        self.next
            .get(&vl)
            .is_none_or(|next| packets[self.waiting[next][0]].credits <= credits)
    }

    /// Does congestion control hold `packet` in its application queue?
    fn holds(&self, now: Tick, packet: &Packet, packets: &[Packet]) -> bool {
        let Some(flows) = &self.flows else {
            return false;
        };
        let holder = |packet: &Packet| flows.holder(flows.key(packet.sl, packet.dst));
        let key = flows.key(packet.sl, packet.dst);
        let same = |&&id: &&PacketId| holder(&packets[id]) == holder(packet);
        flows.ccti(key) > 0 && (self.queued.iter().any(|id| same(&id)) || flows.holds(now, key))
    }

    /// Whether time alone may let a packet go that congestion control holds.
    pub fn holds_for_now(&self, now: Tick, packets: &[Packet]) -> bool {
        let Some(flows) = &self.flows else {
            return false;
        };
        let heads = self.waiting.values().filter_map(VecDeque::front);
        let held = heads.map(|&id| &packets[id]);
        let mut held = held.filter(|packet| self.holds(now, packet, packets));
        held.any(|packet| {
            let key = flows.key(packet.sl, packet.dst);
            flows.holds(now, key) || flows.ccti(key) > flows.least(key)
        })
    }

    /// Phase 4: packets that have just moved in can be scheduled at once.
    pub fn ready(&mut self, now: Tick, packets: &mut [Packet]) {
        while let Some(id) = self.sender.buffer.next_ready(now) {
            packets[id].ready = now;
        }
    }

    /// Phase 7: a congestion notification packet starts, if the link is free and there is
    /// quota for it.
    pub fn respond(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let &id = self.cnps.front()?;
        if !self.sender.start_directly(id, &packets[id]) {
            return None;
        }
        self.cnps.pop_front()
    }

    /// Phase 7: the link starts data packet `id`. Returns the flow's index into the
    /// table, 0 if sources do nothing; `None` without congestion control.
    pub fn starts(&mut self, now: Tick, id: PacketId, packet: &Packet) -> Option<u16> {
        self.queued.retain(|&other| other != id);
        let Some(flows) = &mut self.flows else {
            return self.controlled.then_some(0);
        };
        let key = flows.key(packet.sl, packet.dst);
        let bytes = packet.flits * self.flit_bytes;
        flows.sent(key, now + Tick::from(packet.flits), bytes);
        Some(flows.ccti(key))
    }

    /// Phase 8: the receive buffer is read as fast as flits come in.
    pub fn drain(
        &mut self,
        now: Tick,
        spec: &FabricSpec,
        packets: &[Packet],
        links: &mut [Link<'_>],
    ) {
        for flit in self.received.drain(..) {
            let flits = packets[flit.packet].flits;
            if completes_credit(flit.index, flits, spec.units.flits_per_credit) {
                links[self.arriving].credits.push(now, flit.vl, 0);
            }
        }
    }

    /// Every flow that has sent: its index and the delay after its previous packet.
    pub fn sample(&self) -> Vec<(FlowKey, (u16, Tick))> {
        self.flows.as_ref().map_or_else(Vec::new, Flows::sample)
    }
}
