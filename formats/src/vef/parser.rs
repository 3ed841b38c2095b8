//! The streaming parser. It opens no files: the caller feeds it bytes.

use flitwise_base::place::PlaceError;
use flitwise_base::quote::quoted_bytes;

use super::fast;
use super::grammar as lines;
use super::record::{Comm, Dep, Header, Record, Version};
use crate::grammar::{self, run};
use crate::limits::{MAX_COMM_LINE, MAX_COMM_MEMBERS, MAX_RECORD_LINE};

/// The result of [`Parser::next`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Not a whole line: call again with the same bytes and more after them.
    NeedMore,
    /// The first line.
    Header {
        /// Bytes to drop before the next call.
        consumed: usize,
        /// The line.
        header: Header,
    },
    /// A communicator line.
    Comm {
        /// Bytes to drop before the next call.
        consumed: usize,
        /// The line.
        comm: Comm,
    },
    /// A record.
    Record {
        /// Bytes to drop before the next call.
        consumed: usize,
        /// The line.
        record: Record,
    },
    /// The end of the file, at the end of a line.
    End,
}

/// Parser of one file; see the [module of the format](super).
#[derive(Debug, Clone, Default)]
pub struct Parser {
    expects: Expects,
    line: u64,
    members: usize,
    version: Option<Version>,
    ignored_traffic: Option<u64>,
}

#[derive(Debug, Clone, Default)]
enum Expects {
    #[default]
    Header,
    Comms {
        next: u32,
        count: u32,
    },
    Records,
}

impl Expects {
    /// The lines that follow `next` of `count` communicators.
    fn after_comms(next: u32, count: u32) -> Self {
        if next == count {
            Self::Records
        } else {
            Self::Comms { next, count }
        }
    }
}

impl Parser {
    /// A parser at the start of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of the last line parsed, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// First line whose traffic bit was ignored, because version `VEF` has none.
    #[must_use]
    pub fn ignored_traffic(&self) -> Option<u64> {
        self.ignored_traffic
    }

    /// The step over a record. Bit 2 of `Dep` means nothing in version `VEF` and is cleared.
    #[inline]
    fn record(&mut self, mut record: Record, consumed: usize) -> Step {
        self.line += 1;
        if self.version == Some(Version::Vef) {
            let dep = match &mut record {
                Record::Message(m) => &mut m.dep,
                Record::Member(m) => &mut m.dep,
            };
            if dep.traffic() && dep.0 <= Dep::MAX {
                dep.0 &= !4;
                self.ignored_traffic.get_or_insert(self.line);
            }
        }
        Step::Record { consumed, record }
    }

    /// Parses one line at the start of `buf`; `eof` says that nothing follows `buf`.
    ///
    /// # Errors
    /// If the line violates the format. The parser stays where it is.
    ///
    /// # Examples
    /// ```
    /// use flitwise_formats::vef::{Parser, Record, Step};
    ///
    /// let mut rest: &[u8] = b"VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 64 4 10 -1\n1 1 1 0 2 0 0\n";
    /// let mut parser = Parser::new();
    /// let mut bytes = 0;
    /// loop {
    ///     let consumed = match parser.next(rest, true)? {
    ///         Step::Header { consumed, header } => {
    ///             assert_eq!(header.tasks, 2);
    ///             consumed
    ///         }
    ///         Step::Comm { consumed, .. } => consumed,
    ///         Step::Record { consumed, record } => {
    ///             if let Record::Message(message) = record {
    ///                 bytes += message.size;
    ///             }
    ///             consumed
    ///         }
    ///         // `NeedMore` can't come, because all bytes were given.
    ///         Step::NeedMore | Step::End => break,
    ///     };
    ///     rest = &rest[consumed..];
    /// }
    /// assert_eq!((bytes, parser.line()), (64, 4));
    /// # Ok::<(), flitwise_formats::PlaceError>(())
    /// ```
    #[inline]
    pub fn next(&mut self, buf: &[u8], eof: bool) -> Result<Step, PlaceError> {
        let hot = match self.expects {
            Expects::Records => fast::record(buf),
            Expects::Header | Expects::Comms { .. } => None,
        };
        match hot {
            Some((record, consumed)) => Ok(self.record(record, consumed)),
            None => self.careful(buf, eof),
        }
    }

    /// Parses a line that the hot path left, or explains why it is wrong: it is incomplete, too long, or no VEF.
    #[cold]
    fn careful(&mut self, buf: &[u8], eof: bool) -> Result<Step, PlaceError> {
        let max = match self.expects {
            Expects::Records if eof && buf.is_empty() => return Ok(Step::End),
            Expects::Comms { .. } => MAX_COMM_LINE,
            Expects::Header | Expects::Records => MAX_RECORD_LINE,
        };
        let (line, too_long) = match grammar::line(buf, eof, max) {
            Ok((rest, _)) => (&buf[..buf.len() - rest.len()], false),
            Err(nom::Err::Incomplete(_)) => return Ok(Step::NeedMore),
            Err(_) => (&buf[..=max], true),
        };
        let consumed = line.len();
        let step = match self.expects {
            Expects::Header => run(lines::header, line).map(|(_, header)| {
                self.version = Some(header.version);
                self.expects = Expects::after_comms(0, header.comms);
                Step::Header { consumed, header }
            }),
            Expects::Comms { next, count } => {
                let room = MAX_COMM_MEMBERS - self.members;
                run(|line| lines::comm(line, next, room), line).map(|(_, comm)| {
                    self.members += comm.members.len();
                    self.expects = Expects::after_comms(next + 1, count);
                    Step::Comm { consumed, comm }
                })
            }
            Expects::Records => match run(lines::record, line) {
                Ok((_, record)) => return Ok(self.record(record, consumed)),
                Err(fault) => Err(fault),
            },
        };
        match step {
            Ok(step) => {
                self.line += 1;
                Ok(step)
            }
            // A file that is not VEF gets that message, even if its first line is too long.
            Err(fault) if too_long && fault.expected != lines::MAGIC => {
                Err(self.too_long(line, max))
            }
            // An error before the end of the line makes the better message.
            Err(fault) if fault.rest.is_empty() => Err(self.cut_short(buf)),
            Err(fault) => Err(self.error(line, fault, too_long)),
        }
    }

    #[cold]
    fn too_long(&self, buf: &[u8], max: usize) -> PlaceError {
        self.wrong(
            max,
            &format!("a line feed within {max} bytes"),
            &quote(buf, true),
            "the line is longer than any valid one: is this a VEF file?",
        )
    }

    #[cold]
    fn cut_short(&self, buf: &[u8]) -> PlaceError {
        let is_empty = matches!(self.expects, Expects::Header) && buf.is_empty();
        self.wrong(
            buf.len(),
            &match self.expects {
                Expects::Header => "a header that starts with `VEF` or `VEF3`".into(),
                Expects::Comms { next, .. } => format!("the line of communicator `C{next}`"),
                Expects::Records => "the rest of the line and its line feed".into(),
            },
            "the end of the file",
            if is_empty {
                "the file is empty: copy or record it again"
            } else {
                "the file is cut short: copy or record it again"
            },
        )
    }

    #[cold]
    fn error(&self, line: &[u8], fault: lines::Fault, too_long: bool) -> PlaceError {
        let lines::Fault { rest, expected } = fault;
        let at = line.len() - rest.len();
        // What is after a line that is too long may not be read yet: nothing depends on it.
        let found = quote(rest, too_long);
        let mut cure = expected.cure.to_owned();
        if rest.starts_with(b"\r") {
            cure =
                "lines end with LF only: convert the file with `dos2unix` or `tr -d '\\r'`".into();
        } else if expected == lines::MAGIC {
            cure = if line.starts_with(b"VEF") {
                "only the versions VEF and VEF3 are supported: convert the trace".into()
            } else {
                "this is no VEF trace, and it does not look like one of DUMPI, GOAL, TI or OTF2"
                    .into()
            };
        } else if let Expects::Comms { count, .. } = self.expects
            && at == 0
        {
            cure = format!("the header announces {count} communicators: correct it");
        } else if rest.starts_with(b"C") && at == 0 {
            cure = "more communicators than the header announces: correct its third count".into();
        }
        self.wrong(at, &expected.what, &found, &cure)
    }

    /// The problem at a byte of the next line, from 0.
    #[cold]
    fn wrong(&self, at: usize, expected: &str, found: &str, cure: &str) -> PlaceError {
        let column = at + 1;
        let message = format!("column {column}: expected {expected}, found {found}; {cure}");
        PlaceError::line(self.line + 1, message)
    }
}

/// UTF-8 without control characters but tabs and carriage returns; a character may be cut off.
fn is_text(field: &[u8]) -> bool {
    let control = |b: &u8| b.is_ascii_control() && !matches!(b, b'\t' | b'\r');
    let utf8 = std::str::from_utf8(field).map_or_else(|e| e.error_len().is_none(), |_| true);
    utf8 && !field.iter().any(control)
}

/// The field at the start of `rest`, for a message; what is no text is not shown. `cut` says that the
/// line continues after `rest`.
fn quote(rest: &[u8], cut: bool) -> String {
    match rest.first() {
        None => "the end of the file".into(),
        Some(b'\n') => "the end of the line".into(),
        Some(b' ') => "a space".into(),
        Some(_) => {
            let end = rest.iter().position(|b| matches!(b, b' ' | b'\n'));
            let field = &rest[..end.unwrap_or(rest.len())];
            if is_text(field) {
                quoted_bytes(field, end.is_some() || !cut)
            } else {
                "binary data".into()
            }
        }
    }
}
