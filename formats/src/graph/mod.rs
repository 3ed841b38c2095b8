//! Graphs of fabrics as general tools write them: the DOT language, GraphML, node-link JSON and lists of edges
//! (`docs/reference/congestion-input.md`).
//!
//! Of attributes only those count that [`Edge::attributes`] and [`Node::kind`] name; all others are skipped. Some names carry
//! the unit of a number: `length_m = 5` is `length = "5m"`.

mod attributes;
mod builder;
mod edge_list;
mod forms;
mod graphml;
mod lines;
mod node_link;

pub use attributes::LinkAttribute;
pub(crate) use attributes::{is_kind, link_attribute};
pub(crate) use builder::Builder;
pub use forms::Format;

use std::borrow::Cow;

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
