//! Reads a stream record by record.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::PlaceError;

use super::call::Call;
use super::function::{CallKind, Function};
use super::header::{Header, SIZE, checksum, chunk, number};
use super::record::{Communicator, Current, End, Item, Record, Times, Tuple};
use super::slots::Slots;
use super::wire::{Cursor, Fault};
use crate::error::Error;
use crate::limits::{MAX_RECORDING_BLOCK, MAX_RECORDING_FUNCTIONS};
use crate::member::{Member, Open};

/// The cure of bytes that no recorder writes.
pub(super) const DAMAGED: &str = "the stream is damaged: copy it or record the program again";

/// Where the bytes of a stream are.
#[derive(Debug, Clone)]
enum Bytes {
    /// A file, which is open only while a block is read: a job has thousands of streams.
    File(Member, Open),
    Memory(Arc<[u8]>),
}

/// The records of a stream, in the order of the calls' ends.
///
/// It has one block of the stream in memory, and the tuples that the stream may repeat.
#[derive(Debug)]
pub struct Reader {
    path: Arc<Path>,
    bytes: Bytes,
    header: Header,
    /// Bytes of the file before the next block.
    next_block: u64,
    block: Vec<u8>,
    /// Bytes of the file before the block.
    offset: u64,
    /// Bytes of the block before the next record.
    pos: usize,
    functions: Vec<Function>,
    slots: Slots,
    current: Option<Current>,
    /// Requests and messages made so far.
    requests: u64,
    messages: u64,
    /// Nanoseconds since the header, at the end of the call before.
    clock_ns: u64,
    end: Option<End>,
    /// The program came to its end, so that the stream has one.
    is_finalised: bool,
}

impl Reader {
    /// A stream of a program that came to its end, or of one that may have been killed.
    pub(super) fn of_member(
        member: &Member,
        open: &Open,
        is_finalised: bool,
    ) -> Result<Self, Error> {
        let bytes = Bytes::File(member.clone(), open.clone());
        let reader = Self::new(member.name(), bytes)?;
        Ok(Self {
            is_finalised,
            ..reader
        })
    }

    /// A stream of these bytes, which messages call `path`.
    ///
    /// # Errors
    /// If its header is broken.
    pub fn of_bytes(path: &Path, bytes: impl Into<Arc<[u8]>>) -> Result<Self, Error> {
        Self::new(&path.into(), Bytes::Memory(bytes.into()))
    }

    fn new(path: &Arc<Path>, bytes: Bytes) -> Result<Self, Error> {
        let mut head = Vec::new();
        bytes
            .read(0, SIZE, &mut head)
            .map_err(|e| Error::io(path, e))?;
        let header = match head.first_chunk() {
            Some(head) => Header::parse(head),
            None => Err((
                head.len(),
                "the header is cut off: the disk was full, or the program was killed at once"
                    .to_owned(),
            )),
        };
        let header =
            header.map_err(|(at, why)| Error::broken(PlaceError::byte(at as u64, why).of(path)))?;
        Ok(Self {
            path: Arc::clone(path),
            bytes,
            header,
            next_block: SIZE as u64,
            block: Vec::new(),
            offset: SIZE as u64,
            pos: 0,
            functions: Vec::new(),
            slots: Slots::default(),
            current: None,
            requests: 0,
            messages: 0,
            clock_ns: 0,
            end: None,
            is_finalised: false,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// Its header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of the file before the next record, or before what could not be read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset + self.pos as u64
    }

    /// The name of the function with this index.
    pub(super) fn function(&self, index: u64) -> Option<&Function> {
        self.functions.get(usize::try_from(index).ok()?)
    }

    /// Shows the next record to `read`, and returns what it returns; `None` after the last one.
    ///
    /// # Errors
    /// If the file can't be read or is damaged: a whole block of it violates the format, or it stops early though the program
    /// came to its end.
    pub fn next<R>(&mut self, read: impl FnOnce(&Item<'_>) -> R) -> Result<Option<R>, Error> {
        if !self.load()? {
            return Ok(None);
        }
        let item = self.item()?;
        let made = made(&item);
        let read = read(&item);
        self.advance(made);
        Ok(Some(read))
    }

    /// Whether there is a next record: once it was loaded.
    pub(super) fn is_loaded(&self) -> bool {
        self.current.is_some()
    }

    /// Requests that the thread made so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Finds the next record; false if there is none.
    pub(super) fn load(&mut self) -> Result<bool, Error> {
        while self.current.is_none() {
            if self.pos >= self.block.len() {
                if !self.more()? {
                    return Ok(false);
                }
            } else if let Err(fault) = self.record() {
                return Err(self.broken(fault));
            }
        }
        Ok(true)
    }

    /// The time at which the next record begins and ends, in nanoseconds since the header: once it is loaded.
    pub(super) fn span_ns(&self) -> [u64; 2] {
        match &self.current {
            Some(Current::Call { times, .. }) => {
                let begin = self.clock_ns.saturating_add(times.wall_ns);
                [begin, begin.saturating_add(times.inside_ns)]
            }
            _ => [self.clock_ns; 2],
        }
    }

    /// The time that the recorder takes behind the next record, which is in none.
    fn recorders_ns(&self) -> u64 {
        let Some(Current::Call { repeats, .. }) = &self.current else {
            return 0;
        };
        let overhead = &self.header.overhead;
        let counted = overhead.wall_ns.saturating_add(overhead.inside_ns);
        let behind = overhead.call_ns.saturating_sub(counted);
        repeats.saturating_mul(behind.into())
    }

    /// The record that is loaded.
    pub(super) fn item(&self) -> Result<Item<'_>, Error> {
        self.decode().map_err(|fault| self.broken(fault))
    }

    /// Passes over the record that is loaded, which makes these numbers of requests and messages.
    pub(super) fn advance(&mut self, [requests, messages]: [u64; 2]) {
        let [_, end] = self.span_ns();
        self.clock_ns = end.saturating_add(self.recorders_ns());
        self.requests = self.requests.saturating_add(requests);
        self.messages = self.messages.saturating_add(messages);
        if let Some(Current::End(end)) = self.current.take() {
            self.end = Some(end);
        }
    }

    #[cold]
    fn broken(&self, fault: Fault) -> Error {
        let at = self.offset.saturating_add(fault.at as u64);
        let message = format!("rank {}: {}; {DAMAGED}", self.header.rank, fault.problem);
        Error::broken(PlaceError::byte(at, message).of(&self.path))
    }

    /// Reads the next block; false if there is none that is whole.
    fn more(&mut self) -> Result<bool, Error> {
        const HEAD: usize = 16;
        self.offset = self.next_block;
        self.pos = 0;
        self.block.clear();
        let mut head = Vec::new();
        let read = |at, size, into: &mut Vec<u8>| {
            let read = self.bytes.read(at, size, into);
            read.map_err(|e| Error::io(&self.path, e))
        };
        read(self.next_block, HEAD, &mut head)?;
        let size = number(&head, 0) as usize;
        if head.len() < HEAD || size == 0 {
            return self.stops(head.is_empty());
        }
        if size > MAX_RECORDING_BLOCK {
            return Err(self.broken_block("a block that is too long"));
        }
        let payload = self.next_block + HEAD as u64;
        read(payload, size, &mut self.block)?;
        if self.block.len() < size {
            self.block.clear();
            return self.stops(false);
        }
        let sum = checksum(&[head.get(8..).unwrap_or_default(), &self.block]);
        if sum != number(&head, 4) {
            self.block.clear();
            return Err(self.broken_block("the checksum of a block is wrong"));
        }
        self.offset = payload;
        self.next_block = payload + size as u64;
        // The recorder's own time between calls is in no record.
        let begin = u64::from_le_bytes(chunk(&head, 8));
        self.clock_ns = self.clock_ns.max(begin);
        Ok(true)
    }

    /// The stream stops, within a block or behind a whole one: false, unless that is damage. A program that is killed stops
    /// its streams anywhere, and one that ends the stream of a thread that is in a call.
    fn stops(&self, is_behind_block: bool) -> Result<bool, Error> {
        let is_in_call = is_behind_block && self.header.thread > 0;
        if !self.is_finalised || self.end.is_some() || is_in_call {
            return Ok(false);
        }
        Err(self.broken_block("the stream stops here, though the program came to its end"))
    }

    #[cold]
    fn broken_block(&self, problem: &'static str) -> Error {
        self.broken(Fault { at: 0, problem })
    }

    /// Reads the record at the place of the reader: one that is shown is current then.
    fn record(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        let mut cursor = Cursor::at(&self.block, start);
        if self.end.is_some() {
            return cursor.fault("a record behind the end of the stream");
        }
        let offset = self.offset + start as u64;
        let (repeats, kind) = repeated(&mut cursor)?;
        match kind {
            3 => {
                if self.functions.len() >= MAX_RECORDING_FUNCTIONS {
                    return cursor.fault("too many names of functions");
                }
                let function = Function::named(cursor.text()?);
                self.functions.push(function);
            }
            4 => {
                Communicator::read(&mut cursor, &self.functions)?;
                self.current = Some(Current::Communicator(start..cursor.pos()));
            }
            5 => {
                self.current = Some(Current::End(End::read(&mut cursor, self.header.thread)?));
            }
            6 => {
                cursor.text()?;
                self.current = Some(Current::Note(start..cursor.pos()));
            }
            7 => self.clock_ns = cursor.number()?,
            _ => {
                let tuple = tuple(kind, &mut cursor, &mut self.slots)?;
                self.current = Some(Current::Call {
                    offset,
                    tuple,
                    repeats,
                    times: Times::read(&mut cursor)?,
                });
            }
        }
        self.pos = cursor.pos();
        Ok(())
    }

    /// The meaning of the current record.
    fn decode(&self) -> Result<Item<'_>, Fault> {
        let at_end = Fault {
            at: self.pos,
            problem: "no record",
        };
        match self.current.as_ref().ok_or(at_end)? {
            Current::Call {
                offset,
                tuple,
                repeats,
                times,
            } => {
                let (bytes, at) = match tuple {
                    Tuple::Slot(slot) => (self.slots.get(*slot).unwrap_or_default(), 0),
                    Tuple::Inline(range) => {
                        (self.block.get(..range.end).unwrap_or_default(), range.start)
                    }
                };
                let call = self.call(Cursor::at(bytes, at));
                // A tuple that is repeated lies elsewhere: the place of the record counts.
                let (function, call) = call.map_err(|fault| Fault {
                    at: usize::try_from(offset - self.offset).unwrap_or(self.pos),
                    ..fault
                })?;
                Ok(Item::Call(Record {
                    offset: *offset,
                    thread: self.header.thread,
                    function,
                    call,
                    repeats: *repeats,
                    times: times.without(&self.header.overhead, *repeats),
                    requests: self.requests,
                    messages: self.messages,
                }))
            }
            Current::Communicator(range) => {
                let mut cursor = self.body(range.start, range.end)?;
                let read = Communicator::read(&mut cursor, &self.functions)?;
                Ok(Item::Communicator(read))
            }
            Current::Note(range) => Ok(Item::Note(self.body(range.start, range.end)?.text()?)),
            Current::End(end) => Ok(Item::End(*end)),
        }
    }

    /// The bytes behind the kind of a record.
    fn body(&self, start: usize, end: usize) -> Result<Cursor<'_>, Fault> {
        let mut cursor = Cursor::at(self.block.get(..end).unwrap_or_default(), start);
        cursor.number()?;
        Ok(cursor)
    }

    fn call<'a>(&'a self, mut cursor: Cursor<'a>) -> Result<(&'a Function, Call<'a>), Fault> {
        let code = cursor.number()?;
        let Some(function) = self.function(code >> 1) else {
            return cursor.fault("a call of a function without a name");
        };
        if code & 1 == 1 {
            return Ok((function, Call::Failed));
        }
        let call = Call::read(function, &mut cursor)?;
        if !cursor.is_at_end() && !matches!(function.kind, CallKind::Outside(_)) {
            return cursor.fault("a call with more fields than its function has");
        }
        Ok((function, call))
    }
}

/// Requests and messages that a record makes.
pub(super) fn made(item: &Item<'_>) -> [u64; 2] {
    match item {
        Item::Call(record) if record.call != Call::Failed => [
            u64::from(record.function.kind.makes_request()),
            u64::from(record.call.takes_message()),
        ],
        _ => [0; 2],
    }
}

impl Bytes {
    /// Adds `size` bytes of the file from `at` on to `into`, or as many as there are.
    fn read(&self, at: u64, size: usize, into: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::File(member, open) => {
                let bytes = member.raw(at, open);
                bytes.take(size as u64).read_to_end(into)?;
            }
            Self::Memory(bytes) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let rest = bytes.get(at..).unwrap_or_default();
                into.extend_from_slice(rest.get(..size).unwrap_or(rest));
            }
        }
        Ok(())
    }
}

/// The number of equal calls that a record stands for, and its kind.
fn repeated(cursor: &mut Cursor<'_>) -> Result<(u64, u64), Fault> {
    let kind = cursor.number()?;
    if kind != 2 {
        return Ok((1, kind));
    }
    let (repeats, kind) = (cursor.number()?, cursor.number()?);
    if repeats == 0 || (2..8).contains(&kind) {
        return cursor.fault("a repetition of no call");
    }
    Ok((repeats, kind))
}

/// The tuple of a call: of kind 0 its own, of kind 1 one that takes a slot as well, of the others the one in a slot.
fn tuple(kind: u64, cursor: &mut Cursor<'_>, slots: &mut Slots) -> Result<Tuple, Fault> {
    if kind >= 8 {
        let slot = usize::try_from(kind - 8).unwrap_or(usize::MAX);
        return match slots.get(slot) {
            Some(_) => Ok(Tuple::Slot(slot)),
            None => cursor.fault("a repeated tuple that there is not"),
        };
    }
    let bytes = cursor.counted()?;
    let end = cursor.pos();
    if kind == 0 {
        return Ok(Tuple::Inline(end - bytes.len()..end));
    }
    match slots.define(bytes) {
        Some(slot) => Ok(Tuple::Slot(slot)),
        None => cursor.fault("too many bytes of repeated tuples"),
    }
}
