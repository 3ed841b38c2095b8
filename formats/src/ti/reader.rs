//! Reads the actions of one rank.

use crate::source::open_regular;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem};

use super::action::{Action, Mode};
use super::lanes::{LanePlace, Lanes};
use super::parser::{Parser, Step};
use super::proc_null::ProcNull;
use crate::error::Error;

/// Bytes read at once.
const BLOCK: usize = 16 * 1024;

/// Where the lines of a rank are.
#[derive(Debug, Clone)]
pub(super) struct RankFile {
    /// How messages call the file.
    pub path: Arc<Path>,
    pub bytes: RankBytes,
}

#[derive(Debug, Clone)]
pub(super) enum RankBytes {
    /// In a file that is not packed. It is opened for each block: a trace may have more files than a process may have
    /// open.
    File,
    /// In a lane.
    Lane(Arc<Lanes>, usize),
}

/// The actions of one rank, in order. Takes some kilobytes of memory, whatever the length of the trace.
#[derive(Debug, Clone)]
pub struct Actions {
    file: RankFile,
    rank: u32,
    proc_null: Arc<ProcNull>,
    parser: Parser,
    buf: Vec<u8>,
    /// Bytes of `buf` that are parsed.
    parsed: usize,
    /// The place in the file where the next block begins.
    at: u64,
    place: LanePlace,
    eof: bool,
    failed: bool,
}

impl Actions {
    pub(super) fn new(file: &RankFile, rank: u32, ranks: u32, numbered: bool) -> Self {
        Self {
            file: file.clone(),
            rank,
            proc_null: Arc::default(),
            parser: if numbered {
                Parser::numbered(ranks, rank)
            } else {
                Parser::new(ranks)
            },
            buf: Vec::new(),
            parsed: 0,
            at: 0,
            place: LanePlace::default(),
            eof: false,
            failed: false,
        }
    }

    /// The same without the receives from `MPI_PROC_NULL`.
    pub(super) fn without(self, proc_null: &Arc<ProcNull>) -> Self {
        let proc_null = Arc::clone(proc_null);
        Self { proc_null, ..self }
    }

    /// The file that the rank is in.
    #[must_use]
    pub fn path(&self) -> &Arc<Path> {
        &self.file.path
    }

    /// The next action with its line; `None` at the end.
    ///
    /// # Errors
    /// If the file can't be read or the line violates the format.
    #[inline]
    pub fn next_action(&mut self) -> Result<Option<(u64, Action)>, Error> {
        loop {
            match self.parser.next(&self.buf[self.parsed..], self.eof) {
                Ok(Step::NeedMore) => self.more()?,
                Ok(Step::Nothing { consumed }) => self.parsed += consumed,
                Ok(Step::Action {
                    consumed,
                    rank,
                    action,
                }) => {
                    self.parsed += consumed;
                    let line = self.parser.line();
                    if rank == self.rank {
                        match self.without_proc_null(action) {
                            Some(action) => return Ok(Some((line, action))),
                            None => continue,
                        }
                    }
                    return Err(self.wrong(PlaceError::line(
                        line,
                        format!(
                            "a line of rank {rank} in the file of rank {}; correct the rank, or the order of the list \
                             of files",
                            self.rank
                        ),
                    )));
                }
                Ok(Step::End) => return Ok(None),
                Err(e) => return Err(self.wrong(e)),
            }
        }
    }

    /// The action without what it receives from `MPI_PROC_NULL`; `None` if nothing is left of it.
    #[inline]
    fn without_proc_null(&self, action: Action) -> Option<Action> {
        let is_from_proc_null = |tag| self.proc_null.sends(self.rank, tag);
        match action {
            Action::Recv {
                from: None, tag, ..
            } if is_from_proc_null(tag) => None,
            Action::SendRecv {
                to,
                send,
                from: None,
                ..
            } if is_from_proc_null(Some(0)) => Some(Action::Send {
                to,
                tag: 0,
                elements: send,
                mode: Mode::Standard,
                immediate: false,
            }),
            action => Some(action),
        }
    }

    #[cold]
    fn wrong(&self, error: PlaceError) -> Error {
        Error::broken(error.of(&self.file.path))
    }

    /// That something is wrong with the action in `line`.
    pub(super) fn problem(&self, line: u64, message: String) -> Problem {
        PlaceError::line(line, message).of(&self.file.path)
    }

    fn more(&mut self) -> Result<(), Error> {
        self.buf.drain(..self.parsed);
        self.parsed = 0;
        // A long line is looked at a few times only, not with each block of it.
        let most = BLOCK.max(self.buf.len());
        match &self.file.bytes {
            RankBytes::Lane(lanes, lane) => {
                let more = lanes.read(*lane, &mut self.place, most, &mut self.buf)?;
                self.eof = !more;
            }
            RankBytes::File => {
                let n = self
                    .read_file(most)
                    .map_err(|e| Error::io(&self.file.path, e))?;
                self.eof = n == 0;
                self.at += n as u64;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, most: usize) -> io::Result<usize> {
        let mut file = open_regular(&self.file.path)?;
        file.seek(SeekFrom::Start(self.at))?;
        file.take(most as u64).read_to_end(&mut self.buf)
    }
}

/// Ends after the first error.
impl Iterator for Actions {
    type Item = Result<(u64, Action), Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.next_action().transpose();
        self.failed = matches!(item, Some(Err(_)));
        item
    }
}
