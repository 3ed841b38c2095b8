//! Remembers the library of a program, and only one of many ranks on a node asks compiler and linker.

use super::Recorder;
use super::compile::{USUAL, cache, sources_hash};
use super::program::locate;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// The file with the library that was found for the same files.
#[derive(Debug)]
pub(super) struct Choice {
    file: PathBuf,
}

impl Choice {
    /// The choice for a command, given the compiler or none. It depends on the state of all files that its words and the
    /// compilers name.
    pub fn of(mpicc: Option<&Path>, words: &[OsString]) -> Self {
        let mut seen = format!("{:032x}", sources_hash());
        let usual: Vec<&OsStr> = USUAL.iter().map(OsStr::new).collect();
        let compilers = mpicc.map_or(usual, |mpicc| vec![mpicc.as_os_str()]);
        for name in compilers
            .into_iter()
            .chain(words.iter().map(OsString::as_os_str))
        {
            // Writing to a String does not fail.
            let _ = write!(seen, "\n{:?}", state(name));
        }
        let hash = XxHash3_128::oneshot(seen.as_bytes());
        Self {
            file: cache().join(format!("choice-{hash:032x}")),
        }
    }

    /// The library that was found before, if it is still there.
    pub fn read(&self) -> Option<Recorder> {
        let text = fs::read_to_string(&self.file).ok()?;
        let (library, compiler) = text.strip_suffix('\n')?.split_once('\n')?;
        let library = PathBuf::from(library);
        library.is_file().then(|| Recorder {
            library,
            compiler: compiler.into(),
        })
    }

    /// Keeps it; without effect if that fails.
    pub fn keep(&self, recorder: &Recorder) {
        let _ = self.write(recorder);
    }

    fn write(&self, recorder: &Recorder) -> Option<()> {
        let (library, compiler) = (recorder.library.to_str()?, recorder.compiler.to_str()?);
        let mut file = tempfile::NamedTempFile::new_in(self.file.parent()?).ok()?;
        file.write_all(format!("{library}\n{compiler}\n").as_bytes())
            .ok()?;
        file.persist(&self.file).ok()?;
        Some(())
    }
}

/// Changes when the file of a name is replaced or gets other permissions.
fn state(name: &OsStr) -> Option<(PathBuf, u64, i64, i64)> {
    let path = locate(name)?.canonicalize().ok()?;
    let meta = path.metadata().ok()?;
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt;
        (meta.ctime(), meta.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed = (0, 0);
    Some((path, meta.len(), changed.0, changed.1))
}
