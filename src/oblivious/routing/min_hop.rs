//! Shortest routes, as opensm's `minhop` balances them: destinations one after the other, and at every switch the edge
//! with the fewest destinations so far among those that lead nearer.

use super::hops::{Hops, ejection};
use crate::oblivious::graph::{Graph, HostId, NetworkError};
use crate::oblivious::tables::Tables;

pub(super) fn route(graph: &Graph) -> Result<Tables, NetworkError> {
    let mut tables = Tables::empty(graph, 1)?;
    let mut load = vec![0u32; graph.edges().len()];
    let (mut hops, mut home) = (Hops::default(), None);
    for host in HostId::all(graph.host_count()) {
        let switch = graph.switch_of(host);
        if home.replace(switch) != Some(switch) {
            hops.find(graph, [switch], |_| true);
        }
        tables.set(graph, ejection(graph, host), host.index());
        for &node in hops.order.iter().skip(1) {
            let best = hops
                .nearer(graph, node)
                .min_by_key(|edge| load[edge.index()]);
            if let Some(edge) = best {
                load[edge.index()] += 1;
                tables.set(graph, edge, host.index());
            }
        }
    }
    Ok(tables)
}
