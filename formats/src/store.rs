//! Files that are read at any place, some of them without a name.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use crate::error::Error;

/// A [`Window`] begins at a multiple of this, so that it still holds what comes a little before what it was read for.
const STEP: u64 = 4 * 1024;
/// Bytes that a [`Window`] reads at once: [`MOST`], wherever it begins in a step.
const WINDOW: u64 = STEP + MOST as u64;
/// Bytes that a [`Window`] gives at once, at most.
pub(crate) const MOST: usize = 8 * 1024;

/// A file that several readers read, each at its own place.
#[derive(Debug)]
pub(crate) struct Store {
    /// How messages call it.
    path: Arc<Path>,
    file: File,
    len: u64,
}

impl Store {
    /// The regular file at `path`.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (len, file) = opened.map_err(|e| Error::io(path, e))?;
        Ok(Self {
            path: path.into(),
            file,
            len,
        })
    }

    /// How messages call the file.
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// Number of its bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fills `out` from offset `at`, as far as the file goes; how far it went.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> Result<usize, Error> {
        self.read_inner(at, out)
            .map_err(|e| Error::io(&self.path, e))
    }

    fn read_inner(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match read_some(&self.file, &mut out[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }
}

#[cfg(unix)]
fn read_some(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, at)
}

#[cfg(windows)]
fn read_some(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, at)
}

/// A file without a name in the directory for temporary files, while it is written.
#[derive(Debug)]
pub(crate) struct StoreWriter {
    path: Arc<Path>,
    out: io::BufWriter<File>,
    len: u64,
}

impl StoreWriter {
    /// An empty one, for what is read from `path`.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let dir = std::env::temp_dir();
        let file = tempfile::tempfile_in(&dir).map_err(|e| Error::no_room(path, &dir, e))?;
        Ok(Self {
            path: path.into(),
            out: io::BufWriter::with_capacity(crate::limits::BLOCK, file),
            len: 0,
        })
    }

    /// Number of bytes written.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Adds `bytes` at the end.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.out.write_all(bytes);
        self.len += bytes.len() as u64;
        written.map_err(|e| Error::no_room(&self.path, &std::env::temp_dir(), e))
    }

    /// The file, to be read.
    pub fn finish(self) -> Result<Store, Error> {
        let Self { path, out, len } = self;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error);
        let file = file.map_err(|e| Error::no_room(&path, &std::env::temp_dir(), e))?;
        Ok(Store { path, file, len })
    }
}

/// The part of a store around the place that is read.
#[derive(Debug, Default, Clone)]
pub(crate) struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// `len` bytes, at most [`MOST`], at offset `at`, all before `end`; fewer if the file ends before.
    #[inline]
    pub fn get(&mut self, store: &Store, at: u64, len: usize, end: u64) -> Result<&[u8], Error> {
        let from = at.checked_sub(self.at).map(|from| from as usize);
        let there = from.is_some_and(|from| from + len <= self.bytes.len());
        let from = match (there, from) {
            (true, Some(from)) => from,
            _ => self.fill(store, at, end)?,
        };
        let to = (from + len).min(self.bytes.len());
        Ok(&self.bytes[from..to])
    }

    /// Reads what is around offset `at`; returns where that is now.
    fn fill(&mut self, store: &Store, at: u64, end: u64) -> Result<usize, Error> {
        self.at = at - at % STEP;
        let room = end.saturating_sub(self.at).min(WINDOW) as usize;
        self.bytes.resize(room, 0);
        let filled = store.read_at(self.at, &mut self.bytes)?;
        self.bytes.truncate(filled);
        Ok(((at - self.at) as usize).min(filled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_read_any_place() {
        let mut writer = StoreWriter::new(Path::new("x")).unwrap();
        let bytes: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        writer.write(&bytes).unwrap();
        let store = writer.finish().unwrap();
        assert_eq!(store.len(), bytes.len() as u64);
        let mut window = Window::default();
        for at in [0, 4, 65_530, 3, 700_000, 799_990] {
            let got = window.get(&store, at, 9, store.len()).unwrap();
            assert_eq!(got, &bytes[at as usize..at as usize + 9]);
        }
        let end = store.len();
        assert_eq!(window.get(&store, end - 3, 9, end).unwrap().len(), 3);
    }
}
