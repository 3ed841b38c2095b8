//! Counting.

use super::Engine;
use super::packet::{InFlight, Packet};
use super::parts::Sent;
use crate::fabric::spec::Tick;
use crate::fabric::stats::{FabricStats, Latency, LinkEnd, LinkStats, SlStats};

/// Counters kept while running.
#[derive(Debug)]
pub(super) struct Counters {
    /// Counting began after this tick.
    start: Tick,
    /// Flits in flight then.
    in_flight: u64,
    pub messages: u64,
    pub messages_delivered: u64,
    pub packets: u64,
    pub flits_injected: u64,
    pub flits_delivered: u64,
    pub flit_hops: u64,
    pub host_flit_hops: u64,
    pub events: u64,
    service_levels: Vec<SlStats>,
}

impl Counters {
    pub(super) fn new(sls: usize) -> Self {
        Self {
            start: 0,
            in_flight: 0,
            messages: 0,
            messages_delivered: 0,
            packets: 0,
            flits_injected: 0,
            flits_delivered: 0,
            flit_hops: 0,
            host_flit_hops: 0,
            events: 0,
            service_levels: (0..sls)
                .map(|_| SlStats {
                    messages: 0,
                    packets: 0,
                    flits: 0,
                    bytes: 0,
                    end_to_end: Latency::default(),
                    network: Latency::default(),
                })
                .collect(),
        }
    }

    #[inline]
    pub(super) fn packet_delivered(&mut self, packet: &Packet, now: Tick) {
        self.flits_delivered += u64::from(packet.flits);
        let sl = &mut self.service_levels[usize::from(packet.sl)];
        sl.packets += 1;
        sl.flits += u64::from(packet.flits);
        sl.network.record(now - packet.injected);
    }

    #[inline]
    pub(super) fn message_delivered(&mut self, message: &InFlight, now: Tick) {
        self.messages_delivered += 1;
        let sl = &mut self.service_levels[usize::from(message.sl)];
        sl.messages += 1;
        sl.bytes += message.bytes;
        sl.end_to_end.record(now - message.created);
    }
}

impl Engine {
    /// Counts anew from the next tick on: of what is on its way, deliveries and latencies
    /// count when they happen.
    pub fn restart_statistics(&mut self) {
        let counters = &self.counters;
        let in_flight = counters.in_flight + counters.flits_injected - counters.flits_delivered;
        let (events, sls) = (counters.events, counters.service_levels.len());
        self.counters = Counters {
            start: self.now,
            in_flight,
            events,
            ..Counters::new(sls)
        };
        for (output, link) in self.outputs.iter_mut().zip(&mut self.links) {
            output.sent = Sent::default();
            if link.blocked_since != Tick::MAX {
                link.blocked_since = self.now + 1;
            }
        }
    }

    /// Flits and packets delivered so far, and the sum of the network latencies of these
    /// packets in ticks: a part of [`Engine::stats`] that takes no walk over the links.
    #[must_use]
    pub fn delivered(&self) -> (u64, u64, u128) {
        let levels = || self.counters.service_levels.iter();
        (
            self.counters.flits_delivered,
            levels().map(|sl| sl.packets).sum(),
            levels().map(|sl| sl.network.sum()).sum(),
        )
    }

    /// What has been counted so far.
    #[must_use]
    pub fn stats(&self) -> FabricStats {
        let counters = &self.counters;
        let port = |port: u32| LinkEnd::Port {
            switch: port / self.radix,
            port: port % self.radix,
        };
        let nics = self.nics.len();
        let order = (self.ports..self.ports + nics).chain(0..self.ports);
        let links = order
            .filter(|&o| self.links[o].is_connected())
            .map(|o| {
                let (link, sent) = (&self.links[o], &self.outputs[o].sent);
                LinkStats {
                    from: match o.checked_sub(self.ports) {
                        Some(nic) => LinkEnd::Nic(nic as u32),
                        None => port(o as u32),
                    },
                    to: if link.is_to_nic() {
                        LinkEnd::Nic(link.peer())
                    } else {
                        port(link.peer())
                    },
                    flits: sent.flits,
                    packets: sent.packets,
                    // The last tick counts too.
                    credit_wait_ticks: sent.credit_wait
                        + (self.now + 1).saturating_sub(link.blocked_since),
                    queue_wait_ticks: sent.queue_wait,
                }
            })
            .collect();
        FabricStats {
            start_tick: counters.start,
            end_tick: self.now,
            messages: counters.messages,
            messages_delivered: counters.messages_delivered,
            packets: counters.packets,
            flits_injected: counters.flits_injected,
            flits_delivered: counters.flits_delivered,
            flits_in_flight: counters.in_flight + counters.flits_injected
                - counters.flits_delivered,
            flit_hops: counters.flit_hops,
            host_flit_hops: counters.host_flit_hops,
            events: counters.events,
            service_levels: counters.service_levels.clone(),
            links,
            congestion: None,
        }
    }
}
