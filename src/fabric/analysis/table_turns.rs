//! Turns from VL to VL at every switch, where SL-to-VL tables decide the VLs.
//! [`routes`](super::routes) walks the routes and calls this for each switch.

use super::turns::VlPair;
use crate::fabric::ids::{PortId, SwitchId};
use crate::fabric::spec::{FabricSpec, Hop, SlToVl};
use crate::fabric::topology::{Peer, Ports, Topology};
use std::collections::BTreeMap;

/// Most SLs, and most VLs, of an InfiniBand fabric.
const LEVELS: usize = 16;

/// Sets of VLs, a bit each, by SL or by VL.
type VlSets = [u16; LEVELS];

/// Turns from VL to VL at all switches, for all SLs and destinations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TableTurns {
    /// By hop, and by the VL before the switch: the VLs after it.
    turns: BTreeMap<Hop, VlSets>,
}

impl TableTurns {
    /// VLs before and after `hop` of packets that came over a link.
    pub fn pairs(&self, hop: Hop) -> impl Iterator<Item = VlPair> + '_ {
        let sets = self.turns.get(&hop).into_iter().flatten();
        sets.enumerate().flat_map(|(before, set)| {
            let after = (0..LEVELS).filter(move |vl| set >> vl & 1 == 1);
            after.map(move |after| VlPair { before, after })
        })
    }
}

/// Follows the packets of all SLs, one destination after the other.
pub(super) struct TableWalk<'a> {
    topology: &'a Topology,
    tables: &'a SlToVl,
    levels: usize,
    /// In-ports of each switch by which packets for the present destination arrive, with their
    /// VLs by SL.
    arriving: Vec<Vec<(PortId, VlSets)>>,
    /// Ports of each switch with NICs.
    nic_ports: Vec<Vec<PortId>>,
    pub found: TableTurns,
}

impl<'a> TableWalk<'a> {
    pub fn new(spec: &'a FabricSpec) -> Option<Self> {
        let (topology, tables) = (&spec.topology, spec.qos.vl_policy.tables()?);
        let nic_ports = |switch| {
            let is_nic = |&port: &PortId| matches!(topology.peer(switch, port), Peer::Nic(_));
            topology.port_ids().filter(is_nic).collect()
        };
        Some(Self {
            topology,
            tables,
            levels: spec.qos.service_levels.len().min(LEVELS),
            arriving: vec![Vec::new(); topology.switches() as usize],
            nic_ports: topology.switch_ids().map(nic_ports).collect(),
            found: TableTurns::default(),
        })
    }

    /// Passes the packets for the present destination that arrive at `switch`, or start at its
    /// NICs, on to `ports_out`. Must be called for the farthest switch first. For the switch
    /// of the destination itself [`end`](Self::end) is called instead.
    pub fn pass(&mut self, switch: SwitchId, ports_out: Ports) {
        let arrived = std::mem::take(&mut self.arriving[switch.index()]);
        for port_out in ports_out.iter() {
            let mut leaving = VlSets::default();
            let hop_from = |in_port| Hop {
                switch,
                in_port,
                out_port: port_out,
            };
            let after = |port_in, sl: usize| {
                let vl = self.tables.at_switch(hop_from(port_in), sl as u8);
                vl.filter(|&vl| usize::from(vl) < LEVELS).unwrap_or(0)
            };
            for &port_in in &self.nic_ports[switch.index()] {
                for (sl, set) in leaving.iter_mut().enumerate().take(self.levels) {
                    *set |= 1 << after(port_in, sl);
                }
            }
            for &(port_in, sets) in &arrived {
                let turns = self.found.turns.entry(hop_from(port_in)).or_default();
                for sl in 0..self.levels {
                    let vl = after(port_in, sl);
                    leaving[sl] |= 1 << vl;
                    let before = (0..LEVELS).filter(|before| sets[sl] >> before & 1 == 1);
                    before.for_each(|before| turns[before] |= 1 << vl);
                }
            }
            if let Peer::Switch { switch: next, port } = self.topology.peer(switch, port_out) {
                self.arriving[next.index()].push((port, leaving));
            }
        }
    }

    /// Drops what arrived at the switch of the destination, because the link to a NIC needs no
    /// turn.
    pub fn end(&mut self, home: SwitchId) {
        self.arriving[home.index()].clear();
    }
}
