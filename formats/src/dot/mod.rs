//! Directed multigraphs in the DOT language of Graphviz, as ORCS reads them (Schneider, Hoefler and Lumsdaine, 2009,
//! section 2.1): an edge for each direction of a cable, and in its attribute `comment` the destinations that take it.
//!
//! Of attributes only the `comment` of an edge counts. Defaults (`node [..]`) are skipped, subgraphs are dissolved.
//! In quoted texts `\"` stands for a quotation mark, `\\` for a backslash, and a backslash at the end of a line
//! for nothing; other backslashes stand for themselves. Names that are not quoted consist of letters, digits,
//! `_` and `.`.

mod lexer;
mod parser;
mod write;

pub use parser::is_keyword;
pub use write::Writer;

use std::borrow::Cow;
use std::io;

/// A directed multigraph. Names and comments borrow from the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dot<'a> {
    /// Name of the graph; may be empty.
    pub name: Cow<'a, str>,
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
    /// The attribute `comment`; see [`destinations`].
    pub comment: Option<Cow<'a, str>>,
    /// Line on which the name of `from` stands.
    pub line: u32,
}

impl Dot<'_> {
    /// Writes the graph, a line for each node and each edge, so that [`parse`](Dot::parse) reads it again.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write<W: io::Write>(&self, out: W) -> io::Result<()> {
        let mut writer = Writer::begin(out, &self.name)?;
        for node in &self.nodes {
            writer.node(&node.name)?;
        }
        for edge in &self.edges {
            let [from, to] = [edge.from, edge.to].map(|node| &self.nodes[node as usize].name);
            writer.edge(from, to, edge.comment.as_deref())?;
        }
        writer.end()
    }
}

/// Separators between the destinations of a comment.
const SEPARATORS: [char; 5] = [',', ' ', '\t', '\n', '\r'];

/// The destinations that a comment lists; `*` stands for all.
pub fn destinations(comment: &str) -> impl Iterator<Item = &str> {
    comment
        .split(SEPARATORS)
        .filter(|destination| !destination.is_empty())
}

/// True if `name` can stand in a list of destinations.
#[must_use]
pub fn is_destination(name: &str) -> bool {
    !name.is_empty() && name != "*" && !name.contains(SEPARATORS)
}
