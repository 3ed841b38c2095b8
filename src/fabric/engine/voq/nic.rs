//! Phase 7 of NICs, and their injection reports in phase 2 (`docs/model/infiniband.md` §8).
//!
//! In phase 7 each NIC starts a CNP or an ACK (a), fetches a packet with its send engine (b), and
//! starts a packet of its output buffer on the link (c). How messages join send queues and are cut
//! into packets is in `messages`. What a NIC does with packets that arrive is in `arrival`; its
//! sink is in `crossing`.

use super::arbiter::Pick;
use super::credit_return::CreditReturn;
use super::flows::Flow;
use super::packet::{Origin, Packet, Purpose};
use super::power::waiting_bytes;
use super::rate::Length;
use super::schedule::Schedule;
use super::{Event, Fabric};
use crate::engine::congestion::FlowId;
use crate::engine::ids::OutputId;
use crate::engine::nic::Place;
use crate::engine::observers::Transfer;
use crate::engine::pool::{MessageId, PacketId};
use crate::engine::power::Passage;
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::spec::Tick;
use crate::spec::qos::MAX_LEVELS;
use crate::workload::Workload;

/// The conditions on which the send engine may fetch again the packets that it could not fetch.
pub(super) struct RetryConditions {
    /// First tick in which congestion control may stop holding a packet, or its flow gets credits of its own.
    pub held_until: Tick,
    /// Per VL: size in credits of the smallest packet looked at that lacks credits, or less; `u16::MAX` if none does.
    credits: [u16; MAX_LEVELS],
    /// Credits of the packet that was picked and does not fit into the output buffer; `u16::MAX` if there is none.
    room: u16,
    /// A first packet that was looked at has credits.
    pub any_credits: bool,
}

/// The time at which the send engine tries again.
struct Retry {
    /// Tick; `Tick::MAX` if none is known.
    at: Tick,
    /// It also looks again when the next packet that starts on the link frees a credit of the
    /// output buffer.
    waits_for_room: bool,
}

impl Retry {
    fn at(at: Tick) -> Self {
        Self {
            at,
            waits_for_room: false,
        }
    }
}

impl<V: Variant> Fabric<V> {
    /// Phase 7 of the NICs that may send.
    pub(super) fn send(&mut self, workload: &mut dyn Workload) {
        for i in 0..self.work.dirty_nics.len() {
            let nic = self.work.dirty_nics[i];
            self.nics.state[nic].dirty = false;
            if !self.kernel.packets.is_full() {
                self.send_from(nic);
            }
        }
        self.work.dirty_nics.clear();
        self.replenish(workload);
    }

    /// Asks the workload for the next message of each queue pair whose last packet was fetched in
    /// this tick. No packet of it could have been fetched earlier, as the send engine is busy.
    fn replenish(&mut self, workload: &mut dyn Workload) {
        for i in 0..self.work.exhausted.len() {
            let (nic, key) = self.work.exhausted[i];
            let queue = self.nics.queue_pairs.queue(nic, key);
            if let Some(message) = workload.replenish(self.kernel.now, queue) {
                self.append(&message);
                self.wake_nic(nic, self.nics.state[nic].engine_free.tick);
            }
        }
        self.work.exhausted.clear();
    }

    /// Phase 7 of a NIC. It is woken when it may be able to send again.
    fn send_from(&mut self, nic: NicId) {
        let (now, output) = (self.kernel.now, OutputId::of_nic(nic, self.ports));
        let mut retry_at = Tick::MAX;
        let link_is_free = |fabric: &Self| fabric.link_starts_at(output) <= now;
        // (a) CNPs and ACKs.
        if !V::IS_PLAIN && link_is_free(self) {
            retry_at = self.start_answer(nic, output);
        }
        // (b) The send engine.
        let engine = self.fetch(nic, output);
        retry_at = retry_at.min(engine.at);
        // (c) The output buffer.
        let state = &self.nics.state[nic];
        let (buffer, answers) = (state.buffer.head, [state.cnps.head, state.acks.head]);
        if buffer != PacketId::NONE && link_is_free(self) {
            let room_at = self.start_from_buffer(nic, output);
            if engine.waits_for_room {
                retry_at = retry_at.min(room_at);
            }
        }
        // Packets that still wait for the link: the NIC looks again when it is free.
        let state = &self.nics.state[nic];
        if !link_is_free(self)
            && (state.buffer.head != PacketId::NONE
                || answers.iter().any(|&id| id != PacketId::NONE))
        {
            retry_at = retry_at.min(self.link_starts_at(output));
        }
        if retry_at != Tick::MAX {
            self.wake_nic(nic, retry_at);
        }
    }

    /// Starts the head of the CNP queue, else of the ACK queue, if it has credits. If none of
    /// them has, returns the tick in which to look again.
    fn start_answer(&mut self, nic: NicId, output: OutputId) -> Tick {
        let mut retry_at = Tick::MAX;
        for from_cnps in [true, false] {
            let state = &self.nics.state[nic];
            let id = if from_cnps {
                state.cnps.head
            } else {
                state.acks.head
            };
            if id == PacketId::NONE {
                continue;
            }
            let Packet {
                vl, credits, dst, ..
            } = self.kernel.packets[id];
            let flow = Flow::new(vl, dst);
            let available = self.credits_of(output, flow, credits);
            if available < credits {
                let missing = u32::from(credits - available);
                let due = self.credits_of_due(output, flow, missing);
                retry_at = retry_at.min(due.unwrap_or(Tick::MAX));
                continue;
            }
            self.take_credits(output, flow, credits);
            let state = &mut self.nics.state[nic];
            let queue = if from_cnps {
                &mut state.cnps
            } else {
                &mut state.acks
            };
            queue.head = self.kernel.packets[id].next;
            self.start(nic, output, id);
            return Tick::MAX;
        }
        retry_at
    }

    /// The send engine fetches a packet, if it is free and the packet that is picked has room.
    fn fetch(&mut self, nic: NicId, output: OutputId) -> Retry {
        let now = self.kernel.now;
        let state = &self.nics.state[nic];
        let waiting_vls = state.waiting_vls;
        if waiting_vls == 0 {
            return Retry::at(Tick::MAX);
        }
        if state.engine_free.tick > now {
            return Retry::at(state.engine_free.tick);
        }
        if waiting_vls.is_power_of_two() && self.fetch_sole_packet(nic, output) {
            return self.retry_after_fetch(nic);
        }
        let mut conditions = RetryConditions {
            held_until: Tick::MAX,
            credits: [u16::MAX; MAX_LEVELS],
            room: u16::MAX,
            any_credits: false,
        };
        let (mut candidates, mut places) = (0u32, [Place::default(); MAX_LEVELS]);
        let mut rest = waiting_vls;
        while rest != 0 {
            let vl = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let in_turn = if self.switches.has_flows() {
                self.pair_in_turn_by_flow((nic, output), vl, &mut conditions)
            } else {
                let credits = self.credits(output, vl as u8, self.largest);
                self.pair_in_turn(nic, vl, credits, &mut conditions)
            };
            if let Some(at) = in_turn {
                candidates |= 1 << vl;
                places[vl] = at;
            }
        }
        let port = &mut self.outputs[output];
        if conditions.any_credits {
            let since = port.end_credit_wait();
            self.kernel
                .credit_wait_ended(&mut port.sent, output, since, now);
        } else {
            port.begin_credit_wait(now);
        }
        if candidates != 0 {
            let pick = self.nics.arbiters.pick(nic.index(), candidates);
            let place = places[usize::from(pick.vl)];
            let waiting = self.nics.queue_pairs.waiting(nic, pick.vl.into());
            let needs = waiting.at(place).credits;
            if self.room(output, needs) >= needs {
                self.fetch_from_pair(nic, output, pick, place);
                return self.retry_after_fetch(nic);
            }
            conditions.room = needs;
        }
        self.retry_after(&conditions, output)
    }

    /// If a single queue pair of `nic` has a packet, and any packet had credits and room: fetches
    /// it. Returns false, having done nothing, if that cannot be decided so cheaply.
    #[inline(always)]
    fn fetch_sole_packet(&mut self, nic: NicId, output: OutputId) -> bool {
        let waiting_vls = self.nics.state[nic].waiting_vls;
        let vl = waiting_vls.trailing_zeros();
        let has_flows = self.switches.has_flows();
        let port = &mut self.outputs[output];
        let Some(sole) = self.nics.queue_pairs.waiting(nic, vl as usize).only() else {
            return false;
        };
        let may_go = port.room >= self.largest
            && self.links.vl(output, vl as u8).credits >= self.largest
            && self.congestion.is_none()
            && !has_flows;
        if may_go {
            let (since, now) = (port.end_credit_wait(), self.kernel.now);
            self.kernel
                .credit_wait_ended(&mut port.sent, output, since, now);
            let pick = self.nics.arbiters.pick(nic.index(), waiting_vls);
            self.fetch_from_pair(nic, output, pick, sole);
        }
        may_go
    }

    /// Returns when the send engine of `nic` tries again after it has fetched a packet.
    #[inline(always)]
    fn retry_after_fetch(&self, nic: NicId) -> Retry {
        let state = &self.nics.state[nic];
        Retry::at(match state.waiting_vls {
            0 => Tick::MAX,
            _ => state.engine_free.tick,
        })
    }

    /// Returns when the send engine of the NIC with `output` tries again, as it can fetch no packet.
    #[inline(always)]
    fn retry_after(&mut self, conditions: &RetryConditions, output: OutputId) -> Retry {
        let (mut at, mut waits_for_room) = (conditions.held_until, false);
        for (vl, &needs) in conditions.credits.iter().enumerate() {
            if needs != u16::MAX {
                let available = self.links.vl(output, vl as u8).credits;
                let due = self.credits_due(output, vl as u8, u32::from(needs - available));
                at = at.min(due.unwrap_or(Tick::MAX));
            }
        }
        if conditions.room != u16::MAX {
            let missing = u32::from(conditions.room - self.outputs[output].room);
            let returns = &self.buffer_returns[output];
            match returns.tick_of(&self.drain, 0, missing) {
                Some(due) => at = at.min(due),
                None => waits_for_room = true,
            }
        }
        Retry { at, waits_for_room }
    }

    /// Returns the place, among the queue pairs of `vl` with a packet, of the one in turn, if its packet has
    /// `credits` or fewer, which are available on the VL. Notes in `conditions` why others may be in turn later.
    fn pair_in_turn(
        &self,
        nic: NicId,
        vl: usize,
        credits: u16,
        conditions: &mut RetryConditions,
    ) -> Option<Place> {
        let waiting = self.nics.queue_pairs.waiting(nic, vl);
        // There may be many queue pairs: none is looked at if none has credits.
        let least = waiting.least();
        if credits < least {
            conditions.credits[vl] = least;
            return None;
        }
        for place in waiting.from(self.nics.state[nic].pointers[vl]) {
            let pair = waiting.at(place);
            let has_credits = credits >= pair.credits;
            conditions.any_credits |= has_credits;
            if !has_credits {
                let fewest = &mut conditions.credits[vl];
                *fewest = pair.credits.min(*fewest);
            }
            if !self.is_held(pair.flow, conditions) {
                return has_credits.then_some(place);
            }
        }
        None
    }

    /// Whether congestion control holds the packets of `flow`. If so, notes in `conditions` until when.
    #[inline]
    pub(super) fn is_held(&self, flow: FlowId, conditions: &mut RetryConditions) -> bool {
        let congestion = self.congestion.as_ref();
        let until = congestion.and_then(|control| control.held_until(flow, self.kernel.now));
        if let Some(until) = until {
            conditions.held_until = conditions.held_until.min(until);
        }
        until.is_some()
    }

    /// A packet of `flow` takes `credits` at the switch.
    #[inline(always)]
    fn take_credits(&mut self, output: OutputId, flow: Flow, credits: u16) {
        let of_vl = self.take_of_flow(output, flow, credits);
        self.links.vl_mut(output, flow.vl() as u8).credits -= of_vl;
    }

    /// The send engine fetches the first packet of the queue pair at `place` into the
    /// output buffer. The packet takes room there, and credits at the switch.
    fn fetch_from_pair(&mut self, nic: NicId, output: OutputId, pick: Pick, place: Place) {
        let now = self.kernel.now;
        let vl = usize::from(pick.vl);
        let pair = self.nics.queue_pairs.waiting(nic, vl).at(place);
        let (credits, flow) = (pair.credits, pair.flow);
        let messages = &self.kernel.messages;
        let (packet, last) = messages.next_packet(self.nics.queue_pairs.first(pair, messages));
        let length = Length::of(packet);
        let (message, index) = self.cut_packet((nic, vl, place), last);
        let (dst, sl) = self.nics.queue_pairs.dst_and_sl(nic, pair.key());
        self.nics.state[nic].pointers[vl] = pair.key() + 1;
        self.nics
            .arbiters
            .advance(nic.index(), pick, length.bytes.into());

        let rates = &self.drain.rates;
        let rate = self.nics.send_rates[nic.index()];
        let sender = &mut self.nics.state[nic];
        let blank = Packet::<V>::default();
        let (schedule, free) = blank
            .schedule
            .served(rates, rate, sender.engine_free, now, length);
        sender.engine_free = free;
        let packet = self.kernel.packets.insert(Packet {
            schedule,
            waiting_since: now,
            dst,
            bytes: length.bytes,
            flits: length.flits as u16,
            credits,
            sl,
            vl: pick.vl,
            buffer_vl: pick.vl,
            ..blank
        });
        let origin = Origin {
            injected: now,
            message,
            index,
            src: nic,
            purpose: Purpose::Data,
            last,
            becn: false,
            fecn: false,
        };
        self.origins.set(packet, origin);
        self.nics.state[nic]
            .buffer
            .append(packet, |tail| &mut self.kernel.packets[tail].next);
        self.outputs[output].room -= credits;
        self.take_credits(output, Flow::new(pick.vl, dst), credits);
        self.waits_for_link(packet, output);
        if let Some(congestion) = V::part_mut(&mut self.congestion) {
            let level = congestion.level(flow, now);
            let end = free.first_whole_tick();
            congestion.sent(flow, end, length.bytes);
            self.kernel.observers.counters.count_sent(level);
        }
    }

    /// The first packet of the output buffer starts on the link. Returns the tick from which its
    /// first credit of the output buffer is free.
    fn start_from_buffer(&mut self, nic: NicId, output: OutputId) -> Tick {
        let buffer = &mut self.nics.state[nic].buffer;
        let id = buffer.head;
        buffer.head = self.kernel.packets[id].next;
        let leaves = self.start(nic, output, id);
        let packet = &self.kernel.packets[id];
        let port = &mut self.outputs[output];
        let credit_return = CreditReturn::leaving(&leaves.later(1), packet.credits, 0);
        let add = |_, credits| port.room += credits;
        self.buffer_returns[output].push(credit_return, self.kernel.now, add);
        credit_return.credit_tick(&self.drain, 0)
    }

    /// Packet `id` starts on the link of `nic`. Returns the schedule on which its flits leave.
    fn start(&mut self, nic: NicId, output: OutputId, id: PacketId) -> Schedule<V> {
        let now = self.kernel.now;
        let packet = &mut self.kernel.packets[id];
        let length = packet.length();
        let flits = length.flits;
        let port = &mut self.outputs[output];
        let rates = &self.drain.rates;
        let mut power = V::part_mut(&mut self.kernel.power);
        let observers = &mut self.kernel.observers;
        let Passage {
            rate: link_rate,
            held,
            ..
        } = power.as_deref_mut().map_or(Passage::at(now), |power| {
            let size = (waiting_bytes(length.bytes), flits);
            power.leaves(output, size, (now, now), observers)
        });
        let (mut leaves, mut free) =
            packet
                .schedule
                .served(rates, port.rate_of(link_rate), port.link_free, now, length);
        if held > 0 {
            leaves = leaves.later(held);
            free.tick += held;
        }
        port.link_free = free;
        if let Some(power) = power {
            power.is_free_at(output, free.first_whole_tick());
        }
        port.sent_bytes += u64::from(length.bytes);
        let transfer = Transfer {
            output,
            of_nic: true,
            flits,
            start: now,
            end: free.first_whole_tick(),
            waited: now - packet.waiting_since,
        };
        let origin = &mut self.origins[id];
        origin.injected = now;
        let (seen, observers) = (|| packet.seen(id), &mut self.kernel.observers);
        match origin.purpose {
            Purpose::Data => {
                let token = || self.kernel.messages.token(origin.message);
                observers.injected(now, nic, flits, token, seen);
            }
            Purpose::Answer => observers.answer_injected(now, nic, seen),
        }
        observers.started(&mut port.sent, transfer, seen);
        let flight = port.flight_of(link_rate, rates);
        packet.schedule = leaves.arriving(flight, port.arrival_of_tail(free), flits);
        packet.input = port.to.input();
        self.routes.route_ahead(packet, id, port.to_switch);
        if origin.purpose == Purpose::Data {
            let message = origin.message;
            if origin.last && self.kernel.messages.reports_injection(message) {
                self.report_injection_at(leaves.tail() + 1, nic, message);
            }
        }
        let header = self.kernel.packets[id].schedule.header();
        self.join_later(id, header);
        leaves
    }

    /// The injection of `message` will be reported in tick `at`.
    #[inline]
    fn report_injection_at(&mut self, at: Tick, nic: NicId, message: MessageId) {
        let injections = &mut self.nics.state[nic].injections;
        injections.push_back((at, self.kernel.messages.token(message)));
        if injections.len() == 1 {
            self.kernel.push(at, Event::Injection(nic));
        }
    }

    /// Phase 2: reports the messages whose tail left `nic` in the tick before.
    pub(super) fn report_injections(&mut self, nic: NicId, workload: &mut dyn Workload) {
        let injections = &mut self.nics.state[nic].injections;
        while let Some(&(at, token)) = injections.front() {
            if at > self.kernel.now {
                self.kernel.push(at, Event::Injection(nic));
                return;
            }
            injections.pop_front();
            workload.injected(self.kernel.now, token);
        }
    }
}
