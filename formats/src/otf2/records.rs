//! The records of a file of events or definitions, chunk by chunk.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::PlaceError;

use super::anchor::END_OF_FILE;
use super::wire::{Fault, Fields, Order, UNDEFINED};
use crate::blocks::Blocks;
use crate::error::Error;
use crate::limits::MAX_OTF2_RECORD;

/// Bytes of a chunk header: its mark, the byte order, and the numbers of the first and the last event.
const HEADER: usize = 18;
const END_OF_CHUNK: u8 = 0;
const CHUNK_HEADER: u8 = 3;
const TIMESTAMP: u8 = 5;
const ATTRIBUTES: u8 = 6;

/// The layout of the records of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Whether there are time stamps and attributes between the records.
    pub events: bool,
    /// Records of one number, which have no length.
    pub single: fn(u8) -> bool,
    /// Records that are read; others are skipped.
    pub wanted: fn(u8) -> bool,
}

/// A record.
#[derive(Debug)]
pub(super) struct Raw<'a> {
    /// Bytes of the unpacked file before it.
    pub offset: u64,
    /// Its kind.
    pub kind: u8,
    /// Ticks of the location's clock, of an event.
    pub time: u64,
    /// Its values; empty if it was skipped.
    pub fields: Fields<'a>,
}

/// The records of a file, from start to end.
///
/// It has one block of the file in memory, and the longest record that is read.
pub(super) struct Records {
    path: Arc<Path>,
    blocks: Blocks,
    layout: Layout,
    order: Order,
    /// Bytes before the ones that are in memory.
    offset: u64,
    /// Bytes of the record that was given out last.
    given: usize,
    time: u64,
    started: bool,
    ended: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Records");
        shown
            .field("path", &self.path)
            .field("offset", &self.offset);
        shown.finish_non_exhaustive()
    }
}

/// The next record of a file, or its end.
enum Next {
    Record {
        kind: u8,
        offset: u64,
        head: usize,
        body: usize,
    },
    End,
}

impl Records {
    /// The records in `input`, the unpacked bytes of the file at `path`.
    pub fn new(path: Arc<Path>, input: Box<dyn Read + Send>, layout: Layout) -> Self {
        Self {
            path,
            blocks: Blocks::new(input),
            layout,
            order: Order::Little,
            offset: 0,
            given: 0,
            time: 0,
            started: false,
            ended: false,
        }
    }

    /// The file.
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// A problem at an offset of the file.
    #[cold]
    pub fn problem(&self, offset: u64, message: impl Into<String>) -> Error {
        Error::broken(PlaceError::byte(offset, message).of(&self.path))
    }

    /// That the values of a record are none.
    #[cold]
    pub fn fault(&self, offset: u64, what: &str, fault: Fault) -> Error {
        self.problem(
            offset,
            format!("the {what} record is damaged: {fault}; copy the file again"),
        )
    }

    /// The next record; `None` at the end mark.
    pub fn next_record(&mut self) -> Result<Option<Raw<'_>>, Error> {
        let found = if self.ended {
            Ok(Next::End)
        } else {
            self.find()
        };
        match found {
            Ok(Next::End) => {
                self.ended = true;
                Ok(None)
            }
            Ok(Next::Record {
                kind,
                offset,
                head,
                body,
            }) => {
                self.given = head + body;
                let (buf, _) = self.blocks.rest();
                let bytes = buf.get(head..head + body).unwrap_or_default();
                Ok(Some(Raw {
                    offset,
                    kind,
                    time: self.time,
                    fields: Fields::new(bytes, self.order),
                }))
            }
            Err(e) => {
                self.ended = true;
                Err(e)
            }
        }
    }

    fn find(&mut self) -> Result<Next, Error> {
        let given = std::mem::take(&mut self.given);
        self.consume(given);
        if !self.started {
            self.started = true;
            self.header()?;
        }
        loop {
            let offset = self.offset;
            let kind = self.peek(1)?[0];
            match kind {
                END_OF_CHUNK => {
                    self.skip(self.layout.chunk - offset % self.layout.chunk)?;
                    self.header()?;
                }
                END_OF_FILE => return Ok(Next::End),
                TIMESTAMP if self.layout.events => {
                    let stamp: [u8; 9] = self.peek(9)?.try_into().unwrap_or_default();
                    let [_, time @ ..] = stamp;
                    self.time = self.order.u64(time);
                    self.consume(9);
                }
                ATTRIBUTES if self.layout.events => {
                    let (head, body) = self.length()?;
                    self.skip(head as u64 + body)?;
                }
                1..TIMESTAMP => {
                    let problem = format!(
                        "no record begins with byte {kind}: the file is damaged, or its recording ended early; record the \
                         program to its end"
                    );
                    return Err(self.problem(offset, problem));
                }
                _ => {
                    if let Some(next) = self.record(kind, offset)? {
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// The record of this kind at the start of the buffer; `None` if it was skipped and is no event.
    fn record(&mut self, kind: u8, offset: u64) -> Result<Option<Next>, Error> {
        if (self.layout.single)(kind) {
            let length = self.peek(2)?[1];
            let body = match length {
                UNDEFINED => 1,
                0..=8 => 1 + usize::from(length),
                _ => {
                    let fault = Fault::Length(length);
                    return Err(self.fault(offset, "event", fault));
                }
            };
            self.peek(1 + body)?;
            let head = 1;
            return Ok(Some(Next::Record {
                kind,
                offset,
                head,
                body,
            }));
        }
        let (head, body) = self.length()?;
        if !(self.layout.wanted)(kind) {
            self.skip(head as u64 + body)?;
            let (head, body) = (0, 0);
            return Ok(self.layout.events.then_some(Next::Record {
                kind,
                offset,
                head,
                body,
            }));
        }
        let body = usize::try_from(body)
            .ok()
            .filter(|&body| body <= MAX_OTF2_RECORD);
        let Some(body) = body else {
            let problem = format!(
                "a record has more than {MAX_OTF2_RECORD} bytes: the file is damaged; copy it again"
            );
            return Err(self.problem(offset, problem));
        };
        self.peek(head + body)?;
        Ok(Some(Next::Record {
            kind,
            offset,
            head,
            body,
        }))
    }

    /// Bytes before the values of the record at the start of the buffer, and bytes of the values.
    fn length(&mut self) -> Result<(usize, u64), Error> {
        let length = self.peek(2)?[1];
        if length != 0xff {
            return Ok((2, length.into()));
        }
        let long: [u8; 10] = self.peek(10)?.try_into().unwrap_or_default();
        let [_, _, length @ ..] = long;
        let length = self.order.u64(length);
        // No more than a file can have, so that no sum of offsets is beyond the range.
        if length > 1 << 62 {
            let problem =
                format!("a record has {length} bytes: the file is damaged; copy it again");
            return Err(self.problem(self.offset, problem));
        }
        Ok((10, length))
    }

    fn header(&mut self) -> Result<(), Error> {
        let offset = self.offset;
        let header = self.peek(HEADER)?;
        let order = match header {
            [CHUNK_HEADER, order, ..] => Order::of(*order),
            _ => None,
        };
        let Some(order) = order else {
            let problem = "expected the header of a chunk of an OTF2 archive; copy the file again";
            return Err(self.problem(offset, problem));
        };
        self.order = order;
        self.consume(HEADER);
        Ok(())
    }

    /// The next `n` bytes or more, without reading past them.
    #[inline]
    fn peek(&mut self, n: usize) -> Result<&[u8], Error> {
        if self.blocks.rest().0.len() < n {
            self.more(n)?;
        }
        let (buf, _) = self.blocks.rest();
        Ok(buf.get(..n).unwrap_or_default())
    }

    #[cold]
    fn more(&mut self, n: usize) -> Result<(), Error> {
        self.fill(n)?;
        if self.blocks.rest().0.len() >= n {
            return Ok(());
        }
        Err(self.cut())
    }

    fn fill(&mut self, n: usize) -> Result<(), Error> {
        let filled = self.blocks.more(n);
        filled.map_err(|e: io::Error| Error::io(&self.path, e))
    }

    /// That the file ends without its end mark.
    #[cold]
    fn cut(&self) -> Error {
        let end = self.offset + self.blocks.rest().0.len() as u64;
        self.problem(
            end,
            "the file ends without its end mark: the recording ended early, or the file was not copied whole",
        )
    }

    fn consume(&mut self, n: usize) {
        self.blocks.consume(n);
        self.offset += n as u64;
    }

    /// Passes over `n` bytes.
    fn skip(&mut self, n: u64) -> Result<(), Error> {
        let mut left = n;
        loop {
            let (buf, eof) = self.blocks.rest();
            let here = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
            let ends = eof && (here as u64) < left;
            self.consume(here);
            left -= here as u64;
            if left == 0 {
                return Ok(());
            }
            if ends {
                return Err(self.cut());
            }
            self.fill(1)?;
        }
    }
}
