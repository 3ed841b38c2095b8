//! Networks from graphs in files: hosts, attributes of cables, and routes in the comments of
//! edges, as ORCS reads them (`docs/reference/congestion-input.md`).

use super::cable_attributes::CableAttributes;
use super::graph::{EdgeId, Graph, GraphBuilder, HostId, NetworkError, Node, NodeId, NodeKind};
use super::network::Network;
use super::tables::Tables;
use flitwise_base::quote::{cut, quoted};
use flitwise_formats::dot::destinations;
use flitwise_formats::graph::{self as file, Format};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// A network that was read, with notes on the file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FromFile {
    /// The network.
    pub network: Network,
    /// False if no edge has a comment, so that the tables are empty: a drawing without routes.
    pub routed: bool,
    /// The attributes of cables, by their first direction.
    pub cables: BTreeMap<EdgeId, CableAttributes>,
    /// Oddities that are no errors.
    pub notes: Vec<Note>,
}

/// Something odd about a file of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// Line of the file, from 1; `None`: the whole file.
    pub line: Option<u32>,
    /// The oddity, and its consequence.
    pub text: String,
}

impl Note {
    /// The note `text` on line `line`.
    pub fn at(line: u32, text: impl Into<String>) -> Self {
        Self {
            line: (line > 0).then_some(line),
            text: text.into(),
        }
    }
}

impl Network {
    /// Reads a graph in the DOT language.
    ///
    /// # Errors
    /// As of [`Network::from_text`].
    pub fn from_dot(text: &str) -> Result<FromFile, NetworkError> {
        Self::from_text(text, Format::Dot)
    }

    /// Reads a graph.
    ///
    /// # Errors
    /// If a line cannot be read (the error names the first), or as of [`Network::of_file`].
    pub fn from_text(text: &str, format: Format) -> Result<FromFile, NetworkError> {
        let graph = file::Graph::parse(text, format).map_err(|e| {
            let line = u32::try_from(e.place.number()).unwrap_or(u32::MAX);
            NetworkError::at(line, e.message)
        })?;
        Self::of_file(&graph)
    }

    /// The network of a graph that was read. An edge of a directed graph is one direction of a cable; these edges are
    /// in the order of `given.edges`. A packet takes the first edge in this order that leaves its switch and has in its
    /// comment the destination or `*`.
    ///
    /// Hosts are the nodes whose attribute says so; without such attributes the nodes whose names begin with `H`;
    /// without such names the nodes with one cable.
    ///
    /// # Errors
    /// If an attribute of a cable cannot be read, or [`GraphBuilder::build`] refuses the graph.
    pub fn of_file(given: &file::Graph<'_>) -> Result<FromFile, NetworkError> {
        let mut graph = graph(given)?;
        let cables = cables(given, &graph)?;
        graph.put_rates(&cables);
        let tables = Tables::empty(&graph, 1)?;
        let mut network = Self { graph, tables };
        let with_comment = given.edges.iter().find(|edge| edge.comment.is_some());
        if let Some(edge) = with_comment.filter(|_| !given.directed) {
            let problem = "a `comment` of an undirected edge; comments are routes, which need a directed graph with both \
                           directions of every cable; remove it, or write a directed graph";
            return Err(NetworkError::at(edge.line, problem));
        }
        let notes = network.take_routes(given);
        Ok(FromFile {
            network,
            routed: with_comment.is_some(),
            cables,
            notes,
        })
    }

    /// Fills the tables with the comments of the edges.
    fn take_routes(&mut self, given: &file::Graph<'_>) -> Vec<Note> {
        let Self { graph, tables } = self;
        let nodes = NodeId::all(given.nodes.len() as u32).zip(&given.nodes);
        let hosts: HashMap<&str, Option<HostId>> = nodes
            .map(|(node, given)| (&*given.name, graph.host_at(node)))
            .collect();
        let mut unknown = HashSet::new();
        let mut first_unknown = None;
        for (given, &edge) in given.edges.iter().zip(graph.edges_as_given()) {
            let Some(comment) = &given.comment else {
                continue;
            };
            let node = NodeId::new(given.from);
            // A host sends by its only edge, whatever the comment of the edge says.
            if graph.host_at(node).is_some() {
                continue;
            }
            let mut take = |host: HostId| {
                let column = tables.column(host, 0);
                if tables.next(graph, node, column).is_none() {
                    tables.set(graph, edge, column);
                }
            };
            for destination in destinations(comment) {
                if destination == "*" {
                    graph.host_ids().for_each(&mut take);
                    continue;
                }
                match hosts.get(destination) {
                    Some(Some(host)) => take(*host),
                    // Tools list the addresses of switches, too.
                    Some(None) => {}
                    None => {
                        first_unknown.get_or_insert((given.line, destination));
                        unknown.insert(destination);
                    }
                }
            }
        }
        let note = |(line, name): (u32, &str)| {
            let others = match unknown.len() - 1 {
                0 => "is".to_owned(),
                more => format!("and {more} more destinations of comments are"),
            };
            let text = format!(
                "{} {others} in no edge, so nothing is sent there",
                quoted(name)
            );
            Note::at(line, text)
        };
        first_unknown.map(note).into_iter().collect()
    }
}

/// The kinds of the nodes.
fn kinds(given: &file::Graph<'_>) -> Result<Vec<NodeKind>, NetworkError> {
    let kind = |is_host: bool| {
        if is_host {
            NodeKind::Host
        } else {
            NodeKind::Switch
        }
    };
    if let Some(told) = given.nodes.iter().find(|node| node.kind.is_some()) {
        let own = |node: &file::Node<'_>| match &node.kind {
            Some(word) => kind_called(word, node),
            None => {
                let problem = format!(
                    "{} has no attribute `type`, and {} has one; write it for each node, host or switch, or for none",
                    cut(&node.name),
                    cut(&told.name)
                );
                Err(NetworkError::at(node.line, problem))
            }
        };
        return given.nodes.iter().map(own).collect();
    }
    let is_named = |node: &file::Node<'_>| node.name.starts_with('H');
    if given.nodes.iter().any(is_named) {
        return Ok(given
            .nodes
            .iter()
            .map(|node| kind(is_named(node)))
            .collect());
    }
    let mut cables = vec![0u32; given.nodes.len()];
    for edge in &given.edges {
        cables[edge.from as usize] += 1;
        if !given.directed {
            cables[edge.to as usize] += 1;
        }
    }
    Ok(cables.iter().map(|&cables| kind(cables == 1)).collect())
}

/// The kind of `node` that an attribute calls `word`.
fn kind_called(word: &str, node: &file::Node<'_>) -> Result<NodeKind, NetworkError> {
    match &*word.trim().to_ascii_lowercase() {
        "host" | "nic" | "hca" | "server" => Ok(NodeKind::Host),
        "switch" | "router" | "leaf" | "spine" | "core" => Ok(NodeKind::Switch),
        _ => {
            let problem = format!(
                "{} is of type {}; write host (or nic, hca, server) or switch (or router, leaf, spine, core)",
                cut(&node.name),
                quoted(word)
            );
            Err(NetworkError::at(node.line, problem))
        }
    }
}

/// The nodes and edges, in their order.
fn graph(given: &file::Graph<'_>) -> Result<Graph, NetworkError> {
    let mut builder = GraphBuilder::default();
    for (node, kind) in given.nodes.iter().zip(kinds(given)?) {
        builder.node(Node {
            name: node.name.clone().into_owned(),
            kind,
            line: node.line,
        });
    }
    let mut cables = vec![0u32; given.nodes.len()];
    let by_name = given.nodes.iter().all(|node| node.kind.is_none());
    for edge in &given.edges {
        let ends = [edge.from, edge.to];
        let leaving = if given.directed {
            &ends[..1]
        } else {
            &ends[..]
        };
        for &end in leaving {
            let name = &given.nodes[end as usize].name;
            cables[end as usize] += 1;
            if by_name && name.starts_with('H') && cables[end as usize] > 1 {
                let problem = format!(
                    "a second edge leaves {}, whose name begins with `H` and makes it a host; a host has one cable: \
                     write a host for each of its ports, or give a switch another name",
                    quoted(name)
                );
                return Err(NetworkError::at(edge.line, problem));
            }
        }
        let [from, to] = ends.map(NodeId::new);
        if given.directed {
            builder.edge(from, to, None, edge.line);
        } else {
            let numbered = ends.map(|end| (NodeId::new(end), cables[end as usize]));
            builder.cable(numbered, 1.0, edge.line);
        }
    }
    builder.build()
}

/// The attributes of cables, by the first direction of each.
fn cables(
    given: &file::Graph<'_>,
    graph: &Graph,
) -> Result<BTreeMap<EdgeId, CableAttributes>, NetworkError> {
    let mut cables: BTreeMap<EdgeId, CableAttributes> = BTreeMap::new();
    let per_edge = if given.directed { 1 } else { 2 };
    let edges = graph.edges_as_given().iter().step_by(per_edge);
    for (given, &edge) in given.edges.iter().zip(edges) {
        let own = CableAttributes::of(given)?;
        if own.is_empty() {
            continue;
        }
        let first = edge.min(graph.edge(edge).reverse);
        let other = cables.entry(first).or_insert(own);
        if !other.agrees(own) {
            let problem = format!(
                "the two directions of the cable {} differ; write the same for both, or for one alone (the other is on \
                 line {})",
                graph.edge_text(edge),
                other.line
            );
            return Err(NetworkError::at(given.line, problem));
        }
    }
    Ok(cables)
}
