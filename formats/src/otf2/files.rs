//! Where the files of an archive are, and their bytes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::stop::Stop;
use hashbrown::HashMap;

use super::zlib;
use crate::error::Error;
use crate::member::{Member, Open};
use crate::source::Spool;

/// The files beside an anchor file.
#[derive(Debug)]
pub(super) struct Files {
    /// The path of the anchor file without its ending: the directory of the files of locations.
    stem: PathBuf,
    open: Open,
    /// Files that were packed.
    unpacked: HashMap<PathBuf, Member>,
}

impl Files {
    /// The files of the archive with this anchor file.
    pub fn beside(anchor: &Path) -> Self {
        Self {
            stem: anchor.with_extension(""),
            open: Open::default(),
            unpacked: HashMap::new(),
        }
    }

    /// The file of the global definitions.
    pub fn global(&self) -> PathBuf {
        let mut path = self.stem.clone().into_os_string();
        path.push(".def");
        path.into()
    }

    /// The file of the definitions of a location.
    pub fn definitions(&self, location: u64) -> PathBuf {
        self.stem.join(format!("{location}.def"))
    }

    /// The file of the events of a location.
    pub fn events(&self, location: u64) -> PathBuf {
        self.stem.join(format!("{location}.evt"))
    }

    /// The unpacked bytes of one of the files.
    pub fn bytes(&self, path: &Path) -> Result<Box<dyn Read + Send>, Error> {
        if let Some(member) = self.unpacked.get(path) {
            return Ok(member.raw(0, &self.open));
        }
        let member = Member::file(path.to_owned());
        // That a file is missing is said at once.
        member.len().map_err(|e| Error::io(path, e))?;
        Ok(member.raw(0, &self.open))
    }

    /// Unpacks files of blocks of up to `chunk` bytes into a file without a name.
    pub fn unpack(&mut self, paths: &[PathBuf], chunk: u64, stop: Stop<'_>) -> Result<(), Error> {
        let dir = std::env::temp_dir();
        let no_room = |e| Error::no_room(&self.stem, &dir, e);
        let mut file: File = tempfile::tempfile_in(&dir).map_err(no_room)?;
        let spool = Arc::new(Spool::of(file.try_clone().map_err(no_room)?));
        let mut start = 0;
        for path in paths {
            stop.check()?;
            let end = start + zlib::unpack(path, chunk, &mut file)?;
            let member = Member::section(path.clone(), &spool, start, end);
            self.unpacked.insert(path.clone(), member);
            start = end;
        }
        Ok(())
    }
}
