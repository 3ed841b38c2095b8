//! The words and signs of a DOT text.

use crate::grammar::{self, expect, fault, run};
use crate::line_error::{LineError, error};
use crate::quote::{cut, quoted};
use memchr::memchr_iter;
use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_till, take_until, take_while1};
use nom::character::complete::{anychar, char, one_of, satisfy};
use nom::combinator::{eof, opt, peek, recognize, value};
use nom::multi::{fold_many0, many0_count};
use nom::sequence::{delimited, preceded};
use std::borrow::Cow;

type Parsed<'a, T> = grammar::Parsed<&'a str, T, String>;

/// A word or a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word that is not quoted: a name, a keyword, a number.
    Word(&'a str),
    /// A quoted text, or one in angle brackets.
    Text(Cow<'a, str>),
    /// `->`
    Arrow,
    /// `--`
    Line,
    /// One of `{}[];,=:+`.
    Sign(char),
    /// Nothing follows.
    End,
}

impl Token<'_> {
    /// As messages call it.
    pub fn shown(&self) -> String {
        match self {
            Self::Word(word) => quoted(word).to_string(),
            Self::Text(text) => format!("\"{}\"", cut(text)),
            Self::Arrow => "`->`".to_owned(),
            Self::Line => "`--`".to_owned(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end of the file".to_owned(),
        }
    }
}

/// Cuts a text into tokens.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    rest: &'a str,
    /// Line of the rest, from 1.
    line: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { rest, line: 1 }
    }

    /// The next token, and its line.
    pub fn next(&mut self) -> Result<(Token<'a>, usize), LineError> {
        self.step(blanks)?;
        let line = self.line;
        Ok((self.step(token)?, line))
    }

    fn step<T>(&mut self, parser: fn(&'a str) -> Parsed<'a, T>) -> Result<T, LineError> {
        let text = self.rest;
        let line_of = |rest: &str| {
            let passed = &text.as_bytes()[..text.len() - rest.len()];
            self.line + memchr_iter(b'\n', passed).count()
        };
        match run(parser, text) {
            Ok((rest, found)) => {
                (self.line, self.rest) = (line_of(rest), rest);
                Ok(found)
            }
            Err(fault) => error(line_of(fault.rest), fault.expected),
        }
    }
}

/// Blanks and comments.
fn blanks(text: &str) -> Parsed<'_, ()> {
    const BLANKS: &[char] = &['\n', ' ', '\t', '\r', '\x0b', '\x0c'];
    let line = recognize((alt((tag("#"), tag("//"))), take_till(|c| c == '\n')));
    let block = recognize((tag("/*"), take_until("*/"), tag("*/")));
    let block = expect(block, |_| "a comment `/*` without its `*/`".to_owned());
    let block = preceded(peek(tag("/*")), block);
    let blanks = take_while1(|c| BLANKS.contains(&c));
    value((), many0_count(alt((blanks, line, block)))).parse(text)
}

fn token(text: &str) -> Parsed<'_, Token<'_>> {
    alt((
        word.map(Token::Word),
        one_of("{}[];,=:+").map(Token::Sign),
        text_in_quotes.map(Token::Text),
        value(Token::Arrow, tag("->")),
        value(Token::Line, tag("--")),
        text_in_angles.map(|text| Token::Text(Cow::Borrowed(text))),
        value(Token::End, eof),
        odd_sign,
    ))
    .parse(text)
}

/// A name without quotation marks, a keyword or a number.
fn word(text: &str) -> Parsed<'_, &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || !c.is_ascii();
    let minus = (char('-'), peek(satisfy(|c| c.is_ascii_digit() || c == '.')));
    let (rest, word) = recognize((opt(minus), take_while1(is_word))).parse(text)?;
    // Graphviz takes `sw-1` for two names; whoever writes it means one.
    match rest.as_bytes() {
        [b'-', next, ..] if !matches!(next, b'>' | b'-') => odd_sign(rest),
        _ => Ok((rest, word)),
    }
}

/// A text in quotation marks, which borrows unless it has an escape.
fn text_in_quotes(text: &str) -> Parsed<'_, Cow<'_, str>> {
    let escape = alt((
        value("\"", tag("\\\"")),
        value("\\", tag("\\\\")),
        value("", alt((tag("\\\n"), tag("\\\r\n")))),
        recognize((char('\\'), anychar)),
    ));
    let pieces = fold_many0(
        alt((is_not("\"\\"), escape)),
        Cow::default,
        |text, piece| text + piece,
    );
    let closed = delimited(char('"'), pieces, char('"'));
    let unclosed = |_| "a text without its closing quotation mark".to_owned();
    preceded(peek(char('"')), expect(closed, unclosed)).parse(text)
}

/// The text in angle brackets, which may be nested.
fn text_in_angles(text: &str) -> Parsed<'_, &str> {
    peek(char('<')).parse(text)?;
    let mut depth = 0usize;
    let end = text.find(|c| {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    match end {
        Some(end) => Ok((&text[end + 1..], &text[1..end])),
        None => fault(text, "a text `<` without its closing `>`".to_owned()),
    }
}

#[cold]
fn odd_sign<T>(text: &str) -> Parsed<'_, T> {
    let (_, sign) = anychar(text)?;
    let shown = quoted(sign.encode_utf8(&mut [0; 4])).to_string();
    let message = format!(
        "{shown} is no part of the DOT language here; put names with signs into quotation marks"
    );
    fault(text, message)
}
