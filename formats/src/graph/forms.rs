//! The forms in which graphs are written.

use super::{Graph, edge_list, graphml, node_link};
use crate::PlaceError;
use crate::dot::Writer;
use std::io;

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
    pub fn parse(text: &'a str, format: Format) -> Result<Self, PlaceError> {
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
