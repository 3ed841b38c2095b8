//! Networks from graphs in the DOT language, with the routes in comments, as ORCS reads them
//! (`docs/reference/congestion-input.md`).

use super::graph::{Graph, GraphBuilder, HostId, NetworkError, Node, NodeId, NodeKind};
use super::network::Network;
use super::tables::Tables;
use flitwise_base::quote::quoted;
use flitwise_formats::dot::{Dot, destinations};
use hashbrown::{HashMap, HashSet};

/// A network that was read, with notes on the file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FromDot {
    /// The network.
    pub network: Network,
    /// False if no edge has a comment, so that the tables are empty: a drawing without routes.
    pub routed: bool,
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
    /// Reads a directed graph. Nodes whose names begin with `H` are hosts. A packet takes the first edge in the order
    /// of the text that leaves its switch and has in its comment the destination or `*`.
    ///
    /// # Errors
    /// If a line cannot be read (the error names the first), or [`GraphBuilder::build`] refuses the graph.
    pub fn from_dot(text: &str) -> Result<FromDot, NetworkError> {
        let dot = Dot::parse(text).map_err(|e| {
            let line = u32::try_from(e.line).unwrap_or(u32::MAX);
            NetworkError::at(line, e.problem)
        })?;
        Self::of_dot(&dot)
    }

    /// The network of a directed graph that was read; its edges are in the order of `dot.edges`.
    ///
    /// # Errors
    /// If [`GraphBuilder::build`] refuses the graph.
    pub fn of_dot(dot: &Dot<'_>) -> Result<FromDot, NetworkError> {
        let graph = graph(dot)?;
        let tables = Tables::empty(&graph, 1)?;
        let mut network = Self { graph, tables };
        let routed = dot.edges.iter().any(|edge| edge.comment.is_some());
        let notes = network.take_routes(dot);
        Ok(FromDot {
            network,
            routed,
            notes,
        })
    }

    /// Fills the tables with the comments of the edges.
    fn take_routes(&mut self, dot: &Dot<'_>) -> Vec<Note> {
        let Self { graph, tables } = self;
        let nodes = NodeId::all(dot.nodes.len() as u32).zip(&dot.nodes);
        let hosts: HashMap<&str, Option<HostId>> = nodes
            .map(|(node, given)| (&*given.name, graph.host_at(node)))
            .collect();
        let mut unknown = HashSet::new();
        let mut first_unknown = None;
        for (given, &edge) in dot.edges.iter().zip(graph.edges_as_given()) {
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

/// The nodes and edges, in their order.
fn graph(dot: &Dot<'_>) -> Result<Graph, NetworkError> {
    let mut builder = GraphBuilder::default();
    for node in &dot.nodes {
        let kind = if node.name.starts_with('H') {
            NodeKind::Host
        } else {
            NodeKind::Switch
        };
        builder.node(Node {
            name: node.name.clone().into_owned(),
            kind,
            line: node.line,
        });
    }
    let mut cables = vec![0u32; dot.nodes.len()];
    for edge in &dot.edges {
        let name = &dot.nodes[edge.from as usize].name;
        cables[edge.from as usize] += 1;
        if name.starts_with('H') && cables[edge.from as usize] > 1 {
            let problem = format!(
                "a second edge leaves {}, whose name begins with `H` and makes it a host; a host has one cable: \
                 write a host for each of its ports, or give a switch another name",
                quoted(name)
            );
            return Err(NetworkError::at(edge.line, problem));
        }
        let [from, to] = [edge.from, edge.to].map(NodeId::new);
        builder.edge(from, to, None, edge.line);
    }
    builder.build()
}
