//! What follows from an accepted grant (`docs/model-infiniband.md` §4).
//!
//! After its grant nothing holds up a packet before the next buffer. So phase 6 decides at once in
//! which ticks its flits cross, leave by the link and arrive, and from which ticks their credits
//! may be used again. Switches need no phase 7 or 8 of their own. Which packets are granted is
//! decided in `crossbar`.

use super::arbiter::Pick;
use super::credit_returns::CreditReturn;
use super::crossbar::NOT_GRANTED;
use super::packet::Purpose;
use super::ports::Ports;
use super::schedule::{Schedule, SubTick};
use super::{Fabric, event};
use crate::fabric::engine::pool::{NONE, PacketId};
use crate::fabric::spec::Tick;

/// How a packet crosses.
struct Crossing<const L: usize> {
    /// Tick in which the crossing starts.
    start: Tick,
    /// From which ticks the flits may cross.
    available: Schedule<L>,
    /// Tick in which the last flit crosses.
    tail: Tick,
}

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// `input` has accepted the grant of `output`. The packet takes the credits at the far end
    /// and both crossbar ports. Decides when its flits cross, leave by the link and arrive.
    pub(super) fn start_crossing(&mut self, input: u32, output: u32) {
        let (id, pick) = self.dequeue(input, output);
        self.advance_arbiter(id, input, output, pick);
        let crossing = self.cross(id, input, output);
        let upstream = self.inputs[input as usize].upstream;
        let upstream_wake = self.return_input_credits(id, upstream, (output, pick.vl), &crossing);
        self.start_on_link(id, output, pick.vl, crossing);

        let port = &self.outputs[output as usize];
        let (peer, to_nic) = (port.to.peer(), port.to.is_nic());
        if port.waiting_vls != 0 {
            let retry_at = port.free_at.tick - self.timing.allocation;
            self.wake_output(output, retry_at);
        }
        let flits = u64::from(self.packets[id].flits);
        if to_nic {
            self.counters.host_flit_hops += flits;
            self.schedule_sink(id, output, peer);
            let tail = self.packets[id].schedule.tail();
            self.push(tail, event::DELIVERY, id);
        } else {
            self.counters.flit_hops += flits;
            self.packets[id].input = peer;
            self.send_to_switch(id);
        }
        if let Some(at) = upstream_wake {
            if upstream as usize >= self.ports {
                self.wake_nic(upstream - self.ports as u32, at);
            } else {
                self.wake_output(upstream, at);
            }
        }
    }

    /// Takes the packet that `output` grants to `input` out of its VoQ, takes its credits at the
    /// far end, and moves the pointers of both. Returns the packet and what was granted.
    #[inline(always)]
    fn dequeue(&mut self, input: u32, output: u32) -> (PacketId, Pick) {
        let at = output as usize;
        let port = &mut self.outputs[at];
        port.granted_to = NOT_GRANTED;
        let pick: Pick = port.grant;
        let vl = usize::from(pick.vl);
        let output_vl = at * self.vls + vl;
        let out_port = port.out_port;
        let state = &mut self.inputs[input as usize];
        state.ahead = Ports::after(out_port);

        let queue = (input * self.radix + u32::from(out_port)) as usize * self.vls + vl;
        let queue = &mut self.queues[queue];
        let id = queue.head;
        let packet = &self.packets[id];
        queue.head = packet.next;
        let output_vl = &mut self.output_vls[output_vl];
        if queue.head == NONE {
            state.queues -= 1;
            output_vl.heads.remove(state.in_port);
            if output_vl.heads.is_empty() {
                port.waiting_vls &= !(1 << vl);
            }
        }
        output_vl.ahead = Ports::after(state.in_port);
        output_vl.credits -= packet.credits;
        (id, pick)
    }

    /// Moves the state of the output's VL arbiter. Decides whether the packet is marked with
    /// FECN, as it stops waiting in its VoQ.
    #[inline(always)]
    fn advance_arbiter(&mut self, id: PacketId, input: u32, output: u32, pick: Pick) {
        let packet = &mut self.packets[id];
        let length = packet.length();
        self.switch_arbiters
            .advance(output as usize, pick, length.bytes.into());
        if let Some(congestion) = &mut self.congestion {
            let port_vls = &mut congestion.port_vls;
            let (queue, joined_now) = ((input, output, pick.vl), packet.waiting_since == self.now);
            if port_vls.granted(queue, (length.flits, length.bytes), joined_now) {
                packet.fecn = true;
                self.counters.count(|counts| counts.marked += 1);
            }
        }
    }

    /// Decides when the flits of the packet cross, and from when both crossbar ports are free
    /// again.
    #[inline(always)]
    fn cross(&mut self, id: PacketId, input: u32, output: u32) -> Crossing<L> {
        let packet = &self.packets[id];
        let length = packet.length();
        let start = self.now + self.timing.allocation;
        let available = packet.schedule.later(self.timing.input_store);
        let last_crosses = start + self.drain.crossbar.flit(length.flits - 1);
        let tail = last_crosses.max(available.tail());
        let reader = &mut self.inputs[input as usize];
        let writer = &mut self.outputs[output as usize];
        let begin = SubTick::at(start).max(reader.free_at).max(writer.free_at);
        let free = self.drain.crossbar.rate.after_packet(begin, length.bytes);
        let free = free.max(SubTick::at(available.tail() + 1));
        (reader.free_at, writer.free_at) = (free, free);
        Crossing {
            start,
            available,
            tail,
        }
    }

    /// Schedules the return of the packet's credits of the input buffer to `upstream`, later if
    /// the Port VL that it was granted to is starved. Returns the tick in which `upstream` must
    /// be woken, if it waits for credits.
    #[inline(always)]
    fn return_input_credits(
        &mut self,
        id: PacketId,
        upstream: u32,
        port_vl: (u32, u8),
        crossing: &Crossing<L>,
    ) -> Option<Tick> {
        let packet = &self.packets[id];
        let from = &self.outputs[upstream as usize];
        let mut delay = 1 + from.latency;
        if let Some(congestion) = &self.congestion {
            delay += congestion.credit_return_delay(port_vl, from.rate, packet.bytes);
        }
        let credit_return = CreditReturn {
            end: crossing.tail + delay,
            crossing: crossing.start + delay,
            schedule: crossing.available.later(delay),
            flits: packet.flits,
            credits: packet.credits,
            applied: 0,
            vl: packet.buffer_vl,
        };
        self.return_credits(upstream, credit_return)
    }

    /// Decides when the packet passes the output buffer and the link of `output`, and counts it
    /// there. The packet's schedule then says when it arrives at the next buffer.
    #[inline(always)]
    fn start_on_link(&mut self, id: PacketId, output: u32, vl: u8, crossing: Crossing<L>) {
        let (now, at) = (self.now, output as usize);
        let packet = &mut self.packets[id];
        let length = packet.length();
        let port = &mut self.outputs[at];
        let inside = self.timing.crossbar + self.timing.output_store;
        let ready = crossing.start + inside;
        let start = ready.max(port.link_free.tick);
        let available = crossing
            .available
            .later(inside)
            .with_tail(crossing.tail + inside);
        let rates = &self.drain.rates;
        let (leaves, free) = available.served(rates, port.rate, port.link_free, start, length);
        port.link_free = free;
        if self.room_binds {
            port.room -= packet.credits;
            let credit_return = CreditReturn::without_crossing(leaves, 1, packet, 0);
            let add = |_, credits| port.room += credits;
            self.buffer_returns[at].push(credit_return, now, add);
        }
        port.sent.packets += 1;
        port.sent.flits += u64::from(length.flits);
        port.sent.bytes += u64::from(length.bytes);
        port.sent.queue_wait += now - packet.waiting_since + start - ready;
        packet.waiting_since = ready;
        packet.buffer_vl = vl;
        packet.starts = start;
        packet.schedule = leaves.arriving(port.flight, port.arrival_of_tail(free), length.flits);
    }

    /// Schedules the return of credits to `output`. Returns the tick in which `output` must be
    /// woken, if it waits for credits.
    #[inline(always)]
    fn return_credits(&mut self, output: u32, credit_return: CreditReturn<L>) -> Option<Tick> {
        let first = output as usize * self.vls;
        let output_vls = &mut self.output_vls[first..first + self.vls];
        let add = |vl: u8, credits| output_vls[usize::from(vl)].credits += credits;
        let not_before = self.link_returns[output as usize].push(credit_return, self.now, add);
        let waits = &mut self.outputs[output as usize].waits_for_credits;
        std::mem::take(waits).then(|| credit_return.credit_tick(&self.drain, 0).max(not_before))
    }

    /// A packet will reach NIC `nic` over `output`: decides when its flits leave the receive
    /// buffer, and schedules the return of their credits.
    fn schedule_sink(&mut self, id: PacketId, output: u32, nic: u32) {
        let packet = &self.packets[id];
        let length = packet.length();
        let delay = 1 + self.outputs[output as usize].latency;
        let rates = &self.drain.rates;
        let is_data = packet.purpose == Purpose::Data;
        let schedule: Schedule<L> = match self.sink_rate {
            Some(rate) if is_data => {
                let receiver = &mut self.nics[nic as usize];
                let start = packet.schedule.header().max(receiver.sink_free.tick);
                let (leaves, free) =
                    packet
                        .schedule
                        .served(rates, rate, receiver.sink_free, start, length);
                receiver.sink_free = free;
                leaves
            }
            _ => packet.schedule,
        };
        let vl = packet.buffer_vl;
        let credit_return = CreditReturn::without_crossing(schedule, delay, packet, vl);
        if self.sink_rate.is_some() && !is_data {
            let first = output as usize * self.vls;
            let output_vls = &mut self.output_vls[first..first + self.vls];
            let add = |vl: u8, credits| output_vls[usize::from(vl)].credits += credits;
            self.answer_returns[nic as usize].push(credit_return, self.now, add);
        } else {
            // No output waits to be woken by this: the returns of a receive buffer are scheduled
            // as soon as its credits are taken.
            self.return_credits(output, credit_return);
        }
    }
}
