//! Turns from VL to VL at every switch, where SL-to-VL tables decide the VLs.
//! [`routes`](super::routes) walks the routes and calls this for each switch.

use crate::fabric::spec::{FabricSpec, SlToVl};
use crate::fabric::topology::{Peer, Ports, Topology};
use std::collections::BTreeMap;

/// Sets of VLs, a bit each, by SL or by VL.
type VlSets = Box<[u32]>;

/// Number of bits of a set.
const VLS: u8 = u32::BITS as u8;

/// Turns from VL to VL at all switches, for all SLs and destinations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TableTurns {
    /// By (in-port over all switches, out-port), and by the VL before the switch: the VLs
    /// after it.
    turns: BTreeMap<(u32, u32), VlSets>,
}

impl TableTurns {
    /// Pairs of VLs (before, after) of packets from in-port `port_in`, over all switches, to
    /// `port_out`.
    pub fn pairs(&self, port_in: u32, port_out: u32) -> impl Iterator<Item = (usize, usize)> + '_ {
        let sets = self.turns.get(&(port_in, port_out)).into_iter();
        sets.flatten().enumerate().flat_map(|(before, set)| {
            let after = (0..usize::from(VLS)).filter(move |vl| set >> vl & 1 == 1);
            after.map(move |after| (before, after))
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
    arriving: Vec<Vec<(u32, VlSets)>>,
    /// Ports of each switch with NICs, and on which VLs these send, by SL.
    injected: Vec<Vec<(u32, VlSets)>>,
    pub found: TableTurns,
}

impl<'a> TableWalk<'a> {
    pub fn new(spec: &'a FabricSpec) -> Option<Self> {
        let (topology, tables) = (&spec.topology, spec.qos.vl_policy.tables()?);
        let levels = spec.qos.service_levels.len();
        let switches = topology.switches();
        let injected = |switch: u32| {
            let ports = 0..topology.radix();
            let of_port = |port| match topology.peer(switch, port) {
                Peer::Nic(nic) => {
                    let vls = (0..levels).map(|sl| 1 << known(tables.at_hca(nic, sl as u8)));
                    Some((port, vls.collect()))
                }
                Peer::Switch { .. } | Peer::None => None,
            };
            ports.filter_map(of_port).collect()
        };
        Some(Self {
            topology,
            tables,
            levels,
            vls: spec.qos.vls.into(),
            arriving: vec![Vec::new(); switches as usize],
            injected: (0..switches).map(injected).collect(),
            found: TableTurns::default(),
        })
    }

    /// Passes the packets for the present destination that arrive at `switch`, or start at its
    /// NICs, on to `ports_out`. Must be called for the farthest switch first.
    pub fn pass(&mut self, switch: u32, ports_out: Ports) {
        let arrived = std::mem::take(&mut self.arriving[switch as usize]);
        for port_out in ports_out.iter() {
            let mut leaving: VlSets = vec![0; self.levels].into();
            // A NIC sends nothing to itself.
            let others = arrived.iter().chain(&self.injected[switch as usize]);
            for &(port_in, ref sets) in others.filter(|(port_in, _)| *port_in != port_out) {
                let at = (switch * self.topology.radix() + port_in, port_out);
                let none = || vec![0; self.vls].into();
                let turns = self.found.turns.entry(at).or_insert_with(none);
                for (sl, (set, leaving)) in sets.iter().zip(&mut leaving).enumerate() {
                    let vl = self.tables.at_switch(switch, port_in, port_out, sl as u8);
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
                self.arriving[next as usize].push((port, leaving));
            }
        }
    }
}

/// The VL of an entry. A valid specification has one for every SL, and no more than fit a set.
fn known(vl: Option<u8>) -> u8 {
    vl.filter(|&vl| vl < VLS).unwrap_or(0)
}
