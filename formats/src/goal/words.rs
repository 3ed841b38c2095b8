//! A cursor over the words of a line of a GOAL schedule.

use crate::quote::quoted_bytes;

/// Why a line does not parse: the byte of the line, and what is wrong there.
#[derive(Debug)]
pub(super) struct Fault {
    pub at: usize,
    pub message: String,
}

pub(super) struct Words<'a> {
    line: &'a [u8],
    at: usize,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0c')
}

impl<'a> Words<'a> {
    pub fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes back to `at`.
    pub fn rewind(&mut self, at: usize) {
        self.at = at;
    }

    pub fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Steps over blanks, and over comments that end on the line.
    #[inline]
    pub fn blanks(&mut self) {
        loop {
            while self.peek().is_some_and(is_blank) {
                self.at += 1;
            }
            let rest = &self.line[self.at..];
            let end = match rest.starts_with(b"/*") {
                true => memchr::memmem::find(&rest[2..], b"*/"),
                false => None,
            };
            match end {
                Some(end) => self.at += end + 4,
                None => return,
            }
        }
    }

    /// True at the end of what the line says.
    pub fn at_end(&self) -> bool {
        let rest = &self.line[self.at..];
        rest.is_empty() || rest.starts_with(b"//") || rest.starts_with(b"/*")
    }

    /// Steps over `byte`.
    pub fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.at += usize::from(hit);
        hit
    }

    /// A letter with letters, digits and underscores after it.
    #[inline]
    pub fn name(&mut self) -> Option<&'a [u8]> {
        let rest = &self.line[self.at..];
        if !rest.first()?.is_ascii_alphabetic() {
            return None;
        }
        let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let end = rest.iter().position(|b| !word(b)).unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    /// Steps over the word `word`.
    pub fn word(&mut self, word: &[u8]) -> bool {
        let at = self.at;
        if self.name() == Some(word) {
            return true;
        }
        self.at = at;
        false
    }

    /// A number up to `max`.
    #[inline]
    pub fn number(&mut self, what: &str, max: u64) -> Result<u64, Fault> {
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.peek().map(|b| b.wrapping_sub(b'0')) {
            if digit > 9 {
                break;
            }
            let next = value.checked_mul(10);
            match next.and_then(|v| v.checked_add(u64::from(digit))) {
                Some(next) if next <= max => value = next,
                _ => {
                    self.at = start;
                    return Err(self.expected(&format!("{what} of at most {max}"), "correct it"));
                }
            }
            self.at += 1;
        }
        match self.at > start {
            true => Ok(value),
            false => Err(self.expected(
                &format!("a whole number for {what}"),
                "see the format's description",
            )),
        }
    }

    /// A number up to `max`, or −1, which is `None`.
    pub fn number_or_any(&mut self, what: &str, max: u64) -> Result<Option<u64>, Fault> {
        let minus_one = self.line[self.at..].starts_with(b"-1");
        if minus_one && !self.line.get(self.at + 2).is_some_and(u8::is_ascii_digit) {
            self.at += 2;
            return Ok(None);
        }
        self.number(what, max).map(Some)
    }

    /// That something else should be here.
    #[cold]
    pub fn expected(&self, what: &str, cure: &str) -> Fault {
        let rest = &self.line[self.at..];
        let found = match rest.first() {
            None => "the end of the line".to_owned(),
            Some(&byte) if is_blank(byte) => "a blank".to_owned(),
            Some(_) => {
                let word = rest.iter().position(|&b| is_blank(b));
                quoted_bytes(&rest[..word.unwrap_or(rest.len())], true)
            }
        };
        self.fault(format!("expected {what}, found {found}; {cure}"))
    }

    #[cold]
    pub fn fault(&self, message: String) -> Fault {
        Fault {
            at: self.at,
            message,
        }
    }
}
