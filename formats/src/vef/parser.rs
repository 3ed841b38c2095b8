//! The streaming parser. It opens no files: the caller feeds it bytes.

use memchr::memchr;

use super::cursor::{Expected, Fault};
use super::fast;
use super::grammar::{self, MAGIC};
use super::parse_error::{ParseError, quote};
use super::record::{Comm, Dep, Header, Record, Version};
use crate::limits::{MAX_COMM_LINE, MAX_COMM_MEMBERS, MAX_DIGITS, MAX_RECORD_LINE};

/// What [`Parser::next`] found at the start of its bytes.
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

    /// Clears bit 2 of `Dep`, which means nothing in version `VEF`.
    #[inline]
    fn without_traffic_bit(&mut self, mut record: Record) -> Record {
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
        record
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
    /// # Ok::<(), flitwise_formats::vef::ParseError>(())
    /// ```
    #[inline]
    pub fn next(&mut self, buf: &[u8], eof: bool) -> Result<Step, ParseError> {
        if !matches!(self.expects, Expects::Records) {
            return self.preamble(buf, eof);
        }
        match fast::record(buf) {
            Some((record, consumed)) => {
                self.line += 1;
                let record = self.without_traffic_bit(record);
                Ok(Step::Record { consumed, record })
            }
            None => self.careful(buf, eof),
        }
    }

    /// Parses a line that the hot path left, or explains why it is wrong.
    #[cold]
    fn careful(&mut self, buf: &[u8], eof: bool) -> Result<Step, ParseError> {
        match grammar::record(buf) {
            Ok((record, consumed)) => {
                self.line += 1;
                let record = self.without_traffic_bit(record);
                Ok(Step::Record { consumed, record })
            }
            Err(fault) => self.unparsed(buf, eof, fault, MAX_RECORD_LINE),
        }
    }

    #[cold]
    fn preamble(&mut self, buf: &[u8], eof: bool) -> Result<Step, ParseError> {
        let fault = match self.expects {
            Expects::Header => match grammar::header(buf) {
                Ok((header, consumed)) => {
                    self.line += 1;
                    self.version = Some(header.version);
                    self.expects = match header.comms {
                        0 => Expects::Records,
                        count => Expects::Comms { next: 0, count },
                    };
                    return Ok(Step::Header { consumed, header });
                }
                Err(fault) => fault,
            },
            Expects::Comms { next, count } => {
                // A long line comes in pieces: don't parse it again with each of them.
                let head = &buf[..buf.len().min(MAX_COMM_LINE + 1)];
                let whole = head.len() > MAX_COMM_LINE || memchr(b'\n', head).is_some();
                if !whole && !eof {
                    return Ok(Step::NeedMore);
                }
                match grammar::comm(head, next, count, MAX_COMM_MEMBERS - self.members) {
                    Ok((comm, consumed)) => {
                        self.line += 1;
                        self.members += comm.members.len();
                        self.expects = if next + 1 == count {
                            Expects::Records
                        } else {
                            Expects::Comms {
                                next: next + 1,
                                count,
                            }
                        };
                        return Ok(Step::Comm { consumed, comm });
                    }
                    Err(fault) => return self.unparsed(buf, eof, fault, MAX_COMM_LINE),
                }
            }
            Expects::Records => return Ok(Step::NeedMore),
        };
        self.unparsed(buf, eof, fault, MAX_RECORD_LINE)
    }

    /// Finds why a line of at most `max` bytes does not parse: it is incomplete, too long, or wrong.
    #[cold]
    fn unparsed(
        &self,
        buf: &[u8],
        eof: bool,
        fault: Fault,
        max: usize,
    ) -> Result<Step, ParseError> {
        let head = &buf[..buf.len().min(max + 1)];
        if memchr(b'\n', head).is_some() {
            return Err(self.error(head, fault, max));
        }
        if head.len() > max {
            // A file that is not VEF gets that message, even if its first line is too long.
            if fault.expected == MAGIC {
                return Err(self.error(head, fault, max));
            }
            return Err(self.too_long(head, max));
        }
        if !eof {
            return Ok(Step::NeedMore);
        }
        let records = matches!(self.expects, Expects::Records);
        if buf.is_empty() && records {
            return Ok(Step::End);
        }
        // An error before the end of the line makes the better message.
        if fault.at < buf.len() {
            return Err(self.error(head, fault, max));
        }
        Err(self.cut_short(buf))
    }

    #[cold]
    fn too_long(&self, buf: &[u8], max: usize) -> ParseError {
        ParseError::new(
            self.line + 1,
            max + 1,
            format!("a line feed within {max} bytes"),
            quote(buf, true),
            "the line is longer than any valid one: is this a VEF file?",
        )
    }

    #[cold]
    fn cut_short(&self, buf: &[u8]) -> ParseError {
        let is_empty = matches!(self.expects, Expects::Header) && buf.is_empty();
        ParseError::new(
            self.line + 1,
            buf.len() + 1,
            match self.expects {
                Expects::Header => "a header that starts with `VEF` or `VEF3`".into(),
                Expects::Comms { next, .. } => format!("the line of communicator `C{next}`"),
                Expects::Records => "the rest of the line and its line feed".into(),
            },
            "the end of the file".into(),
            match is_empty {
                true => "the file is empty: copy or record it again",
                false => "the file is cut short: copy or record it again",
            },
        )
    }

    #[cold]
    fn error(&self, buf: &[u8], fault: Fault, max: usize) -> ParseError {
        let rest = &buf[fault.at.min(buf.len())..];
        // What is after a line that is too long may not be read yet: nothing depends on it.
        let found = quote(rest, buf.len() > max);
        let (expected, mut cure) = match fault.expected {
            Expected::Number(f) => (
                format!("a whole number for {f}"),
                "fields are separated by single spaces and hold digits only",
            ),
            Expected::Fitting(f, max) => (
                format!("{f} of at most {max}"),
                "the value is out of range: correct it or record the trace again",
            ),
            Expected::Digits(f) => (
                format!("{f} of at most {MAX_DIGITS} digits"),
                "write the number without zeros before it, or record the trace again",
            ),
            Expected::Space(f) => (
                format!("a single space after {f}"),
                "a point-to-point record has 7 fields, a collective record 9, separated by \
                 single spaces",
            ),
            Expected::LineEnd(f) => (
                format!("a line feed after {f}"),
                "remove what follows the last field",
            ),
            Expected::Text(t) => (t.to_owned(), "see the format's description"),
        };
        if rest.starts_with(b"\r") {
            cure = "lines end with LF only: convert the file with `dos2unix` or `tr -d '\\r'`";
        } else if fault.expected == MAGIC {
            cure = if buf.starts_with(b"VEF") {
                "only the versions VEF and VEF3 are supported: convert the trace"
            } else {
                "this is no VEF trace, and it does not look like one of DUMPI, GOAL or TI"
            };
        } else if let Expects::Comms { count, .. } = self.expects
            && fault.at == 0
            && self.line > 0
        {
            return ParseError::new(
                self.line + 1,
                1,
                expected,
                found,
                format!("the header announces {count} communicators: correct it"),
            );
        } else if rest.starts_with(b"C") && fault.at == 0 {
            cure = "more communicators than the header announces: correct its third count";
        }
        ParseError::new(self.line + 1, fault.at + 1, expected, found, cure)
    }
}
