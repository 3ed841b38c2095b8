//! Counting (`docs/model-infiniband.md` §13).
//!
//! A grant counts what the link behind the output will do; what has not begun by the
//! time that somebody asks is taken out again.

use super::Fabric;
use super::packet::Packet;
use super::parts::Sent;
use crate::fabric::series::PortVlSample;
use crate::fabric::spec::Tick;
use crate::fabric::stats::{FabricStats, LinkEnd, LinkStats};
use std::collections::BTreeMap;

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// Packets that an output was granted and whose link has not started them yet: with the
    /// tick in which it will.
    fn to_start(&self) -> impl Iterator<Item = (Tick, &Packet<L>)> {
        self.packets.entries().iter().filter_map(|packet| {
            let pending = packet.alive && packet.starts > self.now;
            pending.then_some((packet.starts, packet))
        })
    }

    pub(super) fn restart_counting(&mut self) {
        let mut pending: Vec<Sent> = vec![Sent::default(); self.outputs.len()];
        let (mut hops, mut host_hops) = (0, 0);
        for (starts, packet) in self.to_start() {
            let flits = u64::from(packet.flits);
            let sent = &mut pending[packet.output as usize];
            sent.packets += 1;
            sent.flits += flits;
            sent.bytes += u64::from(packet.bytes);
            sent.queue_wait += starts - packet.waiting_since;
            if self.outputs[packet.output as usize].to.is_nic() {
                host_hops += flits;
            } else {
                hops += flits;
            }
        }
        self.counters.restart(self.now);
        (self.counters.flit_hops, self.counters.host_flit_hops) = (hops, host_hops);
        for (output, pending) in self.outputs.iter_mut().zip(pending) {
            output.sent = pending;
            if output.blocked_since != Tick::MAX {
                output.blocked_since = self.now + 1;
            }
        }
    }

    pub(super) fn count_links(&self) -> FabricStats {
        let end = |output: usize| match output.checked_sub(self.ports) {
            Some(nic) => LinkEnd::Nic(nic as u32),
            None => LinkEnd::Port {
                switch: output as u32 / self.radix,
                port: output as u32 % self.radix,
            },
        };
        let order = (self.ports..self.outputs.len()).chain(0..self.ports);
        let mut pending: BTreeMap<u32, Sent> = BTreeMap::new();
        for (starts, packet) in self.to_start() {
            let sent = pending.entry(packet.output).or_default();
            sent.packets += 1;
            sent.flits += u64::from(packet.flits);
            sent.bytes += u64::from(packet.bytes);
            sent.queue_wait += starts - packet.waiting_since;
        }
        let links = order
            .filter(|&output| self.outputs[output].to.is_connected())
            .map(|at| {
                let output = &self.outputs[at];
                let later = pending.get(&(at as u32)).copied().unwrap_or_default();
                LinkStats {
                    from: end(at),
                    to: if output.to.is_nic() {
                        LinkEnd::Nic(output.to.peer())
                    } else {
                        end(output.to.peer() as usize)
                    },
                    flits: output.sent.flits - later.flits,
                    units: output.sent.bytes - later.bytes,
                    packets: output.sent.packets - later.packets,
                    // The last tick counts too.
                    credit_wait_ticks: output.sent.credit_wait
                        + (self.now + 1).saturating_sub(output.blocked_since),
                    queue_wait_ticks: output.sent.queue_wait - later.queue_wait,
                }
            })
            .collect();
        let mut stats = self.counters.stats(self.now, links);
        for (output, later) in pending {
            if self.outputs[output as usize].to.is_nic() {
                stats.host_flit_hops -= later.flits;
            } else {
                stats.flit_hops -= later.flits;
            }
        }
        stats
    }

    /// Flits waiting per Port VL, counted anew.
    pub(super) fn occupancy(&self) -> Vec<PortVlSample> {
        let (vls, radix) = (self.vls, self.radix as usize);
        let mut found = Vec::new();
        for (output_vl, state) in self.output_vls[..self.ports * vls].iter().enumerate() {
            let mut inputs = state.heads;
            let (output, vl) = (output_vl / vls, output_vl % vls);
            let first_port = output - output % radix;
            let mut flits = 0;
            while let Some(local) = inputs.pop() {
                let local = usize::from(local);
                let queue = ((first_port + local) * radix + output % radix) * vls + vl;
                let mut at = self.queues[queue].head;
                while let Some(packet) = self.packets.entries().get(at as usize) {
                    flits += u64::from(packet.flits);
                    at = packet.next;
                }
            }
            if flits > 0 {
                found.push(PortVlSample {
                    switch: (output / radix) as u32,
                    port: (output % radix) as u32,
                    vl: vl as u8,
                    flits,
                    marked: 0,
                });
            }
        }
        found
    }
}
