//! The words and signs of a DOT text.

use crate::{PlaceError, at_line};
use flitwise_base::quote::{cut, quoted};
use memchr::{memchr, memchr_iter, memchr2, memmem};
use std::borrow::Cow;

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
    text: &'a str,
    at: usize,
    /// Line of `at`, from 1.
    line: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self { text, at, line: 1 }
    }

    /// The next token, and its line.
    pub fn next(&mut self) -> Result<(Token<'a>, usize), PlaceError> {
        self.skip()?;
        let line = self.line;
        let bytes = self.text.as_bytes();
        let Some(&first) = bytes.get(self.at) else {
            return Ok((Token::End, line));
        };
        let second = bytes.get(self.at + 1).copied().unwrap_or(0);
        let token = match (first, second) {
            (b'"', _) => Token::Text(self.quoted()?),
            (b'<', _) => Token::Text(self.in_angles()?),
            (b'-', b'>') => self.sign(2, Token::Arrow),
            (b'-', b'-') => self.sign(2, Token::Line),
            (b'{' | b'}' | b'[' | b']' | b';' | b',' | b'=' | b':' | b'+', _) => {
                self.sign(1, Token::Sign(char::from(first)))
            }
            (b'-', b'0'..=b'9' | b'.') => Token::Word(self.word(1)?),
            _ if is_word(first) => Token::Word(self.word(0)?),
            _ => return self.odd_sign(),
        };
        Ok((token, line))
    }

    #[cold]
    fn odd_sign<T>(&self) -> Result<T, PlaceError> {
        let sign = self.text[self.at..].chars().next().unwrap_or(' ');
        at_line(
            self.line,
            format!(
                "{} is no part of the DOT language here; put names with signs into quotation marks",
                quoted(sign.encode_utf8(&mut [0; 4]))
            ),
        )
    }

    fn sign(&mut self, length: usize, token: Token<'a>) -> Token<'a> {
        self.at += length;
        token
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), PlaceError> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let rest = &bytes[self.at..];
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => self.at += memchr(b'\n', rest).unwrap_or(rest.len()),
                b'/' if rest.starts_with(b"//") => {
                    self.at += memchr(b'\n', rest).unwrap_or(rest.len());
                }
                b'/' if rest.starts_with(b"/*") => {
                    let Some(end) = memmem::find(&rest[2..], b"*/") else {
                        return at_line(self.line, "a comment `/*` without its `*/`");
                    };
                    self.pass(end + 4);
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Advances by `length` bytes, which may hold line feeds.
    fn pass(&mut self, length: usize) {
        let passed = &self.text.as_bytes()[self.at..self.at + length];
        self.line += memchr_iter(b'\n', passed).count();
        self.at += length;
    }

    fn word(&mut self, sign: usize) -> Result<&'a str, PlaceError> {
        let rest = &self.text.as_bytes()[self.at + sign..];
        let length = rest.iter().position(|&byte| !is_word(byte));
        let end = self.at + sign + length.unwrap_or(rest.len());
        let word = &self.text[self.at..end];
        self.at = end;
        // Graphviz takes `sw-1` for two names; whoever writes it means one.
        match self.text.as_bytes()[end..] {
            [b'-', next, ..] if !matches!(next, b'>' | b'-') => self.odd_sign(),
            _ => Ok(word),
        }
    }

    /// A text in quotation marks, which borrows unless it has an escape.
    fn quoted(&mut self) -> Result<Cow<'a, str>, PlaceError> {
        let start = self.at + 1;
        let rest = &self.text[start..];
        let unclosed = || at_line(self.line, "a text without its closing quotation mark");
        let mut owned = String::new();
        let (mut kept, mut at) = (0, 0);
        loop {
            let Some(found) = memchr2(b'"', b'\\', &rest.as_bytes()[at..]) else {
                return unclosed();
            };
            at += found;
            if rest.as_bytes()[at] == b'"' {
                break;
            }
            let after = &rest[at + 1..];
            let Some(escaped) = after.chars().next() else {
                return unclosed();
            };
            // How many bytes behind the backslash go with it, and how many of these stay.
            let (dropped, length) = match escaped {
                '"' | '\\' => (0, 1),
                '\n' => (1, 1),
                '\r' if after.starts_with("\r\n") => (2, 2),
                other => {
                    at += 1 + other.len_utf8();
                    continue;
                }
            };
            owned.push_str(&rest[kept..at]);
            kept = at + 1 + dropped;
            at += 1 + length;
        }
        let text = match (kept, owned.is_empty()) {
            (0, _) => Cow::Borrowed(&rest[..at]),
            _ => {
                owned.push_str(&rest[kept..at]);
                Cow::Owned(owned)
            }
        };
        self.pass(at + 2);
        Ok(text)
    }

    /// The text between angle brackets, which may be nested.
    fn in_angles(&mut self) -> Result<Cow<'a, str>, PlaceError> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut depth = 0usize;
        for (at, &byte) in rest.iter().enumerate() {
            match byte {
                b'<' => depth += 1,
                b'>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let text = &self.text[self.at + 1..self.at + at];
                self.pass(at + 1);
                return Ok(Cow::Borrowed(text));
            }
        }
        at_line(self.line, "a text `<` without its closing `>`")
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || byte >= 0x80
}
