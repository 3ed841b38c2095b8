//! The waits between edges: cycles of a single VL, and the layers of VLs that break them.
//!
//! A packet on an edge waits for credits of the next edge of its route. Routes whose waits form no cycle cannot deadlock
//! (Dally and Seitz, 1987). Layers follow Domke, Hoefler and Nagel (Deadlock-free oblivious routing for arbitrary
//! topologies, 2011): as long as the waits of a layer have a cycle, the routes behind its least used wait move to the next
//! layer.

use super::graph::{EdgeId, HostId, NodeId};
use super::network::Network;
use flitwise_fabric::analysis::graph as digraph;
use std::collections::BTreeMap;

/// Most edges of all routes together for which layers are computed.
const MOST_STEPS: usize = 1 << 27;

/// Waits between edges on one VL.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// From every edge to the edges that a packet on it can wait for.
    waits: digraph::Graph,
}

impl Dependencies {
    /// The waits of the routes between all hosts, to all their addresses.
    #[must_use]
    pub fn of(network: &Network) -> Self {
        let graph = &network.graph;
        // By edge, the edges that a packet on it can wait for, ascending.
        let mut next: Vec<Vec<EdgeId>> = vec![Vec::new(); graph.edges().len()];
        let mut seen = vec![usize::MAX; graph.nodes().len()];
        let add = |next: &mut [Vec<EdgeId>], edge: EdgeId, to: EdgeId| {
            let next = &mut next[edge.index()];
            if let Err(at) = next.binary_search(&to) {
                next.insert(at, to);
            }
        };
        for route in network.tables.own_routes() {
            for edges in route.windows(2) {
                add(&mut next, edges[0], edges[1]);
            }
        }
        for dst in graph.host_ids() {
            for path in 0..network.tables.paths() {
                let column = network.tables.column(dst, path);
                let has_own = |src| network.tables.own_route(src, dst).is_some();
                let sources = graph.host_ids();
                for src in sources.filter(|&src| src != dst && !has_own(src)) {
                    let mut edge = graph.injection(src);
                    // Once per switch and destination: all routes are the same from there.
                    loop {
                        let node = graph.edge(edge).to;
                        let Some(to) = network.tables.next(graph, node, column) else {
                            break;
                        };
                        add(&mut next, edge, to);
                        if std::mem::replace(&mut seen[node.index()], column) == column {
                            break;
                        }
                        edge = to;
                    }
                }
            }
        }
        let waits = (0..).zip(&next);
        let waits = waits.flat_map(|(edge, next)| next.iter().map(move |to| (edge, to.get())));
        Self {
            waits: digraph::Graph::new(next.len(), waits.collect()),
        }
    }

    /// Number of waits.
    #[must_use]
    pub fn count(&self) -> usize {
        self.waits.edges()
    }

    /// A short cycle: each of its edges waits for the next, and the last for the first. `None` if there is none.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<EdgeId>> {
        let cycle = self.waits.cycle()?;
        Some(cycle.into_iter().map(EdgeId::new).collect())
    }
}

/// A depth-first search for one cycle after the other, while waits are removed.
struct Search {
    /// 0: not seen, 1: on the present path, 2: on no cycle.
    state: Vec<u8>,
    path: Vec<(EdgeId, usize)>,
    /// Edges below are on no cycle.
    begin: u32,
}

impl Search {
    fn new(edges: usize) -> Self {
        Self {
            state: vec![0; edges],
            path: Vec::new(),
            begin: 0,
        }
    }

    /// The next cycle; `next(edge, i)` is the i-th edge that `edge` waits for. The search continues where the last
    /// cycle was found, whose waits may have been removed.
    fn cycle(&mut self, next: impl Fn(EdgeId, usize) -> Option<EdgeId>) -> Option<Vec<EdgeId>> {
        // Waits may be gone, so the path is searched again.
        for (edge, _) in self.path.drain(..) {
            self.state[edge.index()] = 0;
        }
        while (self.begin as usize) < self.state.len() {
            if self.state[self.begin as usize] != 0 {
                self.begin += 1;
                continue;
            }
            let first = EdgeId::new(self.begin);
            self.state[first.index()] = 1;
            self.path.push((first, 0));
            while let Some((edge, at)) = self.path.last_mut() {
                let Some(to) = next(*edge, *at) else {
                    self.state[edge.index()] = 2;
                    self.path.pop();
                    continue;
                };
                *at += 1;
                match self.state[to.index()] {
                    0 => {
                        self.state[to.index()] = 1;
                        self.path.push((to, 0));
                    }
                    1 => {
                        let on_path = self.path.iter().map(|&(edge, _)| edge);
                        return Some(on_path.skip_while(|&edge| edge != to).collect());
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

/// The VL of every route, so that no VL has a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layers {
    /// Routes by layer: (switch of the source, destination) pairs.
    pub routes: Vec<u64>,
    /// Layer by (source switch, destination); pairs in layer 0 are left out.
    pub moved: BTreeMap<(NodeId, HostId), u8>,
}

impl Layers {
    /// Number of VLs that the routes need.
    #[must_use]
    pub fn count(&self) -> usize {
        self.routes.len()
    }

    /// Layers for the routes of `network` to the first address of every host.
    ///
    /// # Errors
    /// If the routes are too long in all, more than 255 layers were needed, or sources at one switch have routes of their
    /// own.
    pub fn of(network: &Network) -> Result<Self, String> {
        if network.tables.own_routes().len() > 0 {
            return Err(
                "VLs are computed for routes by destination; leave out fabric.source_routes".into(),
            );
        }
        let mut open = Routes::of(network)?;
        let mut layers = Self {
            routes: Vec::new(),
            moved: BTreeMap::new(),
        };
        for layer in 0..=u8::MAX {
            let (stay, moved) = open.split(network);
            if layer > 0 {
                for &route in &stay {
                    layers.moved.insert(open.keys[route as usize], layer);
                }
            }
            layers.routes.push(stay.len() as u64);
            if moved.is_empty() {
                return Ok(layers);
            }
            open.keep(&moved);
        }
        Err("the routes need more than 255 VLs".into())
    }
}

/// Routes that have no layer yet.
struct Routes {
    keys: Vec<(NodeId, HostId)>,
    /// Edges of route i: `edges[ends[i - 1]..ends[i]]`.
    edges: Vec<EdgeId>,
    ends: Vec<usize>,
}

impl Routes {
    /// Collects a route from every switch with hosts to every host.
    fn of(network: &Network) -> Result<Self, String> {
        let graph = &network.graph;
        let mut first: BTreeMap<NodeId, HostId> = BTreeMap::new();
        for host in graph.host_ids() {
            first.entry(graph.switch_of(host)).or_insert(host);
        }
        let mut all = Self {
            keys: Vec::new(),
            edges: Vec::new(),
            ends: Vec::new(),
        };
        let mut route = Vec::new();
        for (&switch, &src) in &first {
            for dst in graph.host_ids() {
                route.clear();
                // Routes within a switch wait for nothing; host links are on no cycle.
                if graph.switch_of(dst) == switch || network.route(src, dst, 0, &mut route).is_err()
                {
                    continue;
                }
                all.keys.push((switch, dst));
                all.edges.extend_from_slice(&route[1..route.len() - 1]);
                all.ends.push(all.edges.len());
            }
            if all.edges.len() > MOST_STEPS {
                return Err(format!(
                    "the routes have more than {MOST_STEPS} edges in all; VLs are computed for smaller networks"
                ));
            }
        }
        Ok(all)
    }

    fn route(&self, route: usize) -> &[EdgeId] {
        let begin = route.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.edges[begin..self.ends[route]]
    }

    /// The routes that stay in a layer without a cycle, and the routes that have to leave it, each ascending.
    fn split(&self, network: &Network) -> (Vec<u32>, Vec<u32>) {
        // Routes behind every wait, by edge and next edge.
        let mut waits: Vec<Vec<(EdgeId, Vec<u32>)>> = vec![Vec::new(); network.graph.edges().len()];
        for route in 0..self.keys.len() {
            for pair in self.route(route).windows(2) {
                let of_edge = &mut waits[pair[0].index()];
                match of_edge.binary_search_by_key(&pair[1], |wait| wait.0) {
                    Ok(at) => of_edge[at].1.push(route as u32),
                    Err(at) => of_edge.insert(at, (pair[1], vec![route as u32])),
                }
            }
        }
        let mut alive: Vec<Vec<u32>> = waits
            .iter()
            .map(|of_edge| of_edge.iter().map(|wait| wait.1.len() as u32).collect())
            .collect();
        let mut gone = vec![false; self.keys.len()];
        let mut search = Search::new(waits.len());
        loop {
            let next = |edge: EdgeId, at: usize| {
                let of_edge = waits[edge.index()].iter().zip(&alive[edge.index()]);
                of_edge
                    .filter(|(_, alive)| **alive > 0)
                    .nth(at)
                    .map(|(wait, _)| wait.0)
            };
            let Some(cycle) = search.cycle(next) else {
                break;
            };
            let ends = cycle.iter().zip(cycle.iter().cycle().skip(1));
            let find = |(from, to): (&EdgeId, &EdgeId)| {
                let of_edge = &waits[from.index()];
                let at = of_edge.binary_search_by_key(to, |wait| wait.0).ok()?;
                Some((alive[from.index()][at], *from, at))
            };
            let Some((_, from, at)) = ends.filter_map(find).min() else {
                break;
            };
            for &route in &waits[from.index()][at].1 {
                if std::mem::replace(&mut gone[route as usize], true) {
                    continue;
                }
                for pair in self.route(route as usize).windows(2) {
                    let of_edge = &waits[pair[0].index()];
                    if let Ok(at) = of_edge.binary_search_by_key(&pair[1], |wait| wait.0) {
                        alive[pair[0].index()][at] -= 1;
                    }
                }
            }
        }
        (0..self.keys.len() as u32).partition(|&route| !gone[route as usize])
    }

    /// Keeps only these routes.
    fn keep(&mut self, routes: &[u32]) {
        let mut kept = Self {
            keys: Vec::new(),
            edges: Vec::new(),
            ends: Vec::new(),
        };
        for &route in routes {
            kept.keys.push(self.keys[route as usize]);
            kept.edges.extend_from_slice(self.route(route as usize));
            kept.ends.push(kept.edges.len());
        }
        *self = kept;
    }
}
