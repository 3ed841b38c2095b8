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

use super::collection::{Collection, metafile_stem, rank_file};
use super::metafile;
use crate::dumpi::metafile::Metafile;
use crate::error::Error;
use crate::limits::{MAX_METAFILE, RANK_BLOCK};
use crate::member::Member;
use crate::source::{Encoding, Source, Spool, TarNames, TarStream, shown, start_of};

/// Finds the files in the archive at `path`, of which `source` gives the unpacked bytes.
pub fn read(path: &Path, source: Source, stop: Stop<'_>) -> Result<Collection, Error> {
    match in_place(path)? {
        Some(file) => plain(path, file, stop),
        None => spooled(source, stop),
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

fn plain(path: &Path, file: File, stop: Stop<'_>) -> Result<Collection, Error> {
    let failed = |e| Error::compressed(path, "tar", e);
    let len = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let again = File::open(path).map_err(|e| Error::io(path, e))?;
    let spool = Arc::new(Spool::of(again));
    let mut archive = Archive::new(file);
    let mut walk = Walk::new(path);
    for entry in archive.entries_with_seek().map_err(failed)?.raw(true) {
        stop.check()?;
        let mut entry = entry.map_err(failed)?;
        let start = entry.raw_file_position();
        let end = start.saturating_add(entry.size());
        let Some((name, file)) = walk.file(&mut entry).map_err(failed)? else {
            continue;
        };
        if end > len {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        match file {
            Of::Metafile => walk.metafile(&name, &mut entry)?,
            Of::Rank => walk.rank(&name, &spool, start, end)?,
        }
    }
    Ok(walk.found)
}

fn spooled(source: Source, stop: Stop<'_>) -> Result<Collection, Error> {
    let path = source.path().to_owned();
    let mut stream = TarStream::new(source);
    let copied = copy(&path, &mut stream, stop);
    // An archive whose own bytes cannot be unpacked is not to blame for what it lacks.
    match stream.failed {
        Some(error) => Err(error),
        None => copied,
    }
}

fn copy(path: &Path, stream: &mut TarStream, stop: Stop<'_>) -> Result<Collection, Error> {
    let failed = |e| Error::compressed(path, "tar", e);
    let dir = std::env::temp_dir();
    let no_room = |e| Error::no_room(path, &dir, e);
    let mut file = tempfile::tempfile_in(&dir).map_err(no_room)?;
    let spool = Arc::new(Spool::of(file.try_clone().map_err(no_room)?));
    let mut archive = Archive::new(stream);
    let mut walk = Walk::new(path);
    let mut end = 0;
    let mut block = vec![0; RANK_BLOCK];
    for entry in archive.entries().map_err(failed)?.raw(true) {
        stop.check()?;
        let mut entry = entry.map_err(failed)?;
        let Some((name, of)) = walk.file(&mut entry).map_err(failed)? else {
            continue;
        };
        if of == Of::Metafile {
            walk.metafile(&name, &mut entry)?;
            continue;
        }
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
        walk.rank(&name, &spool, start, end)?;
    }
    Ok(walk.found)
}

/// The kind of a file in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Metafile,
    Rank,
}

/// The way through an archive.
struct Walk<'a> {
    path: &'a Path,
    found: Collection,
    names: TarNames,
}

impl<'a> Walk<'a> {
    fn new(path: &'a Path) -> Self {
        Self {
            path: shown(path),
            found: Collection::default(),
            names: TarNames::default(),
        }
    }

    /// Name and kind of the file that is this entry, if it is one that matters.
    fn file(&mut self, entry: &mut Entry<'_, impl Read>) -> io::Result<Option<(String, Of)>> {
        let Some(name) = self.names.file(entry)? else {
            return Ok(None);
        };
        let last = name.rsplit('/').next().unwrap_or_default();
        let of = match (rank_file(last), metafile_stem(last)) {
            (Some(_), _) => Of::Rank,
            (_, Some(_)) => Of::Metafile,
            _ => return Ok(None),
        };
        TarNames::whole(entry)?;
        Ok(Some((name, of)))
    }

    fn metafile(&mut self, name: &str, entry: &mut Entry<'_, impl Read>) -> Result<(), Error> {
        let mut bytes = Vec::new();
        let read = entry.take(MAX_METAFILE as u64).read_to_end(&mut bytes);
        read.map_err(|e| Error::compressed(self.path, "tar", e))?;
        // Another file may have the same ending.
        if let Some(stem) = metafile_stem(name).filter(|_| Metafile::is_one(&bytes)) {
            let meta = metafile(&self.shown(name), &bytes)?;
            self.found.add_metafile(stem, meta);
        }
        Ok(())
    }

    fn rank(&mut self, name: &str, spool: &Arc<Spool>, start: u64, end: u64) -> Result<(), Error> {
        let Some((prefix, rank)) = rank_file(name) else {
            return Ok(());
        };
        let member = Member::section(self.shown(name), spool, start, end);
        self.found.add(prefix, rank, member)
    }

    /// The name of the file in messages.
    fn shown(&self, name: &str) -> PathBuf {
        self.path
            .join(cut(name.trim_start_matches('/')).to_string())
    }
}
