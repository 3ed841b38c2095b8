//! Phases 5 and 6: outputs offer, inputs accept (`docs/model-infiniband.md` §6); and what
//! follows from a grant: when the packet crosses, leaves by the link, and reaches the next
//! buffer (§4).

use super::arbiter::Pick;
use super::credit_returns::CreditReturn;
use super::parts::OutputVl;
use super::ports::Ports;
use super::schedule::{Schedule, SubTick};
use super::{Fabric, event};
use crate::fabric::engine::pool::NONE;
use crate::fabric::infiniband::MAX_DATA_VLS;
use crate::fabric::spec::Tick;

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// Phase 5.
    #[inline]
    pub(super) fn grant(&mut self) {
        for i in 0..self.dirty_outputs.len() {
            self.look(self.dirty_outputs[i]);
        }
        self.dirty_outputs.clear();
    }

    /// Credits of `output_vl` at the far end of `output`, at least `wanted` if there are so many.
    #[inline]
    pub(super) fn credits(&mut self, output: u32, output_vl: usize, wanted: u16) -> u16 {
        let credits = self.output_vls[output_vl].credits;
        if credits >= wanted {
            return credits;
        }
        self.apply_credit_returns(output);
        self.output_vls[output_vl].credits
    }

    fn apply_credit_returns(&mut self, output: u32) {
        let first = output as usize * self.vls;
        let output_vls = &mut self.output_vls[first..first + self.vls];
        let mut give = |vl: u8, count| output_vls[usize::from(vl)].credits += count;
        self.returning[output as usize].apply(&self.drain, self.now, &mut give);
        let port = &self.outputs[output as usize];
        if self.sink_rate.is_some() && port.to.is_nic() {
            let answers = &mut self.returning_answers[port.to.peer() as usize];
            answers.apply(&self.drain, self.now, give);
        }
    }

    /// When `missing` more credits of `vl` will be at `output`; if nobody knows, it is woken.
    pub(super) fn credits_at(&mut self, output: u32, vl: u8, missing: u32) -> Option<Tick> {
        let port = &self.outputs[output as usize];
        let data = &self.returning[output as usize];
        if self.sink_rate.is_some() && port.to.is_nic() {
            // Of two streams together: each alone tells when to look again.
            let answers = &self.returning_answers[port.to.peer() as usize];
            let next = [data, answers].map(|stream| stream.date_of(&self.drain, vl, 1));
            return next.into_iter().flatten().min();
        }
        let at = data.date_of(&self.drain, vl, missing);
        if at.is_none() {
            self.outputs[output as usize].waits_for_credits = true;
        }
        at
    }

    /// Room in the buffer before the link of `output`, at least `wanted` if there is so much.
    #[inline]
    pub(super) fn room(&mut self, output: u32, wanted: u16) -> u16 {
        let port = &mut self.outputs[output as usize];
        if port.room < wanted {
            let give = |_, count| port.room += count;
            self.leaving[output as usize].apply(&self.drain, self.now, give);
        }
        port.room
    }

    /// Offers to the input that `output` would serve next.
    fn look(&mut self, output: u32) {
        let (now, at) = (self.now, output as usize);
        let port = &self.outputs[at];
        let begin = now + self.timing.allocation;
        if port.waiting_vls == 0 || port.granted_to != NOT_GRANTED {
            return;
        }
        if port.free_at.tick > begin {
            let again = port.free_at.tick - self.timing.allocation;
            self.wake_output(output, again);
            return;
        }
        let (first_port, out_port) = (port.first_port, port.local);
        let waiting_vls = port.waiting_vls;
        if waiting_vls.is_power_of_two() && self.accept_at_once(output) {
            return;
        }
        let room = if self.room_binds {
            self.room(output, self.largest)
        } else {
            u16::MAX
        };
        let (mut candidates, mut found) = (0u32, [0u8; MAX_DATA_VLS as usize]);
        let (mut any_credits, mut credits_again, mut again) = (false, Tick::MAX, Tick::MAX);
        let mut rest = waiting_vls;
        while rest != 0 {
            let vl = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let output_vl = at * self.vls + vl;
            let credits = self.credits(output, output_vl, self.largest);
            let fits_all = credits.min(room) >= self.largest;
            let OutputVl { heads, ahead, .. } = &self.output_vls[output_vl];
            'inputs: for mut inputs in heads.split(ahead) {
                while let Some(local) = inputs.pop() {
                    let input = first_port + u32::from(local);
                    let free_at = self.inputs[input as usize].free_at.tick;
                    let needs = if fits_all {
                        1
                    } else {
                        self.head_credits(input, out_port, vl)
                    };
                    any_credits |= credits >= needs;
                    if free_at <= begin && credits.min(room) >= needs {
                        candidates |= 1 << vl;
                        found[vl] = local;
                        break 'inputs;
                    }
                    // When nothing but time will have passed.
                    let mut when = free_at.saturating_sub(self.timing.allocation);
                    if credits < needs {
                        let missing = u32::from(needs - credits);
                        let Some(date) = self.credits_at(output, vl as u8, missing) else {
                            continue;
                        };
                        credits_again = credits_again.min(date);
                        when = when.max(date);
                    }
                    if room < needs {
                        let missing = u32::from(needs - room);
                        let date = self.leaving[at].date_of(&self.drain, 0, missing);
                        when = when.max(date.unwrap_or(now));
                    }
                    again = again.min(when);
                }
            }
        }
        let port = &mut self.outputs[at];
        if any_credits {
            port.is_not_blocked(now);
        } else {
            port.is_blocked(now);
            again = again.min(credits_again);
        }
        if candidates == 0 {
            if again != Tick::MAX {
                self.wake_output(output, again);
            }
            return;
        }
        let pick = self.switch_arbiters.pick(at, candidates);
        let local = found[usize::from(pick.vl)];
        (port.grant, port.granted_to) = (pick, local);
        let input = first_port + u32::from(local);
        let grants = &mut self.inputs[input as usize].grants;
        if grants.is_empty() {
            self.granted_inputs.push(input);
        }
        grants.insert(out_port);
    }

    /// Grants the only packet that waits for `output`, on one VL, if it is the only one that
    /// its input may be granted_inputs: nobody else can see that this is done before phase 6.
    #[inline]
    fn accept_at_once(&mut self, output: u32) -> bool {
        let at = output as usize;
        let port = &mut self.outputs[at];
        let output_vl =
            &self.output_vls[at * self.vls + port.waiting_vls.trailing_zeros() as usize];
        let Some(local) = output_vl.heads.only() else {
            return false;
        };
        let input = port.first_port + u32::from(local);
        let state = &self.inputs[input as usize];
        let can = state.queues == 1
            && state.free_at.tick <= self.now + self.timing.allocation
            && output_vl.credits >= self.largest
            && (port.room >= self.largest || !self.room_binds);
        if can {
            port.is_not_blocked(self.now);
            port.grant = self.switch_arbiters.pick(at, port.waiting_vls);
            self.start_crossing(input, output);
        }
        can
    }

    /// Credits of the head of a virtual output queue.
    #[inline]
    fn head_credits(&self, input: u32, out_port: u8, vl: usize) -> u16 {
        let queue = (input * self.radix + u32::from(out_port)) as usize * self.vls + vl;
        self.packets[self.queues[queue].head].credits
    }

    /// Phase 6.
    #[inline]
    pub(super) fn accept(&mut self) {
        for i in 0..self.granted_inputs.len() {
            let input = self.granted_inputs[i];
            let state = &mut self.inputs[input as usize];
            let mut grants = std::mem::replace(&mut state.grants, Ports::NONE);
            let first_port = state.first_port;
            let Some(accepted) = grants.first_in(&state.ahead) else {
                continue;
            };
            grants.remove(accepted);
            while let Some(refused) = grants.pop() {
                let output = first_port + u32::from(refused);
                self.outputs[output as usize].granted_to = NOT_GRANTED;
                self.wake_output(output, self.now + 1);
            }
            self.start_crossing(input, first_port + u32::from(accepted));
        }
        self.granted_inputs.clear();
    }

    /// `input` takes what `output` grants.
    fn start_crossing(&mut self, input: u32, output: u32) {
        let (now, at) = (self.now, output as usize);
        let port = &mut self.outputs[at];
        port.granted_to = NOT_GRANTED;
        let pick: Pick = port.grant;
        let vl = usize::from(pick.vl);
        let output_vl = at * self.vls + vl;
        let local = port.local;
        let state = &mut self.inputs[input as usize];
        state.ahead = Ports::behind(local);

        let queue = (input * self.radix + u32::from(local)) as usize * self.vls + vl;
        let queue = &mut self.queues[queue];
        let id = queue.head;
        let packet = &mut self.packets[id];
        queue.head = packet.next;
        let served = &mut self.output_vls[output_vl];
        if queue.head == NONE {
            state.queues -= 1;
            served.heads.remove(state.local);
            if served.heads.is_empty() {
                port.waiting_vls &= !(1 << vl);
            }
        }
        served.ahead = Ports::behind(state.local);
        served.credits -= packet.credits;
        let upstream = state.upstream;
        let flits = u32::from(packet.flits);
        let length = packet.length();
        self.switch_arbiters.grant(at, pick, length.bytes.into());
        if let Some(congestion) = &mut self.congestion {
            let port_vls = &mut congestion.port_vls;
            let (queue, joined_now) = ((input, output, pick.vl), packet.waiting_since == now);
            if port_vls.granted(queue, (flits, length.bytes), joined_now) {
                packet.fecn = true;
                self.counters.count(|counts| counts.marked += 1);
            }
        }

        // The crossing, and the credits that it gives back.
        let crossing = now + self.timing.allocation;
        let stored = packet.schedule.later(self.timing.input_store);
        let crosses = crossing + self.drain.crossbar.flit(flits - 1);
        let tail = crosses.max(stored.tail());
        let begin = SubTick::at(crossing).max(state.free_at).max(port.free_at);
        let free = self.drain.crossbar.rate.after_packet(begin, length.bytes);
        let free = free.max(SubTick::at(stored.tail() + 1));
        (state.free_at, port.free_at) = (free, free);
        let from = &self.outputs[upstream as usize];
        let mut back = 1 + from.latency;
        if let Some(congestion) = &self.congestion {
            back += congestion.held_back((output, pick.vl), from.rate, length.bytes);
        }
        let credit_return = CreditReturn {
            end: tail + back,
            crossing: crossing + back,
            schedule: stored.later(back),
            flits: packet.flits,
            credits: packet.credits,
            done: 0,
            vl: packet.buffer_vl,
        };
        let wakes_at = self.give_back(upstream, credit_return);

        // The link.
        let packet = &mut self.packets[id];
        let port = &mut self.outputs[at];
        let inside = self.timing.crossbar + self.timing.output_store;
        let ready = crossing + inside;
        let start = ready.max(port.link_free.tick);
        let available = stored.later(inside).with_tail(tail + inside);
        let rates = &self.drain.rates;
        let (leaves, free) = available.served(rates, port.rate, port.link_free, start, length);
        port.link_free = free;
        if self.room_binds {
            port.room -= packet.credits;
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
            self.leaving[at].push(credit_return, now, give);
        }
        port.sent.packets += 1;
        port.sent.flits += u64::from(flits);
        port.sent.bytes += u64::from(length.bytes);
        port.sent.queue_wait += now - packet.waiting_since + start - ready;
        packet.waiting_since = ready;
        packet.buffer_vl = pick.vl;
        packet.starts = start;
        packet.schedule = leaves.arriving(port.flight, port.arrival_of_tail(free), flits);
        let (peer, to_nic) = (port.to.peer(), port.to.is_nic());
        if port.waiting_vls != 0 {
            let again = port.free_at.tick - self.timing.allocation;
            self.wake_output(output, again);
        }
        if to_nic {
            self.counters.host_flit_hops += u64::from(flits);
            self.sink(id, output, peer);
            let tail = self.packets[id].schedule.tail();
            self.push(tail, event::DELIVERY, id);
        } else {
            self.counters.flit_hops += u64::from(flits);
            self.packets[id].input = peer;
            self.send_to_switch(id);
        }
        if let Some(date) = wakes_at {
            if upstream as usize >= self.ports {
                self.wake_hca(upstream - self.ports as u32, date);
            } else {
                self.wake_output(upstream, date);
            }
        }
    }

    /// Credits begin to come back to `output`. When to wake it, if it waits for some.
    #[inline(always)]
    fn give_back(&mut self, output: u32, credit_return: CreditReturn<L>) -> Option<Tick> {
        let first = output as usize * self.vls;
        let output_vls = &mut self.output_vls[first..first + self.vls];
        let give = |vl: u8, count| output_vls[usize::from(vl)].credits += count;
        let after = self.returning[output as usize].push(credit_return, self.now, give);
        let waits = &mut self.outputs[output as usize].waits_for_credits;
        std::mem::take(waits).then(|| credit_return.credit_date(&self.drain, 0).max(after))
    }

    /// A packet will reach adapter `nic` over `output`: when its flits leave the receive
    /// buffer.
    fn sink(&mut self, id: u32, output: u32, nic: u32) {
        let packet = &self.packets[id];
        let length = packet.length();
        let back = 1 + self.outputs[output as usize].latency;
        let rates = &self.drain.rates;
        let is_data = packet.purpose == super::packet::Purpose::Data;
        let schedule: Schedule<L> = match self.sink_rate {
            Some(rate) if is_data => {
                let hca = &mut self.hcas[nic as usize];
                let start = packet.schedule.header().max(hca.sink_free.tick);
                let (gone, free) =
                    packet
                        .schedule
                        .served(rates, rate, hca.sink_free, start, length);
                hca.sink_free = free;
                gone
            }
            _ => packet.schedule,
        };
        let credit_return = CreditReturn {
            end: schedule.tail() + back,
            crossing: 0,
            schedule: schedule.later(back),
            flits: packet.flits,
            credits: packet.credits,
            done: 0,
            vl: packet.buffer_vl,
        };
        if self.sink_rate.is_some() && !is_data {
            let first = output as usize * self.vls;
            let output_vls = &mut self.output_vls[first..first + self.vls];
            let give = |vl: u8, count| output_vls[usize::from(vl)].credits += count;
            self.returning_answers[nic as usize].push(credit_return, self.now, give);
        } else {
            // Nobody waits for what is known already.
            self.give_back(output, credit_return);
        }
    }

    /// End of phase 6: Port VLs enter or leave the congestion state.
    pub(super) fn update_congestion_states(&mut self) {
        let Some(mut congestion) = self.congestion.take() else {
            return;
        };
        congestion.port_vls.update_states(|output, vl| {
            let output_vl = output as usize * self.vls + usize::from(vl);
            self.credits(output, output_vl, self.largest) >= self.largest_but_acks
        });
        self.congestion = Some(congestion);
    }
}

/// In [`Output::granted_to`](super::parts::Output::granted_to): nothing is offered.
pub(super) const NOT_GRANTED: u8 = u8::MAX;
