//! Phase 7: outputs and NICs send (`docs/model.md` §8), and packets arrive.

use super::Fabric;
use super::control::{Control, count, count_sent};
use super::event;
use super::scheduler::Head;
use super::space::{Chance, VlBank};
use super::train::Train;
use crate::fabric::engine::counters::Arrived;
use crate::fabric::engine::pool::{NONE, PacketId};
use crate::fabric::spec::Tick;
use crate::fabric::workload::Workload;

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
        let peer = link.peer() as usize;
        let (bank, buffer) = buffer_of(&self.output_buffers, &self.send_queues, self.ports, output);
        let (beyond, unlimited) = if link.is_to_nic() {
            (&mut self.sinks, !self.sinks_fill)
        } else {
            (&mut self.input_buffers, false)
        };
        let (mut candidates, mut again, mut waits) = (0u32, Tick::MAX, false);
        let mut ready = link.ready;
        while ready != 0 {
            let vl = ready.trailing_zeros() as usize;
            ready &= ready - 1;
            let packet = &self.packets[bank.head(&link.heads, buffer, vl)];
            if unlimited || beyond.has_quota(peer, vl, packet.credits.into(), now) {
                candidates |= 1 << vl;
            } else if candidates == 0 {
                match beyond.chance(peer, vl, packet.credits.into()) {
                    Chance::At(tick) => again = again.min(tick),
                    Chance::AfterDeparture => waits = true,
                }
            }
        }
        if candidates == 0 {
            let link = &mut self.links[output as usize];
            link.blocked_since = link.blocked_since.min(now);
            if waits && !link.is_to_nic() {
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
            let packet = &packets[bank.head(&link.heads, buffer, vl)];
            Head {
                sl: packet.sl,
                flits: packet.flits,
            }
        };
        let vl = self
            .schedulers
            .pick(output as usize, candidates, head, was_idle);
        self.transmit(output, vl);
    }

    /// Sends the head packet of `vl`: flit i leaves in tick now + i.
    #[inline]
    fn transmit(&mut self, output: u32, vl: usize) {
        let now = self.now;
        let link = &mut self.links[output as usize];
        let nic = output.checked_sub(self.ports as u32);
        let (bank, buffer) = match nic {
            Some(nic) => (&mut self.send_queues, nic as usize),
            None => (&mut self.output_buffers, output as usize),
        };
        let id = bank.head(&link.heads, buffer, vl);
        let packet = &mut self.packets[id];
        if bank.pop(&mut link.heads, buffer, vl, packet.next) {
            link.ready &= !(1 << vl);
        }
        let (freed, size) = (now + 1, (packet.flits, packet.credits.into()));
        let train = bank.track().train(vl as u32, size, freed, freed, 0);
        bank.depart(buffer, train, now);
        let first_credit = bank.first_credit_of(&train);
        if let Some(congestion) = self.control.get_mut() {
            let counts = &mut self.counters.congestion;
            match nic {
                Some(nic) => {
                    let (index, look) = congestion.sent(now, nic, packet);
                    count_sent(counts, index);
                    if let Some(at) = look {
                        self.wake_nic(nic, at);
                    }
                }
                None if congestion.port_vls.mark(output, vl as u8, packet.flits) => {
                    packet.fecn = true;
                    count(counts, |counts| counts.marked += 1);
                }
                None => {}
            }
        }
        self.launch(output, vl, id, train);
        if let Some(nic) = nic {
            if std::mem::take(&mut self.nics[nic as usize].waiting) {
                self.wake_nic(nic, first_credit);
            }
        } else {
            let waiting = std::mem::take(&mut self.outputs[output as usize].sources_waiting);
            if waiting != 0 {
                self.wake_sources_of_output(output, waiting, first_credit);
            }
        }
        let link = &self.links[output as usize];
        if link.ready != 0 {
            let free_at = link.free_at;
            self.wake_output(output, free_at);
        }
    }

    /// Puts a packet on the link of `output`, which it leaves for as `train`.
    #[inline]
    pub(super) fn launch(&mut self, output: u32, vl: usize, id: PacketId, train: Train) {
        let now = self.now;
        let packet = &mut self.packets[id];
        let (flits, credits) = (packet.flits, u32::from(packet.credits));
        let from_nic = output as usize >= self.ports;
        let link = &mut self.links[output as usize];
        let (peer, to_nic) = (link.peer(), link.is_to_nic());
        let free_at = now + Tick::from(flits);
        link.free_at = free_at;
        let blocked_since = std::mem::replace(&mut link.blocked_since, Tick::MAX);
        let sent = &mut self.outputs[output as usize].sent;
        sent.credit_wait += now.saturating_sub(blocked_since);
        sent.flits += u64::from(flits);
        sent.packets += 1;
        sent.queue_wait += now - packet.ready;
        let counters = &mut self.counters;

        if to_nic {
            let latency = self.timing.host_link;
            if self.sinks_fill {
                // The NIC consumes each flit in the tick of its arrival.
                let sunk = train.delayed(2 * latency);
                self.sinks.take(peer as usize, vl, credits);
                self.sinks.depart(peer as usize, sunk, now);
            }
            let tail = now + latency + u64::from(flits - 1);
            self.wheel
                .push(now, tail, event::DELIVERY << event::SHIFT | id);
            counters.host_flit_hops += u64::from(flits);
            return;
        }
        self.input_buffers.take(peer as usize, vl, credits);
        let latency = if from_nic {
            counters.host_flit_hops += u64::from(flits);
            if self.control.get().is_none() || packet.message != NONE {
                packet.injected = now;
                counters.packets += 1;
                counters.flits_injected += u64::from(flits);
                if packet.last && self.messages[packet.message].report_injection {
                    let event = event::INJECTION << event::SHIFT | packet.message;
                    self.wheel.push(now, free_at, event);
                }
            }
            self.timing.host_link
        } else {
            counters.flit_hops += u64::from(flits);
            self.timing.link
        };
        packet.arrival = now + latency;
        let routed = packet.arrival + self.timing.input_store + self.timing.routing;
        self.input_ready[usize::from(from_nic)].push(&mut self.wheel, routed, (peer, id));
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
            injected: packet.injected,
        };
        self.counters
            .deliver(self.now, &arrived, &mut self.messages, workload);
    }
}

/// Buffer that an output sends from.
#[inline]
fn buffer_of<'a>(
    outputs: &'a VlBank,
    send_queues: &'a VlBank,
    ports: usize,
    output: u32,
) -> (&'a VlBank, usize) {
    match (output as usize).checked_sub(ports) {
        Some(nic) => (send_queues, nic),
        None => (outputs, output as usize),
    }
}
