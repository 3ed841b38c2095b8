//! Host channel adapters (section 8) and the destination's side of congestion control
//! (section 10).

use super::link::Link;
use super::packet::{Flit, Packet, PacketId};
use super::rates::link_rate;
use super::server::Server;
use super::vlarb::Arbiter;
use crate::congestion::Flows;
use crate::sizes::completes_credit;
use crate::wiring::Wiring;
use flitwise_fabric::spec::voq::InputQueues;
use flitwise_fabric::spec::{FabricSpec, Tick, Voq};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A queue pair of an HCA: its SL, and the NICs between the HCA and its destination.
type QueuePair = (u8, u32);

/// One HCA.
#[derive(Debug, Clone)]
pub struct Hca<'s> {
    spec: &'s FabricSpec,
    voq: &'s Voq,
    id: u32,
    /// NICs of the fabric.
    nics: u32,
    /// The links that leave and arrive here.
    pub leaving: usize,
    pub arriving: usize,
    /// Send queues by queue pair.
    send: BTreeMap<QueuePair, VecDeque<PacketId>>,
    engine: Server,
    arbiter: Arbiter,
    /// Queue pair from which each VL is served.
    pointers: Vec<QueuePair>,
    pub cnps: VecDeque<PacketId>,
    pub acks: VecDeque<PacketId>,
    pub flows: Option<Flows<'s>>,
    /// Index of the flow of each packet that was picked.
    pub ccti_of_sent: Vec<u16>,
    /// Queue pairs, as (source, SL), whose next ACK carries a BECN.
    pub congested: BTreeSet<(u32, u8)>,
    sink: Option<Server>,
    /// Data packets that the sink has not started.
    unread: VecDeque<PacketId>,
    /// Flits in the receive buffer, in the order of arrival.
    received: VecDeque<Flit>,
    reading: VecDeque<Reading>,
}

/// The packet that the sink is at.
#[derive(Debug, Clone)]
struct Reading {
    packet: PacketId,
    leaves: Vec<Tick>,
    next: u32,
}

impl<'s> Hca<'s> {
    pub fn new(spec: &'s FabricSpec, voq: &'s Voq, wiring: &Wiring, id: usize) -> Self {
        let rate = link_rate(voq, wiring, wiring.homes[id]);
        let (leaving, arriving) = wiring.nic_links[id];
        let vls = usize::from(spec.qos.vls);
        Self {
            spec,
            voq,
            id: id as u32,
            nics: wiring.homes.len() as u32,
            leaving,
            arriving,
            send: BTreeMap::new(),
            engine: Server::new(voq.hca.send_rate.unwrap_or(rate), spec.units.flit_bytes),
            arbiter: Arbiter::new(&voq.hca.vlarb),
            pointers: vec![(0, 0); vls],
            cnps: VecDeque::new(),
            acks: VecDeque::new(),
            flows: Flows::new(spec, rate),
            ccti_of_sent: Vec::new(),
            congested: BTreeSet::new(),
            sink: (voq.hca.sink_rate).map(|rate| Server::new(rate, spec.units.flit_bytes)),
            unread: VecDeque::new(),
            received: VecDeque::new(),
            reading: VecDeque::new(),
        }
    }

    /// Phase 3: a packet joins its send queue.
    pub fn enqueue(&mut self, id: PacketId, packet: &Packet) {
        let qp = (
            packet.sl,
            (packet.dst + self.nics - self.id - 1) % self.nics,
        );
        self.send.entry(qp).or_default().push_back(id);
    }

    /// Phase 1: a flit of a data packet arrives.
    pub fn receive(&mut self, flit: Flit) {
        if flit.index == 0 {
            self.unread.push_back(flit.packet);
        }
        self.received.push_back(flit);
        let on_vl = self.received.iter().filter(|f| f.vl == flit.vl).count();
        let size = self.voq.buffers.nic_sink.per_vl[flit.vl] * self.spec.units.flits_per_credit;
        assert!(on_vl <= size as usize, "a buffer over its size");
    }

    /// Phase 7 (a): a CNP or an ACK that starts on the link now.
    pub fn respond(
        &mut self,
        now: Tick,
        packets: &[Packet],
        link: &mut Link<'_>,
    ) -> Option<PacketId> {
        if !link.takes_answers(now) {
            return None;
        }
        for queue in [&mut self.cnps, &mut self.acks] {
            let Some(&id) = queue.front() else { continue };
            let packet = &packets[id];
            if link.has_credits(packet) {
                link.take_credits(packet);
                queue.pop_front();
                return Some(id);
            }
        }
        None
    }

    /// Phase 7 (b): the send engine takes a packet.
    pub fn pick(
        &mut self,
        now: Tick,
        packets: &mut [Packet],
        link: &mut Link<'_>,
    ) -> Option<PacketId> {
        if !self.engine.is_free(now) {
            return None;
        }
        let heads: BTreeMap<QueuePair, PacketId> = self
            .send
            .iter()
            .filter_map(|(&qp, queue)| Some((qp, *queue.front()?)))
            .collect();
        let passes = matches!(
            self.voq.input_queues,
            InputQueues::PerFlow | InputQueues::Isolating
        );
        let mut any_credits = false;
        let mut turns: Vec<Option<(QueuePair, PacketId)>> = vec![None; self.pointers.len()];
        for (vl, turn) in turns.iter_mut().enumerate() {
            let first = self.pointers[vl];
            let around = heads.range(first..).chain(heads.range(..first));
            for (&qp, &id) in around.filter(|&(_, &id)| packets[id].vl == vl) {
                let has_credits = link.has_credits(&packets[id]);
                any_credits |= has_credits;
                if !self.holds(now, qp) && (has_credits || !passes) {
                    *turn = Some((qp, id));
                    break;
                }
            }
        }
        if !heads.is_empty() && !any_credits && link.counts_credit_wait(now) {
            link.counts.credit_wait += 1;
        }
        let candidates: Vec<bool> = turns
            .iter()
            .map(|turn| turn.is_some_and(|(_, id)| link.has_credits(&packets[id])))
            .collect();
        let pick = self.arbiter.pick(&candidates)?;
        let (qp, id) = turns[pick.vl].expect("a candidate has a queue pair in turn");
        if !link.has_room(packets[id].credits) {
            return None;
        }
        let packet = &mut packets[id];
        self.arbiter
            .grant(pick, self.pointers.len(), packet.bytes.into());
        self.pointers[pick.vl] = if qp.1 + 1 < self.nics {
            (qp.0, qp.1 + 1)
        } else {
            (qp.0 + 1, 0)
        };
        self.send.get_mut(&qp).expect("has a head").pop_front();
        self.fetch(now, id, packet, link);
        Some(id)
    }

    /// The send engine takes packet `id` into the output buffer, and its credits.
    fn fetch(&mut self, now: Tick, id: PacketId, packet: &mut Packet, link: &mut Link<'_>) {
        packet.available = self
            .engine
            .serve(now, (packet.bytes, packet.flits), None)
            .leaves;
        packet.waiting_since = now;
        link.grant(id, packet);
        link.packet_waits(now, packet.bytes);
        for index in 0..packet.flits {
            let vl = packet.vl;
            let flit = Flit {
                packet: id,
                index,
                vl,
                dst: packet.dst,
            };
            link.store(packet.available[index as usize], flit);
        }
        if let Some(flows) = &mut self.flows {
            let key = flows.key(packet.sl, packet.dst);
            self.ccti_of_sent.push(flows.ccti(key));
            flows.sent(key, self.engine.end(), packet.bytes);
        } else {
            self.ccti_of_sent.push(0);
        }
    }

    /// The destination of a queue pair.
    fn dst(&self, qp: QueuePair) -> u32 {
        (self.id + 1 + qp.1) % self.nics
    }

    /// Whether congestion control holds the packets of a queue pair.
    fn holds(&self, now: Tick, qp: QueuePair) -> bool {
        let flows = self.flows.as_ref();
        flows.is_some_and(|flows| flows.holds(now, flows.key(qp.0, self.dst(qp))))
    }

    /// Queue pairs, as (SL, destination), whose send queue has run empty since the last call.
    pub fn emptied(&mut self) -> Vec<(u8, u32)> {
        let empty = self.send.iter().filter(|(_, queue)| queue.is_empty());
        let empty: Vec<_> = empty.map(|(&qp, _)| (qp.0, self.dst(qp))).collect();
        self.send.retain(|_, queue| !queue.is_empty());
        empty
    }

    /// Phase 7: the sink starts the next packet, if its header is here.
    pub fn start_reading(&mut self, now: Tick, packets: &[Packet]) {
        let Some(sink) = &mut self.sink else { return };
        if !sink.is_free(now) {
            return;
        }
        if let Some(id) = self.unread.pop_front() {
            let packet = &packets[id];
            let length = (packet.bytes, packet.flits);
            let leaves = sink.serve(now, length, Some(&packet.dated)).leaves;
            self.reading.push_back(Reading {
                packet: id,
                leaves,
                next: 0,
            });
        }
    }

    /// Phase 8: flits leave the receive buffer, and their credits go back.
    pub fn read(&mut self, now: Tick, packets: &[Packet], arriving: &mut Link<'_>) -> usize {
        let per_credit = self.spec.units.flits_per_credit;
        let mut back = |flit: Flit| {
            if completes_credit(flit.index, packets[flit.packet].flits, per_credit) {
                arriving.return_credits(now, flit, 0);
            }
        };
        if self.sink.is_none() {
            self.unread.clear();
            let moved = self.received.len();
            self.received.drain(..).for_each(back);
            return moved;
        }
        let mut moved = 0;
        while let Some(reading) = self.reading.front_mut()
            && reading.leaves[reading.next as usize] <= now
        {
            assert_eq!(reading.leaves[reading.next as usize], now);
            let flit = self
                .received
                .pop_front()
                .expect("a flit that leaves is here");
            assert_eq!((flit.packet, flit.index), (reading.packet, reading.next));
            back(flit);
            moved += 1;
            reading.next += 1;
            if reading.next == packets[flit.packet].flits {
                self.reading.pop_front();
            }
        }
        moved
    }

    /// Whether congestion control holds a packet.
    pub fn holds_something(&self, now: Tick) -> bool {
        let mut waiting = self.send.iter().filter(|(_, queue)| !queue.is_empty());
        waiting.any(|(&qp, _)| self.holds(now, qp))
    }
}
