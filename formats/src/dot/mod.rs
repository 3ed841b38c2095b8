//! Multigraphs in the DOT language of Graphviz. ORCS (Schneider, Hoefler and Lumsdaine, 2009, section 2.1) reads directed
//! ones: an edge for each direction of a cable, and in its attribute `comment` the destinations that take it.
//!
//! Defaults of attributes (`node [..]`) are skipped, subgraphs are dissolved.
//! In quoted texts `\"` stands for a quotation mark, `\\` for a backslash, and a backslash at the end of a line
//! for nothing; other backslashes stand for themselves. Names that are not quoted consist of letters, digits,
//! `_` and `.`.

mod lexer;
mod parser;
mod write;

pub use parser::{is_keyword, parse};
pub use write::Writer;

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
