//! Up*/down* (Schroeder et al., Autonet, 1991): every cable has an upper end, and no route goes up after it went down.
//!
//! The roots are the switches farthest from any switch with hosts: the top of a tree. Where every switch has hosts, the
//! root is the switch with the smallest distance to its farthest switch; of several, the first. A switch is above
//! another one if it is nearer to a root, or equally near with a smaller number. One of several roots may have no route
//! downwards to a host that is below another root. Then only the first root stays, which has a route downwards to every
//! switch.

use super::hops::{Balance, FAR, Hops, ejection, leaves, parts};
use crate::graph::{EdgeId, Graph, NetworkError, NodeId};
use crate::tables::Tables;

pub(super) fn route(graph: &Graph) -> Result<Tables, NetworkError> {
    let roots = roots(graph);
    let (tables, complete) = with_roots(graph, &roots)?;
    if complete {
        Ok(tables)
    } else {
        with_roots(graph, &roots[..1]).map(|(tables, _)| tables)
    }
}

/// The tables with these roots, and whether hosts have a route wherever the graph connects them.
fn with_roots(graph: &Graph, roots: &[NodeId]) -> Result<(Tables, bool), NetworkError> {
    let mut tables = Tables::empty(graph, 1)?;
    let ranks = ranks(graph, roots);
    let parts = parts(graph);
    let leaves = leaves(graph);
    let mut complete = true;
    let place = |node: NodeId| (ranks[node.index()], node);
    let goes_up = |edge: EdgeId| {
        let edge = graph.edge(edge);
        place(edge.to) < place(edge.from)
    };
    let mut from_top: Vec<NodeId> = graph.switches().collect();
    from_top.sort_by_key(|&node| place(node));
    let mut balance = Balance::new(graph);
    let (mut down, mut home) = (Hops::default(), None);
    // Hops to the destination: by only going down where that is possible, because a route that has gone down must not
    // go up again.
    let mut length = vec![FAR; graph.nodes().len()];
    for host in graph.host_ids() {
        let switch = graph.switch_of(host);
        if home.replace(switch) != Some(switch) {
            balance.next_switch();
            down.find(graph, [switch], |edge| !goes_up(edge));
            length.clone_from(&down.hops);
            for &node in &from_top {
                if length[node.index()] == FAR {
                    let above = graph.edges_of(node).filter(|&edge| goes_up(edge));
                    let best = above.map(|edge| length[graph.edge(edge).to.index()]).min();
                    length[node.index()] = best.unwrap_or(FAR).saturating_add(1);
                }
            }
            let lost = |leaf: &NodeId| {
                length[leaf.index()] == FAR && parts[leaf.index()] == parts[switch.index()]
            };
            complete &= !leaves.iter().any(lost);
        }
        tables.set(graph, ejection(graph, host), host.index());
        for &node in from_top.iter().filter(|&&node| node != switch) {
            let own = length[node.index()];
            if own == FAR {
                continue;
            }
            let by_down = down.hops[node.index()] != FAR;
            let leads = |edge: &EdgeId| {
                let to = graph.edge(*edge).to;
                graph.is_switch(to)
                    && goes_up(*edge) != by_down
                    && (!by_down || down.hops[to.index()] != FAR)
                    && length[to.index()].saturating_add(1) == own
            };
            if let Some(edge) = balance.choose(own, graph.edges_of(node).filter(leads)) {
                tables.set(graph, edge, host.index());
            }
        }
    }
    Ok((tables, complete))
}

/// The switches farthest from switches with hosts, or one in the middle.
fn roots(graph: &Graph) -> Vec<NodeId> {
    let mut hops = Hops::default();
    hops.find(graph, leaves(graph), |_| true);
    let top = hops.order.last().map_or(0, |node| hops.hops[node.index()]);
    match top {
        0 => centre(graph, &hops.order).into_iter().collect(),
        _ => {
            let is_top = |node: &NodeId| hops.hops[node.index()] == top;
            hops.order.iter().copied().filter(is_top).collect()
        }
    }
}

/// Distance of every switch from a root; parts of the graph without a root have one of their own.
fn ranks(graph: &Graph, roots: &[NodeId]) -> Vec<u32> {
    let mut hops = Hops::default();
    hops.find(graph, roots.iter().copied(), |_| true);
    let mut ranks = hops.hops;
    let mut part = Hops::default();
    for node in graph.node_ids() {
        if ranks[node.index()] == FAR && graph.is_switch(node) {
            part.find(graph, [node], |_| true);
            for &node in &part.order {
                ranks[node.index()] = part.hops[node.index()];
            }
        }
    }
    ranks
}

/// The switch, in the largest connected part, with the smallest distance to its farthest switch; of several, the first.
fn centre(graph: &Graph, switches: &[NodeId]) -> Option<NodeId> {
    let mut hops = Hops::default();
    let mut farthest = |from: NodeId| {
        hops.find(graph, [from], |_| true);
        // A part that is cut off must not win by its small distances.
        let reached = hops.order.len();
        let last = hops.order.last().map_or(0, |node| hops.hops[node.index()]);
        (std::cmp::Reverse(reached), last, from)
    };
    switches
        .iter()
        .map(|&node| farthest(node))
        .min()
        .map(|best| best.2)
}
