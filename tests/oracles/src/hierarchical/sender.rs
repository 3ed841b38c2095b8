//! The sender of a link: a buffer, a scheduler, and the view of the far buffer.
//! A NIC's send queue and a switch's output buffer are the same thing.

use super::buffer::{Buffer, Ledger};
use super::link::Link;
use super::packet::{Flit, Packet, PacketId};
use super::scheduler::{Candidate, Scheduler};
use crate::sizes::completes_credit;
use flitwise_fabric::spec::hierarchical::Pool;
use flitwise_fabric::spec::{FabricSpec, Tick};

/// The sending end of a link.
#[derive(Debug, Clone)]
pub struct Sender {
    pub buffer: Buffer,
    /// Credits of `buffer`, kept for the sources that write to it.
    pub ledger: Ledger,
    /// Credits of the buffer at the other end, as seen from here.
    pub far: Ledger,
    /// The link; `None` at a port that is not connected.
    pub link: Option<usize>,
    scheduler: Scheduler,
    sending: Option<Sending>,
    /// VLs of the credits that the flits of this tick leave behind.
    freed: Vec<usize>,
    per_credit: u32,
}

/// The choice of a sender in phase 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The link is busy, or nothing is ready.
    Nothing,
    /// The link is free and heads are ready, but none has quota beyond the link.
    NoQuota,
    /// This packet starts.
    Send(PacketId),
}

/// The packet on the link.
#[derive(Debug, Clone, Copy)]
struct Sending {
    packet: PacketId,
    vl: usize,
    next: u32,
    flits: u32,
    /// Ticks in which no flit leaves, as tries fail.
    held: Tick,
    /// The header, if the packet does not come from the buffer.
    direct: Option<Flit>,
}

impl Sender {
    /// A sender with a buffer of kind `own`, whose flits wait for `store`
    /// ticks, before a buffer of kind `far`.
    pub fn new(
        spec: &FabricSpec,
        own: &Pool,
        store: Tick,
        far: &Pool,
        link: Option<usize>,
    ) -> Self {
        let per_credit = spec.units.flits_per_credit;
        Self {
            buffer: Buffer::new(own.per_vl.len(), own.total * per_credit, store, store),
            ledger: Ledger::per_vl(own),
            far: Ledger::per_vl(far),
            link,
            scheduler: Scheduler::new(spec),
            sending: None,
            freed: Vec::new(),
            per_credit,
        }
    }

    /// Phase 2: the credits left in the tick before are free.
    pub fn release(&mut self) {
        for vl in self.freed.drain(..) {
            self.ledger.give_back_one(vl);
        }
    }

    /// Heads that are ready to leave.
    pub fn heads(&self) -> usize {
        self.buffer.heads().count()
    }

    /// Phase 7: if the link is free, the scheduler picks a packet.
    pub fn schedule(&mut self, spec: &FabricSpec, packets: &[Packet]) -> Choice {
        if self.sending.is_some() {
            return Choice::Nothing;
        }
        let heads: Vec<(usize, PacketId)> = self.buffer.heads().collect();
        let candidates: Vec<Candidate> = heads
            .iter()
            .filter(|&&(vl, id)| self.far.has_quota(vl, packets[id].credits))
            .map(|&(vl, id)| Candidate::new(vl, &packets[id], spec))
            .collect();
        let Some(vl) = self.scheduler.select(&candidates) else {
            return if heads.is_empty() {
                Choice::Nothing
            } else {
                Choice::NoQuota
            };
        };
        let id = self.buffer.remove_head(vl);
        let packet = &packets[id];
        self.far.take(vl, packet.credits);
        self.sending = Some(Sending {
            packet: id,
            vl,
            next: 0,
            flits: packet.flits,
            held: 0,
            direct: None,
        });
        Choice::Send(id)
    }

    /// Phase 7: a packet from outside the buffer starts, if the link is free and there is
    /// quota for it; false if it does not.
    pub fn start_directly(&mut self, id: PacketId, packet: &Packet) -> bool {
        if self.sending.is_some() || !self.far.has_quota(packet.vl, packet.credits) {
            return false;
        }
        self.far.take(packet.vl, packet.credits);
        self.sending = Some(Sending {
            packet: id,
            vl: packet.vl,
            next: 0,
            flits: packet.flits,
            held: 0,
            direct: Some(packet.flit(id, 0)),
        });
        true
    }

    /// Phase 7: the flits of the packet that starts leave `ticks` ticks later.
    pub fn hold(&mut self, ticks: Tick) {
        let sending = self.sending.as_mut();
        sending.expect("a packet has started").held = ticks;
    }

    /// Phase 8: the next flit of the packet on the link leaves. Returns the
    /// packet if this was its tail.
    pub fn send(&mut self, now: Tick, links: &mut [Link<'_>]) -> Option<PacketId> {
        let sending = self.sending.as_mut()?;
        if sending.held > 0 {
            sending.held -= 1;
            return None;
        }
        let link = self
            .link
            .expect("a packet was routed to a port without a link");
        let index = sending.next;
        let flit = if let Some(header) = sending.direct {
            Flit { index, ..header }
        } else {
            if completes_credit(index, sending.flits, self.per_credit) {
                self.freed.push(sending.vl);
            }
            self.buffer
                .leave(now, sending.vl, sending.packet, index)
                .expect("a link is never starved in the middle of a packet")
        };
        links[link].send(now, flit);
        sending.next += 1;
        if sending.next < sending.flits {
            return None;
        }
        self.sending.take().map(|sending| sending.packet)
    }
}
