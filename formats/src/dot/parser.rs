//! Statements of a DOT text.

use super::lexer::{Lexer, Token};
use crate::graph::{Builder, Graph, is_kind};
use crate::{PlaceError, at_line};
use flitwise_base::quote::cut;
use hashbrown::HashSet;
use std::borrow::Cow;

/// Reads a graph, directed or not.
///
/// # Errors
/// The first line that is no DOT, or that this module does not read: subgraphs as the end of an edge, edges that a
/// `strict` graph would drop.
pub fn parse(text: &str) -> Result<Graph<'_>, PlaceError> {
    let mut lexer = Lexer::new(text);
    let (token, line) = lexer.next()?;
    let mut parser = Parser {
        lexer,
        token,
        line,
        builder: Builder::default(),
    };
    parser.graph()?;
    Ok(parser.builder.graph)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token to look at next, and its line.
    token: Token<'a>,
    line: usize,
    builder: Builder<'a>,
}

/// The first word of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    Strict,
    Graph,
    Digraph,
    Node,
    Edge,
    Subgraph,
}

fn keyword(token: &Token<'_>) -> Option<Keyword> {
    const KEYWORDS: [(&str, Keyword); 6] = [
        ("strict", Keyword::Strict),
        ("graph", Keyword::Graph),
        ("digraph", Keyword::Digraph),
        ("node", Keyword::Node),
        ("edge", Keyword::Edge),
        ("subgraph", Keyword::Subgraph),
    ];
    let Token::Word(word) = token else {
        return None;
    };
    let mut keywords = KEYWORDS.into_iter();
    let (_, keyword) = keywords.find(|(name, _)| word.eq_ignore_ascii_case(name))?;
    Some(keyword)
}

/// True for a word that means something by itself, so that a name like it needs quotation marks.
#[must_use]
pub fn is_keyword(word: &str) -> bool {
    keyword(&Token::Word(word)).is_some()
}

impl<'a> Parser<'a> {
    fn graph(&mut self) -> Result<(), PlaceError> {
        let strict = keyword(&self.token) == Some(Keyword::Strict);
        if strict {
            self.advance()?;
        }
        self.builder.graph.directed = match keyword(&self.token) {
            Some(Keyword::Digraph) => true,
            Some(Keyword::Graph) => false,
            _ => return self.unexpected("`graph` or `digraph`"),
        };
        self.advance()?;
        if self.token != Token::Sign('{') {
            self.builder.graph.name = self.identifier("the name of the graph or `{`")?;
        }
        self.take('{', "`{`")?;
        let mut depth = 1u64;
        loop {
            match &self.token {
                Token::Sign(';') => self.advance()?,
                Token::Sign('{') => {
                    depth += 1;
                    self.advance()?;
                }
                Token::Sign('}') => {
                    depth -= 1;
                    self.advance()?;
                    if depth == 0 {
                        break;
                    }
                    if matches!(self.token, Token::Arrow | Token::Line) {
                        return self.subgraph_as_end();
                    }
                }
                Token::End => return self.unexpected("a statement or `}`"),
                _ => self.statement()?,
            }
        }
        match self.token {
            Token::End if strict => check_strict(&self.builder.graph),
            Token::End => Ok(()),
            _ => self.unexpected("the end of the file behind the `}` of the graph"),
        }
    }

    fn statement(&mut self) -> Result<(), PlaceError> {
        match keyword(&self.token) {
            Some(Keyword::Graph | Keyword::Node | Keyword::Edge) => {
                self.advance()?;
                match self.token {
                    Token::Sign('[') => self.attributes(|_, _| {}),
                    _ => self.unexpected(
                        "`[` behind `graph`, `node` or `edge`; a node of that name needs quotation marks",
                    ),
                }
            }
            Some(Keyword::Subgraph) => {
                self.advance()?;
                if self.token != Token::Sign('{') {
                    self.identifier("the name of the subgraph or `{`")?;
                }
                match self.token {
                    // The main loop counts it.
                    Token::Sign('{') => Ok(()),
                    _ => self.unexpected("`{` of the subgraph"),
                }
            }
            Some(Keyword::Strict | Keyword::Digraph) => self.unexpected("a statement or `}`"),
            None => self.node_or_edges(),
        }
    }

    /// `a [..]`, `a -> b -> c [..]` or `a = b`.
    fn node_or_edges(&mut self) -> Result<(), PlaceError> {
        let line = self.line;
        let name = self.identifier("a statement or `}`")?;
        if self.token == Token::Sign('=') {
            self.advance()?;
            return self.identifier("a value behind `=`").map(drop);
        }
        let mut from = (self.end(name, line)?, line);
        let node = from.0;
        let first = self.builder.graph.edges.len();
        while let Token::Arrow | Token::Line = self.token {
            match (&self.token, self.builder.graph.directed) {
                (Token::Line, true) => {
                    return at_line(
                        self.line,
                        "`--` in a directed graph; write `->`, and both directions of every cable",
                    );
                }
                (Token::Arrow, false) => {
                    let problem =
                        "`->` in an undirected graph; write `--`, or begin with `digraph`";
                    return at_line(self.line, problem);
                }
                _ => {}
            }
            self.advance()?;
            if self.token == Token::Sign('{') || keyword(&self.token) == Some(Keyword::Subgraph) {
                return self.subgraph_as_end();
            }
            let line = self.line;
            let name = self.identifier("the name of a node behind `->`")?;
            let to = (self.end(name, line)?, line);
            self.builder.edge([from.0, to.0], from.1)?;
            from = to;
        }
        if self.token != Token::Sign('[') {
            return Ok(());
        }
        let mut all = Vec::new();
        self.attributes(|name, value| all.push((name, value)))?;
        let graph = &mut self.builder.graph;
        for (name, value) in all {
            if first == graph.edges.len() && is_kind(&name) {
                graph.nodes[node as usize].kind = Some(value.clone());
            }
            for edge in &mut graph.edges[first..] {
                edge.take(&name, value.clone());
            }
        }
        Ok(())
    }

    /// The node of this name, behind which a port of the drawing may stand: `a:p:n`.
    fn end(&mut self, name: Cow<'a, str>, line: usize) -> Result<u32, PlaceError> {
        while self.token == Token::Sign(':') {
            self.advance()?;
            self.identifier("a port behind `:`")?;
        }
        self.builder.node(name, line)
    }

    /// Lists of attributes, `[a = b, c = d] [e = f]`, which `take` gets one after the other.
    fn attributes(
        &mut self,
        mut take: impl FnMut(Cow<'a, str>, Cow<'a, str>),
    ) -> Result<(), PlaceError> {
        while self.token == Token::Sign('[') {
            let opened = self.line;
            self.advance()?;
            loop {
                match self.token {
                    Token::Sign(']') => break self.advance()?,
                    Token::Sign(',' | ';') => {
                        self.advance()?;
                        continue;
                    }
                    Token::End => {
                        return at_line(opened, "a list of attributes `[` without its `]`");
                    }
                    _ => {}
                }
                let name = self.identifier("an attribute or `]`")?;
                self.take('=', "`=` behind the name of an attribute")?;
                let value = self.identifier("the value of the attribute")?;
                take(name, value);
            }
        }
        Ok(())
    }

    fn identifier(&mut self, expected: &str) -> Result<Cow<'a, str>, PlaceError> {
        match self.token {
            Token::Word(word) if is_keyword(word) => {
                let found = self.token.shown();
                let problem = format!(
                    "expected {expected}, found {found}, a keyword; as a name it needs quotation marks"
                );
                at_line(self.line, problem)
            }
            Token::Word(word) => {
                self.advance()?;
                Ok(Cow::Borrowed(word))
            }
            Token::Text(ref mut text) => {
                let text = std::mem::take(text);
                self.advance()?;
                match self.token {
                    Token::Sign('+') => at_line(
                        self.line,
                        "texts joined by `+` are not read; write one text",
                    ),
                    _ => Ok(text),
                }
            }
            _ => self.unexpected(expected),
        }
    }

    fn take(&mut self, sign: char, expected: &str) -> Result<(), PlaceError> {
        if self.token == Token::Sign(sign) {
            self.advance()
        } else {
            self.unexpected(expected)
        }
    }

    fn advance(&mut self) -> Result<(), PlaceError> {
        (self.token, self.line) = self.lexer.next()?;
        Ok(())
    }

    #[cold]
    fn subgraph_as_end<T>(&self) -> Result<T, PlaceError> {
        at_line(
            self.line,
            "a subgraph as the end of an edge is not read; write an edge for each of its nodes",
        )
    }

    #[cold]
    fn unexpected<T>(&self, expected: &str) -> Result<T, PlaceError> {
        at_line(
            self.line,
            format!("expected {expected}, found {}", self.token.shown()),
        )
    }
}

/// Refuses edges that a `strict` graph takes for one: cables may be parallel.
fn check_strict(graph: &Graph<'_>) -> Result<(), PlaceError> {
    let mut seen = HashSet::new();
    for edge in &graph.edges {
        let ends = if graph.directed {
            (edge.from, edge.to)
        } else {
            (edge.from.min(edge.to), edge.from.max(edge.to))
        };
        if !seen.insert(ends) {
            let [from, to] = [edge.from, edge.to].map(|node| cut(&graph.nodes[node as usize].name));
            let problem = format!(
                "a second edge between {from} and {to}, which a `strict` graph takes for the first; remove the edge, or \
                 the word if the cables are parallel"
            );
            return at_line(edge.line as usize, problem);
        }
    }
    Ok(())
}
