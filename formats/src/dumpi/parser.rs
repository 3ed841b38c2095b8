//! The streaming parser. It opens no files: the caller feeds it bytes.

use super::call::Function;
use super::layout::Layout;
use super::problem::{CUT_SHORT, DAMAGED, Problem};
use super::record::{Clock, Clocks, END_OF_CALLS, Record, record};
use super::trailer::{self, MAGIC, Trailer};
use super::wire::{Cursor, Decode, Fault};
use crate::limits::{MAX_DUMPI_RECORD, MAX_DUMPI_TRAILER};

/// The result of [`Parser::next`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// Not a whole record: call again with the same bytes and more after them.
    NeedMore {
        /// Bytes that are needed at least, including the bytes of this call.
        bytes: usize,
    },
    /// The start of the file.
    Start {
        /// Bytes to drop before the next call.
        consumed: usize,
    },
    /// A call.
    Call {
        /// Bytes to drop before the next call.
        consumed: usize,
        /// The call.
        record: Record<'a>,
    },
    /// The end of the calls.
    EndOfCalls {
        /// Bytes to drop before the next call.
        consumed: usize,
    },
    /// All that follows the calls.
    Trailer {
        /// Bytes to drop before the next call.
        consumed: usize,
        /// Its meaning.
        trailer: Box<Trailer>,
    },
    /// The end of the file.
    End,
}

/// Parser of the file of one rank; see the [module of the format](super).
///
/// # Examples
/// ```
/// use flitwise_formats::dumpi::{Layout, Parser, Step};
///
/// // The start of a file, and a call of MPI_Barrier by thread 0 from 2.5 s to 3 s of the rank's clock.
/// let mut file = b"\xff\xaa\xddDUMPI\0\0\0\0\0\0\0\0".to_vec();
/// file.extend(52_u16.to_be_bytes());
/// file.extend([0x48, 0, 0]);
/// file.extend([0, 2, 0x1d, 0xcd, 0x65, 0, 0, 3, 0, 0, 0, 0]);
/// file.extend(2_i16.to_be_bytes());
///
/// let mut parser = Parser::new(Layout::default());
/// let Step::Start { consumed } = parser.next(&file, false)? else { panic!() };
/// let Step::Call { record, .. } = parser.next(&file[consumed..], false)? else { panic!() };
/// assert_eq!(record.call.function().name(), "MPI_Barrier");
/// assert_eq!(record.wall.unwrap().start, 2_500_000_000);
/// # Ok::<(), flitwise_formats::dumpi::Problem>(())
/// ```
#[derive(Debug, Clone)]
pub struct Parser {
    layout: Layout,
    expects: Expects,
    clocks: Clocks,
    /// Bytes consumed.
    offset: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Start,
    Calls,
    Trailer,
    End,
}

impl Parser {
    /// A parser at the start of a file with this layout of records.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            expects: Expects::Start,
            clocks: Clocks::default(),
            offset: 0,
        }
    }

    /// Bytes of the file before those that the next call expects.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Parses what is at the start of `buf`; `eof` says that nothing follows `buf`.
    ///
    /// # Errors
    /// If the file violates the format. The parser stays where it is.
    #[inline]
    pub fn next<'a>(&mut self, buf: &'a [u8], eof: bool) -> Result<Step<'a>, Problem> {
        if self.expects != Expects::Calls {
            return self.other(buf, eof);
        }
        match self.call(buf) {
            Ok((consumed, record)) => {
                self.offset += consumed as u64;
                match record {
                    Some(record) => Ok(Step::Call { consumed, record }),
                    None => {
                        self.expects = Expects::Trailer;
                        Ok(Step::EndOfCalls { consumed })
                    }
                }
            }
            Err(fault) => self.failed(buf, eof, fault),
        }
    }

    /// The record at the start of `buf`; `None` for the end of calls.
    #[inline]
    fn call<'a>(&mut self, buf: &'a [u8]) -> Result<(usize, Option<Record<'a>>), Fault> {
        let mut cursor = Cursor::new(buf, self.layout);
        let number = u16::decode(&mut cursor)?;
        if number == END_OF_CALLS {
            return Ok((cursor.pos(), None));
        }
        // The clocks go on only if the whole record is there.
        let mut clocks = self.clocks;
        let record = record(number, self.offset, &mut clocks, &mut cursor)?;
        self.clocks = clocks;
        Ok((cursor.pos(), Some(record)))
    }

    /// The parts that come once.
    #[cold]
    fn other<'a>(&mut self, buf: &'a [u8], eof: bool) -> Result<Step<'a>, Problem> {
        match self.expects {
            Expects::Start => self.start(buf, eof),
            Expects::Trailer => self.trailer(buf, eof),
            Expects::Calls | Expects::End => Ok(Step::End),
        }
    }

    fn start<'a>(&mut self, buf: &'a [u8], eof: bool) -> Result<Step<'a>, Problem> {
        let known = buf.len().min(MAGIC.len());
        if buf.get(..known) != MAGIC.get(..known) {
            let problem = "expected the bytes `\\xff\\xaa\\xddDUMPI`";
            let cure = "this is not the file of a rank of a DUMPI trace";
            return Err(Problem::new(0, None, problem, cure));
        }
        let mut cursor = Cursor::new(buf, self.layout);
        let mut read = || {
            cursor.bytes(MAGIC.len())?;
            Ok([i32::decode(&mut cursor)?, i32::decode(&mut cursor)?])
        };
        match read() {
            Ok([cpu, wall]) => {
                self.clocks = Clocks {
                    cpu: Clock::new(cpu),
                    wall: Clock::new(wall),
                };
                let consumed = cursor.pos();
                self.offset = consumed as u64;
                self.expects = Expects::Calls;
                Ok(Step::Start { consumed })
            }
            Err(fault) => self.failed(buf, eof, fault),
        }
    }

    fn trailer<'a>(&mut self, buf: &'a [u8], eof: bool) -> Result<Step<'a>, Problem> {
        if buf.len() > MAX_DUMPI_TRAILER {
            let problem = format!("more than {MAX_DUMPI_TRAILER} bytes follow the calls");
            return Err(Problem::new(self.offset, None, problem, DAMAGED));
        }
        if !eof {
            let bytes = buf.len() + 1;
            return Ok(Step::NeedMore { bytes });
        }
        let trailer = trailer::read(buf, self.offset)?;
        if Layout::of(trailer.version) != self.layout {
            let problem = format!(
                "the calls were read as if version {} were another",
                trailer.version
            );
            return Err(Problem::new(self.offset, Some("header"), problem, DAMAGED));
        }
        self.offset += buf.len() as u64;
        self.expects = Expects::End;
        Ok(Step::Trailer {
            consumed: buf.len(),
            trailer: Box::new(trailer),
        })
    }

    /// Says why there is no record at the start of `buf`.
    #[cold]
    fn failed<'a>(&self, buf: &[u8], eof: bool, fault: Fault) -> Result<Step<'a>, Problem> {
        let number = Cursor::new(buf, self.layout)
            .bytes(2)
            .map_or(0, |b| u16::from_be_bytes(b.try_into().unwrap_or_default()));
        let calls = self.expects == Expects::Calls;
        let within = Function::from_number(number)
            .filter(|_| calls)
            .map(Function::name);
        let error = |at: usize, problem: String, cure| {
            Err(Problem::new(self.offset + at as u64, within, problem, cure))
        };
        match fault {
            Fault::Short(bytes) if bytes > MAX_DUMPI_RECORD => {
                let problem = format!(
                    "the record would have {bytes} bytes or more, beyond {MAX_DUMPI_RECORD}"
                );
                error(0, problem, DAMAGED)
            }
            Fault::Short(bytes) if !eof => Ok(Step::NeedMore { bytes }),
            Fault::Short(bytes) => {
                let at = buf.len();
                let problem = match (calls, at) {
                    (true, 0) => "expected a record or the end of calls, found the end of the file"
                        .to_owned(),
                    _ => format!(
                        "expected at least {bytes} bytes here, found {at} and the end of the file"
                    ),
                };
                error(0, problem, CUT_SHORT)
            }
            Fault::Count(at, count) => error(at, format!("an array has {count} elements"), DAMAGED),
            Fault::Nanoseconds(at, ns) => error(
                at,
                format!("a time has {ns} nanoseconds beside its seconds"),
                DAMAGED,
            ),
            Fault::Time(at) => error(
                at,
                "a time is beyond the range of 64 bits".to_owned(),
                DAMAGED,
            ),
            Fault::Function(number) => {
                let problem =
                    format!("expected the number of a function, at most 292, found {number}");
                error(0, problem, DAMAGED)
            }
            Fault::Mask(mask) => error(
                2,
                format!("the record has parts that are not known (mask {mask:#04x})"),
                DAMAGED,
            ),
        }
    }
}
