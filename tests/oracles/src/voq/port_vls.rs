//! Port VLs (section 9): the flits that wait for them, and when they enter or leave the congestion state.

use super::input::Input;
use super::link::Link;
use super::packet::{Packet, PacketId};
use super::switch::Switch;
use crate::sizes::largest_credits;
use flitwise_fabric::spec::{FabricSpec, Voq};

impl Switch<'_> {
    /// Flits that wait in each input for (output, vl), except the flits of the packets `without`.
    fn waiting(
        &self,
        output: usize,
        vl: usize,
        packets: &[Packet],
        without: &[PacketId],
    ) -> Vec<u64> {
        let flits = |id: &PacketId| u64::from(packets[*id].flits);
        let waiting = |input: &Input| {
            let queue = input.queues[output * self.vls + vl].iter();
            queue.filter(|id| !without.contains(id)).map(flits).sum()
        };
        self.inputs.iter().map(waiting).collect()
    }

    /// End of phase 6: Port VLs whose fill changed enter or leave the congestion state.
    pub(super) fn update_port_vls(&mut self, packets: &[Packet], links: &[Link<'_>]) {
        let changed = std::mem::take(&mut self.changed);
        let joined = std::mem::take(&mut self.joined);
        if self.outputs.iter().all(|output| output.port_vls.is_empty()) {
            return;
        }
        for (at, vl) in changed {
            let queues = self.waiting(at, vl, packets, &[]);
            let still_waits = |id: &PacketId| {
                let here = (packets[*id].output, packets[*id].vl) == (at, vl);
                here && self
                    .inputs
                    .iter()
                    .any(|i| i.queues[at * self.vls + vl].contains(id))
            };
            let rises = joined.iter().any(still_waits);
            let before = rises.then(|| self.waiting(at, vl, packets, &joined));
            let link = &links[self.outputs[at].link.expect("connected")];
            let root = link.vl_has_credits(vl, largest_credits(self.spec));
            let size = size(self.spec, self.voq, vl);
            let port_vl = &mut self.outputs[at].port_vls[vl];
            port_vl.update_state(&queues, before.as_deref(), size, root);
        }
    }

    /// Packets marked in all.
    pub fn marked(&self) -> u64 {
        let port_vls = self.outputs.iter().flat_map(|output| &output.port_vls);
        port_vls.map(|port_vl| port_vl.marked_in_all).sum()
    }

    /// Flits waiting and packets marked, per (output, VL) that has any; marks are reset.
    pub fn port_vls(&mut self, packets: &[Packet]) -> Vec<((usize, usize), (u64, u64))> {
        let mut found = Vec::new();
        for output in 0..self.outputs.len() {
            for vl in 0..self.vls {
                let waiting = self.waiting(output, vl, packets, &[]).iter().sum();
                let port_vl = self.outputs[output].port_vls.get_mut(vl);
                let marked = port_vl.map_or(0, |port_vl| std::mem::take(&mut port_vl.marked));
                if waiting + marked > 0 {
                    found.push(((output, vl), (waiting, marked)));
                }
            }
        }
        found
    }
}

/// Flits that an input buffer has for a VL.
pub fn size(spec: &FabricSpec, voq: &Voq, vl: usize) -> u64 {
    u64::from(voq.buffers.input.per_vl[vl]) * u64::from(spec.units.flits_per_credit)
}
