//! Shortest routes over edges weighted by the routes that they already carry: the single-source shortest-path routing
//! of Hoefler, Schneider and Lumsdaine (Optimized routing for large-scale InfiniBand networks, 2009). Its deadlock-free
//! form spreads the routes over VLs (Domke, Hoefler and Nagel, 2011; [`Layers`](crate::Layers)).

use super::hops::{Hops, ejection};
use crate::graph::{EdgeId, Graph, NetworkError};
use crate::tables::Tables;

/// Destinations one after the other. Every switch takes the edge, among those that lead nearer, with the least weight of
/// the rest of the route; then every edge weighs one more for each source that uses it. Routes stay shortest whatever the
/// weights.
pub(super) fn route(graph: &Graph) -> Result<Tables, NetworkError> {
    let mut tables = Tables::empty(graph, 1)?;
    let nodes = graph.nodes().len();
    let mut weight = vec![0u64; graph.edges().len()];
    let mut hosts_at = vec![0u64; nodes];
    for host in graph.host_ids() {
        hosts_at[graph.switch_of(host).index()] += 1;
    }
    let (mut rest, mut behind) = (vec![0u64; nodes], vec![0u64; nodes]);
    let mut next: Vec<Option<EdgeId>> = vec![None; nodes];
    let (mut hops, mut home) = (Hops::default(), None);
    for host in graph.host_ids() {
        let switch = graph.switch_of(host);
        if home.replace(switch) != Some(switch) {
            hops.find(graph, [switch], |_| true);
        }
        tables.set(graph, ejection(graph, host), host.index());
        rest[switch.index()] = 0;
        for &node in hops.order.iter().skip(1) {
            let cost = |edge: &EdgeId| rest[graph.edge(*edge).to.index()] + weight[edge.index()];
            let best = hops.nearer(graph, node).min_by_key(cost);
            rest[node.index()] = best.as_ref().map_or(0, cost);
            next[node.index()] = best;
            if let Some(edge) = best {
                tables.set(graph, edge, host.index());
            }
        }
        // From the farthest on, so that all routes through a switch are known.
        for &node in &hops.order {
            behind[node.index()] = hosts_at[node.index()];
        }
        for &node in hops.order.iter().skip(1).rev() {
            if let Some(edge) = next[node.index()] {
                let routes = behind[node.index()];
                weight[edge.index()] += routes;
                behind[graph.edge(edge).to.index()] += routes;
            }
        }
    }
    Ok(tables)
}
