//! Links with the buffer before them: flits one way, credits the other.

use super::delay_line::DelayLine;
use super::packet::{Flit, Packet, PacketId, PacketKind, completes_credit};
use super::server::{Line, Server};
use flitwise::fabric::spec::Tick;
use flitwise::units::Ratio;
use std::collections::VecDeque;

/// Where a link begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Nic(usize),
    Port { switch: usize, port: usize },
}

/// Counters of one direction of a link (section 13).
#[derive(Debug, Clone)]
pub struct LinkCounts {
    pub from: End,
    pub to: End,
    pub flits: u64,
    pub packets: u64,
    pub queue_wait: Tick,
    pub credit_wait: Tick,
}

/// An output buffer of one FIFO, the link behind it, and the count of the credits of
/// the buffer at the far end.
#[derive(Debug, Clone)]
pub struct Link {
    pub from: End,
    pub to: End,
    pub latency: Tick,
    pub server: Server,
    pub counts: LinkCounts,
    /// Credits of the output buffer: all, and in use.
    total: u32,
    used: u32,
    /// Credits of the output buffer that the flits of this tick leave behind.
    freed: u32,
    /// Credits left at the far end, per VL, and all.
    pub far: Vec<u32>,
    far_size: Vec<u32>,
    per_credit: u32,
    /// Packets granted into the output buffer whose header has not left.
    queue: VecDeque<PacketId>,
    /// Flits in the output buffer, with the ticks from which they may leave.
    stored: VecDeque<(Tick, Flit)>,
    sending: Option<Sending>,
    flits: DelayLine<Flit>,
    /// VL of each credit on its way back.
    credits: DelayLine<usize>,
    /// When the last of them is seen: none that is returned later overtakes it.
    last_credit: Tick,
}

/// The packet on the link.
#[derive(Debug, Clone)]
struct Sending {
    packet: PacketId,
    vl: usize,
    line: Line,
    next: u32,
    flits: u32,
    /// When each flit is dated, and when the last one may leave the buffer: its header may
    /// be far away by then.
    dated: Vec<Tick>,
    tail_available: Tick,
    /// Not from the output buffer: a CNP or an ACK.
    direct: bool,
}

impl Link {
    pub fn new(
        (from, to): (End, End),
        latency: Tick,
        rate: Ratio,
        own: u32,
        far: Vec<u32>,
        per_credit: u32,
    ) -> Self {
        Self {
            from,
            to,
            latency,
            server: Server::new(rate),
            counts: LinkCounts {
                from,
                to,
                flits: 0,
                packets: 0,
                queue_wait: 0,
                credit_wait: 0,
            },
            total: own,
            used: 0,
            freed: 0,
            far_size: far.clone(),
            far,
            per_credit,
            queue: VecDeque::new(),
            stored: VecDeque::new(),
            sending: None,
            flits: DelayLine::new(),
            credits: DelayLine::new(),
            last_credit: 0,
        }
    }

    pub fn has_room(&self, credits: u32) -> bool {
        self.used + credits <= self.total
    }

    /// Credits of the output buffer in use.
    pub fn in_use(&self) -> u32 {
        self.used
    }

    pub fn has_credits(&self, vl: usize, credits: u32) -> bool {
        self.far[vl] >= credits
    }

    pub fn take_credits(&mut self, vl: usize, credits: u32) {
        assert!(self.has_credits(vl, credits));
        self.far[vl] -= credits;
    }

    /// A packet is granted its way into the output buffer.
    pub fn grant(&mut self, id: PacketId, packet: &Packet) {
        assert!(self.has_room(packet.credits));
        self.used += packet.credits;
        self.take_credits(packet.vl, packet.credits);
        self.queue.push_back(id);
    }

    /// A flit joins the output buffer, and may leave from `available` on.
    pub fn store(&mut self, available: Tick, flit: Flit) {
        self.stored.push_back((available, flit));
        let room = (self.total * self.per_credit) as usize;
        assert!(self.stored.len() <= room, "a buffer over its size");
    }

    /// Phase 2: the room left in the tick before is free.
    pub fn release(&mut self) {
        self.used -= std::mem::take(&mut self.freed);
    }

    pub fn is_free(&self, now: Tick) -> bool {
        self.sending.is_none() && self.server.is_free(now)
    }

    /// Phase 7: the first packet of the output buffer, if it may start now.
    pub fn ready(&self, now: Tick) -> Option<PacketId> {
        let &first = self.queue.front()?;
        let &(available, flit) = self.stored.front()?;
        let here = flit.packet == first && flit.index == 0 && available <= now;
        (here && self.is_free(now)).then_some(first)
    }

    /// Phase 7: a packet starts. Its flits follow in [`Link::leave`].
    pub fn start(&mut self, now: Tick, id: PacketId, packet: &mut Packet) {
        let direct = packet.kind != PacketKind::Data && self.queue.front() != Some(&id);
        if !direct {
            assert_eq!(self.queue.pop_front(), Some(id));
        }
        let line = self.server.start(now);
        if direct {
            packet.available = vec![now; packet.flits as usize];
        }
        let flight = self.flight();
        packet.dated = (0..packet.flits)
            .map(|i| line.tick(i).max(packet.available[i as usize]) + flight)
            .collect();
        self.sending = Some(Sending {
            packet: id,
            vl: packet.vl,
            line,
            next: 0,
            flits: packet.flits,
            dated: packet.dated.clone(),
            tail_available: *packet.available.last().expect("a packet has flits"),
            direct,
        });
        self.counts.packets += 1;
        self.counts.flits += u64::from(packet.flits);
        self.counts.queue_wait += now - packet.waiting_since;
    }

    /// From leaving to being dated.
    fn flight(&self) -> Tick {
        self.latency + self.server.flit_ticks() - 1
    }

    /// Phase 8: at most one flit leaves. Returns how many, and the packet whose tail it was.
    pub fn leave(&mut self, now: Tick) -> (usize, Option<PacketId>) {
        let flight = self.flight();
        let Some(sending) = &mut self.sending else {
            return (0, None);
        };
        let (id, index) = (sending.packet, sending.next);
        if sending.line.tick(index) > now {
            return (0, None);
        }
        let flit = if sending.direct {
            Flit {
                packet: id,
                index,
                vl: sending.vl,
            }
        } else {
            let here = self
                .stored
                .front()
                .filter(|&&(available, _)| available <= now);
            let Some(&(_, flit)) = here else {
                return (0, None);
            };
            assert_eq!(
                (flit.packet, flit.index),
                (id, index),
                "flits keep their order"
            );
            self.stored.pop_front();
            if completes_credit(index, sending.flits, self.per_credit) {
                self.freed += 1;
            }
            flit
        };
        assert_eq!(
            now + flight,
            sending.dated[index as usize],
            "a flit leaves as was foreseen when its header left"
        );
        self.flits.push(now + flight, flit);
        sending.next += 1;
        if sending.next < sending.flits {
            return (1, None);
        }
        self.server
            .finish(sending.line, sending.flits, sending.tail_available);
        self.sending = None;
        (1, Some(id))
    }

    /// The last flit of a credit leaves the buffer at the far end: the credit is free
    /// in the next tick, and seen a flight later, or later by `held_back`.
    pub fn return_credit(&mut self, now: Tick, vl: usize, held_back: Tick) {
        let seen = now + 1 + self.latency + held_back;
        self.last_credit = self.last_credit.max(seen);
        self.credits.push(self.last_credit, vl);
    }

    /// Credits that have not been seen.
    pub fn has_credits_under_way(&self) -> bool {
        self.credits.len() > 0
    }

    /// Phase 1: a flit comes out.
    pub fn arriving_flit(&mut self, now: Tick) -> Option<Flit> {
        self.flits.pop_due(now)
    }

    /// Phase 1: credits are seen.
    pub fn see_credits(&mut self, now: Tick) -> usize {
        let mut seen = 0;
        while let Some(vl) = self.credits.pop_due(now) {
            self.far[vl] += 1;
            assert!(self.far[vl] <= self.far_size[vl], "a credit too many");
            seen += 1;
        }
        seen
    }

    /// Flits in the output buffer and on the link.
    pub fn flits(&self) -> usize {
        let from_buffer = self.stored.len();
        let direct = self.sending.as_ref().filter(|s| s.direct);
        from_buffer + self.flits.len() + direct.map_or(0, |s| (s.flits - s.next) as usize)
    }

    /// Flits that have left and not arrived.
    pub fn under_way(&self) -> usize {
        self.flits.len()
    }
}
