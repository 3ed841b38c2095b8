//! All routes of a network at once: their lengths, the pairs without one and the reasons, and the number of routes over
//! each edge.

use super::graph::{EdgeId, HostId, NodeId};
use super::network::{Lost, Network};
use super::walker::PathChoice;

/// Properties of the routes of all ordered pairs of different hosts, each to the address that the pair uses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// Ordered pairs of different hosts.
    pub pairs: u64,
    /// Pairs by the number of edges of their route, both host links included: two hosts of a switch have 2.
    pub by_edges: Vec<u64>,
    /// Pairs whose route ends at a switch without an entry for the destination.
    pub no_entry: u64,
    /// Pairs whose route ends at another host.
    pub wrong_host: u64,
    /// Pairs whose route never ends.
    pub looping: u64,
    /// The first pair of each of these three kinds, by destination.
    pub examples: Vec<LostPair>,
    /// The first routing loop.
    pub routing_loop: Option<RoutingLoop>,
    /// Routes across each edge.
    pub routes_on: Vec<u64>,
}

/// A pair without a route.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostPair {
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// The address of the receiving host, by its number.
    pub path: u32,
    /// Where the route ends.
    pub why: Lost,
}

/// Switches that send packets for a destination in a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoutingLoop {
    /// The destination.
    pub dst: HostId,
    /// Its address.
    pub path: u32,
    /// The switches, each of which sends to the next and the last to the first.
    pub switches: Vec<NodeId>,
}

impl Survey {
    /// Pairs with a route.
    #[must_use]
    pub fn connected(&self) -> u64 {
        self.by_edges.iter().sum()
    }

    /// The least and the most routes on an edge between two switches, and how many such edges carry any; `None`
    /// without such edges.
    #[must_use]
    pub fn between_switches(&self, network: &Network) -> Option<(u64, u64, usize)> {
        let graph = &network.graph;
        let inner = graph
            .edge_ids()
            .filter(|&edge| graph.is_between_switches(edge));
        let routes = inner.map(|edge| self.routes_on[edge.index()]);
        let used = routes.clone().filter(|&routes| routes > 0).count();
        Some((routes.clone().min()?, routes.max()?, used))
    }
}

impl Network {
    /// Follows the routes of all pairs to the first address of each host.
    #[must_use]
    pub fn survey(&self) -> Survey {
        self.survey_by(PathChoice::First)
    }

    /// Follows the routes of all pairs, each to the address of `choice`. Takes one step per switch and address in use.
    #[must_use]
    pub fn survey_by(&self, choice: PathChoice) -> Survey {
        let graph = &self.graph;
        let hosts = u64::from(graph.host_count());
        let mut walk = Walk::new(self, choice);
        for dst in graph.host_ids() {
            for path in choice.used(self.tables.paths()) {
                walk.to(dst, path);
            }
        }
        walk.add_own();
        walk.found.pairs = hosts * (hosts - 1);
        walk.found
    }
}

/// The state of the search for the route from a switch to the destination.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Unknown,
    /// On the present walk.
    Walking,
    /// Edges to the destination.
    Edges(u32),
    Lost(Lost),
}

/// Routes to one destination after the other.
struct Walk<'a> {
    network: &'a Network,
    choice: PathChoice,
    /// Switches with hosts, with their hosts.
    leaves: Vec<(NodeId, Vec<HostId>)>,
    state: Vec<State>,
    /// Routes that pass each switch.
    passing: Vec<u64>,
    /// Switches with a route, each behind the one it sends to; with the edge by which it sends.
    done: Vec<(NodeId, EdgeId)>,
    stack: Vec<(NodeId, EdgeId)>,
    found: Survey,
}

impl<'a> Walk<'a> {
    fn new(network: &'a Network, choice: PathChoice) -> Self {
        let graph = &network.graph;
        let nodes = graph.nodes().len();
        let mut hosts_of: Vec<Vec<HostId>> = vec![Vec::new(); nodes];
        for host in graph.host_ids() {
            hosts_of[graph.switch_of(host).index()].push(host);
        }
        let leaves = NodeId::all(nodes as u32).zip(hosts_of);
        Self {
            network,
            choice,
            leaves: leaves.filter(|(_, hosts)| !hosts.is_empty()).collect(),
            state: vec![State::Unknown; nodes],
            passing: vec![0; nodes],
            done: Vec::with_capacity(nodes),
            stack: Vec::new(),
            found: Survey {
                pairs: 0,
                by_edges: Vec::new(),
                no_entry: 0,
                wrong_host: 0,
                looping: 0,
                examples: Vec::new(),
                routing_loop: None,
                routes_on: vec![0; graph.edges().len()],
            },
        }
    }

    /// Adds the routes to an address of a host, from the hosts that use it.
    fn to(&mut self, dst: HostId, path: u32) {
        self.state.fill(State::Unknown);
        self.passing.fill(0);
        self.done.clear();
        let Self {
            network, choice, ..
        } = *self;
        let tables = &network.tables;
        let sends = |&src: &HostId| {
            let uses = choice.of(src, dst, tables.paths()) == path;
            uses && src != dst && tables.own_route(src, dst).is_none()
        };
        let leaves = std::mem::take(&mut self.leaves);
        for (leaf, hosts) in &leaves {
            let senders = || hosts.iter().copied().filter(sends);
            let Some(src) = senders().next() else {
                continue;
            };
            let sources = senders().count() as u64;
            if self.state[leaf.index()] == State::Unknown {
                self.follow(*leaf, dst, path);
            }
            match self.state[leaf.index()].clone() {
                State::Edges(edges) => {
                    for src in senders() {
                        let injection = network.graph.injection(src);
                        self.found.routes_on[injection.index()] += 1;
                    }
                    self.passing[leaf.index()] += sources;
                    let length = edges as usize + 1;
                    let by_edges = &mut self.found.by_edges;
                    by_edges.resize(by_edges.len().max(length + 1), 0);
                    by_edges[length] += sources;
                }
                State::Lost(why) => self.lose(
                    sources,
                    LostPair {
                        src,
                        dst,
                        path,
                        why,
                    },
                ),
                State::Unknown | State::Walking => {}
            }
        }
        self.leaves = leaves;
        for &(node, edge) in self.done.iter().rev() {
            let passing = self.passing[node.index()];
            self.found.routes_on[edge.index()] += passing;
            self.passing[network.graph.edge(edge).to.index()] += passing;
        }
    }

    /// Adds the routes of pairs that follow no tables.
    fn add_own(&mut self) {
        for route in self.network.tables.own_routes() {
            for edge in route {
                self.found.routes_on[edge.index()] += 1;
            }
            let by_edges = &mut self.found.by_edges;
            by_edges.resize(by_edges.len().max(route.len() + 1), 0);
            by_edges[route.len()] += 1;
        }
    }

    fn lose(&mut self, pairs: u64, pair: LostPair) {
        let found = &mut self.found;
        let count = match pair.why {
            Lost::NoEntry(_) => &mut found.no_entry,
            Lost::WrongHost(_) => &mut found.wrong_host,
            Lost::Loop(_) => &mut found.looping,
        };
        if *count == 0 {
            found.examples.push(pair);
        }
        *count += pairs;
    }

    /// Determines the routes from `from` and from all switches on the walk.
    fn follow(&mut self, from: NodeId, dst: HostId, path: u32) {
        let Self { network, .. } = *self;
        let (graph, tables) = (&network.graph, &network.tables);
        let (goal, column) = (graph.node_of(dst), tables.column(dst, path));
        let mut node = from;
        let mut end = loop {
            if node == goal {
                break State::Edges(0);
            }
            match &self.state[node.index()] {
                State::Unknown => {}
                State::Walking => {
                    self.note_loop(node, dst, path);
                    break State::Lost(Lost::Loop(node));
                }
                known => break known.clone(),
            }
            if graph.host_at(node).is_some() {
                break State::Lost(Lost::WrongHost(node));
            }
            let Some(edge) = tables.next(graph, node, column) else {
                break State::Lost(Lost::NoEntry(node));
            };
            self.state[node.index()] = State::Walking;
            self.stack.push((node, edge));
            node = graph.edge(edge).to;
        };
        if self.stack.is_empty() {
            self.state[node.index()] = end;
            return;
        }
        while let Some((node, edge)) = self.stack.pop() {
            if let State::Edges(edges) = &mut end {
                *edges += 1;
                self.done.push((node, edge));
            }
            self.state[node.index()] = end.clone();
        }
    }

    /// Keeps the first loop: the part of the walk from `node` on.
    #[cold]
    fn note_loop(&mut self, node: NodeId, dst: HostId, path: u32) {
        let switches = self.stack.iter().map(|&(node, _)| node);
        let switches = switches.skip_while(|&other| other != node).collect();
        self.found.routing_loop.get_or_insert(RoutingLoop {
            dst,
            path,
            switches,
        });
    }
}
