//! The routes of single pairs of NICs in the analysis of all routes: [`routes`](super::routes) leaves these pairs out, and they
//! are added pair by pair.

use super::routes::{RouteAnalysis, Walk};
use crate::ids::{NicId, NicPair, SwitchPort};
use crate::spec::{FabricSpec, Hop};
use crate::topology::Peer;
use std::collections::BTreeMap;

/// The pairs with routes of their own.
pub(super) struct SourceWalk<'a> {
    spec: &'a FabricSpec,
    /// By destination: the switch of each source.
    sources: BTreeMap<NicId, Vec<usize>>,
}

impl<'a> SourceWalk<'a> {
    pub fn new(spec: &'a FabricSpec) -> Self {
        let mut sources: BTreeMap<NicId, Vec<usize>> = BTreeMap::new();
        for &NicPair { src, dst } in spec.routing.source_routes.0.keys() {
            let switch = spec.topology.attachment(src).switch;
            sources.entry(dst).or_default().push(switch.index());
        }
        Self { spec, sources }
    }

    /// Changes the number of NICs at a switch for each of its NICs with a route of its own to `dst`.
    pub fn count(&self, dst: NicId, nics_at: &mut [u32], change: impl Fn(&mut u32)) {
        for &switch in self.sources.get(&dst).into_iter().flatten() {
            change(&mut nics_at[switch]);
        }
    }

    /// Every pair with the hops of its route.
    pub fn routes(&self) -> impl Iterator<Item = (NicPair, Vec<Hop>)> + '_ {
        let topology = &self.spec.topology;
        self.spec
            .routing
            .source_routes
            .0
            .iter()
            .map(|(&pair, route)| {
                let mut in_port = topology.attachment(pair.src).port;
                let hops = route.iter().map(|at| {
                    let hop = Hop {
                        switch: at.switch,
                        in_port,
                        out_port: at.port,
                    };
                    if let Peer::Switch { port, .. } = topology.peer(at.switch, at.port) {
                        in_port = port;
                    }
                    hop
                });
                (pair, hops.collect())
            })
    }
}

impl RouteAnalysis {
    /// Adds connected pairs with as many hops.
    pub(super) fn add_pairs(&mut self, hops: usize, pairs: u64) {
        if pairs > 0 {
            let by_hops = &mut self.pairs_by_hops;
            by_hops.resize(by_hops.len().max(hops + 1), 0);
            by_hops[hops] += pairs;
        }
    }
}

impl Walk<'_> {
    /// Adds `turn` for the NICs of a switch that send to `dst` by its port `to`: for all, or for each without a route of its
    /// own.
    pub(super) fn inject(&mut self, to: SwitchPort, turn: u32, dst: NicId) {
        let (topology, routes) = (&self.spec.topology, &self.spec.routing.source_routes);
        let turns = &mut self.result.turns;
        if routes.is_empty() {
            turns.injected[topology.port_index(to.switch, to.port)] |= turn;
            return;
        }
        for port in topology.port_ids() {
            if let Peer::Nic(src) = topology.peer(to.switch, port)
                && routes.get(NicPair { src, dst }).is_none()
            {
                let input = topology.port_index(to.switch, port);
                turns.through[input * turns.radix + to.port.index()] |= turn;
            }
        }
    }

    /// Adds the turns and loads of a pair that takes `hops`. Its packets keep their VL class.
    pub(super) fn add_route(&mut self, pair: NicPair, hops: &[Hop]) {
        let (vls, topology) = (self.vls_for(pair.dst), &self.spec.topology);
        let result = &mut self.result;
        let radix = result.turns.radix;
        result.add_pairs(hops.len().saturating_sub(1), 1);
        for hop in hops {
            let output = topology.port_index(hop.switch, hop.out_port);
            let input = topology.port_index(hop.switch, hop.in_port);
            result.turns.through[input * radix + hop.out_port.index()] |= vls;
            if let Peer::Switch { .. } = topology.peer(hop.switch, hop.out_port) {
                result.link_pairs[output] += result.share;
            }
        }
        if let Some(tables) = &mut self.tables {
            tables.follow(pair, hops);
        }
    }
}
