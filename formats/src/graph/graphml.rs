//! GraphML, as NetworkX, igraph and yEd write it: nodes and edges of one graph, with the data that its keys declare.
//!
//! A document type is refused, so that no entity can expand.

use super::{Builder, Graph, is_kind};
use crate::limits::{MAX_GRAPH_EDGES, MAX_GRAPH_NODES};
use crate::line_error::{LineError, error};
use flitwise_base::quote::{cut, quoted};
use hashbrown::HashMap;
use memchr::memchr_iter;
use roxmltree::{Document, Node, ParsingOptions};
use std::borrow::Cow;

/// Declarations for all edges or all nodes: the name of the attribute, and its value where none is given.
type Keys<'x> = HashMap<&'x str, (&'x str, Option<&'x str>)>;

/// Reads GraphML.
pub(super) fn parse(text: &str) -> Result<Graph<'_>, LineError> {
    let options = ParsingOptions {
        allow_dtd: false,
        // An element, its text and some data of each.
        nodes_limit: u32::try_from(8 * (MAX_GRAPH_NODES + MAX_GRAPH_EDGES)).unwrap_or(u32::MAX),
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).or_else(|e| {
        let line = e.pos().row as usize;
        error(line.max(1), format!("this is no XML: {e}"))
    })?;
    let lines = Lines::of(text);
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let problem = format!(
            "the element {} where GraphML begins with `graphml`",
            quoted(root.tag_name().name())
        );
        return error(lines.of_node(root), problem);
    }
    let (node_keys, edge_keys) = (keys(root, "node"), keys(root, "edge"));
    let mut graphs = elements(root, "graph");
    let Some(found) = graphs.next() else {
        return error(lines.of_node(root), "there is no `graph` in this GraphML");
    };
    if let Some(second) = graphs.next() {
        return error(
            lines.of_node(second),
            "a second graph; a file has one fabric",
        );
    }
    let mut builder = Builder::default();
    let directed = found.attribute("edgedefault") == Some("directed");
    builder.graph.directed = directed;
    for node in elements(found, "node") {
        let line = lines.of_node(node);
        if let Some(nested) = elements(node, "graph").next() {
            let problem = "a graph within a node is not read; write one level of nodes";
            return error(lines.of_node(nested), problem);
        }
        let at = builder.declare(Cow::Owned(attribute(node, "id", line)?), line)?;
        for (name, value) in data(node, &node_keys) {
            if is_kind(name) {
                builder.graph.nodes[at as usize].kind = Some(Cow::Owned(value.to_owned()));
            }
        }
    }
    for edge in elements(found, "edge") {
        let line = lines.of_node(edge);
        let own = edge.attribute("directed");
        if own.is_some_and(|own| (own == "true") != directed) {
            let problem =
                "an edge of another direction than `edgedefault` says; write all edges alike";
            return error(line, problem);
        }
        let mut ends = [0; 2];
        for (end, name) in ends.iter_mut().zip(["source", "target"]) {
            *end = builder.find(&attribute(edge, name, line)?, line)?;
        }
        let added = builder.edge(ends, line)?;
        for (name, value) in data(edge, &edge_keys) {
            added.take(name, Cow::Owned(value.trim().to_owned()));
        }
    }
    let other = found.children().find(|child| {
        child.is_element() && !["node", "edge", "data", "desc"].contains(&child.tag_name().name())
    });
    match other {
        Some(other) => {
            let name = quoted(other.tag_name().name()).to_string();
            error(
                lines.of_node(other),
                format!("an element {name} is not read; write `edge`s"),
            )
        }
        None => Ok(builder.graph),
    }
}

/// The elements within `parent` that have this name.
fn elements<'d, 'x>(
    parent: Node<'d, 'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'d, 'x>> {
    let children = parent.children();
    children.filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The keys that are declared for nodes, or for edges.
fn keys<'d>(root: Node<'d, '_>, of: &str) -> Keys<'d> {
    let declared = elements(root, "key");
    let declared = declared.filter(|key| {
        matches!(key.attribute("for"), Some(f) if f == of || f == "all")
            || key.attribute("for").is_none()
    });
    declared
        .filter_map(|key| {
            let usual = elements(key, "default")
                .next()
                .and_then(|usual| usual.text());
            let id = key.attribute("id")?;
            Some((id, (key.attribute("attr.name").unwrap_or(id), usual)))
        })
        .collect()
}

/// The data of a node or an edge: what it says itself, and else what its keys say.
fn data<'d>(of: Node<'d, '_>, keys: &Keys<'d>) -> Vec<(&'d str, &'d str)> {
    let own: Vec<(&str, &str)> = elements(of, "data")
        .filter_map(|data| {
            let key = data.attribute("key")?;
            Some((key, data.text().unwrap_or("")))
        })
        .collect();
    let usual = keys.iter().filter_map(|(&key, &(_, usual))| {
        let given = own.iter().any(|&(own, _)| own == key);
        Some((key, usual?)).filter(|_| !given)
    });
    let name = |key: &'d str| keys.get(key).map_or(key, |&(name, _)| name);
    let mut all: Vec<(&str, &str)> = usual.map(|(key, value)| (name(key), value)).collect();
    // Of two keys with one meaning the order of a map must not decide.
    all.sort_unstable();
    all.extend(own.iter().map(|&(key, value)| (name(key), value)));
    all
}

fn attribute(of: Node<'_, '_>, name: &str, line: usize) -> Result<String, LineError> {
    match of.attribute(name) {
        Some(value) => Ok(value.to_owned()),
        None => {
            let element = cut(of.tag_name().name());
            error(line, format!("the element {element} has no `{name}`"))
        }
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(memchr_iter(b'\n', text.as_bytes()).collect())
    }

    /// The line, from 1, on which a node begins.
    fn of_node(&self, node: Node<'_, '_>) -> usize {
        self.0.partition_point(|&end| end < node.range().start) + 1
    }
}
