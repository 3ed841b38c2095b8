//! Graphs of fabrics as general tools write them: the DOT language, GraphML, node-link JSON and lists of edges
//! (`docs/reference/congestion-input.md`).
//!
//! Of attributes only those count that [`Edge::attributes`] and [`Node::kind`] name; all others are skipped. Some names carry
//! the unit of a number: `length_m = 5` is `length = "5m"`.

mod attributes;
mod builder;
mod edge_list;
mod graphml;
mod lines;
mod node_link;

pub use attributes::LinkAttribute;
pub(crate) use attributes::{is_kind, link_attribute};
pub(crate) use builder::Builder;

use crate::dot::Writer;
use crate::line_error::LineError;
use std::borrow::Cow;
use std::io;

/// A multigraph. Names and values borrow from the text where they can.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph<'a> {
    /// Name of the graph; may be empty.
    pub name: Cow<'a, str>,
    /// Edges lead one way.
    pub directed: bool,
    /// Nodes in the order in which the text mentions them.
    pub nodes: Vec<Node<'a>>,
    /// Edges in the order of the text.
    pub edges: Vec<Edge<'a>>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its name. Unique.
    pub name: Cow<'a, str>,
    /// The attribute `type` or `kind`.
    pub kind: Option<Cow<'a, str>>,
    /// Line that mentions it first.
    pub line: u32,
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge<'a> {
    /// Index of the node where it begins.
    pub from: u32,
    /// Index of the node where it ends.
    pub to: u32,
    /// The attribute `comment`; see [`destinations`](crate::dot::destinations).
    pub comment: Option<Cow<'a, str>>,
    /// The statements of other attributes about the link.
    pub attributes: Vec<(LinkAttribute, Cow<'a, str>)>,
    /// Line on which the edge begins.
    pub line: u32,
}

/// A form in which graphs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The DOT language of Graphviz.
    Dot,
    /// A pair of nodes on each line.
    EdgeList,
    /// GraphML, an XML format.
    GraphMl,
    /// JSON with lists of nodes and links.
    NodeLink,
}

impl Format {
    /// The format, in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dot => "a graph in the DOT language",
            Self::EdgeList => "a list of edges",
            Self::GraphMl => "GraphML",
            Self::NodeLink => "node-link JSON",
        }
    }
}

impl<'a> Graph<'a> {
    /// Reads the graph that `text` describes in `format`.
    ///
    /// # Errors
    /// The first line that is wrong, or that this module does not read.
    pub fn parse(text: &'a str, format: Format) -> Result<Self, LineError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match format {
            Format::Dot => crate::dot::parse(text),
            Format::EdgeList => edge_list::parse(text),
            Format::GraphMl => graphml::parse(text),
            Format::NodeLink => node_link::parse(text),
        }
    }

    /// Writes the graph in the DOT language, a line for each node and each edge, so that [`parse`](Self::parse) reads
    /// it again.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write<W: io::Write>(&self, out: W) -> io::Result<()> {
        let mut writer = Writer::begin(out, &self.name, self.directed)?;
        for node in &self.nodes {
            writer.node_with(&node.name, node.kind.as_deref().map(|kind| ("type", kind)))?;
        }
        for edge in &self.edges {
            let [from, to] = [edge.from, edge.to].map(|node| &self.nodes[node as usize].name);
            let comment = edge.comment.as_deref().map(|comment| ("comment", comment));
            let attributes = edge
                .attributes
                .iter()
                .map(|(attribute, value)| (attribute.name(), &**value));
            writer.edge_with(from, to, comment.into_iter().chain(attributes))?;
        }
        writer.end()
    }
}
