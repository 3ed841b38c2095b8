//! Phases 3 and 7: what adapters send (`docs/model-infiniband.md` §8).

use super::arbiter::Pick;
use super::credit_returns::CreditReturn;
use super::packet::{Packet, Purpose};
use super::parts::Queue;
use super::queue_pairs::Waiting;
use super::schedule::Length;
use super::{Fabric, event};
use crate::fabric::engine::pool::{InFlight, MessageId, NONE, PacketId};
use crate::fabric::infiniband::MAX_DATA_VLS;
use crate::fabric::spec::Tick;
use crate::fabric::workload::{AppQueue, Message, Workload};

/// What keeps a send engine from sending.
struct Obstacles {
    /// When to look again for what is known.
    again: Tick,
    /// Fewest credits of a packet that lacks some, per VL.
    credits: [u16; MAX_DATA_VLS as usize],
    /// Fewest credits of a packet that lacks room.
    room: u16,
    /// Some first packet has credits.
    any_credits: bool,
}

/// When the send engine looks again.
struct Looks {
    again: Tick,
    /// Also when the next packet starts to leave the output buffer.
    waits_for_room: bool,
}

impl Looks {
    fn at(again: Tick) -> Self {
        Self {
            again,
            waits_for_room: false,
        }
    }
}

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// Phase 3: a message joins the FIFO of its queue pair.
    #[inline]
    pub(super) fn enqueue(&mut self, message: &Message) {
        debug_assert!(message.created <= self.now, "a message from the future");
        debug_assert_ne!(
            message.src, message.dst,
            "the fabric carries no message to oneself"
        );
        if self.messages.is_full() {
            // The run ends with this tick.
            return;
        }
        let Message { src, dst, sl, .. } = *message;
        let mtu = self.mtu[usize::from(sl)];
        let id = self.messages.insert(InFlight::new(message, mtu));
        self.counters.messages += 1;
        let (routes, congestion) = (&self.routes, &mut self.congestion);
        let pair = self.queue_pairs.find(src, (sl, dst), || {
            let flow = congestion
                .as_mut()
                .map_or(0, |congestion| congestion.sources.flow(src, sl, dst));
            (routes.vl_at_hca(src, dst, sl), flow)
        });
        let state = self.queue_pairs.pair_mut(pair);
        let tail = std::mem::replace(&mut state.tail, id);
        if state.head == NONE {
            state.head = id;
            let vl = state.vl;
            let credits = self.first_credits(id);
            self.queue_pairs.insert(src, pair, credits);
            self.hcas[src as usize].waiting_vls |= 1 << vl;
        } else {
            self.messages[tail].next = id;
        }
    }

    /// Length of the next packet of a message, and whether it is the last one.
    #[inline]
    fn next_packet(&self, message: MessageId) -> (Length, bool) {
        let message = &self.messages[message];
        let payload = message
            .bytes_left
            .min(self.mtu[usize::from(message.sl)].into());
        let length = Length {
            bytes: payload as u32 + self.header_bytes,
            flits: self.timing.flits(payload as u32, self.header_bytes),
        };
        (length, payload == message.bytes_left)
    }

    fn first_credits(&self, message: MessageId) -> u16 {
        let (length, _) = self.next_packet(message);
        length.flits.div_ceil(self.flits_per_credit) as u16
    }

    /// Phase 7: adapters that something happened to.
    #[inline]
    pub(super) fn send(&mut self, workload: &mut impl Workload) {
        for i in 0..self.dirty_hcas.len() {
            let nic = self.dirty_hcas[i];
            self.hcas[nic as usize].dirty = false;
            if !self.packets.is_full() {
                self.send_from(nic);
            }
        }
        self.dirty_hcas.clear();
        self.replenish(workload);
    }

    /// What the workload kept back of queue pairs whose last packet was picked in this tick.
    /// None of it could have been picked: the send engines are not free.
    fn replenish(&mut self, workload: &mut impl Workload) {
        for i in 0..self.exhausted.len() {
            let (nic, pair) = self.exhausted[i];
            let pair = self.queue_pairs.pair(pair);
            let (sl, dst) = (pair.sl, Some(pair.dst));
            if let Some(message) = workload.replenish(self.now, AppQueue { nic, sl, dst }) {
                self.enqueue(&message);
                self.wake_hca(nic, self.hcas[nic as usize].engine_free.tick);
            }
        }
        self.exhausted.clear();
    }

    fn send_from(&mut self, nic: u32) {
        let (now, output) = (self.now, self.ports as u32 + nic);
        let mut again = Tick::MAX;
        let is_free = |fabric: &Self| fabric.outputs[output as usize].link_free.tick <= now;
        // (a) Answers.
        if is_free(self) {
            again = self.answer(nic, output);
        }
        // (b) The send engine.
        let looks = self.fetch(nic, output);
        again = again.min(looks.again);
        // (c) The output buffer.
        let hca = &self.hcas[nic as usize];
        let (buffer, answers) = (hca.buffer.head, [hca.cnps.head, hca.acks.head]);
        if buffer != NONE && is_free(self) {
            let room_at = self.start_from_buffer(nic, output);
            if looks.waits_for_room {
                again = again.min(room_at);
            }
        }
        // Whoever still waits for the link looks when it is free.
        let hca = &self.hcas[nic as usize];
        if !is_free(self) && (hca.buffer.head != NONE || answers.iter().any(|&id| id != NONE)) {
            again = again.min(self.outputs[output as usize].link_free.tick);
        }
        if again != Tick::MAX {
            self.wake_hca(nic, again);
        }
    }

    /// Sends the first CNP or ACK that has credits; else, when to look again.
    fn answer(&mut self, nic: u32, output: u32) -> Tick {
        let mut again = Tick::MAX;
        for cnps in [true, false] {
            let hca = &self.hcas[nic as usize];
            let id = if cnps { hca.cnps.head } else { hca.acks.head };
            if id == NONE {
                continue;
            }
            let Packet { vl, credits, .. } = self.packets[id];
            let output_vl = output as usize * self.vls + usize::from(vl);
            let there = self.credits(output, output_vl, credits);
            if there < credits {
                let missing = u32::from(credits - there);
                let date = self.credits_at(output, vl, missing);
                again = again.min(date.unwrap_or(Tick::MAX));
                continue;
            }
            self.output_vls[output_vl].credits -= credits;
            let hca = &mut self.hcas[nic as usize];
            let queue = if cnps { &mut hca.cnps } else { &mut hca.acks };
            queue.head = self.packets[id].next;
            self.start(nic, output, id);
            return Tick::MAX;
        }
        again
    }

    /// Lets the send engine take a packet, if it is free.
    fn fetch(&mut self, nic: u32, output: u32) -> Looks {
        let now = self.now;
        let vls = self.vls;
        let hca = &self.hcas[nic as usize];
        let waiting_vls = hca.waiting_vls;
        if waiting_vls == 0 {
            return Looks::at(Tick::MAX);
        }
        if hca.engine_free.tick > now {
            return Looks::at(hca.engine_free.tick);
        }
        let room = self.room(output, self.largest);
        let mut obstacles = Obstacles {
            again: Tick::MAX,
            credits: [u16::MAX; MAX_DATA_VLS as usize],
            room: u16::MAX,
            any_credits: false,
        };
        let (mut candidates, mut found) = (0u32, [0usize; MAX_DATA_VLS as usize]);
        let mut rest = waiting_vls;
        while rest != 0 {
            let vl = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let output_vl = output as usize * vls + vl;
            let credits = self.credits(output, output_vl, self.largest);
            let pointer = self.hcas[nic as usize].pointers[vl];
            if let Some(at) = self.eligible(nic, vl, (credits, room), pointer, &mut obstacles) {
                candidates |= 1 << vl;
                found[vl] = at;
            }
        }
        let port = &mut self.outputs[output as usize];
        if obstacles.any_credits {
            port.is_not_blocked(now);
        } else {
            port.is_blocked(now);
        }
        if candidates != 0 {
            let pick = self.hca_arbiters.pick(nic as usize, candidates);
            self.take(nic, output, pick, found[usize::from(pick.vl)]);
            let hca = &self.hcas[nic as usize];
            return Looks::at(match hca.waiting_vls {
                0 => Tick::MAX,
                _ => hca.engine_free.tick,
            });
        }
        let (mut again, mut waits_for_room) = (obstacles.again, false);
        for (vl, &needs) in obstacles.credits.iter().enumerate() {
            if needs != u16::MAX {
                let there = self.output_vls[output as usize * vls + vl].credits;
                let date = self.credits_at(output, vl as u8, u32::from(needs - there));
                again = again.min(date.unwrap_or(Tick::MAX));
            }
        }
        if obstacles.room != u16::MAX {
            let missing = u32::from(obstacles.room - room);
            let leaving = &self.leaving[output as usize];
            match leaving.date_of(&self.drain, 0, missing) {
                Some(date) => again = again.min(date),
                None => waits_for_room = true,
            }
        }
        Looks {
            again,
            waits_for_room,
        }
    }

    /// Position of the first queue pair of `vl` at or after `pointer` that may send.
    fn eligible(
        &self,
        nic: u32,
        vl: usize,
        (credits, room): (u16, u16),
        pointer: u32,
        obstacles: &mut Obstacles,
    ) -> Option<usize> {
        let waiting = self.queue_pairs.waiting(nic, vl);
        let first = waiting.partition_point(|pair| pair.key < pointer);
        for at in (first..waiting.len()).chain(0..first) {
            let Waiting {
                pair,
                credits: needs,
                ..
            } = waiting[at];
            if credits < needs {
                let fewest = &mut obstacles.credits[vl];
                *fewest = needs.min(*fewest);
                continue;
            }
            obstacles.any_credits = true;
            if room < needs {
                obstacles.room = obstacles.room.min(needs);
                continue;
            }
            if let Some(congestion) = &self.congestion {
                let flow = self.queue_pairs.pair(pair).flow;
                if let Some(until) = congestion.sources.held_until(flow, self.now) {
                    obstacles.again = obstacles.again.min(until);
                    continue;
                }
            }
            return Some(at);
        }
        None
    }

    /// The send engine takes the first packet of the queue pair at position `at`.
    fn take(&mut self, nic: u32, output: u32, pick: Pick, at: usize) {
        let now = self.now;
        let vl = usize::from(pick.vl);
        let Waiting { key, pair, credits } = self.queue_pairs.waiting(nic, vl)[at];
        let state = *self.queue_pairs.pair(pair);
        let id = state.head;
        let (length, last) = self.next_packet(id);
        let message = &mut self.messages[id];
        let mtu = u64::from(self.mtu[usize::from(state.sl)]);
        let index = message.next_index;
        message.bytes_left -= message.bytes_left.min(mtu);
        message.next_index = index.wrapping_add(1);
        let mut next = id;
        if last {
            next = message.next;
            self.queue_pairs.pair_mut(pair).head = next;
        }
        let next = (next != NONE).then(|| self.first_credits(next));
        if next.is_none() {
            self.exhausted.push((nic, pair));
        }
        if self.queue_pairs.advance(nic, vl, at, next) {
            self.hcas[nic as usize].waiting_vls &= !(1 << vl);
        }
        self.hcas[nic as usize].pointers[vl] = key + 1;
        self.hca_arbiters
            .grant(nic as usize, pick, length.bytes.into());

        let rates = &self.drain.rates;
        let hca = &mut self.hcas[nic as usize];
        let blank = Packet::<L>::default();
        let rate = self.send_rates[nic as usize];
        let (schedule, free) = blank
            .schedule
            .served(rates, rate, hca.engine_free, now, length);
        hca.engine_free = free;
        let packet = self.packets.insert(Packet {
            schedule,
            waiting_since: now,
            message: id,
            index,
            src: nic,
            dst: state.dst,
            bytes: length.bytes,
            flits: length.flits as u16,
            credits,
            sl: state.sl,
            vl: pick.vl,
            buffer_vl: pick.vl,
            last,
            ..blank
        });
        append(&mut self.hcas[nic as usize].buffer, packet, |tail| {
            &mut self.packets[tail].next
        });
        self.outputs[output as usize].room -= credits;
        self.output_vls[output as usize * self.vls + vl].credits -= credits;
        if let Some(congestion) = &mut self.congestion {
            let ccti = congestion.sources.ccti(state.flow, now);
            let end = free.first_whole_tick();
            congestion.sources.sent(state.flow, end, length.bytes);
            self.counters.count_sent(ccti);
        }
    }

    /// The link takes the first packet of the output buffer; returns when its first credit
    /// of room is free.
    fn start_from_buffer(&mut self, nic: u32, output: u32) -> Tick {
        let buffer = &mut self.hcas[nic as usize].buffer;
        let id = buffer.head;
        buffer.head = self.packets[id].next;
        let leaves = self.start(nic, output, id);
        let packet = &self.packets[id];
        let port = &mut self.outputs[output as usize];
        let credit_return = CreditReturn {
            end: leaves.tail() + 1,
            crossing: 0,
            schedule: leaves.later(1),
            flits: packet.flits,
            credits: packet.credits,
            done: 0,
            vl: 0,
        };
        let give = |_, credits| port.room += credits;
        self.leaving[output as usize].push(credit_return, self.now, give);
        credit_return.credit_date(&self.drain, 0)
    }

    /// A packet starts on the link of an adapter; returns when its flits leave.
    fn start(&mut self, nic: u32, output: u32, id: PacketId) -> super::schedule::Schedule<L> {
        let now = self.now;
        let packet = &mut self.packets[id];
        let length = packet.length();
        let flits = length.flits;
        let port = &mut self.outputs[output as usize];
        let rates = &self.drain.rates;
        let (leaves, free) = packet
            .schedule
            .served(rates, port.rate, port.link_free, now, length);
        port.link_free = free;
        port.sent.packets += 1;
        port.sent.flits += u64::from(flits);
        port.sent.bytes += u64::from(length.bytes);
        port.sent.queue_wait += now - packet.waiting_since;
        self.counters.host_flit_hops += u64::from(flits);
        packet.injected = now;
        packet.schedule = leaves.arriving(port.flight, port.arrival_of_tail(free), flits);
        packet.input = port.to.peer();
        if packet.purpose == Purpose::Data {
            self.counters.packets += 1;
            self.counters.flits_injected += u64::from(flits);
            let message = &self.messages[packet.message];
            if packet.last && message.report_injection {
                let left = leaves.tail() + 1;
                let injections = &mut self.hcas[nic as usize].injections;
                injections.push_back((left, message.token));
                if injections.len() == 1 {
                    self.push(left, event::INJECTION, nic);
                }
            }
        }
        self.send_to_switch(id);
        leaves
    }

    /// Phase 2: tails that left in the tick before are reported.
    pub(super) fn report_injections(&mut self, nic: u32, workload: &mut impl Workload) {
        let injections = &mut self.hcas[nic as usize].injections;
        while let Some(&(at, token)) = injections.front() {
            if at > self.now {
                self.push(at, event::INJECTION, nic);
                return;
            }
            injections.pop_front();
            workload.injected(self.now, token);
        }
    }
}

/// Appends a packet to a FIFO; `next_of`: the link of a packet.
pub(super) fn append<'a>(
    queue: &mut Queue,
    id: PacketId,
    next_of: impl FnOnce(PacketId) -> &'a mut PacketId,
) {
    if queue.head == NONE {
        queue.head = id;
    } else {
        *next_of(queue.tail) = id;
    }
    queue.tail = id;
}
