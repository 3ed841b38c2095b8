//! Reads the file of a rank record by record.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::layout::Layout;
use super::parser::{Parser, Step};
use super::problem::{DAMAGED, Problem};
use super::record::Record;
use super::trailer::Trailer;
use crate::blocks::Blocks;
use crate::error::Error;
use crate::source::Encoding;

/// The calls of one rank, in the order in which they returned.
///
/// It has one block of the file in memory, and the longest record. [`Set::reader`](super::Set::reader) makes it.
pub struct Reader {
    name: Arc<Path>,
    rank: u32,
    encoding: Encoding,
    bytes: Blocks,
    parser: Parser,
    trailer: Arc<Trailer>,
    done: bool,
}

impl Reader {
    pub(super) fn new(
        (name, rank): (Arc<Path>, u32),
        encoding: Encoding,
        input: Box<dyn Read + Send>,
        trailer: Arc<Trailer>,
    ) -> Self {
        Self {
            name,
            rank,
            encoding,
            bytes: Blocks::new(input),
            parser: Parser::new(Layout::of(trailer.version)),
            trailer,
            done: false,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.name
    }

    /// The trailer of the file: known from the start.
    #[must_use]
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// Shows the next call to `read`, and returns what `read` returns; `None` after the last one.
    ///
    /// # Errors
    /// If the file can't be read, violates the format, or was changed since it was opened. The reader ends then.
    pub fn next_record<R>(
        &mut self,
        read: impl FnOnce(&Record<'_>) -> R,
    ) -> Result<Option<R>, Error> {
        while !self.done {
            let (buf, eof) = self.bytes.rest();
            let (consumed, more) = match self.parser.next(buf, eof) {
                Ok(Step::Call { consumed, record }) => {
                    let shown = read(&record);
                    self.bytes.consume(consumed);
                    return Ok(Some(shown));
                }
                Ok(Step::Start { consumed } | Step::EndOfCalls { consumed }) => (consumed, 0),
                Ok(Step::Trailer { consumed, trailer }) => {
                    self.end(consumed, &trailer)?;
                    continue;
                }
                Ok(Step::NeedMore { bytes }) => (0, bytes),
                Ok(Step::End) => return Ok(None),
                Err(e) => {
                    self.done = true;
                    return Err(self.broken(e));
                }
            };
            self.bytes.consume(consumed);
            if more > 0
                && let Err(e) = self.bytes.more(more)
            {
                self.done = true;
                return Err(unreadable(&self.name, self.encoding, e));
            }
        }
        Ok(None)
    }

    #[cold]
    fn broken(&self, problem: Problem) -> Error {
        Error::broken(problem.of(self.rank, &self.name))
    }

    fn end(&mut self, consumed: usize, trailer: &Trailer) -> Result<(), Error> {
        self.bytes.consume(consumed);
        self.done = true;
        if *trailer == *self.trailer {
            return Ok(());
        }
        let problem = "the end of the file is not what it was when it was opened";
        let error = Problem::new(self.parser.offset(), None, problem, DAMAGED);
        Err(self.broken(error))
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Reader");
        shown
            .field("name", &self.name)
            .field("parser", &self.parser);
        shown.finish_non_exhaustive()
    }
}

/// Why a file of a rank can't be read.
#[cold]
pub(super) fn unreadable(name: &Path, encoding: Encoding, cause: io::Error) -> Error {
    match encoding {
        Encoding::Plain => Error::io(name, cause),
        Encoding::Gzip => Error::compressed(name, "gzip", cause),
        Encoding::Zstd => Error::compressed(name, "zstd", cause),
    }
}
