//! The graph: hosts, switches, and a directed edge for each direction of a cable.

use super::cable_attributes::CableAttributes;
use flitwise_base::define_ids;
use flitwise_base::quote::cut;
use std::collections::BTreeMap;
use thiserror::Error;

define_ids! {
    /// A node of a graph, host or switch, in the order of the input.
    NodeId;

    /// A directed edge, which is one direction of a cable. The edges that leave a node have consecutive numbers.
    EdgeId;

    /// A host, counted among the hosts of a graph.
    HostId;
}

/// Most nodes, and most directed edges, of a graph.
const MOST_EDGES: usize = 1 << 24;
/// Most edges that leave a node: forwarding tables keep the edge within its node in 16 bits.
pub(super) const MOST_EDGES_OF_NODE: usize = u16::MAX as usize;

/// An error in a network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{problem}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
pub struct NetworkError {
    /// Line of the file, from 1; `None` if no line is to blame, or the network is from no file.
    pub line: Option<u32>,
    /// The problem, and the cure.
    pub problem: String,
}

impl NetworkError {
    /// A problem at a line; line 0 stands for none.
    pub fn at(line: u32, problem: impl Into<String>) -> Self {
        Self {
            line: (line > 0).then_some(line),
            problem: problem.into(),
        }
    }
}

/// Hosts send and receive; switches pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// Has exactly one cable.
    Host,
    /// Has any number of cables.
    Switch,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name for the operators, or in the input file. Unique.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// Line of the file that mentions it first; 0 if there is none.
    pub line: u32,
}

/// One direction of a cable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The node where it begins.
    pub from: NodeId,
    /// The node where it ends.
    pub to: NodeId,
    /// The port of `from`, as its operators number it.
    pub port: u32,
    /// The other direction of the same cable.
    pub reverse: EdgeId,
    /// Rate, as a share of the fastest edge: above 0, at most 1.
    pub rate: f64,
    /// Line of the file; 0 if there is none.
    pub line: u32,
}

/// Hosts, switches and cables. There may be several cables between two switches.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    hosts: Vec<NodeId>,
    /// By node; `u32::MAX` for switches.
    host_of: Vec<u32>,
    /// The edges that leave node n are `first[n]..first[n + 1]`.
    first: Vec<u32>,
    edges: Vec<Edge>,
    /// The edges in the order in which they were added.
    order: Vec<EdgeId>,
}

impl Graph {
    /// All nodes, by id.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All edges, by id.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges in the order of the input.
    #[must_use]
    pub fn edges_as_given(&self) -> &[EdgeId] {
        &self.order
    }

    /// The nodes of the hosts, by host.
    #[must_use]
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    /// The ids of all nodes.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + Clone + use<> {
        NodeId::all(self.nodes.len() as u32)
    }

    /// The ids of all edges.
    pub fn edge_ids(&self) -> impl DoubleEndedIterator<Item = EdgeId> + Clone + use<> {
        EdgeId::all(self.edges.len() as u32)
    }

    /// All hosts.
    pub fn host_ids(&self) -> impl DoubleEndedIterator<Item = HostId> + Clone + use<> {
        HostId::all(self.host_count())
    }

    /// Number of hosts.
    #[must_use]
    pub fn host_count(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The node of `host`.
    #[inline]
    #[must_use]
    pub fn node_of(&self, host: HostId) -> NodeId {
        self.hosts[host.index()]
    }

    /// The host at `node`; `None` for a switch.
    #[inline]
    #[must_use]
    pub fn host_at(&self, node: NodeId) -> Option<HostId> {
        let host = self.host_of[node.index()];
        (host != u32::MAX).then_some(HostId::new(host))
    }

    /// By node: its number among the switches, from 0, in the order of the nodes. Hosts have the number of the next
    /// switch.
    #[must_use]
    pub fn switch_numbers(&self) -> Vec<u32> {
        let mut next = 0;
        let number = |node: &Node| {
            let own = next;
            next += u32::from(node.kind == NodeKind::Switch);
            own
        };
        self.nodes.iter().map(number).collect()
    }

    /// The node.
    #[inline]
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// The edge.
    #[inline]
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> &Edge {
        &self.edges[edge.index()]
    }

    /// The first edge that leaves `node`; the others follow.
    #[inline]
    #[must_use]
    pub fn first_edge(&self, node: NodeId) -> u32 {
        self.first[node.index()]
    }

    /// The edges that leave `node`, in the order of the input.
    #[must_use]
    pub fn edges_of(
        &self,
        node: NodeId,
    ) -> impl DoubleEndedIterator<Item = EdgeId> + ExactSizeIterator + Clone + use<> {
        let [first, end] = [node.index(), node.index() + 1].map(|at| EdgeId::new(self.first[at]));
        EdgeId::within(first..end)
    }

    /// By node, whether cables lead there from `from`.
    #[must_use]
    pub fn reached_from(&self, from: NodeId) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut waiting = vec![from];
        reached[from.index()] = true;
        while let Some(node) = waiting.pop() {
            for edge in self.edges_of(node) {
                let next = self.edge(edge).to;
                if !std::mem::replace(&mut reached[next.index()], true) {
                    waiting.push(next);
                }
            }
        }
        reached
    }

    /// The name of `host`.
    #[must_use]
    pub fn host_name(&self, host: HostId) -> &str {
        &self.node(self.node_of(host)).name
    }

    /// Whether `node` is a switch.
    #[inline]
    #[must_use]
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.host_of[node.index()] == u32::MAX
    }

    /// All switches, by id.
    pub fn switches(&self) -> impl DoubleEndedIterator<Item = NodeId> + Clone + '_ {
        self.node_ids().filter(|&node| self.is_switch(node))
    }

    /// Whether the edge leads from a switch to a switch.
    #[inline]
    #[must_use]
    pub fn is_between_switches(&self, edge: EdgeId) -> bool {
        let Edge { from, to, .. } = *self.edge(edge);
        self.is_switch(from) && self.is_switch(to)
    }

    /// The only edge that leaves `host`.
    #[inline]
    #[must_use]
    pub fn injection(&self, host: HostId) -> EdgeId {
        EdgeId::new(self.first[self.hosts[host.index()].index()])
    }

    /// The switch that `host` is connected to.
    #[must_use]
    pub fn switch_of(&self, host: HostId) -> NodeId {
        self.edge(self.injection(host)).to
    }

    /// `L003 port 5`, or the name alone for a host.
    #[must_use]
    pub fn port_text(&self, edge: EdgeId) -> String {
        let edge = self.edge(edge);
        let node = self.node(edge.from);
        match node.kind {
            NodeKind::Host => node.name.clone(),
            NodeKind::Switch => format!("{} port {}", node.name, edge.port),
        }
    }

    /// `L003 port 5 -> node001`.
    #[must_use]
    pub fn edge_text(&self, edge: EdgeId) -> String {
        format!(
            "{} -> {}",
            self.port_text(edge),
            self.port_text(self.edge(edge).reverse)
        )
    }
}

/// Collects nodes and edges, and makes a [`Graph`] of them.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    nodes: Vec<Node>,
    edges: Vec<Given>,
}

/// An edge as it was added.
#[derive(Debug, Clone, Copy)]
struct Given {
    from: NodeId,
    to: NodeId,
    port: Option<u32>,
    rate: f64,
    line: u32,
    /// The other direction, where the input tells which one it is.
    reverse: Option<u32>,
}

impl GraphBuilder {
    /// Adds a node.
    pub fn node(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId::new(self.nodes.len() as u32 - 1)
    }

    /// Adds one direction of a cable. Its other direction is the edge back with the same position among the edges
    /// between the two nodes. Without a number the ports of a node count from 1.
    pub fn edge(&mut self, from: NodeId, to: NodeId, port: Option<u32>, line: u32) {
        self.edges.push(Given {
            from,
            to,
            port,
            rate: 1.0,
            line,
            reverse: None,
        });
    }

    /// Adds both directions of a cable between a port each of two nodes. `rate` is relative to other cables, above 0.
    pub fn cable(&mut self, ends: [(NodeId, u32); 2], rate: f64, line: u32) {
        let at = self.edges.len() as u32;
        let [(a, port_a), (b, port_b)] = ends;
        for (from, to, port, reverse) in [(a, b, port_a, at + 1), (b, a, port_b, at)] {
            self.edges.push(Given {
                from,
                to,
                port: Some(port),
                rate,
                line,
                reverse: Some(reverse),
            });
        }
    }

    /// The graph.
    ///
    /// # Errors
    /// If a host has not exactly one cable, a cable has one direction only or leads back to its node, two hosts are
    /// connected to each other, there are no hosts, or the graph is too large.
    pub fn build(mut self) -> Result<Graph, NetworkError> {
        self.check_size()?;
        self.pair_directions()?;
        let mut first = vec![0u32; self.nodes.len() + 1];
        for edge in &self.edges {
            first[edge.from.index() + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let order: Vec<EdgeId> = (self.edges.iter())
            .map(|edge| {
                let place = &mut next[edge.from.index()];
                *place += 1;
                EdgeId::new(*place - 1)
            })
            .collect();
        let fastest = self.edges.iter().fold(0.0, |most: f64, e| most.max(e.rate));
        let mut placed: Vec<usize> = (0..order.len()).collect();
        placed.sort_unstable_by_key(|&at| order[at]);
        let edges = placed.iter().map(|&at| {
            let given = &self.edges[at];
            let within = order[at].get() - first[given.from.index()];
            Edge {
                from: given.from,
                to: given.to,
                port: given.port.unwrap_or(within + 1),
                reverse: given
                    .reverse
                    .map_or(EdgeId::default(), |back| order[back as usize]),
                rate: given.rate / fastest,
                line: given.line,
            }
        });
        let edges = edges.collect();
        let is_host = |&at: &usize| self.nodes[at].kind == NodeKind::Host;
        let hosts: Vec<_> = (0..self.nodes.len()).filter(is_host).collect();
        let mut host_of = vec![u32::MAX; self.nodes.len()];
        for (host, &node) in (0..).zip(&hosts) {
            host_of[node] = host;
        }
        let graph = Graph {
            nodes: self.nodes,
            hosts: hosts.into_iter().map(|at| NodeId::new(at as u32)).collect(),
            host_of,
            first,
            edges,
            order,
        };
        graph.check_hosts()?;
        Ok(graph)
    }

    fn check_size(&self) -> Result<(), NetworkError> {
        if self.nodes.len().max(self.edges.len()) > MOST_EDGES {
            let problem = format!("more than {MOST_EDGES} nodes or directions of cables");
            return Err(NetworkError::at(0, problem));
        }
        let mut degree = vec![0usize; self.nodes.len()];
        for edge in &self.edges {
            let from = &self.nodes[edge.from.index()];
            degree[edge.from.index()] += 1;
            if edge.from == edge.to {
                let problem = format!("{} has a cable to itself; remove it", cut(&from.name));
                return Err(NetworkError::at(edge.line, problem));
            }
            if degree[edge.from.index()] > MOST_EDGES_OF_NODE {
                let problem = format!(
                    "{} has more than {MOST_EDGES_OF_NODE} cables",
                    cut(&from.name)
                );
                return Err(NetworkError::at(edge.line, problem));
            }
        }
        Ok(())
    }

    /// Finds the other direction of every edge: the edges between two nodes belong together in their order.
    fn pair_directions(&mut self) -> Result<(), NetworkError> {
        let mut between: BTreeMap<(NodeId, NodeId), Vec<u32>> = BTreeMap::new();
        for (at, edge) in (0..).zip(&self.edges) {
            if edge.reverse.is_none() {
                between.entry((edge.from, edge.to)).or_default().push(at);
            }
        }
        for (&(from, to), there) in &between {
            let back = between.get(&(to, from)).map_or(&[][..], Vec::as_slice);
            if let Some(&alone) = there.get(back.len()) {
                let [from, to] = [from, to].map(|node| cut(&self.nodes[node.index()].name));
                let problem = format!(
                    "the cable {from} -> {to} has no direction back; add \"{to}\" -> \"{from}\", or remove this line"
                );
                return Err(NetworkError::at(self.edges[alone as usize].line, problem));
            }
            for (&there, &back) in there.iter().zip(back) {
                self.edges[there as usize].reverse = Some(back);
            }
        }
        Ok(())
    }
}

impl Graph {
    /// Takes the rates of cables that are known; a cable without one counts as the fastest.
    pub(super) fn put_rates(&mut self, cables: &BTreeMap<EdgeId, CableAttributes>) {
        let known = cables
            .iter()
            .filter_map(|(&edge, cable)| Some((edge, cable.rate?.to_f64())));
        let known: Vec<(EdgeId, f64)> = known.collect();
        let fastest = known
            .iter()
            .fold(0.0, |most: f64, (_, rate)| most.max(*rate));
        for (edge, rate) in known {
            let back = self.edges[edge.index()].reverse;
            for edge in [edge, back] {
                self.edges[edge.index()].rate = rate / fastest;
            }
        }
    }

    fn check_hosts(&self) -> Result<(), NetworkError> {
        if self.hosts.is_empty() {
            return Err(NetworkError::at(0, "the network has no host"));
        }
        for &node in &self.hosts {
            let Node { name, line, .. } = self.node(node);
            let name = cut(name);
            let mut edges = self.edges_of(node);
            let (first, second) = (edges.next(), edges.next());
            let Some(first) = first else {
                let problem = format!("host {name} has no cable; connect it or leave it out");
                return Err(NetworkError::at(*line, problem));
            };
            if let Some(second) = second {
                let problem = format!(
                    "host {name} has a second cable; a host has one: write a host for each of its ports"
                );
                return Err(NetworkError::at(self.edge(second).line, problem));
            }
            let to = self.edge(first).to;
            if self.host_at(to).is_some() {
                let to = cut(&self.node(to).name);
                let problem = format!(
                    "hosts {name} and {to} are connected to each other; a host needs a switch"
                );
                return Err(NetworkError::at(self.edge(first).line, problem));
            }
        }
        Ok(())
    }
}
