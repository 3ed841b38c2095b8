//! Fat trees: all routes to a destination come down from the same switch, and destinations spread evenly over the
//! switches of every level (d-mod-k: Gómez et al., Deterministic versus adaptive routing in fat-trees, 2007; Zahavi,
//! D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees, 2010).
//!
//! Hosts are numbered leaf by leaf, d. Switches of level l have up to w(l) parents; a switch of level l sends what is not
//! below it to parent ⌊d / (w(0) … w(l − 1))⌋ modulo the number of its parents, and takes of parallel links number
//! ⌊d / (w(0) … w(l))⌋ modulo their number, up and down.

use super::hops::{FAR, Hops, ejection, leaves, parts};
use crate::graph::{EdgeId, Graph, HostId, NetworkError, NodeId};
use crate::tables::Tables;

pub(super) fn route(graph: &Graph) -> Result<Tables, NetworkError> {
    let tree = Tree::of(graph)?;
    let mut tables = Tables::empty(graph, 1)?;
    let mut hosts: Vec<HostId> = graph.host_ids().collect();
    hosts.sort_by_key(|&host| (graph.switch_of(host), ejection(graph, host)));
    let (mut routes, mut home) = (TreeRoutes::default(), None);
    for (d, &host) in (0u64..).zip(&hosts) {
        let switch = graph.switch_of(host);
        if home.replace(switch) != Some(switch) {
            tree.find(switch, &mut routes)?;
        }
        tables.set(graph, ejection(graph, host), host.index());
        for &node in tree.from_top.iter().filter(|&&node| node != switch) {
            if let Some(edge) = tree.edge(node, d, &routes) {
                tables.set(graph, edge, host.index());
            }
        }
    }
    Ok(tables)
}

/// A graph as a tree.
struct Tree<'a> {
    graph: &'a Graph,
    /// By node.
    levels: Vec<u32>,
    /// The switches that hosts reach, the highest first.
    from_top: Vec<NodeId>,
    /// Links up by node, a group for each parent.
    parents: Vec<Vec<Vec<EdgeId>>>,
    /// Links down by node, a group for each child.
    children: Vec<Vec<Vec<EdgeId>>>,
    divisors: Vec<u64>,
    leaves: Vec<NodeId>,
    /// The connected part of the graph, by node.
    parts: Vec<NodeId>,
}

/// Routes to a switch with hosts.
#[derive(Default)]
struct TreeRoutes {
    /// By only going down.
    down: Hops,
    /// By node: by going up and then down.
    reaches: Vec<bool>,
}

impl<'a> Tree<'a> {
    fn of(graph: &'a Graph) -> Result<Self, NetworkError> {
        let levels = levels(graph)?;
        let level = |node: NodeId| levels[node.index()];
        let above = |node: NodeId| groups(graph, node, |to| level(to) > level(node));
        let below = |node: NodeId| groups(graph, node, |to| level(to) < level(node));
        let reached = |node: &NodeId| level(*node) != FAR;
        let switches: Vec<NodeId> = graph.switches().filter(reached).collect();
        let parents = by_node(graph, &switches, above);
        let children = by_node(graph, &switches, below);
        let divisors = divisors(&switches, &levels, &parents);
        let mut from_top = switches;
        from_top.sort_by_key(|&node| (std::cmp::Reverse(level(node)), node));
        Ok(Self {
            graph,
            from_top,
            parents,
            children,
            divisors,
            leaves: leaves(graph),
            parts: parts(graph),
            levels,
        })
    }

    /// Finds the routes to `switch`.
    fn find(&self, switch: NodeId, routes: &mut TreeRoutes) -> Result<(), NetworkError> {
        let level = |node: NodeId| self.levels[node.index()];
        let descends = |edge: EdgeId| {
            let edge = self.graph.edge(edge);
            level(edge.to) < level(edge.from)
        };
        routes.down.find(self.graph, [switch], descends);
        routes.reaches.clear();
        routes.reaches.resize(self.graph.nodes().len(), false);
        for &node in &self.from_top {
            let up = |group: &Vec<EdgeId>| reaches_over(self.graph, group, &routes.reaches);
            routes.reaches[node.index()] =
                routes.down.hops[node.index()] != FAR || self.parents[node.index()].iter().any(up);
        }
        let lost = |leaf: &&NodeId| {
            !routes.reaches[leaf.index()] && self.parts[leaf.index()] == self.parts[switch.index()]
        };
        let Some(&leaf) = self.leaves.iter().find(lost) else {
            return Ok(());
        };
        let [leaf, switch] = [leaf, switch].map(|node| &self.graph.node(node).name);
        let problem = format!(
            "ftree: no path from {leaf} leads up and then down to {switch}, so this is no fat tree; take updn, min-hop or dfsssp"
        );
        Err(NetworkError::at(0, problem))
    }

    /// The edge by which `node` sends to host number `d`.
    fn edge(&self, node: NodeId, d: u64, routes: &TreeRoutes) -> Option<EdgeId> {
        let at = self.levels[node.index()] as usize;
        let [by_switch, by_link] =
            [at, at + 1].map(|at| d / self.divisors.get(at).copied().unwrap_or(1));
        let own = routes.down.hops[node.index()];
        if own == FAR {
            let parents = self.parents[node.index()].iter();
            let usable = parents.filter(|group| reaches_over(self.graph, group, &routes.reaches));
            return pick(pick(usable, by_switch)?.iter(), by_link).copied();
        }
        let nearer = |group: &&Vec<EdgeId>| {
            group.first().is_some_and(|edge| {
                let hops = routes.down.hops[self.graph.edge(*edge).to.index()];
                hops != FAR && hops < own
            })
        };
        // The child is one level lower, so its links up are the links down of this node.
        let group = pick(self.children[node.index()].iter().filter(nearer), by_switch)?;
        pick(group.iter(), by_switch).copied()
    }
}

/// Whether the switch that a group of parallel links leads to reaches the destination.
fn reaches_over(graph: &Graph, group: &[EdgeId], reaches: &[bool]) -> bool {
    group
        .first()
        .is_some_and(|edge| reaches[graph.edge(*edge).to.index()])
}

/// Item number `digit` modulo the number of items.
fn pick<'a, T: ?Sized>(items: impl Iterator<Item = &'a T> + Clone, digit: u64) -> Option<&'a T> {
    let count = items.clone().count() as u64;
    match count {
        0 => None,
        _ => items.clone().nth((digit % count) as usize),
    }
}

/// The edges to switches that `takes` allows, a group for each switch, by its number.
fn groups(graph: &Graph, node: NodeId, takes: impl Fn(NodeId) -> bool) -> Vec<Vec<EdgeId>> {
    let to = |edge: &EdgeId| graph.edge(*edge).to;
    let allowed = |edge: &EdgeId| graph.is_switch(to(edge)) && takes(to(edge));
    let mut edges: Vec<EdgeId> = graph.edges_of(node).filter(allowed).collect();
    // The order in which the other end has them, so that both ends number parallel links alike.
    edges.sort_by_key(|edge| {
        let reverse = graph.edge(*edge).reverse;
        (to(edge), if to(edge) < node { reverse } else { *edge })
    });
    edges
        .chunk_by(|a, b| to(a) == to(b))
        .map(<[EdgeId]>::to_vec)
        .collect()
}

fn by_node(
    graph: &Graph,
    switches: &[NodeId],
    of: impl Fn(NodeId) -> Vec<Vec<EdgeId>>,
) -> Vec<Vec<Vec<EdgeId>>> {
    let mut all = vec![Vec::new(); graph.nodes().len()];
    for &node in switches {
        all[node.index()] = of(node);
    }
    all
}

/// w(0) … w(l − 1) by level l, w being the most parents of a switch of a level.
fn divisors(switches: &[NodeId], levels: &[u32], parents: &[Vec<Vec<EdgeId>>]) -> Vec<u64> {
    let top = switches
        .iter()
        .map(|node| levels[node.index()])
        .max()
        .unwrap_or(0);
    let mut most = vec![1u64; top as usize + 1];
    for node in switches {
        let own = &mut most[levels[node.index()] as usize];
        *own = (*own).max(parents[node.index()].len() as u64);
    }
    let mut product = 1u64;
    let mut divisors = Vec::with_capacity(most.len() + 1);
    for w in most {
        divisors.push(product);
        product = product.saturating_mul(w);
    }
    divisors.push(product);
    divisors
}

/// The level of every switch, 0 for those with hosts; [`FAR`] for switches that no host reaches.
fn levels(graph: &Graph) -> Result<Vec<u32>, NetworkError> {
    let mut hops = Hops::default();
    hops.find(graph, leaves(graph), |_| true);
    for edge in graph.edges() {
        let [from, to] = [edge.from, edge.to];
        let [a, b] = [from, to].map(|node| hops.hops[node.index()]);
        if a != FAR && a == b {
            let [from, to] = [from, to].map(|node| &graph.node(node).name);
            let problem = format!(
                "ftree: {from} and {to} are linked, and each is {a} links above the nearest switch with hosts, so this is no fat tree; \
                 take updn, min-hop or dfsssp"
            );
            return Err(NetworkError::at(edge.line, problem));
        }
    }
    Ok(hops.hops)
}
