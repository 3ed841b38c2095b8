//! Writes graphs in the DOT language, a statement per line, without keeping them.

use super::parser::is_keyword;
use std::io::{self, Write};

/// A graph that is being written.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    directed: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a graph; an empty `name` is left out.
    ///
    /// # Errors
    /// An error of `out`, as of the other functions.
    pub fn begin(mut out: W, name: &str, directed: bool) -> io::Result<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let word = if directed { "digraph " } else { "graph " };
        out.write_all(word.as_bytes())?;
        if name.bytes().all(plain) && !is_keyword(name) {
            out.write_all(name.as_bytes())?;
        } else {
            text(&mut out, name)?;
        }
        out.write_all(if name.is_empty() { b"{\n" } else { b" {\n" })?;
        Ok(Self { out, directed })
    }

    /// A node.
    pub fn node(&mut self, name: &str) -> io::Result<()> {
        self.node_with(name, None)
    }

    /// A node with attributes, whose names need no quotation marks.
    pub fn node_with<'t>(
        &mut self,
        name: &str,
        attributes: impl IntoIterator<Item = (&'static str, &'t str)>,
    ) -> io::Result<()> {
        self.out.write_all(b"    ")?;
        text(&mut self.out, name)?;
        self.attributes(attributes)
    }

    /// An edge, with its attribute `comment`.
    pub fn edge(&mut self, from: &str, to: &str, comment: Option<&str>) -> io::Result<()> {
        self.edge_with(from, to, comment.map(|comment| ("comment", comment)))
    }

    /// An edge with attributes, whose names need no quotation marks.
    pub fn edge_with<'t>(
        &mut self,
        from: &str,
        to: &str,
        attributes: impl IntoIterator<Item = (&'static str, &'t str)>,
    ) -> io::Result<()> {
        self.out.write_all(b"    ")?;
        text(&mut self.out, from)?;
        self.out
            .write_all(if self.directed { b" -> " } else { b" -- " })?;
        text(&mut self.out, to)?;
        self.attributes(attributes)
    }

    /// The attributes of a statement, and its end.
    fn attributes<'t>(
        &mut self,
        attributes: impl IntoIterator<Item = (&'static str, &'t str)>,
    ) -> io::Result<()> {
        let mut any = false;
        for (name, value) in attributes {
            self.out.write_all(if any { b", " } else { b" [ " })?;
            self.out.write_all(name.as_bytes())?;
            self.out.write_all(b" = ")?;
            text(&mut self.out, value)?;
            any = true;
        }
        self.out.write_all(if any { b" ];\n" } else { b";\n" })
    }

    /// Ends the graph.
    pub fn end(mut self) -> io::Result<()> {
        self.out.write_all(b"}\n")?;
        self.out.flush()
    }
}

/// A quoted text.
fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        out.write_all(&rest.as_bytes()[..at])?;
        out.write_all(b"\\")?;
        out.write_all(&rest.as_bytes()[at..=at])?;
        rest = &rest[at + 1..];
    }
    out.write_all(rest.as_bytes())?;
    out.write_all(b"\"")
}
