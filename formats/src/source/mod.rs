//! The bytes of a file, plain, gzip or zstd, recognised by its first bytes.
//!
//! A plain file is mapped into memory. Another thread decompresses a compressed file, a few
//! blocks ahead of the reader, because decompression is slower than parsing. A pipe and standard
//! input, which is called `-`, are streams: they can be read once, or [kept](Input::repeatable).

mod archive;
mod directory;
mod encoding;
mod input;
mod regular;
mod spool;

pub(crate) use self::archive::{TarNames, TarStream};
pub use self::directory::directory;
pub(crate) use self::directory::listed;
pub use self::encoding::Encoding;
pub(crate) use self::encoding::{start_of, unpack};
pub use self::input::Input;
pub use self::regular::{
    MAX_TEXT, open_regular, read_packed_text, read_regular, read_regular_text,
};
pub(crate) use self::spool::Spool;

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use memmap2::{Mmap, UncheckedAdvice};

use crate::error::Error;
use crate::limits::{BLOCK, BLOCKS_IN_FLIGHT, MAP_WINDOW};

/// The name by which the command line and experiments call standard input.
pub const STDIN: &str = "-";

/// How messages call the file at `path`: by its path, and [`STDIN`] "standard input".
#[must_use]
pub fn shown(path: &Path) -> &Path {
    if is_stdin(path) {
        Path::new("standard input")
    } else {
        path
    }
}

/// True if `path` stands for standard input.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// Tells a stream (a pipe, a device, standard input) from others, whatever its name: `-`, `/dev/stdin` and
/// symbolic links may all lead to one stream, which can be read once. `None` for a regular file, a directory and
/// what does not exist, and on systems that number no files.
#[must_use]
pub fn stream_id(path: &Path) -> Option<StreamId> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let meta = if is_stdin(path) {
            File::from(io::stdin().as_fd().try_clone_to_owned().ok()?).metadata()
        } else {
            std::fs::metadata(path)
        };
        let meta = meta.ok().filter(|meta| !meta.is_file() && !meta.is_dir())?;
        Some(StreamId(meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Identity of a stream: see [`stream_id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamId(u64, u64);

/// Most bytes by which a format is recognised.
const HEAD: usize = 1 << 16;

/// A file that is read from start to end.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped {
        map: Mmap,
        pos: usize,
        /// Pages before this offset are released to the operating system.
        released: usize,
    },
    Streamed(Stream),
    Kept {
        text: Arc<[u8]>,
        pos: usize,
    },
}

#[derive(Debug)]
struct Stream {
    encoding: Encoding,
    buf: Vec<u8>,
    pos: usize,
    eof: bool,
    blocks: Receiver<io::Result<Vec<u8>>>,
    /// Returns used blocks to the thread.
    spare: Sender<Vec<u8>>,
}

impl Source {
    /// Opens a file. A path that is not a regular file (a pipe) is streamed, and so is standard
    /// input, which is called `-`.
    ///
    /// # Errors
    /// If it can't be opened or its first bytes can't be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = if is_stdin(path) {
            Self::stream(io::stdin())
        } else {
            Self::file(path)
        };
        Ok(Self {
            path: shown(path).to_owned(),
            bytes: bytes.map_err(|e| Error::io(shown(path), e))?,
        })
    }

    /// Opens the regular file of a directory; see [`open_regular`].
    ///
    /// # Errors
    /// As [`Source::open`], or if it is no regular file.
    pub fn open_regular(path: &Path) -> Result<Self, Error> {
        let file = open_regular(path).map_err(|e| Error::io(path, e))?;
        Self::of_file(path, file)
    }

    /// The bytes of `file` from its start, which messages call `path`.
    ///
    /// # Errors
    /// If they can't be read.
    pub(crate) fn of_file(path: &Path, mut file: File) -> Result<Self, Error> {
        let open = || {
            file.rewind()?;
            let start = start_of(&mut file)?;
            match Encoding::of(&start) {
                Encoding::Plain => Self::map(&file),
                encoding => Self::rest(start, file, encoding),
            }
        };
        let path = path.to_owned();
        match open() {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(e) => Err(Error::io(&path, e)),
        }
    }

    /// The first bytes that are there at once, up to 64 KiB, by which its format is recognised; empty only if the
    /// file is.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn head(&mut self) -> Result<&[u8], Error> {
        while self.buffer().0.is_empty() && !self.buffer().1 {
            self.more()?;
        }
        let bytes = self.buffer().0;
        // A file in memory is there as a whole, and could be one line of gigabytes.
        Ok(&bytes[..bytes.len().min(HEAD)])
    }

    fn file(path: &Path) -> io::Result<Bytes> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, directory(path)));
        }
        let start = start_of(&mut file)?;
        match Encoding::of(&start) {
            Encoding::Plain if meta.is_file() => Self::map(&file),
            encoding => Self::rest(start, file, encoding),
        }
    }

    fn stream(mut input: impl Read + Send + 'static) -> io::Result<Bytes> {
        let start = start_of(&mut input)?;
        let encoding = Encoding::of(&start);
        Self::rest(start, input, encoding)
    }

    /// The bytes of `start`, and of `input` after them.
    fn rest(
        start: Vec<u8>,
        input: impl Read + Send + 'static,
        encoding: Encoding,
    ) -> io::Result<Bytes> {
        let input = Cursor::new(start).chain(input);
        Ok(Bytes::Streamed(Stream::start(input, encoding)?))
    }

    fn map(file: &File) -> io::Result<Bytes> {
        // SAFETY: the map is private and read-only, and nothing in this program writes
        // to trace files. If another process cuts the file short meanwhile, reading
        // ends in SIGBUS, like in every program that maps its input; other changes
        // give other bytes, and every byte is validated as it is read.
        let map = unsafe { Mmap::map(file)? };
        // Only a hint: a system that ignores it reads ahead less.
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(Bytes::Mapped {
            map,
            pos: 0,
            released: 0,
        })
    }

    /// The file's path as messages [show](shown) it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes read and not consumed, and whether the file ends after them.
    #[inline]
    #[must_use]
    pub fn buffer(&self) -> (&[u8], bool) {
        match &self.bytes {
            Bytes::Mapped { map, pos, .. } => (&map[*pos..], true),
            Bytes::Streamed(s) => (&s.buf[s.pos..], s.eof),
            Bytes::Kept { text, pos } => (&text[*pos..], true),
        }
    }

    /// Drops the first `n` bytes of the buffer (all of it, if it has fewer).
    #[inline]
    pub fn consume(&mut self, n: usize) {
        match &mut self.bytes {
            Bytes::Mapped { map, pos, released } => {
                *pos = pos.saturating_add(n).min(map.len());
                if *pos - *released >= MAP_WINDOW {
                    release(map, released, *pos);
                }
            }
            Bytes::Streamed(s) => s.pos = s.pos.saturating_add(n).min(s.buf.len()),
            Bytes::Kept { text, pos } => *pos = pos.saturating_add(n).min(text.len()),
        }
    }

    /// Adds bytes to the buffer, or finds the end of the file.
    ///
    /// # Errors
    /// If the file can't be read or its compressed data are broken.
    pub fn more(&mut self) -> Result<(), Error> {
        let Bytes::Streamed(s) = &mut self.bytes else {
            return Ok(());
        };
        s.more().map_err(|e| match s.encoding {
            Encoding::Plain => Error::io(&self.path, e),
            Encoding::Gzip => Error::compressed(&self.path, "gzip", e),
            Encoding::Zstd => Error::compressed(&self.path, "zstd", e),
        })
    }
}

/// Releases the pages before `pos` to the operating system.
#[cold]
fn release(map: &Mmap, released: &mut usize, pos: usize) {
    // Whole windows only, so that the range begins and ends on a page.
    let end = pos / MAP_WINDOW * MAP_WINDOW;
    // SAFETY: the map is read-only and backed by the file, so no page holds anything that
    // is not in the file; a dropped page that is touched again is read again.
    let _ = unsafe {
        map.unchecked_advise_range(UncheckedAdvice::DontNeed, *released, end - *released)
    };
    *released = end;
}

impl Stream {
    fn start(input: impl Read + Send + 'static, encoding: Encoding) -> io::Result<Self> {
        let (full, blocks) = sync_channel(BLOCKS_IN_FLIGHT);
        let (spare, empty) = channel();
        thread::Builder::new()
            .name("decompress".into())
            .spawn(move || {
                let unpacked = unpack(input, encoding, BLOCK);
                match unpacked {
                    Ok(reader) => pump(reader, &full, &empty),
                    // A reader that has gone away needs no error.
                    Err(e) => drop(full.send(Err(e))),
                }
            })?;
        Ok(Self {
            encoding,
            buf: Vec::new(),
            pos: 0,
            eof: false,
            blocks,
            spare,
        })
    }

    fn more(&mut self) -> io::Result<()> {
        if self.eof {
            return Ok(());
        }
        match self.blocks.recv() {
            Ok(Ok(block)) => {
                self.buf.drain(..self.pos);
                self.pos = 0;
                self.buf.extend_from_slice(&block);
                // A thread that has ended needs no blocks.
                let _ = self.spare.send(block);
                Ok(())
            }
            Ok(Err(e)) => Err(e),
            // The thread ended without an error: that was the last block.
            Err(_) => {
                self.eof = true;
                Ok(())
            }
        }
    }
}

/// Body of the decompressing thread. It ends when the data end, at an error, or when the
/// reader has gone away.
fn pump(mut input: impl Read, full: &SyncSender<io::Result<Vec<u8>>>, empty: &Receiver<Vec<u8>>) {
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        block.clear();
        let result = input.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        // Bytes before an error are valid, and the parser may find an earlier fault in them.
        if !block.is_empty() && full.send(Ok(block)).is_err() {
            return;
        }
        match result {
            Ok(0) => return,
            Ok(_) => {}
            Err(e) => {
                let _ = full.send(Err(e));
                return;
            }
        }
    }
}
