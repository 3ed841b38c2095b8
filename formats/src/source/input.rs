//! A file that is read several times.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flitwise_base::stop::Stop;

use super::spool::{Room, Spool};
use super::{Bytes, Encoding, Source, is_stdin, shown, start_of};
use crate::error::Error;
use crate::limits::{MAX_KEPT_PACKED, MAX_KEPT_UNPACKED};

/// A file that is read several times. A small compressed one is unpacked only once, and a stream is
/// copied into a file without a name.
#[derive(Debug, Clone)]
pub struct Input {
    path: PathBuf,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// The file at the path.
    File,
    /// All of a small compressed file.
    Unpacked(Arc<[u8]>),
    /// All of a stream.
    Spooled(Arc<Spool>),
    /// A source that is open already and can't be opened again.
    Once(Arc<Mutex<Option<Source>>>),
}

impl Input {
    /// The file at `path`. Errors appear when it is [opened](Self::open). A stream can be opened
    /// once.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            content: Self::unpack(path).map_or(Content::File, Content::Unpacked),
        }
    }

    /// The same for a file or a stream, which can be opened any number of times: a stream is read
    /// to its end first, into a file without a name in the directory for temporary files.
    /// Meanwhile it checks several times a second whether the user stops it.
    ///
    /// # Errors
    /// If a stream can't be read, begins like no trace, has more bytes than are copied, the directory has no room for it, or
    /// the user stops the reading.
    pub fn repeatable(path: &Path, stop: Stop<'_>) -> Result<Self, Error> {
        let stream = |meta: std::fs::Metadata| !meta.is_file() && !meta.is_dir();
        if !is_stdin(path) && !std::fs::metadata(path).is_ok_and(stream) {
            return Ok(Self::new(path));
        }
        let spool = Spool::read(path, stop)?;
        Ok(Self {
            path: path.to_owned(),
            content: Content::Spooled(Arc::new(spool)),
        })
    }

    /// All of `file`, which messages call `path` and to which nothing writes any more.
    #[must_use]
    pub fn of_file(path: &Path, file: File) -> Self {
        let content = Content::Spooled(Arc::new(Spool::of(file)));
        let path = path.to_owned();
        Self { path, content }
    }

    /// The rest of `source`, which can be opened once.
    #[must_use]
    pub fn once(source: Source) -> Self {
        let path = source.path().to_owned();
        let content = Content::Once(Arc::new(Mutex::new(Some(source))));
        Self { path, content }
    }

    /// The rest of `source`, as [`Input::repeatable`] keeps a stream.
    ///
    /// # Errors
    /// If it can't be read, or the directory for temporary files has no room for it.
    pub fn rest_of(mut source: Source) -> Result<Self, Error> {
        let path = source.path().to_owned();
        let dir = std::env::temp_dir();
        let no_room = |e| Error::no_room(&path, &dir, e);
        let mut file = tempfile::tempfile_in(&dir).map_err(no_room)?;
        let mut room = Room::of(&path, source.head()?)?;
        loop {
            let (bytes, eof) = source.buffer();
            room.take(&path, bytes.len())?;
            file.write_all(bytes).map_err(no_room)?;
            let n = bytes.len();
            source.consume(n);
            if eof {
                break;
            }
            source.more()?;
        }
        Ok(Self::of_file(&path, file))
    }

    /// The whole content of a small compressed file; `None` for any other or a broken file.
    fn unpack(path: &Path) -> Option<Arc<[u8]>> {
        let meta = std::fs::metadata(path).ok()?;
        if is_stdin(path) || !meta.is_file() || meta.len() > MAX_KEPT_PACKED {
            return None;
        }
        let mut source = Source::open(path).ok()?;
        let Bytes::Streamed(stream) = &mut source.bytes else {
            return None;
        };
        while !stream.eof {
            stream.more().ok()?;
            if stream.buf.len() > MAX_KEPT_UNPACKED {
                return None;
            }
        }
        Some(stream.buf.as_slice().into())
    }

    /// Its path as messages [show](shown) it.
    #[must_use]
    pub fn path(&self) -> &Path {
        shown(&self.path)
    }

    /// The file from its start.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open(&self) -> Result<Source, Error> {
        let bytes = match &self.content {
            Content::File => return Source::open(&self.path),
            Content::Unpacked(text) => Bytes::Kept {
                text: Arc::clone(text),
                pos: 0,
            },
            Content::Spooled(spool) => {
                Self::spooled(spool).map_err(|e| Error::io(self.path(), e))?
            }
            Content::Once(source) => return self.rest(source),
        };
        Ok(Source {
            path: self.path().to_owned(),
            bytes,
        })
    }

    fn rest(&self, source: &Mutex<Option<Source>>) -> Result<Source, Error> {
        let source = source.lock().ok().and_then(|mut source| source.take());
        source.ok_or_else(|| Error::io(self.path(), io::Error::other("it can't be read again")))
    }

    fn spooled(spool: &Arc<Spool>) -> io::Result<Bytes> {
        let start = start_of(&mut Spool::bytes(spool))?;
        match Encoding::of(&start) {
            Encoding::Plain if !start.is_empty() => Source::map(&spool.file()),
            _ => Source::stream(Spool::bytes(spool)),
        }
    }

    /// Its bytes as they are, packed or not.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn bytes(&self) -> Result<Box<dyn Read>, Error> {
        match &self.content {
            Content::Spooled(spool) => Ok(Box::new(Spool::bytes(spool))),
            Content::File | Content::Unpacked(_) => match File::open(&self.path) {
                Ok(file) => Ok(Box::new(file)),
                Err(e) => Err(Error::io(self.path(), e)),
            },
            Content::Once(_) => {
                let cause = io::Error::other("its bytes can't be read again");
                Err(Error::io(self.path(), cause))
            }
        }
    }
}
