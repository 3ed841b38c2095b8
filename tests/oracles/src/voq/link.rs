//! Links with the buffer before them: flits one way, credits the other.

use super::degraded::Servers;
use super::fifos::Notice;
use super::packet::{Flit, Packet, PacketId, PacketKind};
use super::server::Server;
use crate::bit_errors::BitErrors;
use crate::credit_returns::CreditReturns;
use crate::delay_line::DelayLine;
use crate::outages::Outages;
use crate::power::{PowerState, StateTicks};
use crate::sizes::completes_credit;
use crate::wiring::End;
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::{FabricSpec, LinkPower, Tick};
use std::collections::{BTreeSet, VecDeque};

/// Counters of one direction of a link (section 13).
#[derive(Debug, Clone)]
pub struct LinkCounts {
    /// Its sending end.
    pub from: End,
    /// Its receiving end.
    pub to: End,
    /// Bytes of the packets started, headers included.
    pub bytes: u64,
    /// Flits of the packets started.
    pub flits: u64,
    /// Packets started.
    pub packets: u64,
    /// Ticks that packets waited for a grant, and then for the link.
    pub queue_wait: Tick,
    /// Ticks in which heads waited and none had credits.
    pub credit_wait: Tick,
    /// The ticks that it spent in each power state; `None` if it is always up.
    pub states: Option<StateTicks>,
    /// Failed tries; `None` if there are no bit errors.
    pub retries: Option<u64>,
}

/// An output buffer of one FIFO, the link behind it, and the count of the credits of
/// the buffer at the far end.
#[derive(Debug, Clone)]
pub struct Link<'s> {
    pub from: End,
    pub to: End,
    pub latency: Tick,
    servers: Servers,
    /// The server that it is on its low lanes.
    low_server: Server,
    power: Option<PowerState<'s>>,
    outages: Outages,
    errors: Option<BitErrors>,
    /// The tick from which the flits of the packet started last leave.
    held_until: Tick,
    /// Packets in the output buffer that take the low lanes.
    slow: Vec<PacketId>,
    /// The packet granted last, if it went on the low lanes.
    last_slow: Option<PacketId>,
    pub counts: LinkCounts,
    /// Credits of the output buffer: all, and in use.
    total: u32,
    used: u32,
    /// Credits of the output buffer that the flits of this tick leave behind.
    freed: u32,
    /// Credits left at the far end, per VL, and all. With credits per flow: per destination, then VL.
    far: Vec<u32>,
    far_size: Vec<u32>,
    /// The far end has credits for each destination.
    per_flow: bool,
    /// Stop and go signals on their way back, and flows, as (VL, destination), that are stopped.
    notices: DelayLine<Notice>,
    /// Stops sent so far.
    pub stops: u64,
    stopped: BTreeSet<(usize, u32)>,
    per_credit: u32,
    /// Packets granted into the output buffer whose header has not left.
    queue: VecDeque<PacketId>,
    /// Flits in the output buffer, with the ticks from which they may leave.
    stored: VecDeque<(Tick, Flit)>,
    /// The packets on the link, one behind the other: a tail and the next header may leave in
    /// one tick.
    sending: VecDeque<Sending>,
    flits: DelayLine<Flit>,
    credits: CreditReturns,
}

/// The packet on the link.
#[derive(Debug, Clone)]
struct Sending {
    packet: PacketId,
    vl: usize,
    dst: u32,
    next: u32,
    flits: u32,
    /// The tick in which each flit leaves, and the tick in which it arrives: the header may be far away by then.
    leaves: Vec<Tick>,
    dated: Vec<Tick>,
    /// Not from the output buffer: a CNP or an ACK.
    direct: bool,
}

impl<'s> Link<'s> {
    pub fn new(
        spec: &'s FabricSpec,
        (from, to): (End, End),
        latency: Tick,
        rate: Ratio,
        own: u32,
        (far_size, flows): (Vec<u32>, Option<u32>),
    ) -> Self {
        let (flit_bytes, per_credit) = (spec.units.flit_bytes, spec.units.flits_per_credit);
        let power = spec.link_power.as_deref();
        let low = power.and_then(LinkPower::low);
        let low_rate = low.and_then(|low| low.rate(rate)).unwrap_or(rate);
        Self {
            from,
            to,
            latency,
            servers: Servers::new(spec, (from, to), rate),
            low_server: Server::new(low_rate, flit_bytes),
            power: PowerState::new(power, (from, to)),
            outages: Outages::new(spec, (from, to)),
            errors: BitErrors::new(spec, from, latency, rate),
            held_until: 0,
            slow: Vec::new(),
            last_slow: None,
            counts: LinkCounts {
                from,
                to,
                bytes: 0,
                flits: 0,
                packets: 0,
                queue_wait: 0,
                credit_wait: 0,
                states: None,
                retries: spec.bit_errors.map(|_| 0),
            },
            total: own,
            used: 0,
            freed: 0,
            far: far_size.repeat(flows.unwrap_or(1) as usize),
            far_size,
            per_flow: flows.is_some(),
            notices: DelayLine::new(),
            stops: 0,
            stopped: BTreeSet::new(),
            per_credit,
            queue: VecDeque::new(),
            stored: VecDeque::new(),
            sending: VecDeque::new(),
            flits: DelayLine::new(),
            credits: CreditReturns::new(latency),
        }
    }

    pub fn has_room(&self, credits: u32) -> bool {
        self.used + credits <= self.total
    }

    /// Credits of the output buffer in use.
    pub fn in_use(&self) -> u32 {
        self.used
    }

    /// The credits that a packet of `vl` for `dst` takes.
    fn pool(&self, vl: usize, dst: u32) -> usize {
        let flow = if self.per_flow { dst as usize } else { 0 };
        flow * self.far_size.len() + vl
    }

    /// Whether the VL has `credits` credits, even if flows are stopped; there are no credits per flow.
    pub fn vl_has_credits(&self, vl: usize, credits: u32) -> bool {
        assert!(!self.per_flow);
        self.far[vl] >= credits
    }

    pub fn is_stopped(&self, vl: usize, dst: u32) -> bool {
        self.stopped.contains(&(vl, dst))
    }

    /// There are credits for a packet, on the VL that was decided last.
    pub fn has_credits(&self, packet: &Packet) -> bool {
        let free = self.far[self.pool(packet.vl, packet.dst)];
        free >= packet.credits && !self.is_stopped(packet.vl, packet.dst)
    }

    pub fn take_credits(&mut self, packet: &Packet) {
        assert!(self.has_credits(packet));
        let pool = self.pool(packet.vl, packet.dst);
        self.far[pool] -= packet.credits;
    }

    /// The flit that completes a credit of the far end leaves it.
    pub fn return_credits(&mut self, now: Tick, flit: Flit, held_back: Tick) {
        let pool = self.pool(flit.vl, flit.dst);
        self.credits.push(now, pool, held_back);
    }

    /// The far end sends stops and goes.
    pub fn tell(&mut self, now: Tick, notices: Vec<Notice>) {
        for notice in notices {
            self.stops += u64::from(notice.stop);
            self.notices.push(now + 1 + self.latency, notice);
        }
    }

    /// A packet is granted its way into the output buffer.
    pub fn grant(&mut self, id: PacketId, packet: &Packet) {
        assert!(self.has_room(packet.credits));
        self.used += packet.credits;
        self.take_credits(packet);
        self.queue.push_back(id);
        if let (End::Port { .. }, Some(power)) = (self.from, &mut self.power) {
            power.packet_leaves(packet.bytes.max(1));
            self.last_slow = power.is_slow().then_some(id);
            self.slow.extend(self.last_slow);
        }
    }

    /// A packet begins to wait for the link.
    pub fn packet_waits(&mut self, now: Tick, bytes: u32) {
        let is_clear = self.is_clear(now);
        if let Some(power) = &mut self.power {
            power.packet_waits(bytes.max(1), is_clear);
        }
    }

    /// Phase 2: a packet announces itself.
    pub fn announced(&mut self, now: Tick) {
        let is_clear = self.is_clear(now);
        if let Some(power) = &mut self.power {
            power.announced(is_clear);
        }
    }

    /// No packet is on the link, nor on its way to the low lanes, at the beginning of tick `now`.
    fn is_clear(&self, now: Tick) -> bool {
        self.slow.is_empty() && self.servers.end() <= now && self.low_server.end() <= now
    }

    /// The beginning of a tick.
    pub fn begin_tick(&mut self, now: Tick) {
        let is_clear = self.is_clear(now);
        if let Some(power) = &mut self.power {
            power.begin_tick(is_clear);
        }
    }

    /// The end of a tick.
    pub fn end_tick(&mut self, now: Tick) {
        // A packet that a NIC has not started still waits; a packet that a switch granted does not.
        let of_nic = matches!(self.from, End::Nic(_));
        let is_empty = self.is_clear(now) && (of_nic || self.queue.is_empty());
        if let Some(power) = &mut self.power {
            power.end_tick(is_empty);
            self.counts.states = Some(power.counts);
        }
    }

    /// The ticks that it spent in each power state since the sample before.
    pub fn sample_power(&mut self) -> Option<StateTicks> {
        self.power.as_mut().map(PowerState::sample)
    }

    /// Time alone brings it up or down.
    pub fn is_changing(&self, now: Tick) -> bool {
        self.power.as_ref().is_some_and(PowerState::is_changing)
            || self.outages.will_end(now)
            || now < self.held_until
    }

    /// A packet that went on the low lanes keeps the port that writes the output buffer from being idle:
    /// until it has started, and the link is free when the next header could be there, `ahead` ticks
    /// later.
    pub fn keeps_port(&self, now: Tick, ahead: Tick) -> bool {
        let starts_later = |id: &PacketId| self.queue.contains(id);
        let waits = |id: PacketId| starts_later(&id) || !self.low_server.is_free(now + ahead);
        self.last_slow.is_some_and(waits)
    }

    /// Packet `id` may start, as far as the power state says.
    fn is_powered(&self, id: PacketId) -> bool {
        self.power.as_ref().is_none_or(|power| {
            power.may_start(match self.from {
                End::Nic(_) => power.is_slow(),
                End::Port { .. } => self.slow.contains(&id),
            })
        })
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
        self.servers.are_free(now) && self.low_server.is_free(now)
    }

    /// Whether a tick without credits counts as credit wait.
    pub fn counts_credit_wait(&self, now: Tick) -> bool {
        !self.outages.is_down(now)
    }

    /// A CNP or an ACK may start.
    pub fn takes_answers(&self, now: Tick) -> bool {
        let power = self.power.as_ref();
        let is_powered = power.is_none_or(|power| power.may_start(power.is_slow()));
        self.is_free(now) && is_powered && !self.outages.is_down(now)
    }

    /// Phase 7: the first packet of the output buffer, if it may start now. The tail of the
    /// packet before may still be ahead: it leaves in this tick.
    pub fn ready(&self, now: Tick) -> Option<PacketId> {
        let &first = self.queue.front()?;
        let is_header = |flit: &Flit| flit.packet == first && flit.index == 0;
        let header = self.stored.iter().find(|(_, flit)| is_header(flit));
        let here = header.is_some_and(|&(available, _)| available <= now);
        let starts = self.is_free(now) && self.is_powered(first) && !self.outages.is_down(now);
        (here && starts).then_some(first)
    }

    /// Phase 7: a packet starts. Its flits follow in [`Link::leave`].
    pub fn start(&mut self, now: Tick, id: PacketId, packet: &mut Packet) {
        let direct = packet.kind != PacketKind::Data && self.queue.front() != Some(&id);
        if !direct {
            assert_eq!(self.queue.pop_front(), Some(id));
        }
        let available = (!direct).then_some(packet.available.as_slice());
        let server = if self.takes_slowly(id, packet.bytes) {
            &mut self.low_server
        } else {
            self.servers.at(now)
        };
        let mut service = server.serve(now, (packet.bytes, packet.flits), available);
        if let Some(errors) = &mut self.errors {
            let held = errors.held(packet.flits);
            server.hold(held, &mut service);
            self.held_until = now + held;
            self.counts.retries = Some(errors.retries);
        }
        // All flits but the last are whole.
        let flight = self.latency + server.flit_ticks() - 1;
        packet.dated = service.leaves.iter().map(|tick| tick + flight).collect();
        *packet.dated.last_mut().expect("a packet has flits") = service.last + self.latency;
        self.sending.push_back(Sending {
            packet: id,
            vl: packet.vl,
            dst: packet.dst,
            next: 0,
            flits: packet.flits,
            leaves: service.leaves,
            dated: packet.dated.clone(),
            direct,
        });
        self.counts.bytes += u64::from(packet.bytes);
        self.counts.packets += 1;
        self.counts.flits += u64::from(packet.flits);
        self.counts.queue_wait += now - packet.waiting_since;
    }

    /// Packet `id` starts. Returns whether it takes the low lanes.
    fn takes_slowly(&mut self, id: PacketId, bytes: u32) -> bool {
        let Some(power) = &mut self.power else {
            return false;
        };
        if let End::Nic(_) = self.from {
            power.packet_leaves(bytes.max(1));
            return power.is_slow();
        }
        let before = self.slow.len();
        self.slow.retain(|&other| other != id);
        self.slow.len() < before
    }

    /// Phase 8: flits leave. Returns how many, and the packets whose tails were among them.
    pub fn leave(&mut self, now: Tick) -> (usize, Vec<PacketId>) {
        let (mut left, mut tails) = (0, Vec::new());
        while let Some((id, is_tail)) = self.leave_one(now) {
            left += 1;
            tails.extend(is_tail.then_some(id));
        }
        (left, tails)
    }

    fn leave_one(&mut self, now: Tick) -> Option<(PacketId, bool)> {
        let sending = self.sending.front_mut()?;
        let (id, index) = (sending.packet, sending.next);
        if sending.leaves[index as usize] > now {
            return None;
        }
        assert_eq!(
            sending.leaves[index as usize], now,
            "a flit leaves in its tick"
        );
        let flit = if sending.direct {
            Flit {
                packet: id,
                index,
                vl: sending.vl,
                dst: sending.dst,
            }
        } else {
            let &(available, flit) = self.stored.front().expect("a flit that leaves is here");
            assert!(
                available <= now,
                "a flit leaves as was foreseen when its header left"
            );
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
        self.flits.push(sending.dated[index as usize], flit);
        sending.next += 1;
        let is_tail = sending.next == sending.flits;
        if is_tail {
            self.sending.pop_front();
        }
        Some((id, is_tail))
    }

    /// Phase 1: a flit comes out.
    pub fn arriving_flit(&mut self, now: Tick) -> Option<Flit> {
        self.flits.pop_due(now)
    }

    /// Phase 1: credits, stops and goes are seen.
    pub fn see_credits(&mut self, now: Tick) -> usize {
        let mut seen = 0;
        while let Some(pool) = self.credits.pop_due(now) {
            self.far[pool] += 1;
            let size = self.far_size[pool % self.far_size.len()];
            assert!(self.far[pool] <= size, "a credit too many");
            seen += 1;
        }
        while let Some(Notice { vl, dst, stop }) = self.notices.pop_due(now) {
            let changed = if stop {
                self.stopped.insert((vl, dst))
            } else {
                self.stopped.remove(&(vl, dst))
            };
            assert!(changed, "stops and goes take turns");
            seen += 1;
        }
        seen
    }

    /// Ticks of one flit at the slowest, rounded up.
    pub fn flit_ticks(&self) -> Tick {
        self.servers.flit_ticks().max(self.low_server.flit_ticks())
    }

    /// Flits in the output buffer and on the link.
    pub fn flits(&self) -> usize {
        let from_buffer = self.stored.len();
        let direct = self.sending.iter().filter(|sending| sending.direct);
        let rest = direct.map(|sending| (sending.flits - sending.next) as usize);
        from_buffer + self.flits.len() + rest.sum::<usize>()
    }

    pub fn has_credits_under_way(&self) -> bool {
        self.credits.are_under_way()
    }

    /// Flits that have left and not arrived.
    pub fn under_way(&self) -> usize {
        self.flits.len()
    }
}
