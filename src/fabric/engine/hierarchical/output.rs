//! Phase 7: outputs and NICs send (`docs/model.md` §8), and packets arrive.

use super::Fabric;
use super::buffers::{Retry, VlBuffers};
use super::control::Control;
use super::event;
use super::scheduler::Head;
use crate::fabric::engine::counters::Arrived;
use crate::fabric::engine::pool::{NONE, PacketId};
use crate::fabric::spec::Tick;
use crate::fabric::workload::Workload;

/// A packet that starts on a link.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// The head of a VL.
    Head(usize),
    /// A CNP, which lies in no queue, and its VL.
    Cnp(PacketId, usize),
}

impl<C: Control> Fabric<C> {
    /// A packet became ready on `vl` of `output`.
    #[inline]
    pub(super) fn output_gains(&mut self, output: u32, vl: usize) {
        let link = &mut self.links[output as usize];
        link.ready |= 1 << vl;
        let free_at = link.free_at;
        if free_at <= self.now {
            self.dirty_outputs.push(output);
        } else {
            self.wake_output(output, free_at);
        }
    }

    #[inline]
    pub(super) fn send(&mut self) {
        for i in 0..self.dirty_outputs.len() {
            self.schedule(self.dirty_outputs[i]);
        }
        self.dirty_outputs.clear();
    }

    /// Runs the scheduler of `output` if its link is free. A second time in the same
    /// tick does no harm: then the link is taken, or nothing has changed.
    #[inline]
    fn schedule(&mut self, output: u32) {
        let now = self.now;
        if self.control.get().is_some() && self.send_cnp(output) {
            return;
        }
        let link = &self.links[output as usize];
        if link.ready == 0 {
            return;
        }
        if link.free_at > now {
            let free_at = link.free_at;
            self.wake_output(output, free_at);
            return;
        }
        let peer = link.to.peer() as usize;
        let (buffers, buffer) =
            buffer_of(&self.output_buffers, &self.send_queues, self.ports, output);
        let (beyond, unlimited) = if link.to.is_nic() {
            (&mut self.sinks, !self.sinks_fill)
        } else {
            (&mut self.input_buffers, false)
        };
        let (mut candidates, mut again, mut waits) = (0u32, Tick::MAX, false);
        let mut ready = link.ready;
        while ready != 0 {
            let vl = ready.trailing_zeros() as usize;
            ready &= ready - 1;
            let packet = &self.packets[buffers.head(&link.heads, buffer, vl)];
            if unlimited || beyond.has_quota(peer, vl, packet.credits.into(), now) {
                candidates |= 1 << vl;
            } else if candidates == 0 {
                match beyond.retry_at(peer, vl, packet.credits.into()) {
                    Retry::At(tick) => again = again.min(tick),
                    Retry::AfterCreditReturn => waits = true,
                }
            }
        }
        if candidates == 0 {
            let link = &mut self.links[output as usize];
            link.blocked_since = link.blocked_since.min(now);
            if waits && !link.to.is_nic() {
                self.inputs[peer].upstream_waits = true;
            }
            if again != Tick::MAX {
                self.wake_output(output, again);
            }
            return;
        }
        let idle_before = self.control.get_mut().is_some_and(|congestion| {
            congestion.was_idle_before_cnp(output.checked_sub(self.ports as u32))
        });
        let was_idle = now > link.free_at || idle_before;
        let packets = &self.packets;
        let head = |vl| {
            let packet = &packets[buffers.head(&link.heads, buffer, vl)];
            Head {
                sl: packet.sl,
                flits: packet.flits,
            }
        };
        let vl = self
            .schedulers
            .pick(output as usize, candidates, head, was_idle);
        self.transmit(output, Start::Head(vl));
    }

    /// Sends a packet: flit i leaves in tick now + i.
    #[inline]
    pub(super) fn transmit(&mut self, output: u32, start: Start) {
        let now = self.now;
        let ports = self.ports;
        let link = &mut self.links[output as usize];
        let from_nic = output as usize >= ports;
        let (buffers, buffer) = if from_nic {
            (&mut self.send_queues, output as usize - ports)
        } else {
            (&mut self.output_buffers, output as usize)
        };
        let (id, vl, queued) = match start {
            Start::Head(vl) => (buffers.head(&link.heads, buffer, vl), vl, true),
            Start::Cnp(id, vl) => (id, vl, false),
        };
        let packet = &mut self.packets[id];
        if queued && buffers.pop(&mut link.heads, buffer, vl, packet.next) {
            link.ready &= !(1 << vl);
        }
        let (flits, credits) = (packet.flits, u32::from(packet.credits));
        let freed = now + 1;
        let credit_return =
            buffers
                .drain()
                .credit_return(vl as u32, (flits, credits), freed, freed, 0);
        if queued {
            buffers.depart(buffer, credit_return, now);
        }
        let first_credit = buffers.first_credit_of(&credit_return);

        let (peer, to_nic, more) = (link.to.peer(), link.to.is_nic(), link.ready != 0);
        let free_at = now + Tick::from(flits);
        link.free_at = free_at;
        let blocked_since = std::mem::replace(&mut link.blocked_since, Tick::MAX);
        let out = &mut self.outputs[output as usize];
        out.sent.credit_wait += now.saturating_sub(blocked_since);
        out.sent.flits += u64::from(flits);
        out.sent.packets += 1;
        out.sent.queue_wait += now - packet.ready;
        let waiting = std::mem::take(&mut out.sources_waiting);
        let counters = &mut self.counters;

        let mut look_again = None;
        if from_nic
            && queued
            && let Some(congestion) = self.control.get_mut()
        {
            let nic = buffer as u32;
            let index;
            (index, look_again) = congestion.sent(now, nic, packet);
            counters.count_sent(index);
        }

        if to_nic {
            let latency = self.timing.host_link;
            if self.sinks_fill {
                // The NIC consumes each flit in the tick of its arrival.
                let sunk = credit_return.delayed(2 * latency);
                self.sinks.take(peer as usize, vl, credits);
                self.sinks.depart(peer as usize, sunk, now);
            }
            let tail = now + latency + u64::from(flits - 1);
            self.wheel
                .push(now, tail, event::DELIVERY << event::SHIFT | id);
            counters.host_flit_hops += u64::from(flits);
        } else {
            self.input_buffers.take(peer as usize, vl, credits);
            let latency = if from_nic {
                if queued {
                    packet.injected = now;
                    counters.packets += 1;
                    counters.flits_injected += u64::from(flits);
                }
                counters.host_flit_hops += u64::from(flits);
                self.timing.host_link
            } else {
                counters.flit_hops += u64::from(flits);
                self.timing.link
            };
            packet.arrival = now + latency;
            let routed = packet.arrival + self.timing.input_store + self.timing.routing;
            if from_nic && queued && packet.last && self.messages[packet.message].report_injection {
                let event = event::INJECTION << event::SHIFT | packet.message;
                self.wheel.push(now, free_at, event);
            }
            self.input_ready[usize::from(from_nic)].push(&mut self.wheel, routed, (peer, id));
        }
        if from_nic {
            let nic = output - ports as u32;
            if queued && std::mem::take(&mut self.nics[nic as usize].waiting) {
                self.wake_nic(nic, first_credit);
            }
            if let Some(at) = look_again {
                self.wake_nic(nic, at);
            }
        } else if waiting != 0 {
            self.wake_sources_of_output(output, waiting, first_credit);
        }
        if more {
            self.wake_output(output, free_at);
        }
    }

    /// The tail of a packet reached its NIC.
    #[inline]
    pub(super) fn deliver(&mut self, id: u32, workload: &mut impl Workload) {
        let packet = self.packets[id];
        self.packets.remove(id);
        if self.control.get().is_some() {
            self.notify(&packet);
            if packet.message == NONE {
                return;
            }
        }
        let arrived = Arrived {
            message: packet.message,
            index: packet.index,
            flits: packet.flits,
            units: packet.flits,
            injected: packet.injected,
        };
        self.counters
            .deliver(self.now, &arrived, &mut self.messages, workload);
    }
}

/// Buffer that an output sends from.
#[inline]
fn buffer_of<'a>(
    outputs: &'a VlBuffers,
    send_queues: &'a VlBuffers,
    ports: usize,
    output: u32,
) -> (&'a VlBuffers, usize) {
    match (output as usize).checked_sub(ports) {
        Some(nic) => (send_queues, nic),
        None => (outputs, output as usize),
    }
}
