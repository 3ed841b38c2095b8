//! Shortest routes, as opensm's `minhop` balances them: destinations one after the other, and at every switch the edge
//! with the fewest destinations so far among those that lead nearer.

use super::hops::{Balance, Hops, ejection};
use crate::graph::{Graph, NetworkError};
use crate::tables::Tables;

pub(super) fn route(graph: &Graph) -> Result<Tables, NetworkError> {
    let mut tables = Tables::empty(graph, 1)?;
    let mut balance = Balance::new(graph);
    let (mut hops, mut home) = (Hops::default(), None);
    for host in graph.host_ids() {
        let switch = graph.switch_of(host);
        if home.replace(switch) != Some(switch) {
            hops.find(graph, [switch], |_| true);
            balance.next_switch();
        }
        tables.set(graph, ejection(graph, host), host.index());
        for &node in hops.order.iter().skip(1) {
            if let Some(edge) = balance.choose(hops.hops[node.index()], hops.nearer(graph, node)) {
                tables.set(graph, edge, host.index());
            }
        }
    }
    Ok(tables)
}
