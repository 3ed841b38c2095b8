//! Congestion at a switch: the fill of each Port VL, its state, and marks
//! (`docs/model/infiniband.md` §9 and §12).

use super::packet::{Packet, PacketId};
use super::switch_of;
use crate::congestion::PortVl;
use crate::sizes::largest_credits_on;
use crate::wiring::Wiring;
use flitwise_base::units::Ratio;
use flitwise_fabric::spec::congestion::{Marker, PortVlMarker};
use flitwise_fabric::spec::{FabricSpec, Tick};
use std::collections::{BTreeMap, BTreeSet};

/// The Port VLs of one switch, by (output, VL).
#[derive(Debug, Clone)]
pub struct Marking<'s> {
    spec: &'s FabricSpec,
    wiring: &'s Wiring,
    marker: &'s PortVlMarker,
    switch: usize,
    port_vls: BTreeMap<(usize, usize), PortVl>,
    /// Packets on their way to an output buffer, by (output, VL) and input port.
    bound: BTreeMap<(usize, usize), BTreeMap<usize, Vec<PacketId>>>,
    /// Packets routed in this tick.
    joined: Vec<PacketId>,
    /// Port VLs whose fill changed in this tick.
    changed: BTreeSet<(usize, usize)>,
}

impl<'s> Marking<'s> {
    /// `None` if nothing marks.
    pub fn new(spec: &'s FabricSpec, wiring: &'s Wiring, switch: usize) -> Option<Self> {
        let Marker::PortVl(marker) = &spec.congestion_control.as_deref()?.marker else {
            return None;
        };
        Some(Self {
            spec,
            wiring,
            marker,
            switch,
            port_vls: BTreeMap::new(),
            bound: BTreeMap::new(),
            joined: Vec::new(),
            changed: BTreeSet::new(),
        })
    }

    fn port_vl(&mut self, at: (usize, usize)) -> &mut PortVl {
        let new = || PortVl::new(self.marker, self.wiring, self.switch, at);
        self.port_vls.entry(at).or_insert_with(new)
    }

    /// Phase 6: how much later the credits of `packet`, which leaves its input buffer, come
    /// back.
    pub fn held_back(&mut self, packet: &Packet) -> Tick {
        let flit_bytes = self.spec.units.flit_bytes;
        let bytes = packet.flits * flit_bytes;
        let port_vl = self.port_vl((packet.output, packet.vl));
        port_vl.held_back(bytes, (Ratio::ONE, flit_bytes))
    }

    /// Phase 4: a packet was routed.
    pub fn join(&mut self, id: PacketId, packet: &Packet) {
        let at = (packet.output, packet.vl);
        let inputs = self.bound.entry(at).or_default();
        inputs.entry(packet.input).or_default().push(id);
        self.joined.push(id);
        self.changed.insert(at);
    }

    /// Phase 6: a packet was granted its way into its output buffer, and may be marked.
    pub fn granted(&mut self, id: PacketId, packet: &mut Packet) {
        let at = (packet.output, packet.vl);
        let bytes = u64::from(packet.flits) * u64::from(self.spec.units.flit_bytes);
        packet.fecn |= self.port_vl(at).mark(bytes);
        let inputs = self.bound.get_mut(&at).expect("it was routed");
        let of_input = inputs.get_mut(&packet.input).expect("it came in");
        let place = of_input.iter().position(|&other| other == id);
        of_input.remove(place.expect("it was routed"));
        self.changed.insert(at);
    }

    /// Flits of each input that wait for (output, VL), except the flits of the packets `without`.
    fn fills(&self, at: (usize, usize), packets: &[Packet], without: &[PacketId]) -> Vec<u64> {
        let flits = |ids: &Vec<PacketId>| {
            let ids = ids.iter().filter(|id| !without.contains(id));
            ids.map(|&id| u64::from(packets[id].flits)).sum()
        };
        let inputs = self.bound.get(&at).into_iter().flat_map(BTreeMap::values);
        inputs.map(flits).collect()
    }

    /// End of phase 6: Port VLs whose fill changed enter or leave the congestion state;
    /// `has_quota` tells of (output, VL, credits) whether they fit into the next buffer.
    pub fn update_states(
        &mut self,
        packets: &[Packet],
        has_quota: impl Fn(usize, usize, u32) -> bool,
    ) {
        let joined = std::mem::take(&mut self.joined);
        for at in std::mem::take(&mut self.changed) {
            let (output, vl) = at;
            let quota = switch_of(self.spec).buffers.input.per_vl[vl];
            let size = u64::from(quota.max) * u64::from(self.spec.units.flits_per_credit);
            let fills = self.fills(at, packets, &[]);
            let still_waits = |id: &PacketId| {
                let inputs = self.bound.get(&at).into_iter().flat_map(BTreeMap::values);
                inputs.flatten().any(|other| other == id)
            };
            let rises = joined.iter().any(still_waits);
            let before = rises.then(|| self.fills(at, packets, &joined));
            let root = has_quota(output, vl, largest_credits_on(self.spec, vl as u8));
            self.port_vl(at)
                .update_state(&fills, before.as_deref(), size, root);
        }
    }

    /// Packets marked in all.
    pub fn marked(&self) -> u64 {
        self.port_vls
            .values()
            .map(|port_vl| port_vl.marked_in_all)
            .sum()
    }

    /// Flits waiting and packets marked since the last call, per (output, VL) that has any.
    pub fn sample(&mut self, packets: &[Packet]) -> Vec<((usize, usize), (u64, u64))> {
        let all: BTreeSet<_> = self.bound.keys().chain(self.port_vls.keys()).collect();
        let all: Vec<_> = all.into_iter().copied().collect();
        let mut found = Vec::new();
        for at in all {
            let waiting: u64 = self.fills(at, packets, &[]).iter().sum();
            let marked = std::mem::take(&mut self.port_vl(at).marked);
            if waiting + marked > 0 {
                found.push((at, (waiting, marked)));
            }
        }
        found
    }
}
