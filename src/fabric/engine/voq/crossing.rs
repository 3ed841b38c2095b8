//! The effects of an accepted grant (`docs/model/infiniband.md` §4).
//!
//! After its grant nothing holds up a packet before the next buffer. So phase 6 decides at once in
//! which ticks its flits cross, leave by the link and arrive, and from which ticks their credits
//! may be used again. Switches need no phase 7 or 8 of their own. `crossbar` decides which packets
//! are granted.

use super::arbiter::Pick;
use super::credit_return::{CreditReturn, DrainRates};
use super::credit_returns::CreditReturns;
use super::flows::Flow;
use super::packet::{Origin, Packet, Purpose};
use super::ports::{InPort, Pointer};
use super::power::waiting_bytes;
use super::rate::{Length, PlainPacket, SubTick};
use super::schedule::{Schedule, cross_plainly};
use super::state::{Input, Output, OutputQueue, OutputVl};
use super::{Event, Fabric};
use crate::engine::congestion::{Congestion, MarkerQueue, PacketLength};
use crate::engine::far_end::FarEnd;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::observers::{Observers, Transfer};
use crate::engine::pool::PacketId;
use crate::engine::power::{LinkRate, Passage};
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::spec::Stages;
use crate::spec::Tick;

/// The crossing of a packet.
struct Crossing<V: Variant> {
    /// Tick in which the crossing starts.
    start: Tick,
    /// From which ticks the flits may cross.
    available: Schedule<V>,
    /// Tick in which the last flit crosses.
    tail: Tick,
    /// In plain fabrics: the time that the packet takes, here and on the link.
    plain: Option<PlainPacket>,
}

/// The times that decide when flits move: the present tick, latencies and rates.
#[derive(Clone, Copy)]
struct LinkTiming<'a> {
    now: Tick,
    stages: &'a Stages,
    drain: &'a DrainRates,
}

impl<'a> LinkTiming<'a> {
    #[inline(always)]
    fn at(now: Tick, stages: &'a Stages, drain: &'a DrainRates) -> Self {
        Self { now, stages, drain }
    }

    /// From which tick on the header of a packet that crosses may leave the output buffer.
    #[inline(always)]
    fn in_output_buffer<V: Variant>(self, crossing: &Crossing<V>) -> Tick {
        crossing.start + self.stages.crossbar + self.stages.output_store
    }
}

impl<V: Variant> Fabric<V> {
    /// `input` has accepted the grant of `output`. The packet takes the credits at the far end
    /// and both crossbar ports. Decides when its flits cross, leave by the link and arrive.
    #[inline(always)]
    pub(super) fn start_crossing(&mut self, input: InputId, output: OutputId) {
        let (now, output_buffer_may_fill) =
            (self.kernel.now, self.switches.output_buffer_may_fill());
        let of_flow = self.bring_forward(input, output);
        let timing = LinkTiming::at(now, &self.stages, &self.drain);
        let port = &mut self.outputs[output];
        let reader = &mut self.switches.inputs[input];
        let pick: Pick = port.grant;
        let queue =
            &mut self.switches.queues[reader.queue(port.out_port, self.vls, pick.vl.into())];
        let id = queue.fifo.head;
        let packet = &mut self.kernel.packets[id];
        let output_vl = self.links.vl_mut(output, pick.vl);
        output_vl.credits -= of_flow.unwrap_or(packet.credits);
        leave_queue(packet, queue, (reader, port), (output_vl, pick.vl));
        self.links.head_left((output, pick.vl), reader.in_port);
        let arbiters = &mut self.switches.arbiters;
        arbiters.advance(output.index(), pick, packet.bytes.into());
        let (upstream, joined_at) = (reader.upstream, packet.waiting_since);
        // Behind the head of a FIFO, it waited for the output of that head.
        let waited = now - joined_at.max(packet.starts);
        queue.counts.granted(packet.flits.into(), waited);
        let mut delay = 1 + self.links.latency(upstream);
        if let Some(congestion) = V::part_mut(&mut self.congestion) {
            let (observers, queue) = (&mut self.kernel.observers, (input, output, pick.vl));
            let packet = (&*packet, &mut self.origins[id], id);
            delay += mark(packet, queue, reader.rate, congestion, observers, now);
        }

        let reader_free = &mut self.switches.inputs_free[input.index()];
        let crossing = cross(packet, reader_free, &mut port.free_at, timing);
        let credit_return = crossing.credit_return(delay, packet);
        let to = (upstream, Flow::new(packet.buffer_vl, packet.dst));
        let wake_upstream = self.return_credits(to, credit_return);
        let timing = LinkTiming::at(now, &self.stages, &self.drain);
        let port = &mut self.outputs[output];
        let packet = &mut self.kernel.packets[id];
        let observers = &mut self.kernel.observers;
        observers.granted(now, output, || packet.seen(id));
        let power = V::part_mut(&mut self.kernel.power);
        let ready = timing.in_output_buffer(&crossing).max(port.link_free.tick);
        let passage = power.map_or(Passage::at(ready), |power| {
            let size = (waiting_bytes(packet.bytes), packet.flits.into());
            power.leaves(output, size, (now, ready), observers)
        });
        let (leaves, end) = start_on_link(packet, port, &crossing, passage, timing);
        if let Some(power) = V::part_mut(&mut self.kernel.power) {
            power.is_free_at(output, end);
        }
        let transfer = transfer(packet, (output, port.to), end, now - joined_at);
        observers.started(&mut port.sent, transfer, || packet.seen(id));
        if output_buffer_may_fill {
            self.routes.granted(output, packet.credits);
            let returns = &mut self.buffer_returns[output];
            take_room(port, returns, packet.credits, &leaves, now);
        }
        let (dst, came_on) = (packet.dst, packet.buffer_vl);
        packet.buffer_vl = pick.vl;
        self.leave_for_far_end(id, output);
        if let Some(at) = wake_upstream {
            self.wake_sender(upstream, at);
        }
        self.head_granted(id, (input, came_on), dst);
    }

    /// Packet `id`, which crosses to `output`, leaves for the far end. The output looks again when it is free.
    #[inline(always)]
    fn leave_for_far_end(&mut self, id: PacketId, output: OutputId) {
        let (packet, port) = (&mut self.kernel.packets[id], &self.outputs[output]);
        let (to, header) = (port.to, packet.schedule.header());
        let waits = port.waiting_vls != 0;
        let retry_at = port.free_at.tick - self.stages.allocation;
        if to.is_nic() {
            packet.input = InputId::NONE;
            self.deliver_to(to.nic(), id, output);
        } else {
            packet.input = to.input();
            self.routes.route_ahead(packet, id, port.to_switch);
            self.join_later(id, header);
        }
        if waits {
            self.wake_output(output, retry_at);
        }
    }

    /// Has the sender of a link, an output, look in tick `at` whether it can send, or earlier.
    #[inline(never)]
    pub(super) fn wake_sender(&mut self, output: OutputId, at: Tick) {
        match output.nic(self.ports) {
            Some(nic) => self.wake_nic(nic, at),
            None => self.wake_output(output, at),
        }
    }

    /// Packet `id` goes over `output` to NIC `nic`, where it is delivered.
    #[inline(never)]
    fn deliver_to(&mut self, nic: NicId, id: PacketId, output: OutputId) {
        self.schedule_sink(id, output, nic);
        let at = self.kernel.packets[id].schedule.tail();
        if !self.leaves_block(id, at) {
            self.kernel.push(at, Event::Delivery(id));
        }
    }

    /// A packet will reach NIC `nic` over `output`: decides when its flits leave the receive
    /// buffer, and schedules the return of their credits.
    fn schedule_sink(&mut self, id: PacketId, output: OutputId, nic: NicId) {
        let packet = &self.kernel.packets[id];
        let length = packet.length();
        let delay = 1 + self.links.latency(output);
        let (credits, vl) = (packet.credits, packet.buffer_vl);
        let Some(rate) = self.nics.sink_rate.filter(|_| !V::IS_PLAIN) else {
            let credit_return = CreditReturn::leaving(&packet.schedule.later(delay), credits, vl);
            self.return_from_sink(output, credit_return);
            return;
        };
        if self.origins[id].purpose == Purpose::Answer {
            let credit_return = CreditReturn::leaving(&packet.schedule.later(delay), credits, vl);
            self.links
                .return_answer_credits(output, credit_return, self.kernel.now);
            return;
        }
        let (rates, arrives) = (&self.drain.rates, &packet.schedule);
        let receiver = &mut self.nics.state[nic];
        let start = arrives.header().max(receiver.sink_free.tick);
        let (leaves, free) = arrives.served(rates, rate, receiver.sink_free, start, length);
        receiver.sink_free = free;
        let credit_return = CreditReturn::leaving(&leaves.later(delay), credits, vl);
        self.return_from_sink(output, credit_return);
    }

    /// The sink returns credits to `output`. No output waits to be woken by this: the returns of a
    /// receive buffer are scheduled as soon as its credits are taken.
    #[inline]
    fn return_from_sink(&mut self, output: OutputId, credit_return: CreditReturn<V>) {
        let (drain, now) = (&self.drain, self.kernel.now);
        self.links.return_credits(output, credit_return, drain, now);
    }
}

/// `packet`, the head of `queue`, is granted: takes it out of its VoQ between `reader` and `port`,
/// and moves the pointers of both.
#[inline(always)]
fn leave_queue<V: Variant>(
    packet: &Packet<V>,
    queue: &mut OutputQueue,
    (reader, port): (&mut Input<V>, &mut Output),
    (output_vl, vl): (&mut OutputVl<V>, u8),
) {
    port.granted_to = InPort::NONE;
    reader.pointer = Pointer::behind(port.out_port);
    output_vl.pointer = Pointer::behind(reader.in_port);
    queue.fifo.head = packet.next;
    if packet.next == PacketId::NONE {
        reader.queues -= 1;
        output_vl.heads.remove(reader.in_port);
        if output_vl.heads.is_empty() {
            port.waiting_vls &= !(1 << vl);
        }
    }
}

/// Takes `credits` for a packet in the output buffer of `port`. They return by `returns` as its flits leave.
#[inline(always)]
fn take_room<V: Variant>(
    port: &mut Output,
    returns: &mut CreditReturns<V>,
    credits: u16,
    leaves: &Schedule<V>,
    now: Tick,
) {
    port.room -= credits;
    let credit_return = CreditReturn::leaving(&leaves.later(1), credits, 0);
    returns.push(credit_return, now, |_, credits| port.room += credits);
}

/// Decides when the flits of `packet` cross between two crossbar ports, and from when these are free again.
#[inline(always)]
fn cross<V: Variant>(
    packet: &Packet<V>,
    reader_free: &mut SubTick,
    writer_free: &mut SubTick,
    timing: LinkTiming<'_>,
) -> Crossing<V> {
    let (length, crossbar) = (packet.length(), &timing.drain.crossbar);
    let start = timing.now + timing.stages.allocation;
    let available = packet.schedule.later(timing.stages.input_store);
    if V::IS_PLAIN {
        let ports_free = (*reader_free, *writer_free);
        let rate = &crossbar.rate;
        let plain = rate.plain_packet(length);
        let (tail, free) = cross_plainly(rate, ports_free, start, available.tail(), plain);
        (*reader_free, *writer_free) = (free, free);
        return Crossing {
            start,
            available,
            tail,
            plain: Some(plain),
        };
    }
    let last_crosses = start + crossbar.flit(length.flits - 1);
    let begin = SubTick::at(start).max(*reader_free).max(*writer_free);
    let free = crossbar.rate.after_packet(begin, length.bytes);
    let free = free.max(SubTick::at(available.tail() + 1));
    (*reader_free, *writer_free) = (free, free);
    Crossing {
        start,
        available,
        tail: last_crosses.max(available.tail()),
        plain: None,
    }
}

/// Decides when `packet` passes the output buffer and the link of `port`, and counts it there.
/// `passage`: when and how the state of the link lets it start.
/// The packet's schedule then says when it arrives at the next buffer. Returns the schedule on
/// which its flits leave, and the first tick in which the link is free again.
#[inline(always)]
fn start_on_link<V: Variant>(
    packet: &mut Packet<V>,
    port: &mut Output,
    crossing: &Crossing<V>,
    Passage {
        start,
        rate: link_rate,
        held,
    }: Passage,
    timing: LinkTiming<'_>,
) -> (Schedule<V>, Tick) {
    let length = packet.length();
    let inside = timing.stages.crossbar + timing.stages.output_store;
    let ready = timing.in_output_buffer(crossing);
    let tail = crossing.tail + inside;
    let available = crossing.available.later(inside).with_tail(tail);
    let drain = timing.drain;
    let (mut leaves, mut free) = match crossing.plain {
        // The crossbar has the rate of the links.
        Some(plain) => available.served_plainly(&drain.crossbar.rate, port.link_free, start, plain),
        None => {
            let rate = port.rate_of(link_rate);
            available.served(&drain.rates, rate, port.link_free, start, length)
        }
    };
    if held > 0 {
        leaves = leaves.later(held);
        free.tick += held;
    }
    port.link_free = free;
    if link_rate == LinkRate::LowLanes {
        // The next packet is granted when this one has started, and its header finds the link free.
        let next = (start + 1 + timing.stages.allocation).max(free.tick.saturating_sub(inside));
        port.free_at = port.free_at.max(SubTick::at(next));
    }
    port.sent_bytes += u64::from(length.bytes);
    packet.waiting_since = ready;
    packet.starts = start;
    let flight = port.flight_of(link_rate, &drain.rates);
    packet.schedule = leaves.arriving(flight, port.arrival_of_tail(free), length.flits);
    (leaves, free.first_whole_tick())
}

/// Has the marker decide in tick `now` about a packet of a VoQ that is granted and came over a
/// link of the rate with index `rate`. Returns how much later its credits return.
#[inline(always)]
fn mark<V: Variant>(
    (packet, origin, id): (&Packet<V>, &mut Origin, PacketId),
    (input, output, vl): (InputId, OutputId, u8),
    rate: u8,
    congestion: &mut Congestion,
    observers: &mut Observers<V::Watcher>,
    now: Tick,
) -> Tick {
    let Length { bytes, flits } = packet.length();
    let queue = MarkerQueue { input, output, vl };
    let joined_now = packet.waiting_since == now;
    if congestion.granted(queue, PacketLength { flits, bytes }, joined_now) {
        origin.fecn = true;
        observers.marked(now, queue.output, || packet.seen(id));
    }
    congestion.credit_return_delay((queue.output, queue.vl), rate.into(), bytes)
}

/// The transfer of `packet`, which was in its VoQ for `in_queue` ticks, over the link from `output`
/// to `to`, which is free again in tick `end`.
#[inline(always)]
fn transfer<V: Variant>(
    packet: &Packet<V>,
    (output, to): (OutputId, FarEnd),
    end: Tick,
    in_queue: Tick,
) -> Transfer {
    Transfer {
        output,
        of_nic: to.is_nic(),
        flits: packet.flits.into(),
        start: packet.starts,
        end,
        waited: in_queue + packet.starts - packet.waiting_since,
    }
}

impl<V: Variant> Crossing<V> {
    /// The credits that `packet` returns, each `delay` ticks after its flits cross.
    #[inline(always)]
    fn credit_return(&self, delay: Tick, packet: &Packet<V>) -> CreditReturn<V> {
        let (start, end) = (self.start + delay, self.tail + delay);
        let available = self.available.later(delay);
        CreditReturn::crossing(start, end, &available, packet.credits, packet.buffer_vl)
    }
}
