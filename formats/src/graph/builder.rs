//! Collects the nodes and edges of a graph, within limits.

use super::{Edge, Graph, Node, link_attribute};
use crate::limits::{MAX_GRAPH_EDGES, MAX_GRAPH_NODES};
use crate::{PlaceError, at_line};
use flitwise_base::quote::cut;
use hashbrown::HashMap;
use std::borrow::Cow;

/// A graph that is being read.
#[derive(Debug, Default)]
pub(crate) struct Builder<'a> {
    /// Node by name.
    index: HashMap<Cow<'a, str>, u32>,
    pub graph: Graph<'a>,
}

impl<'a> Builder<'a> {
    /// The node called `name`, which `line` mentions.
    pub fn node(&mut self, name: Cow<'a, str>, line: usize) -> Result<u32, PlaceError> {
        let next = self.graph.nodes.len();
        if let Some(&node) = self.index.get(&name) {
            return Ok(node);
        }
        if next == MAX_GRAPH_NODES {
            return at_line(line, format!("more than {MAX_GRAPH_NODES} nodes"));
        }
        self.index.insert(name.clone(), next as u32);
        self.graph.nodes.push(Node {
            name,
            kind: None,
            line: number(line),
        });
        Ok(next as u32)
    }

    /// The node that `line` declares; no other line may have done so.
    pub fn declare(&mut self, name: Cow<'a, str>, line: usize) -> Result<u32, PlaceError> {
        if self.index.contains_key(&name) {
            let problem = format!("a second node {}; each has a name of its own", cut(&name));
            return at_line(line, problem);
        }
        self.node(name, line)
    }

    /// The node called `name`, if there is one.
    pub fn find(&self, name: &str, line: usize) -> Result<u32, PlaceError> {
        match self.index.get(name) {
            Some(&node) => Ok(node),
            None => at_line(
                line,
                format!("an edge of {}, which is no node of the file", cut(name)),
            ),
        }
    }

    /// Adds an edge.
    pub fn edge(&mut self, [from, to]: [u32; 2], line: usize) -> Result<&mut Edge<'a>, PlaceError> {
        let edges = &mut self.graph.edges;
        if edges.len() == MAX_GRAPH_EDGES {
            return at_line(line, format!("more than {MAX_GRAPH_EDGES} edges"));
        }
        edges.push(Edge {
            from,
            to,
            comment: None,
            attributes: Vec::new(),
            line: number(line),
        });
        let last = edges.len() - 1;
        Ok(&mut edges[last])
    }
}

impl<'a> Edge<'a> {
    /// Takes the attribute `name`, if it counts; of several the last one.
    pub(crate) fn take(&mut self, name: &str, value: Cow<'a, str>) {
        if name == "comment" {
            self.comment = Some(value);
        } else if let Some((attribute, value)) = link_attribute(name, value) {
            self.attributes.retain(|(known, _)| *known != attribute);
            self.attributes.push((attribute, value));
        }
    }
}

/// The line as it is kept.
fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}
