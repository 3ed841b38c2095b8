//! The turns from VL to VL at every switch of a fabric in which SL-to-VL tables decide the VLs.
//! [`routes`](super::routes) walks the routes and calls this for each switch.

use super::turns::VlPair;
use crate::fabric::ids::{PortId, SwitchId};
use crate::fabric::spec::{FabricSpec, Hop, SlToVl};
use crate::fabric::topology::{Peer, Ports, Topology};
use std::collections::BTreeMap;

/// Sets of VLs, a bit each, by SL or by VL.
type VlSets = Box<[u32]>;

/// Number of bits of a set.
const VLS: u8 = u32::BITS as u8;

/// Turns from VL to VL at all switches, for all SLs and destinations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TableTurns {
    /// By hop, and by the VL before the switch: the VLs after it.
    turns: BTreeMap<Hop, VlSets>,
}

impl TableTurns {
    /// VLs before and after `hop` of packets that take it.
    pub fn pairs(&self, hop: Hop) -> impl Iterator<Item = VlPair> + '_ {
        let sets = self.turns.get(&hop).into_iter();
        sets.flatten().enumerate().flat_map(|(before, set)| {
            let after = (0..usize::from(VLS)).filter(move |vl| set >> vl & 1 == 1);
            after.map(move |after| VlPair { before, after })
        })
    }
}

/// Follows the packets of all SLs, one destination after the other.
pub(super) struct TableWalk<'a> {
    topology: &'a Topology,
    tables: &'a SlToVl,
    levels: usize,
    vls: usize,
    /// In-ports of each switch by which packets for the present destination arrive, with their
    /// VLs by SL.
    arriving: Vec<Vec<(PortId, VlSets)>>,
    /// Ports of each switch with NICs, and on which VLs these send, by SL.
    injected: Vec<Vec<(PortId, VlSets)>>,
    pub found: TableTurns,
}

impl<'a> TableWalk<'a> {
    pub fn new(spec: &'a FabricSpec) -> Option<Self> {
        let (topology, tables) = (&spec.topology, spec.qos.vl_policy.tables()?);
        let levels = spec.qos.service_levels.len();
        let injected = |switch: SwitchId| {
            let of_port = |port| match topology.peer(switch, port) {
                Peer::Nic(nic) => {
                    let vls = (0..levels).map(|sl| 1 << known(tables.at_hca(nic, sl as u8)));
                    Some((port, vls.collect()))
                }
                Peer::Switch { .. } | Peer::None => None,
            };
            topology.port_ids().filter_map(of_port).collect()
        };
        Some(Self {
            topology,
            tables,
            levels,
            vls: spec.qos.vls.into(),
            arriving: vec![Vec::new(); topology.switches() as usize],
            injected: topology.switch_ids().map(injected).collect(),
            found: TableTurns::default(),
        })
    }

    /// Passes the packets for the present destination that arrive at `switch`, or start at its
    /// NICs, on to `ports_out`. Must be called for the farthest switch first.
    pub fn pass(&mut self, switch: SwitchId, ports_out: Ports) {
        let arrived = std::mem::take(&mut self.arriving[switch.index()]);
        for port_out in ports_out.iter() {
            let mut leaving: VlSets = vec![0; self.levels].into();
            // A NIC sends nothing to itself.
            let others = arrived.iter().chain(&self.injected[switch.index()]);
            for &(port_in, ref sets) in others.filter(|(port_in, _)| *port_in != port_out) {
                let hop = Hop {
                    switch,
                    in_port: port_in,
                    out_port: port_out,
                };
                let none = || vec![0; self.vls].into();
                let turns = self.found.turns.entry(hop).or_insert_with(none);
                for (sl, (set, leaving)) in sets.iter().zip(&mut leaving).enumerate() {
                    let vl = self.tables.at_switch(hop, sl as u8);
                    let after = 1 << known(vl);
                    *leaving |= after;
                    for (before, turns) in turns.iter_mut().enumerate() {
                        if set >> before & 1 == 1 {
                            *turns |= after;
                        }
                    }
                }
            }
            if let Peer::Switch { switch: next, port } = self.topology.peer(switch, port_out) {
                self.arriving[next.index()].push((port, leaving));
            }
        }
    }
}

/// The VL of an entry. A valid specification has one for every SL, and no more than fit a set.
fn known(vl: Option<u8>) -> u8 {
    vl.filter(|&vl| vl < VLS).unwrap_or(0)
}
