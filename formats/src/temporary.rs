//! Files under temporary names, until they are complete or no longer needed.
//!
//! A temporary file of `NAME` is called `.NAME.PID-RANDOM.part`, in the same directory: hidden, and
//! unlike any other, so that two processes that write the same file do not meet. A program that
//! is about to end at once calls [`remove_all`]: nothing is left then, whatever its threads do.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The files that exist under temporary names.
struct Files {
    paths: Vec<PathBuf>,
    /// False once the program is about to end.
    open: bool,
}

static FILES: Mutex<Files> = Mutex::new(Files {
    paths: Vec::new(),
    open: true,
});

fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `PID-RANDOM`: the id of this process in decimal, and 16 hex digits that differ from call to call.
#[must_use]
pub fn unique() -> String {
    // The keys of a hash are random numbers of the operating system, and another for each.
    let random = RandomState::new().hash_one(0_u8);
    format!("{}-{random:016x}", std::process::id())
}

/// The name of a temporary file of `path`, another one in each call.
fn name_beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", unique()));
    path.with_file_name(name)
}

/// A new temporary file of `path`. It is removed when the value is dropped, unless
/// [`keep`](Self::keep) gave it its name.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Creates the file.
    ///
    /// # Errors
    /// If the operating system refuses, or after [`remove_all`].
    pub fn create(path: &Path) -> io::Result<(Self, File)> {
        let path = name_beside(path);
        let mut files = files();
        if !files.open {
            return Err(io::Error::other("the program is about to end"));
        }
        let file = File::create_new(&path)?;
        files.paths.push(path.clone());
        Ok((Self { path }, file))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Calls it `path`, in place of an earlier file of that name.
    ///
    /// # Errors
    /// If the operating system refuses. The file is removed then.
    pub fn keep(self, path: &Path) -> io::Result<()> {
        // Dropped afterwards, when no file has the temporary name any more.
        std::fs::rename(&self.path, path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut files = files();
        files.paths.retain(|path| *path != self.path);
        // It has its name already, or nothing more can be done about it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes all temporary files of this process, and lets it create no more: for a program that is
/// about to end without unwinding, because of a signal.
pub fn remove_all() {
    let mut files = files();
    files.open = false;
    for path in files.paths.drain(..) {
        // As above.
        let _ = std::fs::remove_file(path);
    }
}

/// True if `name` belongs to a temporary file.
#[must_use]
pub fn is_temporary(name: &str) -> bool {
    let parts = || {
        let (of, unique) = name
            .strip_prefix('.')?
            .strip_suffix(".part")?
            .rsplit_once('.')?;
        let (pid, random) = unique.split_once('-')?;
        Some((of, pid, random))
    };
    parts().is_some_and(|(of, pid, random)| {
        !of.is_empty()
            && pid.parse::<u32>().is_ok()
            && random.len() == 16
            && random.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Removes temporary files and directories from `dir` that were last written longer ago than `age`.
/// Killed processes leave them.
pub fn remove_older(dir: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let old = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_temporary(&entry.file_name().to_string_lossy()) && old().is_some_and(|old| old > age)
        {
            let path = entry.path();
            // Nothing more can be done about what can't be removed.
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
}
