//! All bytes of a stream, in a file without a name.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use flitwise_base::stop::Stop;

use super::encoding::{Encoding, unpack};
use super::{is_stdin, pump, shown};
use crate::error::Error;
use crate::foreign::Foreign;
use crate::limits::{BLOCKS_IN_FLIGHT, MAX_SPOOLED, MAX_TI_LIST};

/// Longest time between two looks at whether the user stops the reading.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The file. Nothing writes to it any more.
#[derive(Debug)]
pub(crate) struct Spool(Mutex<File>);

impl Spool {
    /// Reads the stream at `path` to its end, unless the user stops it.
    pub fn read(path: &Path, stop: Stop<'_>) -> Result<Self, Error> {
        let dir = std::env::temp_dir();
        let no_room = |e| Error::no_room(shown(path), &dir, e);
        let mut file = tempfile::tempfile_in(&dir).map_err(no_room)?;
        let blocks = follow(path).map_err(|e| Error::io(shown(path), e))?;
        let mut room = None;
        loop {
            stop.check()?;
            match blocks.recv_timeout(LOOK_EVERY) {
                Ok(Ok(block)) => {
                    let room = match &mut room {
                        Some(room) => room,
                        None => room.insert(Room::of(shown(path), &block)?),
                    };
                    room.take(shown(path), block.len())?;
                    file.write_all(&block).map_err(no_room)?;
                }
                Ok(Err(e)) => return Err(Error::io(shown(path), e)),
                Err(RecvTimeoutError::Timeout) => {}
                // The thread ended without an error: that was the last block.
                Err(RecvTimeoutError::Disconnected) => return Ok(Self(Mutex::new(file))),
            }
        }
    }

    pub fn file(&self) -> MutexGuard<'_, File> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All bytes of this file, to which nothing writes any more.
    pub fn of(file: File) -> Self {
        Self(Mutex::new(file))
    }

    /// Its bytes from the start.
    pub fn bytes(spool: &Arc<Self>) -> impl Read + Send + use<> {
        Self::section(spool, 0, u64::MAX)
    }

    /// Its bytes from `start` to `end`, or to its end.
    pub fn section(spool: &Arc<Self>, start: u64, end: u64) -> impl Read + Send + use<> {
        Bytes {
            spool: Arc::clone(spool),
            at: start,
            end,
        }
    }
}

/// The bytes that may be copied of a stream.
pub(super) struct Room {
    most: u64,
    left: u64,
}

impl Room {
    /// The room for a stream that begins with `start`, by which it is recognised before any of it is copied.
    pub fn of(path: &Path, start: &[u8]) -> Result<Self, Error> {
        let mut head = Vec::new();
        let encoding = Encoding::of(start);
        if let Ok(unpacked) = unpack(std::io::Cursor::new(start.to_vec()), encoding, start.len()) {
            // The start of packed data ends too early; what comes before that says enough.
            let _ = unpacked.take(HEAD).read_to_end(&mut head);
        }
        let most = match Foreign::of(&head) {
            Some(format) if !format.may_be_copied() => return Err(Error::foreign(path, format)),
            None if !head.starts_with(b"VEF") => MAX_TI_LIST as u64,
            _ => MAX_SPOOLED,
        };
        Ok(Self { most, left: most })
    }

    /// Takes room for `bytes` more.
    pub fn take(&mut self, path: &Path, bytes: usize) -> Result<(), Error> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| {
            let most = self.most;
            let problem = format!(
                "at most {most} bytes of a pipe or a device like this are copied, and it has more; give the trace as a file"
            );
            Error::io(path, io::Error::new(io::ErrorKind::FileTooLarge, problem))
        })?;
        Ok(())
    }
}

/// Bytes by which a stream is recognised.
const HEAD: u64 = 4096;

/// The blocks of the stream at `path`. Another thread reads them, since a stream may block without
/// end: when it is opened, and whenever it is read.
fn follow(path: &Path) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (full, blocks) = sync_channel(BLOCKS_IN_FLIGHT);
    let (_, empty) = channel();
    let path = path.to_owned();
    thread::Builder::new()
        .name("stream".into())
        .spawn(move || {
            if is_stdin(&path) {
                pump(io::stdin(), &full, &empty)
            } else {
                match File::open(&path) {
                    Ok(file) => pump(file, &full, &empty),
                    // A reader that has gone away needs no error.
                    Err(e) => drop(full.send(Err(e))),
                }
            }
        })?;
    Ok(blocks)
}

/// A reader with a place of its own in the file.
struct Bytes {
    spool: Arc<Spool>,
    at: u64,
    end: u64,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let room = out.len().min(left);
        let out = out.get_mut(..room).unwrap_or_default();
        let mut file = self.spool.file();
        file.seek(SeekFrom::Start(self.at))?;
        let n = file.read(out)?;
        self.at += n as u64;
        Ok(n)
    }
}
