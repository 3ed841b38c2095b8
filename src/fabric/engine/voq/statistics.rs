//! Statistics of links, and the occupancy of Port VLs (`docs/model/infiniband.md` §13).
//!
//! A link counts a packet when it starts there. `crossing` counts it earlier, at the grant. So the
//! packets that their link has not started yet are subtracted here, when the statistics are read
//! or begin anew.

use super::Fabric;
use super::packet::Packet;
use super::ports::{OutPort, Port};
use crate::engine::counters::LinkCounts;
use crate::engine::ids::{InputId, OutputId};
use crate::engine::turns::TurnCounts;
use crate::engine::variant::Variant;
use crate::ids::SwitchPort;
use crate::series::PortVlSample;
use crate::spec::Tick;
use crate::stats::{FabricStats, LinkStats, TurnStats};
use std::collections::BTreeMap;

/// The counts of a link for packets that it has not started yet.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::engine) struct Pending {
    counts: LinkCounts,
    bytes: u64,
}

impl<V: Variant> Fabric<V> {
    /// The packets that were granted and that the link behind their output has not started yet,
    /// each with the tick in which it will.
    fn not_started(&self) -> impl Iterator<Item = (Tick, &Packet<V>)> {
        self.kernel.packets.entries().iter().filter_map(|packet| {
            let not_started = packet.starts > self.kernel.now;
            not_started.then_some((packet.starts, packet))
        })
    }

    /// Adds the counts of these packets, by output.
    pub(super) fn add_pending(&self, pending: &mut BTreeMap<OutputId, Pending>) {
        for (starts, packet) in self.not_started() {
            // A packet on its way to a switch may have been routed there already.
            let output = match self.switches.inputs.get(packet.input.index()) {
                Some(input) => input.upstream,
                None => packet.output,
            };
            let Pending { counts, bytes } = pending.entry(output).or_default();
            counts.packets += 1;
            counts.flits += u64::from(packet.flits);
            counts.queue_wait += starts - packet.waiting_since;
            *bytes += u64::from(packet.bytes);
        }
    }

    /// Whether an output belongs to this block, or to this fabric if it is whole.
    fn owns(&self, output: OutputId) -> bool {
        self.post.as_ref().is_none_or(|post| post.owns(output))
    }

    /// Counts anew from the next tick on. Packets that links start later stay counted.
    pub(super) fn restart_counting(&mut self, pending: &BTreeMap<OutputId, Pending>) {
        let (mut hops, mut host_hops) = (0, 0);
        let own = pending.iter().filter(|&(&output, _)| self.owns(output));
        for (&output, Pending { counts, .. }) in own {
            if self.outputs[output].to.is_nic() {
                host_hops += counts.flits
            } else {
                hops += counts.flits
            }
        }
        self.kernel.observers.counters.restart(self.kernel.now);
        if let Some(power) = &mut self.kernel.power {
            power.restart(self.kernel.now);
        }
        for queue in &mut self.switches.queues {
            queue.counts = TurnCounts::default();
        }
        (
            self.kernel.observers.counters.counts.flit_hops,
            self.kernel.observers.counters.counts.host_flit_hops,
        ) = (hops, host_hops);
        let ids = OutputId::all(self.outputs.len() as u32);
        for (id, output) in ids.zip(self.outputs.iter_mut()) {
            let is_own = self.post.as_ref().is_none_or(|post| post.owns(id));
            let pending = pending.get(&id).filter(|_| is_own);
            let pending = pending.copied().unwrap_or_default();
            (output.sent, output.sent_bytes) = (pending.counts, pending.bytes);
            if output.blocked_since != Tick::MAX {
                output.blocked_since = self.kernel.now + 1;
            }
        }
    }

    /// The statistics up to the end of the present tick.
    pub(super) fn collect_stats(&self, pending: &BTreeMap<OutputId, Pending>) -> FabricStats {
        let links = self.count_links(pending);
        let counters = &self.kernel.observers.counters;
        let mut stats = counters.stats(self.kernel.now, links, self.turns());
        let own = pending.iter().filter(|&(&output, _)| self.owns(output));
        for (output, Pending { counts, .. }) in own {
            if self.outputs[*output].to.is_nic() {
                stats.host_flit_hops -= counts.flits;
            } else {
                stats.flit_hops -= counts.flits;
            }
        }
        stats
    }

    /// The statistics of the links up to the end of the present tick, of which `pending` has not started.
    pub(super) fn count_links(&self, pending: &BTreeMap<OutputId, Pending>) -> Vec<LinkStats> {
        OutputId::nics_first(self.ports, self.outputs.len())
            .filter(|&output| self.outputs[output].to.is_connected())
            .map(|at| {
                let output = &self.outputs[at];
                let not_started = pending.get(&at).filter(|_| self.owns(at));
                let not_started = not_started.copied().unwrap_or_default();
                let Pending { counts, bytes } = not_started;
                LinkStats {
                    from: at.link_end(self.ports, self.radix),
                    to: output.to.link_end(self.radix),
                    flits: output.sent.flits - counts.flits,
                    units: output.sent_bytes - bytes,
                    packets: output.sent.packets - counts.packets,
                    credit_wait_ticks: output.sent.credit_wait
                        + self.kernel.credit_wait_so_far(at, output.blocked_since),
                    retries: self.kernel.retries(at),
                    longer_ticks: self.kernel.longer_ticks(at),
                    down_wait_ticks: self.kernel.down_wait(at),
                    queue_wait_ticks: output.sent.queue_wait - counts.queue_wait,
                    waited_ticks: 0,
                    held_up_ticks: 0,
                    states: self.kernel.link_states(at),
                }
            })
            .collect()
    }

    /// The turns that packets passed, by in-port, then by out-port.
    fn turns(&self) -> Vec<TurnStats> {
        let inputs = &self.switches.inputs;
        let inputs = InputId::all(inputs.len() as u32).zip(inputs.iter());
        let connected: Vec<_> = inputs
            .filter(|(_, state)| state.upstream != OutputId::NONE)
            .map(|(input, _)| input.at(self.radix))
            .collect();
        // All connected in-ports have the same number of VoQs, one behind the other.
        let per_input = (self.switches.queues.len() / connected.len().max(1)).max(1);
        let mut turns = Vec::new();
        for (input, queues) in connected
            .into_iter()
            .zip(self.switches.queues.chunks_exact(per_input))
        {
            for (out_port, vls) in (0..).zip(queues.chunks_exact(self.vls)) {
                let flits = vls.iter().map(|queue| queue.counts.flits).sum();
                let waited = vls.iter().map(|queue| queue.counts.waited).sum();
                turns.extend(TurnStats::of(input, out_port, flits, waited));
            }
        }
        turns
    }

    /// The flits waiting per Port VL, counted packet by packet.
    pub(super) fn waiting_flits(&self) -> Vec<PortVlSample> {
        let (vls, radix) = (self.vls, self.radix);
        let mut found = Vec::new();
        // Per output VL: the flits behind heads of FIFOs.
        let mut behind: BTreeMap<usize, u64> = BTreeMap::new();
        for packet in self.switches.behind_heads(&self.kernel.packets) {
            let output_vl = packet.output.index() * vls + usize::from(packet.vl);
            *behind.entry(output_vl).or_default() += u64::from(packet.flits);
        }
        for (output_vl, state) in self.links.vls()[..self.ports * vls].iter().enumerate() {
            let mut in_ports = state.heads;
            let (output, vl) = (OutputId::new((output_vl / vls) as u32), output_vl % vls);
            let SwitchPort { switch, port } = output.at(radix);
            let (out_port, first_input) = (
                OutPort::of(port.get() as u8),
                InputId::first_of(switch, radix),
            );
            let mut flits = behind.get(&output_vl).copied().unwrap_or(0);
            while let Some(in_port) = in_ports.pop() {
                let input = in_port.input(first_input);
                let queue = self.switches.inputs[input].queue(out_port, vls, vl);
                let mut at = self.switches.queues[queue].fifo.head;
                while let Some(packet) = self.kernel.packets.entries().get(at.index()) {
                    flits += u64::from(packet.flits);
                    at = packet.next;
                }
            }
            if flits > 0 {
                found.push(PortVlSample {
                    switch,
                    port,
                    vl: vl as u8,
                    flits,
                    marked: 0,
                });
            }
        }
        found
    }
}
