//! GraphML, as NetworkX, igraph and yEd write it: nodes and edges of one graph, with the data that its keys declare.
//!
//! A document type is refused, so that no entity can expand.

use super::lines::Lines;
use super::{Builder, Graph, is_kind};
use crate::limits::{MAX_GRAPH_EDGES, MAX_GRAPH_NODES};
use crate::{PlaceError, at_line};
use flitwise_base::quote::{cut, quoted};
use hashbrown::HashMap;
use roxmltree::{Document, Node, ParsingOptions};
use std::borrow::Cow;

/// Declarations for all edges or all nodes: the name of the attribute, and its value where none is given.
type Keys<'x> = HashMap<&'x str, (&'x str, Option<&'x str>)>;

/// Reads GraphML.
pub(super) fn parse(text: &str) -> Result<Graph<'_>, PlaceError> {
    let options = ParsingOptions {
        allow_dtd: false,
        // An element, its text and some data of each.
        nodes_limit: u32::try_from(8 * (MAX_GRAPH_NODES + MAX_GRAPH_EDGES)).unwrap_or(u32::MAX),
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).or_else(|e| {
        let line = e.pos().row as usize;
        at_line(line.max(1), format!("this is no XML: {e}"))
    })?;
    let reader = Reader {
        lines: Lines::of(text),
        root: document.root_element(),
    };
    reader.read()
}

/// A document that is being read.
struct Reader<'d, 'x> {
    root: Node<'d, 'x>,
    lines: Lines,
}

impl<'d> Reader<'d, '_> {
    fn read(&self) -> Result<Graph<'static>, PlaceError> {
        let graph = self.only_graph()?;
        let mut builder = Builder::default();
        builder.graph.directed = graph.attribute("edgedefault") == Some("directed");
        self.nodes(graph, &mut builder)?;
        self.edges(graph, &mut builder)?;
        let is_known = |name| ["node", "edge", "data", "desc"].contains(&name);
        let mut elements = graph.children().filter(Node::is_element);
        match elements.find(|child| !is_known(child.tag_name().name())) {
            Some(other) => {
                let name = quoted(other.tag_name().name());
                let problem = format!("an element {name} is not read; write `edge`s");
                at_line(self.line(other), problem)
            }
            None => Ok(builder.graph),
        }
    }

    /// The line on which a node of the document begins.
    fn line(&self, node: Node<'_, '_>) -> usize {
        self.lines.at(node.range().start)
    }

    /// The graph of the document, which has no other.
    fn only_graph(&self) -> Result<Node<'d, '_>, PlaceError> {
        let name = self.root.tag_name().name();
        if name != "graphml" {
            let name = quoted(name);
            let problem = format!("the element {name} where GraphML begins with `graphml`");
            return at_line(self.line(self.root), problem);
        }
        let mut graphs = elements(self.root, "graph");
        match (graphs.next(), graphs.next()) {
            (Some(graph), None) => Ok(graph),
            (_, Some(second)) => {
                at_line(self.line(second), "a second graph; a file has one fabric")
            }
            (None, None) => at_line(self.line(self.root), "there is no `graph` in this GraphML"),
        }
    }

    fn nodes(&self, graph: Node<'d, '_>, builder: &mut Builder<'_>) -> Result<(), PlaceError> {
        let keys = keys(self.root, "node");
        for node in elements(graph, "node") {
            let line = self.line(node);
            if let Some(nested) = elements(node, "graph").next() {
                let problem = "a graph within a node is not read; write one level of nodes";
                return at_line(self.line(nested), problem);
            }
            let at = builder.declare(Cow::Owned(attribute(node, "id", line)?), line)?;
            for (name, value) in data(node, &keys) {
                if is_kind(name) {
                    builder.graph.nodes[at as usize].kind = Some(Cow::Owned(value.to_owned()));
                }
            }
        }
        Ok(())
    }

    fn edges(&self, graph: Node<'d, '_>, builder: &mut Builder<'_>) -> Result<(), PlaceError> {
        let keys = keys(self.root, "edge");
        let directed = builder.graph.directed;
        for edge in elements(graph, "edge") {
            let line = self.line(edge);
            let own = edge.attribute("directed");
            if own.is_some_and(|own| (own == "true") != directed) {
                let problem =
                    "an edge of another direction than `edgedefault` says; write all edges alike";
                return at_line(line, problem);
            }
            let mut ends = [0; 2];
            for (end, name) in ends.iter_mut().zip(["source", "target"]) {
                *end = builder.find(&attribute(edge, name, line)?, line)?;
            }
            let added = builder.edge(ends, line)?;
            for (name, value) in data(edge, &keys) {
                added.take(name, Cow::Owned(value.trim().to_owned()));
            }
        }
        Ok(())
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

/// The data of a node or an edge; the defaults of keys of which it has none.
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

fn attribute(of: Node<'_, '_>, name: &str, line: usize) -> Result<String, PlaceError> {
    match of.attribute(name) {
        Some(value) => Ok(value.to_owned()),
        None => {
            let element = cut(of.tag_name().name());
            at_line(line, format!("the element {element} has no `{name}`"))
        }
    }
}
