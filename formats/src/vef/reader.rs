//! Reads a file record by record.

use std::path::Path;

use flitwise_base::place::PlaceError;

use super::parser::{Parser, Step};
use super::record::{Comm, Header, Record};
use crate::error::Error;
use crate::foreign::Foreign;
use crate::source::Source;

/// A VEF file, open after its header and communicators.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    parser: Parser,
    header: Header,
    comms: Vec<Comm>,
    failed: bool,
}

impl Reader {
    /// Opens a file (plain, gzip or zstd) and reads its header and communicators.
    ///
    /// # Errors
    /// If the file can't be read or these lines are not VEF.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of(Source::open(path.as_ref())?)
    }

    /// As [`Reader::open`], for a file that is already open.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn of(mut source: Source) -> Result<Self, Error> {
        let mut parser = Parser::new();
        let mut header = None;
        let mut comms = Vec::new();
        loop {
            let (buf, eof) = source.buffer();
            match parser.next(buf, eof) {
                Ok(Step::Header {
                    consumed,
                    header: h,
                }) => {
                    source.consume(consumed);
                    header = Some(h);
                }
                Ok(Step::Comm { consumed, comm }) => {
                    source.consume(consumed);
                    comms.push(comm);
                }
                Ok(Step::NeedMore) => source.more()?,
                Ok(Step::Record { .. } | Step::End) => {}
                Err(e) => return Err(unread(&source, parser.line() == 0, e)),
            }
            if let Some(header) = header.take_if(|h| h.comms as usize == comms.len()) {
                return Ok(Self {
                    source,
                    parser,
                    header,
                    comms,
                    failed: false,
                });
            }
        }
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// The first line.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The communicators by index; communicator `k` is in line `k + 2`.
    #[must_use]
    pub fn comms(&self) -> &[Comm] {
        &self.comms
    }

    /// First line whose traffic bit was ignored; see [`Parser::ignored_traffic`].
    #[must_use]
    pub fn ignored_traffic(&self) -> Option<u64> {
        self.parser.ignored_traffic()
    }

    /// The next record with its line number; `None` at the end of the file.
    ///
    /// # Errors
    /// If the file can't be read or the line is not VEF.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<(u64, Record)>, Error> {
        loop {
            let (buf, eof) = self.source.buffer();
            match self.parser.next(buf, eof) {
                Ok(Step::Record { consumed, record }) => {
                    self.source.consume(consumed);
                    return Ok(Some((self.parser.line(), record)));
                }
                Ok(Step::NeedMore) => self.source.more()?,
                Ok(_) => return Ok(None),
                Err(e) => return Err(Error::broken(e.of(&self.path().into()))),
            }
        }
    }
}

/// Why the start of a file is not VEF. If its `first` line does not begin like one, it may be of another
/// format altogether.
#[cold]
fn unread(source: &Source, first: bool, error: PlaceError) -> Error {
    let head = source.buffer().0;
    let other = first && !head.starts_with(b"VEF");
    let foreign = other.then(|| Foreign::of(head)).flatten();
    match foreign {
        Some(format) => Error::foreign(source.path(), format),
        None => Error::broken(error.of(&source.path().into())),
    }
}

/// Ends after the first error.
impl Iterator for Reader {
    type Item = Result<(u64, Record), Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.next_record().transpose();
        self.failed = matches!(item, Some(Err(_)));
        item
    }
}
