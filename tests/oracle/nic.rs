//! NICs: application queues, the send queue, and the receive buffer.

use super::link::Link;
use super::packet::{Flit, Packet, PacketId, completes_credit};
use super::sender::Sender;
use flitwise::fabric::spec::{FabricSpec, Tick};
use std::collections::VecDeque;

/// One NIC.
#[derive(Debug, Clone)]
pub struct Nic {
    /// Application queues, one per SL: packets that have not left the host.
    pub waiting: Vec<VecDeque<PacketId>>,
    /// SL at which the next packet for the send queue is looked for.
    pointer: usize,
    /// Send queue, scheduler and link.
    pub sender: Sender,
    /// Receive buffer.
    pub received: VecDeque<Flit>,
    /// The link that arrives here, to which credits return.
    pub arriving: usize,
}

impl Nic {
    pub fn new(spec: &FabricSpec, leaving: usize, arriving: usize) -> Self {
        let buffers = &spec.buffers;
        Self {
            waiting: vec![VecDeque::new(); spec.qos.service_levels.len()],
            pointer: 0,
            sender: Sender::new(spec, &buffers.nic_queue, 0, &buffers.input, Some(leaving)),
            received: VecDeque::new(),
            arriving,
        }
    }

    /// Phase 3: the next packet moves from the application queues to the send queue, one
    /// SL after the other, if there is one that fits. Its SL.
    pub fn fill(&mut self, now: Tick, packets: &mut [Packet]) -> Option<usize> {
        let sls = self.waiting.len();
        let (sl, id) = (0..sls)
            .map(|step| (self.pointer + step) % sls)
            .filter_map(|sl| Some((sl, *self.waiting[sl].front()?)))
            .find(|&(_, id)| {
                self.sender
                    .space
                    .has_quota(packets[id].vl, packets[id].credits)
            })?;
        self.waiting[sl].pop_front();
        self.pointer = (sl + 1) % sls;
        let packet = &mut packets[id];
        self.sender.space.take(packet.vl, packet.credits);
        for index in 0..packet.flits {
            self.sender
                .buffer
                .arrive(now, packet.vl, packet.flit(id, index));
        }
        Some(sl)
    }

    /// Phase 4: what has just moved in can be scheduled at once.
    pub fn ready(&mut self, now: Tick, packets: &mut [Packet]) {
        while let Some(id) = self.sender.buffer.next_ready(now) {
            packets[id].ready = now;
        }
    }

    /// Phase 8: the receive buffer is read as fast as flits come in.
    pub fn drain(&mut self, now: Tick, spec: &FabricSpec, packets: &[Packet], links: &mut [Link]) {
        for flit in self.received.drain(..) {
            let flits = packets[flit.packet].flits;
            if completes_credit(flit.index, flits, spec.buffers.flits_per_credit) {
                links[self.arriving].return_credit(now, flit.vl);
            }
        }
    }
}
