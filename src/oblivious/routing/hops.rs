//! Distances between switches.

use crate::oblivious::graph::{EdgeId, Graph, NodeId};

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
                if self.hops[next.index()] == FAR
                    && graph.host_at(next).is_none()
                    && takes(edge.reverse)
                {
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
pub(super) fn ejection(graph: &Graph, host: crate::oblivious::graph::HostId) -> EdgeId {
    graph.edge(graph.injection(host)).reverse
}
