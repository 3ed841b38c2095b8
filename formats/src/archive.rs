//! The files in a tar archive.
//!
//! Of a plain archive they are read in place; files of other archives are written to a file without a name. The archive is
//! read entry by entry as it is: whatever it says of itself, at most 64 KiB of it are in memory.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::quote::cut;
use flitwise_base::stop::Stop;
use tar::{Archive, Entry};

use crate::error::Error;
use crate::limits::RANK_BLOCK;
use crate::member::Member;
use crate::source::{Encoding, Source, Spool, TarNames, TarStream, shown, start_of};

/// A tar archive that is written. Its bytes depend on nothing but the names and contents of its files, and their time.
pub(crate) struct Packer<W: Write> {
    tar: tar::Builder<W>,
    /// Seconds since 1970 that its files have.
    modified: u64,
}

impl<W: Write> Packer<W> {
    pub fn new(out: W, modified: u64) -> Self {
        Self {
            tar: tar::Builder::new(out),
            modified,
        }
    }

    /// Adds a file.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(self.modified);
        header.set_cksum();
        self.tar.append_data(&mut header, name, bytes)
    }

    /// Completes the archive.
    pub fn finish(self) -> io::Result<W> {
        self.tar.into_inner()
    }
}

/// Finds the files of the archive at `path` whose names are wanted, each with its name, in the order of the archive.
/// `source` gives the unpacked bytes.
pub(crate) fn members(
    path: &Path,
    source: Source,
    wanted: &dyn Fn(&str) -> bool,
    stop: Stop<'_>,
) -> Result<Vec<(String, Member)>, Error> {
    let walk = Walk {
        path: shown(path),
        wanted,
        names: TarNames::default(),
        found: Vec::new(),
    };
    match in_place(path)? {
        Some(file) => walk.plain(file, stop),
        None => walk.spooled(source, stop),
    }
}

/// The archive, if it is a file that is not packed.
fn in_place(path: &Path) -> Result<Option<File>, Error> {
    if !std::fs::metadata(path).is_ok_and(|meta| meta.is_file()) {
        return Ok(None);
    }
    let open = || {
        let mut file = File::open(path)?;
        let encoding = Encoding::of(&start_of(&mut file)?);
        file.rewind()?;
        Ok((encoding == Encoding::Plain).then_some(file))
    };
    open().map_err(|e| Error::io(path, e))
}

/// The way through an archive.
struct Walk<'a> {
    path: &'a Path,
    wanted: &'a dyn Fn(&str) -> bool,
    names: TarNames,
    found: Vec<(String, Member)>,
}

impl Walk<'_> {
    fn plain(mut self, file: File, stop: Stop<'_>) -> Result<Vec<(String, Member)>, Error> {
        let path = self.path;
        let failed = |e| Error::compressed(path, "tar", e);
        let len = file.metadata().map_err(|e| Error::io(path, e))?.len();
        let again = File::open(path).map_err(|e| Error::io(path, e))?;
        let spool = Arc::new(Spool::of(again));
        let mut archive = Archive::new(file);
        for entry in archive.entries_with_seek().map_err(failed)?.raw(true) {
            stop.check()?;
            let mut entry = entry.map_err(failed)?;
            let start = entry.raw_file_position();
            let end = start.saturating_add(entry.size());
            let Some(name) = self.file(&mut entry).map_err(failed)? else {
                continue;
            };
            if end > len {
                return Err(failed(io::ErrorKind::UnexpectedEof.into()));
            }
            self.add(name, &spool, start, end);
        }
        Ok(self.found)
    }

    fn spooled(self, source: Source, stop: Stop<'_>) -> Result<Vec<(String, Member)>, Error> {
        let mut stream = TarStream::new(source);
        let copied = self.copy(&mut stream, stop);
        // An archive whose own bytes cannot be unpacked is not to blame for what it lacks.
        match stream.failed {
            Some(error) => Err(error),
            None => copied,
        }
    }

    fn copy(
        mut self,
        stream: &mut TarStream,
        stop: Stop<'_>,
    ) -> Result<Vec<(String, Member)>, Error> {
        let path = self.path;
        let failed = |e| Error::compressed(path, "tar", e);
        let dir = std::env::temp_dir();
        let no_room = |e| Error::no_room(path, &dir, e);
        let mut file = tempfile::tempfile_in(&dir).map_err(no_room)?;
        let spool = Arc::new(Spool::of(file.try_clone().map_err(no_room)?));
        let mut archive = Archive::new(stream);
        let mut end = 0;
        let mut block = vec![0; RANK_BLOCK];
        for entry in archive.entries().map_err(failed)?.raw(true) {
            stop.check()?;
            let mut entry = entry.map_err(failed)?;
            let Some(name) = self.file(&mut entry).map_err(failed)? else {
                continue;
            };
            let start = end;
            loop {
                let n = entry.read(&mut block).map_err(failed)?;
                let bytes = block.get(..n).unwrap_or_default();
                if n == 0 {
                    break;
                }
                stop.check()?;
                file.write_all(bytes).map_err(no_room)?;
                end += n as u64;
            }
            if end - start < entry.size() {
                return Err(failed(io::ErrorKind::UnexpectedEof.into()));
            }
            self.add(name, &spool, start, end);
        }
        Ok(self.found)
    }

    /// The name of the file that is this entry, if it is wanted.
    fn file(&mut self, entry: &mut Entry<'_, impl Read>) -> io::Result<Option<String>> {
        let name = self.names.file(entry)?;
        let Some(name) = name.filter(|name| (self.wanted)(name)) else {
            return Ok(None);
        };
        TarNames::whole(entry)?;
        Ok(Some(name))
    }

    fn add(&mut self, name: String, spool: &Arc<Spool>, start: u64, end: u64) {
        let shown = cut(name.trim_start_matches('/')).to_string();
        let member = Member::section(PathBuf::from(self.path).join(shown), spool, start, end);
        self.found.push((name, member));
    }
}
