//! The bytes of the file of one rank, wherever they are.

use crate::source::open_regular;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::{MAX_OPEN_RANKS, RANK_BLOCK};
use crate::source::{Encoding, Spool, start_of, unpack};

/// A file, or a part of another one.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name in messages.
    name: Arc<Path>,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    File(PathBuf),
    Section {
        file: Arc<Spool>,
        start: u64,
        end: u64,
    },
}

impl Member {
    pub fn file(path: PathBuf) -> Self {
        Self {
            name: path.as_path().into(),
            place: Place::File(path),
        }
    }

    /// The bytes of `file` from `start` to `end`.
    pub fn section(name: PathBuf, file: &Arc<Spool>, start: u64, end: u64) -> Self {
        let file = Arc::clone(file);
        Self {
            name: name.into(),
            place: Place::Section { file, start, end },
        }
    }

    pub fn name(&self) -> &Arc<Path> {
        &self.name
    }

    /// The file, if it is one by itself.
    pub fn own_file(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Section { .. } => None,
        }
    }

    /// Number of its bytes, packed or not.
    pub fn len(&self) -> io::Result<u64> {
        match &self.place {
            Place::File(path) => {
                let meta = std::fs::metadata(path)?;
                if meta.is_file() {
                    Ok(meta.len())
                } else {
                    Err(io::Error::other("expected a file"))
                }
            }
            Place::Section { start, end, .. } => Ok(end - start),
        }
    }

    /// Its bytes from offset `from` on, packed or not.
    pub fn raw(&self, from: u64, open: &Open) -> Box<dyn Read + Send> {
        match &self.place {
            Place::File(path) => Box::new(Bytes {
                path: path.clone(),
                at: from,
                file: None,
                open: open.clone(),
            }),
            Place::Section { file, start, end } => {
                let from = start.saturating_add(from);
                Box::new(Spool::section(file, from, *end))
            }
        }
    }

    /// How it is packed.
    pub fn encoding(&self, open: &Open) -> io::Result<Encoding> {
        Ok(Encoding::of(&start_of(&mut self.raw(0, open))?))
    }

    /// Its bytes, unpacked.
    pub fn unpacked(&self, open: &Open) -> io::Result<(Encoding, Box<dyn Read + Send>)> {
        let mut raw = self.raw(0, open);
        let start = start_of(&mut raw)?;
        let encoding = Encoding::of(&start);
        let bytes = unpack(Cursor::new(start).chain(raw), encoding, RANK_BLOCK)?;
        Ok((encoding, bytes))
    }
}

/// The names in a directory, without those that are no Unicode: no recorder makes them.
pub fn names(dir: &Path) -> io::Result<impl Iterator<Item = String>> {
    let entries = std::fs::read_dir(dir)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}

/// The number that is part of a file's name; `None` if it has a sign or a leading zero, so that each number has one name.
pub fn number(digits: &str) -> Option<u32> {
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

/// Where the file at `path` is.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// How many files of ranks are open.
#[derive(Debug, Clone, Default)]
pub struct Open(Arc<AtomicUsize>);

impl Open {
    /// Counts one more, if there is room.
    fn take(&self) -> Option<Slot> {
        let more = |n: usize| (n < MAX_OPEN_RANKS).then_some(n + 1);
        let order = Ordering::Relaxed;
        self.0.fetch_update(order, order, more).ok()?;
        Some(Slot(self.clone()))
    }
}

/// One of them.
struct Slot(Open);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file that stays open while there is room; see [`MAX_OPEN_RANKS`].
struct Bytes {
    path: PathBuf,
    at: u64,
    file: Option<(File, Slot)>,
    open: Open,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some((file, _)) = &mut self.file {
            let n = file.read(out)?;
            self.at += n as u64;
            return Ok(n);
        }
        let mut file = open_regular(&self.path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let n = file.read(out)?;
        self.at += n as u64;
        self.file = self.open.take().map(|place| (file, place));
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beyond_the_limit_read_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rank");
        std::fs::write(&path, b"0123456789").unwrap();
        let open = Open::default();
        let member = Member::file(path);
        let mut readers: Vec<_> = (0..MAX_OPEN_RANKS + 3)
            .map(|_| member.raw(2, &open))
            .collect();
        for _ in 0..2 {
            for reader in &mut readers {
                let mut two = [0; 2];
                reader.read_exact(&mut two).unwrap();
            }
            assert_eq!(open.0.load(Ordering::Relaxed), MAX_OPEN_RANKS);
        }
        for reader in &mut readers {
            let mut rest = String::new();
            reader.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "6789");
        }
        drop(readers);
        assert_eq!(open.0.load(Ordering::Relaxed), 0);
    }
}
