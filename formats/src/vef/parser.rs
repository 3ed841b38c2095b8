//! The streaming parser. It knows no files: the caller feeds it bytes.

use std::fmt;

use memchr::memchr;

use super::cursor::{Cursor, Expected, Fault};
use super::fast;
use super::record::{Comm, Dep, DepId, Header, Member, Message, Record, Version};
use crate::limits::{
    MAX_COMM_LINE, MAX_COMM_MEMBERS, MAX_COMMS, MAX_QUOTE, MAX_RECORD_LINE, MAX_TASKS,
};

/// What [`Parser::next`] found at the start of the bytes it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Not a whole line: call again with the same bytes and more behind them.
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

    /// Number of the line that was parsed last, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Parses one line at the start of `buf`; `eof` says that nothing follows `buf`.
    ///
    /// # Errors
    /// If the line is not what the format asks for. The parser stays where it is.
    #[inline]
    pub fn next(&mut self, buf: &[u8], eof: bool) -> Result<Step, ParseError> {
        if !matches!(self.expects, Expects::Records) {
            return self.preamble(buf, eof);
        }
        match fast::record(buf) {
            Some((record, consumed)) => {
                self.line += 1;
                Ok(Step::Record { consumed, record })
            }
            None => self.careful(buf, eof),
        }
    }

    /// Parses what the hot path left over, and knows why it can't.
    #[cold]
    fn careful(&mut self, buf: &[u8], eof: bool) -> Result<Step, ParseError> {
        match record(buf) {
            Ok((record, consumed)) => {
                self.line += 1;
                Ok(Step::Record { consumed, record })
            }
            Err(fault) => self.unparsed(buf, eof, fault, MAX_RECORD_LINE),
        }
    }

    #[cold]
    fn preamble(&mut self, buf: &[u8], eof: bool) -> Result<Step, ParseError> {
        let fault = match self.expects {
            Expects::Header => match header(buf) {
                Ok((header, consumed)) => {
                    self.line += 1;
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
                match comm(head, next, count, MAX_COMM_MEMBERS - self.members) {
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

    /// Sorts out why a line does not parse: it isn't whole, too long, or wrong.
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
            return Err(self.error(buf, fault));
        }
        if head.len() > max {
            // What is no VEF file is told so, however long its first line may be.
            if fault.expected == MAGIC {
                return Err(self.error(buf, fault));
            }
            return Err(self.too_long(buf, max));
        }
        if !eof {
            return Ok(Step::NeedMore);
        }
        let records = matches!(self.expects, Expects::Records);
        if buf.is_empty() && records {
            return Ok(Step::End);
        }
        // The fault may be earlier than the end, and then it is the better message.
        if fault.at < buf.len() {
            return Err(self.error(buf, fault));
        }
        Err(self.cut_short(buf))
    }

    #[cold]
    fn too_long(&self, buf: &[u8], max: usize) -> ParseError {
        ParseError::new(
            self.line + 1,
            max + 1,
            format!("a line feed within {max} bytes"),
            quote(buf),
            "the line is longer than any valid one: is this a VEF file?",
        )
    }

    #[cold]
    fn cut_short(&self, buf: &[u8]) -> ParseError {
        ParseError::new(
            self.line + 1,
            buf.len() + 1,
            match self.expects {
                Expects::Header => "a header that starts with `VEF` or `VEF3`".into(),
                Expects::Comms { next, .. } => format!("the line of communicator `C{next}`"),
                Expects::Records => "the rest of the line and its line feed".into(),
            },
            "the end of the file".into(),
            "the file is cut short: copy or record it again",
        )
    }

    #[cold]
    fn error(&self, buf: &[u8], fault: Fault) -> ParseError {
        let rest = &buf[fault.at.min(buf.len())..];
        let (expected, mut cure) = match fault.expected {
            Expected::Number(f) => (
                format!("a whole number for {f}"),
                "fields are separated by single spaces and hold digits only",
            ),
            Expected::Fitting(f, max) => (
                format!("{f} of at most {max}"),
                "the value is out of range: correct it or record the trace again",
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
                "this is not a VEF trace"
            };
        } else if let Expects::Comms { count, .. } = self.expects
            && fault.at == 0
            && self.line > 0
        {
            return ParseError::new(
                self.line + 1,
                1,
                expected,
                quote(rest),
                format!("the header announces {count} communicators: correct it"),
            );
        } else if rest.starts_with(b"C") && fault.at == 0 {
            cure = "more communicators than the header announces: correct its third count";
        }
        ParseError::new(self.line + 1, fault.at + 1, expected, quote(rest), cure)
    }
}

const MAGIC: Expected = Expected::Text("`VEF` or `VEF3`");

/// The field at the start of `rest`, for a message.
fn quote(rest: &[u8]) -> String {
    match rest.first() {
        None => "the end of the file".into(),
        Some(b'\n') => "the end of the line".into(),
        Some(b' ') => "a space".into(),
        Some(_) => {
            let head = &rest[..rest.len().min(MAX_QUOTE + 1)];
            let end = head.iter().position(|b| matches!(b, b' ' | b'\n'));
            let end = end.unwrap_or(head.len());
            let text = head[..end.min(MAX_QUOTE)].escape_ascii();
            let more = if end > MAX_QUOTE { "…" } else { "" };
            format!("`{text}{more}`")
        }
    }
}

#[inline]
fn record(buf: &[u8]) -> Result<(Record, usize), Fault> {
    let mut c = Cursor::new(buf);
    let record = if c.eat(b'G') {
        member(&mut c)?
    } else {
        message(&mut c)?
    };
    Ok((record, c.pos()))
}

#[inline]
fn message(c: &mut Cursor) -> Result<Record, Fault> {
    let id = c.u64("the message ID")?;
    c.space("the message ID")?;
    let src = c.u32("the source")?;
    c.space("the source")?;
    let dst = c.u32("the destination")?;
    c.space("the destination")?;
    let size = c.u64("the size")?;
    c.space("the size")?;
    let (dep, time, after) = tail(c)?;
    Ok(Record::Message(Message {
        id,
        src,
        dst,
        size,
        dep,
        time,
        after,
    }))
}

#[inline]
fn member(c: &mut Cursor) -> Result<Record, Fault> {
    let id = c.u64("the collective's ID")?;
    c.space("the collective's ID")?;
    c.eat(b'C');
    let comm = c.u32("the communicator")?;
    c.space("the communicator")?;
    let op = c.u32("the operation")?;
    c.space("the operation")?;
    let task = c.u32("the task")?;
    c.space("the task")?;
    let send = c.u64("the send size")?;
    c.space("the send size")?;
    let recv = c.u64("the receive size")?;
    c.space("the receive size")?;
    let (dep, time, after) = tail(c)?;
    Ok(Record::Member(Member {
        id,
        comm,
        op,
        task,
        send,
        recv,
        dep,
        time,
        after,
    }))
}

/// `Dep time IDdep LF`.
#[inline]
fn tail(c: &mut Cursor) -> Result<(Dep, u64, DepId), Fault> {
    // Cannot truncate: `up_to` has checked.
    let dep = Dep(c.up_to("Dep", u64::from(u8::MAX))? as u8);
    c.space("Dep")?;
    let time = c.u64("the time")?;
    c.space("the time")?;
    let after = match c.peek() {
        Some(b'-') => {
            if !c.rest().starts_with(b"-1") {
                // Points behind the dash only if that is all there is.
                let dash = usize::from(c.rest().len() == 1);
                c.skip(dash);
                return c.fault(Expected::Text(
                    "`-1`, a message ID or `G<number>` for IDdep",
                ));
            }
            c.skip(2);
            DepId::None
        }
        Some(b'G') => {
            c.skip(1);
            DepId::Collective(c.u64("IDdep")?)
        }
        _ => DepId::Message(c.u64("IDdep")?),
    };
    c.line_end("IDdep")?;
    Ok((dep, time, after))
}

fn header(buf: &[u8]) -> Result<(Header, usize), Fault> {
    let mut c = Cursor::new(buf);
    let version = if buf.starts_with(b"VEF3 ") {
        c.skip(5);
        Version::Vef3
    } else if buf.starts_with(b"VEF ") {
        c.skip(4);
        Version::Vef
    } else if b"VEF3 ".starts_with(buf) {
        // Too short to tell.
        c.skip(buf.len());
        return c.fault(MAGIC);
    } else {
        return c.fault(MAGIC);
    };
    let tasks = c.up_to("the number of tasks", u64::from(MAX_TASKS))? as u32;
    c.space("the number of tasks")?;
    let messages = c.u64("the number of messages")?;
    c.space("the number of messages")?;
    let comms = c.up_to("the number of communicators", u64::from(MAX_COMMS))? as u32;
    c.space("the number of communicators")?;
    let collectives = c.u64("the number of collectives")?;
    c.space("the number of collectives")?;
    let members = c.u64("the number of collective lines")?;
    c.space("the number of collective lines")?;
    let flags: [(&[u8], bool); 4] = [
        (b"0", false),
        (b"1", true),
        (b"FALSE", false),
        (b"TRUE", true),
    ];
    let flag = flags.iter().find(|(text, _)| c.rest().starts_with(text));
    let Some(&(text, only_send_deps)) = flag else {
        return c.fault(Expected::Text(
            "`0`, `1`, `TRUE` or `FALSE` for onlySendDeps",
        ));
    };
    c.skip(text.len());
    let ps_per_unit = if version == Version::Vef3 {
        c.space("onlySendDeps")?;
        let start = c.pos();
        let unit = c.u64("the picoseconds per unit of time")?;
        if unit == 0 {
            return Err(Fault {
                at: start,
                expected: Expected::Text("at least 1 picosecond per unit of time"),
            });
        }
        c.line_end("the picoseconds per unit of time")?;
        unit
    } else {
        c.line_end("onlySendDeps")?;
        1000
    };
    if tasks == 0 {
        return Err(Fault {
            at: c.pos().min(if version == Version::Vef3 { 5 } else { 4 }),
            expected: Expected::Text("at least 1 task"),
        });
    }
    let header = Header {
        version,
        tasks,
        messages,
        comms,
        collectives,
        members,
        only_send_deps,
        ps_per_unit,
    };
    Ok((header, c.pos()))
}

fn comm(buf: &[u8], index: u32, count: u32, room: usize) -> Result<(Comm, usize), Fault> {
    debug_assert!(index < count);
    let mut c = Cursor::new(buf);
    if !c.eat(b'C') {
        return c.fault(Expected::Text("a communicator line, `C<number> task …`"));
    }
    if c.u32("the communicator's number")? != index {
        return Err(Fault {
            at: 0,
            expected: Expected::Text("communicators numbered from `C0` upwards without a gap"),
        });
    }
    let mut members = Vec::new();
    while c.eat(b' ') {
        if members.len() == room {
            return c.fault(Expected::Text(
                "fewer members of all communicators together",
            ));
        }
        members.push(c.u32("a task of the communicator")?);
    }
    if members.is_empty() {
        return c.fault(Expected::Space("the communicator's number"));
    }
    c.line_end("the communicator's tasks")?;
    let members = members.into();
    Ok((Comm { members }, c.pos()))
}

/// Text that is not VEF: where, what was expected, what was seen, and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(Box<Detail>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Detail {
    line: u64,
    column: usize,
    expected: String,
    seen: String,
    cure: String,
}

impl ParseError {
    #[cold]
    fn new(
        line: u64,
        column: usize,
        expected: String,
        seen: String,
        cure: impl Into<String>,
    ) -> Self {
        Self(Box::new(Detail {
            line,
            column,
            expected,
            seen,
            cure: cure.into(),
        }))
    }

    /// Line number, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.0.line
    }

    /// Byte position in the line, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.column
    }
}

impl fmt::Display for ParseError {
    /// Everything but the line, which stands beside the file's name.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let d = &*self.0;
        write!(
            f,
            "column {}: expected {}, found {}; {}",
            d.column, d.expected, d.seen, d.cure
        )
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What the hot path takes, the careful parser takes, with the same result; what
        /// it leaves is broken, incomplete or has a number of 20 digits.
        #[test]
        fn the_hot_path_and_the_careful_parser_agree(
            line in "(G?[0-9]{1,3} C?[0-9]{1,11} [0-9] ([0-9]{1,20} ){1,6}(-1|G?[0-9]{1,20})\n|\
                     [0-9G C\n-]{0,40})",
        ) {
            let careful = record(line.as_bytes());
            match fast::record(line.as_bytes()) {
                Some(fast) => prop_assert_eq!(careful, Ok(fast)),
                None => {
                    let long = line.split(|c: char| !c.is_ascii_digit()).any(|n| n.len() > 19);
                    prop_assert!(careful.is_err() || long, "{:?}", line);
                }
            }
        }
    }
}
