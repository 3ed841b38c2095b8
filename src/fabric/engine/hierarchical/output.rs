//! Phase 7: outputs and NICs send (`docs/model/fabric.md` §8). Also phase 1: packets are delivered.
//!
//! [`scheduler`](super::scheduler) has the rules that choose a VL, [`notify`](super::notify) the
//! sending of CNPs.

use super::fifos::{Fifos, NEAR_VLS};
use super::ledgers::Retry;
use super::nics::Nics;
use super::schedule::CreditReturn;
use super::scheduler::Head;
use super::switches::Switches;
use super::{Event, Fabric};
use crate::engine::counters::Arrived;
use crate::engine::far_end::FarEnd;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::observers::Transfer;
use crate::engine::pool::{MessageId, PacketId};
use crate::engine::probe::Obstacle;
use crate::engine::variant::Variant;
use crate::ids::NicId;
use crate::spec::Tick;
use crate::workload::Workload;

/// The packet that a link sends next.
#[derive(Debug, Clone, Copy)]
pub(super) enum NextPacket {
    /// The head of a VL.
    Head(usize),
    /// A CNP, which is in no queue, and its VL.
    Cnp(PacketId, usize),
}

/// A packet that leaves its buffer over a link.
struct Leaving {
    id: PacketId,
    vl: usize,
    /// False for a CNP.
    is_queued: bool,
    /// Credit return of the buffer.
    credit_return: CreditReturn,
    /// Ticks for which the link holds it before its flits leave.
    held: Tick,
}

impl<V: Variant> Fabric<V> {
    /// Notes that a packet became ready on `vl` of `output`.
    #[inline]
    pub(super) fn packet_ready_at_output(&mut self, output: OutputId, vl: usize) {
        self.senders[output].ready |= 1 << vl;
        self.packet_waits(output);
        let free_at = self.link_free_at(output);
        if free_at <= self.kernel.now {
            self.work.dirty_outputs.push(output);
        } else {
            self.wake(Event::Output(output), free_at);
        }
    }

    /// A packet waits for the link of `output`, which may have to go up for it.
    #[inline]
    pub(super) fn packet_waits(&mut self, output: OutputId) {
        if let Some(power) = &mut self.kernel.power {
            power.waits(output, 1, self.kernel.now);
        }
    }

    /// First tick in which the link of `output`, for which packets wait, may start one.
    #[inline]
    pub(super) fn link_free_at(&self, output: OutputId) -> Tick {
        let free_at = self.senders[output].free_at;
        match &self.kernel.power {
            Some(power) => power.starts_at(output, free_at.max(self.kernel.now)),
            None => free_at,
        }
    }

    /// Whether the scheduler of `output` has run since the packet before and found nothing to send. The head that it sends in
    /// tick `now` was not ready, or had no credits.
    #[inline]
    pub(super) fn was_idle_until(&self, now: Tick, output: OutputId) -> bool {
        let free_at = self.senders[output].free_at;
        // An outage that began at once has kept it from running.
        now > free_at && self.kernel.outage_ticks(output, free_at, now) < now - free_at
    }

    /// Phase 7.
    #[inline]
    pub(super) fn send(&mut self) {
        for i in 0..self.work.dirty_outputs.len() {
            if self.prefetching {
                self.prefetch_sending(i);
            }
            self.schedule(self.work.dirty_outputs[i]);
        }
        self.work.dirty_outputs.clear();
    }

    /// Runs the scheduler of `output` if its link is free. A second call in the same tick
    /// does nothing: the link is then busy, or nothing has changed.
    #[inline]
    fn schedule(&mut self, output: OutputId) {
        let now = self.kernel.now;
        if V::part(&self.control).is_some() && self.send_cnp(output) {
            return;
        }
        let link = &self.senders[output];
        if link.ready == 0 {
            return;
        }
        let free_at = self.link_free_at(output);
        if free_at > now {
            self.wake(Event::Output(output), free_at);
            return;
        }
        let candidates = self.candidates(output);
        if candidates == 0 {
            return;
        }
        let link = &self.senders[output];
        let (fifos, buffer) = fifos_of(&self.switches, &self.nics, output);
        let idle_before = V::part_mut(&mut self.control)
            .is_some_and(|control| control.was_idle_before_cnp(output.nic(self.ports)));
        let was_idle = idle_before || self.was_idle_until(now, output);
        let packets = &self.kernel.packets;
        let head = |vl| {
            let packet = &packets[fifos.head(&link.heads, buffer, vl)];
            Head {
                sl: packet.sl,
                flits: packet.flits,
            }
        };
        let vl = self
            .schedulers
            .pick(output.index(), candidates, head, was_idle);
        self.transmit(output, NextPacket::Head(vl));
    }

    /// The candidate VLs of `output`, a bit each. If there are none, the credit wait of the
    /// link begins or continues, and the output will be woken.
    #[inline]
    fn candidates(&mut self, output: OutputId) -> u32 {
        let now = self.kernel.now;
        let sender = &self.senders[output];
        let (fifos, buffer) = fifos_of(&self.switches, &self.nics, output);
        let link = (output, sender.to);
        let (mut candidates, mut wake_at, mut waits) = (0u32, Tick::MAX, false);
        let mut ready = sender.ready;
        while ready != 0 {
            let vl = ready.trailing_zeros() as usize;
            ready &= ready - 1;
            let packet = &self.kernel.packets[fifos.head(&sender.heads, buffer, vl)];
            let credits = packet.credits.into();
            if self.links.has_quota(link, vl, credits, now) {
                candidates |= 1 << vl;
                continue;
            }
            let observers = &mut self.kernel.observers;
            observers.blocked(now, output, 1 << vl, Obstacle::Credits);
            if candidates == 0 {
                match self.links.retry(link, vl, credits) {
                    Retry::At(tick) => wake_at = wake_at.min(tick),
                    Retry::AfterCreditReturn => waits = true,
                }
            }
        }
        if candidates == 0 {
            let sender = &mut self.senders[output];
            sender.blocked_since = sender.blocked_since.min(now);
            if waits && !sender.to.is_nic() {
                self.links.await_return(output);
            }
            if wake_at != Tick::MAX {
                self.wake(Event::Output(output), wake_at);
            }
        }
        candidates
    }

    /// Sends a packet over the link of `output`: flit i leaves in tick now + i, later if the link holds it.
    #[inline]
    pub(super) fn transmit(&mut self, output: OutputId, next: NextPacket) {
        let now = self.kernel.now;
        let leaving = self.leave_buffer(output, next);
        let sender = &mut self.senders[output];
        let packet = self.kernel.packets[leaving.id];
        let (to, has_more) = (sender.to, sender.ready != 0);
        let free_at = now + leaving.held + Tick::from(packet.flits);
        sender.free_at = free_at;
        if let Some(power) = &mut self.kernel.power {
            power.is_free_at(output, free_at);
        }
        let blocked_since = std::mem::replace(&mut sender.blocked_since, Tick::MAX);
        let nic = output.nic(self.ports);
        let transfer = Transfer {
            output,
            of_nic: nic.is_some() || to.is_nic(),
            flits: packet.flits,
            start: now,
            end: free_at,
            waited: now - packet.ready,
        };
        let part = &mut self.switches.outputs[output];
        self.kernel
            .credit_wait_ended(&mut part.sent, output, blocked_since, now);
        if let Some(nic) = nic {
            self.injected(nic, &leaving);
        }
        let part = &mut self.switches.outputs[output];
        let seen = || packet.seen(leaving.id);
        self.kernel
            .observers
            .started(&mut part.sent, transfer, seen);
        let waiting = std::mem::take(&mut part.sources_waiting);
        if to.is_nic() {
            self.transmit_to_nic(to.nic(), &leaving);
        } else {
            self.transmit_to_switch(output, to.input(), &leaving);
        }
        if waiting != 0 {
            self.wake_sources_of_output(output, waiting, self.first_credit(&leaving));
        }
        if has_more {
            self.wake(Event::Output(output), free_at);
        }
    }

    /// A packet leaves `nic`.
    #[inline]
    fn injected(&mut self, nic: NicId, leaving: &Leaving) {
        let now = self.kernel.now;
        let packet = &mut self.kernel.packets[leaving.id];
        packet.injected = now;
        let packet = *packet;
        let seen = || packet.seen(leaving.id);
        if !leaving.is_queued {
            self.kernel.observers.answer_injected(now, nic, seen);
            return;
        }
        let token = || self.kernel.messages[packet.message].token;
        let observers = &mut self.kernel.observers;
        observers.injected(now, nic, packet.flits, token, seen);
        if packet.last && self.kernel.messages[packet.message].report_injection {
            let left_at = now + leaving.held + Tick::from(packet.flits);
            self.kernel.push(left_at, Event::Injection(packet.message));
        }
        if std::mem::take(&mut self.nics.state[nic].waiting) {
            self.wake(Event::Nic(nic), self.first_credit(leaving));
        }
        if let Some(control) = V::part_mut(&mut self.control) {
            let (level, wake_at) = control.sent(now, nic, &packet);
            self.kernel.observers.counters.count_sent(level);
            if let Some(at) = wake_at {
                self.wake(Event::Nic(nic), at);
            }
        }
    }

    /// First part of [`transmit`](Self::transmit): removes the packet from the buffer, and
    /// adds its credit return.
    #[inline]
    fn leave_buffer(&mut self, output: OutputId, next: NextPacket) -> Leaving {
        let now = self.kernel.now;
        let ports = self.ports;
        let link = &mut self.senders[output];
        let (buffers, buffer) = match output.nic(ports) {
            Some(nic) => (&mut self.nics.send_queues, nic.index()),
            None => (&mut self.switches.output_buffers, output.index()),
        };
        let (id, vl, is_queued) = match next {
            NextPacket::Head(vl) => (buffers.fifos.head(&link.heads, buffer, vl), vl, true),
            NextPacket::Cnp(id, vl) => (id, vl, false),
        };
        let packet = &self.kernel.packets[id];
        if is_queued && buffers.fifos.pop(&mut link.heads, buffer, vl, packet.next) {
            link.ready &= !(1 << vl);
        }
        let (flits, credits) = (packet.flits, u32::from(packet.credits));
        let held = self.kernel.power.as_mut().map_or(0, |power| {
            let observers = &mut self.kernel.observers;
            power.leaves(output, (1, flits), (now, now), observers).held
        });
        // The credits of a flit that leaves now are free in the next tick.
        let free_from = now + held + 1;
        let credit_return = buffers.credits.drain_rate().credit_return(
            vl as u32,
            (flits, credits),
            free_from,
            free_from,
            0,
        );
        if is_queued {
            buffers.credits.add_return(buffer, credit_return, now);
        }
        Leaving {
            id,
            vl,
            is_queued,
            credit_return,
            held,
        }
    }

    /// Tick in which the first credit of the buffer that a packet leaves is free. Links drain
    /// output buffers and send queues alike.
    #[inline]
    fn first_credit(&self, leaving: &Leaving) -> Tick {
        let ledgers = &self.switches.output_buffers.credits;
        ledgers.first_credit_tick(&leaving.credit_return)
    }

    /// Last part of [`transmit`](Self::transmit) on a link to `nic`: schedules the delivery.
    #[inline]
    fn transmit_to_nic(&mut self, nic: NicId, leaving: &Leaving) {
        let now = self.kernel.now;
        let packet = &self.kernel.packets[leaving.id];
        let (flits, credits) = (packet.flits, u32::from(packet.credits));
        let latency = self
            .links
            .pass_to_nic(nic, leaving.vl, credits, leaving.credit_return, now);
        let tail = now + leaving.held + latency + u64::from(flits - 1);
        if !self.leaves_block(leaving.id, FarEnd::of_nic(nic), tail) {
            self.kernel.push(tail, Event::Delivery(leaving.id));
        }
    }

    /// Last part of [`transmit`](Self::transmit) on a link to in-port `port`: schedules the routing of the header.
    #[inline]
    fn transmit_to_switch(&mut self, output: OutputId, port: InputId, leaving: &Leaving) {
        let from_nic = output.nic(self.ports).is_some();
        let packet = &mut self.kernel.packets[leaving.id];
        let latency = self
            .links
            .pass_to_switch(output, leaving.vl, packet.credits.into());
        packet.arrival = self.kernel.now + leaving.held + latency;
        let ready_at = packet.arrival + self.timing.stages.input_store + self.timing.stages.routing;
        if self.leaves_block(leaving.id, FarEnd::of_input(port), ready_at) {
            return;
        }
        if self.links.differ() {
            // Headers become ready in another order than they left.
            self.kernel.packets[leaving.id].output = OutputId::new(port.get());
            return self.kernel.push(ready_at, Event::Arrival(leaving.id));
        }
        let line = &mut self.input_ready[usize::from(from_nic)];
        line.push(&mut self.kernel.wheel, ready_at, (port, leaving.id));
    }

    /// Phase 1: the tail of packet `id` has arrived at its NIC.
    #[inline]
    pub(super) fn deliver(&mut self, id: PacketId, workload: &mut dyn Workload) {
        let packet = self.kernel.packets[id];
        self.kernel.packets.remove(id);
        if V::part(&self.control).is_some() {
            self.notify(&packet);
            if packet.message == MessageId::NONE {
                let (now, observers) = (self.kernel.now, &mut self.kernel.observers);
                observers.answer_delivered(now, || packet.seen(id));
                return;
            }
        }
        let arrived = Arrived {
            message: packet.message,
            index: packet.index,
            flits: packet.flits,
            units: packet.flits,
            injected: packet.injected,
            src: None,
        };
        let seen = || packet.seen(id);
        let kernel = &mut self.kernel;
        let messages = &mut kernel.messages;
        kernel
            .observers
            .delivered(kernel.now, &arrived, messages, workload, seen);
    }
}

/// The buffer that an output sends from: the FIFOs of all buffers of its kind, and its number among
/// these.
#[inline]
pub(super) fn fifos_of<'a>(
    switches: &'a Switches,
    nics: &'a Nics,
    output: OutputId,
) -> (&'a Fifos<NEAR_VLS>, usize) {
    match output.nic(switches.inputs.len()) {
        Some(nic) => (&nics.send_queues.fifos, nic.index()),
        None => (&switches.output_buffers.fifos, output.index()),
    }
}
