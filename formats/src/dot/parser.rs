//! Statements of a DOT text.

use super::lexer::{Lexer, Token};
use super::{Dot, Edge, Node};
use crate::limits::{MAX_DOT_EDGES, MAX_DOT_NODES};
use crate::line_error::{LineError, error};
use hashbrown::HashMap;
use std::borrow::Cow;

impl<'a> Dot<'a> {
    /// Reads a directed graph.
    ///
    /// # Errors
    /// The first line that is no DOT, or that this module does not read: `graph`, `strict`, subgraphs as the end of an
    /// edge.
    pub fn parse(text: &'a str) -> Result<Self, LineError> {
        let mut lexer = Lexer::new(text);
        let (token, line) = lexer.next()?;
        let mut parser = Parser {
            lexer,
            token,
            line,
            index: HashMap::new(),
            dot: Dot::default(),
        };
        parser.graph()?;
        Ok(parser.dot)
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token to look at next, and its line.
    token: Token<'a>,
    line: usize,
    /// Node by name.
    index: HashMap<Cow<'a, str>, u32>,
    dot: Dot<'a>,
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
    fn graph(&mut self) -> Result<(), LineError> {
        match keyword(&self.token) {
            Some(Keyword::Digraph) => {}
            Some(Keyword::Strict) => {
                return error(
                    self.line,
                    "a `strict` graph has one edge from node to node, and cables may be parallel; remove the word",
                );
            }
            Some(Keyword::Graph) => {
                return error(
                    self.line,
                    "an undirected `graph`, which cannot say where packets go; write `digraph`, and both \
                     directions of every cable: `a -> b; b -> a;`",
                );
            }
            _ => return self.unexpected("`digraph`"),
        }
        self.advance()?;
        if self.token != Token::Sign('{') {
            self.dot.name = self.identifier("the name of the graph or `{`")?;
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
            Token::End => Ok(()),
            _ => self.unexpected("the end of the file behind the `}` of the graph"),
        }
    }

    fn statement(&mut self) -> Result<(), LineError> {
        match keyword(&self.token) {
            Some(Keyword::Graph | Keyword::Node | Keyword::Edge) => {
                self.advance()?;
                match self.token {
                    Token::Sign('[') => self.attributes().map(drop),
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
    fn node_or_edges(&mut self) -> Result<(), LineError> {
        let line = self.line;
        let name = self.identifier("a statement or `}`")?;
        if self.token == Token::Sign('=') {
            self.advance()?;
            return self.identifier("a value behind `=`").map(drop);
        }
        let mut from = (self.end(name, line)?, line);
        let first = self.dot.edges.len();
        while let Token::Arrow | Token::Line = self.token {
            if self.token == Token::Line {
                return error(
                    self.line,
                    "`--` in a directed graph; write `->`, and both directions of every cable",
                );
            }
            self.advance()?;
            if self.token == Token::Sign('{') || keyword(&self.token) == Some(Keyword::Subgraph) {
                return self.subgraph_as_end();
            }
            let line = self.line;
            let name = self.identifier("the name of a node behind `->`")?;
            let to = (self.end(name, line)?, line);
            if self.dot.edges.len() == MAX_DOT_EDGES {
                return error(line, format!("more than {MAX_DOT_EDGES} edges"));
            }
            self.dot.edges.push(Edge {
                from: from.0,
                to: to.0,
                comment: None,
                line: u32::try_from(from.1).unwrap_or(u32::MAX),
            });
            from = to;
        }
        if self.token == Token::Sign('[') {
            let comment = self.attributes()?;
            for edge in &mut self.dot.edges[first..] {
                edge.comment.clone_from(&comment);
            }
        }
        Ok(())
    }

    /// The node of this name, behind which a port of the drawing may stand: `a:p:n`.
    fn end(&mut self, name: Cow<'a, str>, line: usize) -> Result<u32, LineError> {
        while self.token == Token::Sign(':') {
            self.advance()?;
            self.identifier("a port behind `:`")?;
        }
        let next = self.dot.nodes.len();
        if let Some(&node) = self.index.get(&name) {
            return Ok(node);
        }
        if next == MAX_DOT_NODES {
            return error(line, format!("more than {MAX_DOT_NODES} nodes"));
        }
        self.index.insert(name.clone(), next as u32);
        self.dot.nodes.push(Node {
            name,
            line: u32::try_from(line).unwrap_or(u32::MAX),
        });
        Ok(next as u32)
    }

    /// Lists of attributes, `[a = b, c = d] [e = f]`; the value of the last `comment`.
    fn attributes(&mut self) -> Result<Option<Cow<'a, str>>, LineError> {
        let mut comment = None;
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
                    Token::End => return error(opened, "a list of attributes `[` without its `]`"),
                    _ => {}
                }
                let name = self.identifier("an attribute or `]`")?;
                self.take('=', "`=` behind the name of an attribute")?;
                let value = self.identifier("the value of the attribute")?;
                if name == "comment" {
                    comment = Some(value);
                }
            }
        }
        Ok(comment)
    }

    fn identifier(&mut self, expected: &str) -> Result<Cow<'a, str>, LineError> {
        match self.token {
            Token::Word(word) if is_keyword(word) => {
                let found = self.token.shown();
                let problem = format!(
                    "expected {expected}, found {found}, a keyword; as a name it needs quotation marks"
                );
                error(self.line, problem)
            }
            Token::Word(word) => {
                self.advance()?;
                Ok(Cow::Borrowed(word))
            }
            Token::Text(ref mut text) => {
                let text = std::mem::take(text);
                self.advance()?;
                match self.token {
                    Token::Sign('+') => error(
                        self.line,
                        "texts joined by `+` are not read; write one text",
                    ),
                    _ => Ok(text),
                }
            }
            _ => self.unexpected(expected),
        }
    }

    fn take(&mut self, sign: char, expected: &str) -> Result<(), LineError> {
        if self.token == Token::Sign(sign) {
            self.advance()
        } else {
            self.unexpected(expected)
        }
    }

    fn advance(&mut self) -> Result<(), LineError> {
        (self.token, self.line) = self.lexer.next()?;
        Ok(())
    }

    #[cold]
    fn subgraph_as_end<T>(&self) -> Result<T, LineError> {
        error(
            self.line,
            "a subgraph as the end of an edge is not read; write an edge for each of its nodes",
        )
    }

    #[cold]
    fn unexpected<T>(&self, expected: &str) -> Result<T, LineError> {
        error(
            self.line,
            format!("expected {expected}, found {}", self.token.shown()),
        )
    }
}
