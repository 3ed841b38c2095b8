//! Statistics of links, and the occupancy of Port VLs (`docs/model-infiniband.md` §13).
//!
//! A link counts a packet when it starts there. `crossing` counts it earlier, at the grant. So the
//! packets that their link has not started yet are subtracted here, when the statistics are read
//! or begin anew.

use super::Fabric;
use super::packet::Packet;
use super::parts::Sent;
use crate::fabric::ids::{NicId, PortId, SwitchId};
use crate::fabric::series::PortVlSample;
use crate::fabric::spec::Tick;
use crate::fabric::stats::{FabricStats, LinkEnd, LinkStats};
use std::collections::BTreeMap;

impl<const L: usize, const W: usize> Fabric<L, W> {
    /// The packets that were granted and that the link behind their output has not started yet,
    /// each with the tick in which it will.
    fn not_started(&self) -> impl Iterator<Item = (Tick, &Packet<L>)> {
        self.packets.entries().iter().filter_map(|packet| {
            let not_started = packet.alive && packet.starts > self.now;
            not_started.then_some((packet.starts, packet))
        })
    }

    /// Counts anew from the next tick on. Packets that links start later stay counted.
    pub(super) fn restart_counting(&mut self) {
        let mut pending: Vec<Sent> = vec![Sent::default(); self.outputs.len()];
        let (mut hops, mut host_hops) = (0, 0);
        for (starts, packet) in self.not_started() {
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

    /// The statistics up to the end of the present tick.
    pub(super) fn collect_stats(&self) -> FabricStats {
        let link_end = |output: usize| match output.checked_sub(self.ports) {
            Some(nic) => LinkEnd::Nic(NicId::new(nic as u32)),
            None => LinkEnd::Port {
                switch: SwitchId::new(output as u32 / self.radix),
                port: PortId::new(output as u32 % self.radix),
            },
        };
        let order = (self.ports..self.outputs.len()).chain(0..self.ports);
        let mut pending: BTreeMap<u32, Sent> = BTreeMap::new();
        for (starts, packet) in self.not_started() {
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
                let not_started = pending.get(&(at as u32)).copied().unwrap_or_default();
                LinkStats {
                    from: link_end(at),
                    to: if output.to.is_nic() {
                        LinkEnd::Nic(NicId::new(output.to.peer()))
                    } else {
                        link_end(output.to.peer() as usize)
                    },
                    flits: output.sent.flits - not_started.flits,
                    units: output.sent.bytes - not_started.bytes,
                    packets: output.sent.packets - not_started.packets,
                    // A credit wait that goes on counts up to the present tick, included.
                    credit_wait_ticks: output.sent.credit_wait
                        + (self.now + 1).saturating_sub(output.blocked_since),
                    queue_wait_ticks: output.sent.queue_wait - not_started.queue_wait,
                }
            })
            .collect();
        let mut stats = self.counters.stats(self.now, links);
        for (output, not_started) in pending {
            if self.outputs[output as usize].to.is_nic() {
                stats.host_flit_hops -= not_started.flits;
            } else {
                stats.flit_hops -= not_started.flits;
            }
        }
        stats
    }

    /// The flits waiting per Port VL, counted packet by packet.
    pub(super) fn occupancy(&self) -> Vec<PortVlSample> {
        let (vls, radix) = (self.vls, self.radix as usize);
        let mut found = Vec::new();
        for (output_vl, state) in self.output_vls[..self.ports * vls].iter().enumerate() {
            let mut in_ports = state.heads;
            let (output, vl) = (output_vl / vls, output_vl % vls);
            let first_port = output - output % radix;
            let mut flits = 0;
            while let Some(in_port) = in_ports.pop() {
                let input = first_port + usize::from(in_port);
                let queue = self.inputs[input].queue((output % radix) as u8, vls, vl);
                let mut at = self.queues[queue].head;
                while let Some(packet) = self.packets.entries().get(at as usize) {
                    flits += u64::from(packet.flits);
                    at = packet.next;
                }
            }
            if flits > 0 {
                found.push(PortVlSample {
                    switch: SwitchId::new((output / radix) as u32),
                    port: PortId::new((output % radix) as u32),
                    vl: vl as u8,
                    flits,
                    marked: 0,
                });
            }
        }
        found
    }
}
