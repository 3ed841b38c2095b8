//! The hidden directory into which a run writes, until it takes the place of DIR.
//!
//! It is called `.NAME.HOST.PID-RANDOM.part`, beside DIR, where NAME is the name of DIR. The run locks the directory
//! (`flock`) until it ends, so that the next run into the same DIR can tell which of these directories belong to runs
//! that were killed, and remove them.

use super::exchange::take_place;
use super::owner::is_own_file;
use super::target::{Target, foreign_file};
use super::{cannot_write, refuse};
use crate::cli::error::CliError;
use crate::cli::signal;
use flitwise_formats::temporary;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The suffix of a directory that is being written,
const PART: &str = "part";
/// and that was moved aside because the system cannot exchange directories.
const OLD: &str = "old";
/// Names that are tried.
const TRIES: u32 = 100;

/// A result that is being written.
#[derive(Debug)]
pub(in crate::cli) struct Part {
    target: Target,
    path: PathBuf,
    /// Directories above it that did not exist, from the top.
    created: Vec<PathBuf>,
    /// Locks the directory, where the system can.
    _lock: Option<File>,
}

impl Part {
    /// Creates the directory, and removes the directories that killed runs into the same `target` left.
    pub(super) fn begin(mut target: Target) -> Result<Self, CliError> {
        let bad = |e: io::Error| cannot_write(&target.shown, e);
        let parent = target.path.parent().unwrap_or(Path::new("/"));
        let created = create_all(parent).map_err(bad)?;
        let parent = parent.canonicalize().map_err(bad)?;
        let name = target.path.file_name().unwrap_or_default().to_owned();
        clean(&parent, &name);
        let begun = (0..TRIES).find_map(|_| {
            let path = parent.join(hidden(&name, PART));
            signal::remove_if_aborted(&path, &created);
            match create_locked(&path) {
                Ok(Some(lock)) => Some(Ok((path, lock))),
                Ok(None) => {
                    signal::keep_if_aborted(&path);
                    None
                }
                Err(e) => {
                    signal::keep_if_aborted(&path);
                    Some(Err(e))
                }
            }
        });
        match begun.unwrap_or_else(|| Err(ErrorKind::AlreadyExists.into())) {
            Ok((path, lock)) => {
                target.path = parent.join(name);
                Ok(Self {
                    target,
                    path,
                    created,
                    _lock: lock,
                })
            }
            Err(e) => {
                remove_empty(&created);
                let beside = format!("no directory can be created beside it ({e})");
                Err(if target.path.exists() {
                    refuse(format_args!(
                        "`{}` cannot be replaced: {beside}; name a directory inside it: --out {}",
                        target.shown.display(),
                        target.shown.join("result").display()
                    ))
                } else {
                    cannot_write(&target.shown, e)
                })
            }
        }
    }

    /// The directory for the files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), CliError> {
        let written = std::fs::write(self.path.join(name), content);
        written.map_err(|e| self.failed(format_args!("cannot write `{name}`: {e}")))
    }

    /// An error that leaves DIR as it is.
    pub fn failed(&self, why: impl Display) -> CliError {
        let dir = self.target.shown.display();
        CliError::Failed(if self.target.path.exists() {
            format!("{why}; `{dir}` is as it was before")
        } else {
            format!("{why}; there is no `{dir}`")
        })
    }

    /// Puts the result in the place of DIR, and returns the names of its files.
    ///
    /// # Errors
    /// If the system refuses, or DIR meanwhile got a file that is no file of a result.
    pub fn commit(self) -> Result<Vec<String>, CliError> {
        let names = sync_all(&self.path).map_err(|e| {
            let why = format_args!("cannot write the results to the disk: {e}").to_string();
            self.failed(why)
        })?;
        let dir = &self.target.path;
        match foreign_file(dir, self.target.owner) {
            Ok(Some(name)) => return Err(self.elsewhere(format_args!("it holds `{name}` now"))),
            Ok(None) => {
                // Users with access to the old result have access to the new one; nothing depends on it.
                let permissions = dir.metadata().map(|meta| meta.permissions());
                let _ = permissions.and_then(|p| std::fs::set_permissions(&self.path, p));
            }
            Err(_) => {}
        }
        let aside = self.path.with_extension(OLD);
        let taken = {
            let _whole = signal::hold_off_abort();
            take_place(&self.path, dir, &aside)
        };
        taken.map_err(|e| self.elsewhere(e))?;
        remove_files(&aside);
        // Writes the new names to the disk as well, as far as the system can.
        if let Some(parent) = dir.parent() {
            let _ = File::open(parent).and_then(|parent| parent.sync_all());
        }
        // The old result is removed with `self`.
        Ok(names)
    }

    /// Keeps the results beside DIR, and explains why they are not in DIR.
    fn elsewhere(&self, why: impl Display) -> CliError {
        let mut name = self.target.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", temporary::unique()));
        let kept = self.target.path.with_file_name(name);
        let dir = self.target.shown.display();
        let _whole = signal::hold_off_abort();
        CliError::Failed(match std::fs::rename(&self.path, &kept) {
            Ok(()) => format!(
                "cannot replace `{dir}`: {why}; the results are in `{}`",
                kept.display()
            ),
            Err(_) => format!("cannot replace `{dir}`: {why}"),
        })
    }
}

impl Drop for Part {
    /// Removes the directory: the old result, or the files of a failed run.
    fn drop(&mut self) {
        signal::keep_if_aborted(&self.path);
        remove_files(&self.path);
        remove_empty(&self.created);
    }
}

/// Removes a directory into which other threads may still write.
pub(in crate::cli) fn remove_part(path: &Path) {
    // After the rename they no longer find it.
    let gone = path.with_extension("gone.part");
    match std::fs::rename(path, &gone) {
        Ok(()) => remove_files(&gone),
        Err(_) => remove_files(path),
    }
}

/// Removes the files of a result from a directory, finished or not, and the directory if it is then empty.
fn remove_files(path: &Path) {
    let Ok(entries) = std::fs::read_dir(path) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_own_file(&name) {
            // If this fails, the directory remains as well.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_dir(path);
}

/// Creates a directory and those above it, and returns the new ones, from the top.
fn create_all(path: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = path.ancestors().take_while(|above| !above.exists());
    let mut created: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    created.reverse();
    match std::fs::create_dir_all(path) {
        Ok(()) => Ok(created),
        Err(e) => {
            remove_empty(&created);
            Err(e)
        }
    }
}

/// Removes the directories that are empty.
pub(in crate::cli) fn remove_empty(created: &[PathBuf]) {
    for path in created.iter().rev() {
        // Fails for a directory with the result in it.
        let _ = std::fs::remove_dir(path);
    }
}

/// Creates and locks a directory. `None` if there is one already, or another run removed this one as the rest of a
/// killed run.
fn create_locked(path: &Path) -> io::Result<Option<Option<File>>> {
    match std::fs::create_dir(path) {
        Ok(()) => {}
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(None),
        Err(e) => return Err(e),
    }
    Ok(match lock(path) {
        Lock::Ours(file) => Some(Some(file)),
        Lock::Theirs => None,
        Lock::Unknown => Some(None),
    })
}

/// The owner of a directory.
pub(in crate::cli) enum Lock {
    /// It is locked now.
    Ours(File),
    /// Another process has locked it, or it is gone.
    Theirs,
    /// The system does not tell.
    Unknown,
}

/// Locks the directory at `path` for this process.
#[cfg(unix)]
pub(in crate::cli) fn lock(path: &Path) -> Lock {
    use rustix::fs::{FlockOperation, flock};
    use std::os::unix::fs::MetadataExt;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Lock::Theirs,
        Err(_) => return Lock::Unknown,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Lock::Theirs,
        Err(_) => return Lock::Unknown,
    }
    // Another process may have removed it before it was locked.
    let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    match (path.metadata().map(id), file.metadata().map(id)) {
        (Ok(there), Ok(here)) if there == here => Lock::Ours(file),
        _ => Lock::Theirs,
    }
}

/// Locks no directory.
#[cfg(not(unix))]
pub(in crate::cli) fn lock(_: &Path) -> Lock {
    Lock::Unknown
}

/// A new name of a directory for `name`.
fn hidden(name: &OsStr, suffix: &str) -> OsString {
    let mut hidden = prefix(name);
    hidden.push(format!("{}.{suffix}", temporary::unique()));
    hidden
}

/// The prefix of the names that this host makes for `name`. Locks of other hosts are not seen everywhere.
fn prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(format!(".{}.", host()));
    prefix
}

/// The name of this machine, without anything but letters, digits and hyphens.
fn host() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    let name = String::new();
    let kept = name.chars().filter(|c| c.is_ascii_alphanumeric());
    let short: String = kept.take(32).collect();
    if short.is_empty() {
        "host".to_owned()
    } else {
        short
    }
}

/// Removes the directories that killed runs of this host left beside the directory `name` in `parent`. If a run was
/// killed while it renamed directories in two steps, its old result gets its name back.
fn clean(parent: &Path, name: &OsStr) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    let prefix = prefix(name);
    let left_over = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let rest = name.as_encoded_bytes();
        let rest = rest.strip_prefix(prefix.as_encoded_bytes());
        let rest = rest.and_then(|rest| std::str::from_utf8(rest).ok());
        rest.and_then(|rest| rest.split_once('.'))
            .is_some_and(|(unique, suffix)| {
                is_unique(unique) && [PART, "gone.part", OLD].contains(&suffix)
            })
    };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter(left_over)
        .map(|entry| entry.path())
        .collect();
    // `old` before `part`.
    paths.sort();
    for path in paths {
        let is_old = path.extension() == Some(OsStr::new(OLD));
        let locked = if is_old {
            lock(&path.with_extension(PART))
        } else {
            lock(&path)
        };
        match locked {
            Lock::Ours(_) => {}
            // The new result is in its place.
            Lock::Theirs if is_old && !path.with_extension(PART).exists() => {}
            Lock::Theirs | Lock::Unknown => continue,
        }
        if is_old && std::fs::rename(&path, parent.join(name)).is_ok() {
            continue;
        }
        remove_files(&path);
    }
}

/// Whether `text` has the form of [`temporary::unique`].
fn is_unique(text: &str) -> bool {
    temporary::is_temporary(&format!(".x.{text}.part"))
}

/// Writes the files of a directory to the disk, and returns their names in order.
fn sync_all(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // Some systems write out only files that are open for writing.
        File::options().write(true).open(entry.path())?.sync_all()?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn left(root: &Path, name: &str, suffix: &str, file: &str) -> PathBuf {
        let path = root.join(hidden(OsStr::new(name), suffix));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join(file), suffix).unwrap();
        path
    }

    #[test]
    fn only_what_dead_runs_left_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let clean_a = || clean(root, OsStr::new("a"));
        left(root, "a", PART, "result.json");
        left(root, "a", "gone.part", "flows.csv");
        let kept = [
            left(root, "b", PART, "result.json"),
            left(root, "a.b", PART, "result.json"),
            left(root, "a", "other", "result.json"),
            left(root, "a", PART, "notes.txt"),
        ];
        let live = left(root, "a", PART, "result.json");
        let Lock::Ours(file) = lock(&live) else {
            panic!("it is not locked");
        };
        clean_a();
        assert_eq!(names(root).len(), kept.len() + 1);
        assert!(live.join("result.json").exists());
        assert!(kept[3].join("notes.txt").exists());
        drop(file);
        clean_a();
        assert!(!live.exists() && kept.iter().all(|path| path.exists()));
    }

    /// A run that was killed between its two renames.
    #[test]
    fn an_old_result_gets_its_name_back() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let part = left(root, "a", PART, "result.json");
        let old = part.with_extension(OLD);
        std::fs::create_dir(&old).unwrap();
        std::fs::write(old.join("result.json"), "old").unwrap();
        clean(root, OsStr::new("a"));
        assert_eq!(names(root), ["a"]);
        assert_eq!(std::fs::read(root.join("a/result.json")).unwrap(), b"old");
        // After the second rename.
        std::fs::create_dir(&old).unwrap();
        clean(root, OsStr::new("a"));
        assert_eq!(names(root), ["a"]);
    }
}
