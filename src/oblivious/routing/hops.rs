//! Distances between switches.

use crate::graph::{EdgeId, Graph, NodeId};

/// No route.
pub(super) const FAR: u32 = u32::MAX;

/// Switches by their distance from some switches.
#[derive(Debug, Default)]
pub(super) struct Hops {
    /// By node; [`FAR`] where there is no route, and for hosts.
    pub hops: Vec<u32>,
    /// The switches that were reached, the nearest first.
    pub order: Vec<NodeId>,
}

impl Hops {
    /// Finds the distances from `from`, over the edges that `takes` allows in the direction towards `from`.
    pub fn find(
        &mut self,
        graph: &Graph,
        from: impl IntoIterator<Item = NodeId>,
        takes: impl Fn(EdgeId) -> bool,
    ) {
        self.hops.clear();
        self.hops.resize(graph.nodes().len(), FAR);
        self.order.clear();
        for node in from {
            if self.hops[node.index()] == FAR {
                self.hops[node.index()] = 0;
                self.order.push(node);
            }
        }
        let mut at = 0;
        while let Some(&node) = self.order.get(at) {
            at += 1;
            for away in graph.edges_of(node) {
                let edge = graph.edge(away);
                let next = edge.to;
                if self.hops[next.index()] == FAR && graph.is_switch(next) && takes(edge.reverse) {
                    self.hops[next.index()] = self.hops[node.index()] + 1;
                    self.order.push(next);
                }
            }
        }
    }

    /// The edges from `node` that lead one hop nearer.
    pub fn nearer<'a>(
        &'a self,
        graph: &'a Graph,
        node: NodeId,
    ) -> impl Iterator<Item = EdgeId> + 'a {
        let own = self.hops[node.index()];
        let leads = move |edge: &EdgeId| {
            let hops = self.hops[graph.edge(*edge).to.index()];
            hops != FAR && hops + 1 == own
        };
        graph.edges_of(node).filter(leads)
    }
}

/// By switch, the smallest switch that is connected to it.
pub(super) fn parts(graph: &Graph) -> Vec<NodeId> {
    let mut parts = vec![None; graph.nodes().len()];
    let mut part = Hops::default();
    for node in graph.switches() {
        if parts[node.index()].is_none() {
            part.find(graph, [node], |_| true);
            part.order
                .iter()
                .for_each(|other| parts[other.index()] = Some(node));
        }
    }
    parts.into_iter().map(Option::unwrap_or_default).collect()
}

/// Switches with a host, ascending.
pub(super) fn leaves(graph: &Graph) -> Vec<NodeId> {
    let mut leaves: Vec<NodeId> = graph
        .hosts()
        .iter()
        .filter_map(|&host| graph.host_at(host))
        .map(|host| graph.switch_of(host))
        .collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

/// The edge from a switch to its host.
pub(super) fn ejection(graph: &Graph, host: crate::graph::HostId) -> EdgeId {
    graph.edge(graph.injection(host)).reverse
}

/// Balances destinations over edges that are equally good.
#[derive(Debug)]
pub(super) struct Balance {
    /// Destinations by edge.
    load: Vec<u32>,
    choices: Vec<EdgeId>,
    /// Switches with hosts so far.
    turn: usize,
}

impl Balance {
    pub fn new(graph: &Graph) -> Self {
        Self {
            load: vec![0; graph.edges().len()],
            choices: Vec::new(),
            turn: 0,
        }
    }

    /// Begins the destinations of the next switch.
    pub fn next_switch(&mut self) {
        self.turn += 1;
    }

    /// The edge with the fewest destinations, at a switch that is `hops` away from the destination. Equal edges take
    /// turns: a different edge is first for every switch of destinations, and at every distance. If the same edge were
    /// always first, a switch of the second level would use one up-port for all destinations that reach it, because the
    /// level below sorts them by the same rule.
    pub fn choose(&mut self, hops: u32, edges: impl Iterator<Item = EdgeId>) -> Option<EdgeId> {
        self.choices.clear();
        self.choices.extend(edges);
        let count = self.choices.len();
        let first = self.turn * hops as usize % count.max(1);
        let place = |at: usize| (at + count - first) % count;
        let best = (0..count).min_by_key(|&at| (self.load[self.choices[at].index()], place(at)))?;
        let edge = self.choices[best];
        self.load[edge.index()] += 1;
        Some(edge)
    }
}
