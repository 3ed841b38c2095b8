//! The directory of a study.

use crate::cli::CliError;
use flitwise::study::{SLOWEST_RUN, TABLE_FILES};
use flitwise_base::quote::cut;
use flitwise_formats::temporary;
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A directory in which no other process works.
#[derive(Debug)]
pub(super) struct StudyDir {
    path: PathBuf,
    /// Locks the directory, where the system can.
    _lock: Option<File>,
}

fn refuse(problem: impl Display) -> CliError {
    CliError::BadInput(format!("--out: {problem}"))
}

impl StudyDir {
    /// Creates or opens the directory of the study called `name`, and removes what killed processes left.
    ///
    /// # Errors
    /// If it holds something else, or another process works in it.
    pub(super) fn open(path: &Path, name: &str) -> Result<Self, CliError> {
        let shown = path.display();
        let bad = |e: std::io::Error| {
            refuse(format_args!(
                "cannot write `{shown}`: {e}; name a directory that can be written"
            ))
        };
        std::fs::create_dir_all(path).map_err(bad)?;
        let lock = lock(path)?;
        check(path, name)?;
        temporary::remove_older(path, Duration::ZERO);
        // Elements of a cluster may be writing records; what they leave behind is removed when it is old.
        if !path.join("cluster").exists() {
            temporary::remove_older(&path.join("records"), Duration::ZERO);
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Refuses a directory with files of something else, or with another study.
fn check(path: &Path, name: &str) -> Result<(), CliError> {
    let shown = path.display();
    let entries = std::fs::read_dir(path).map_err(|e| refuse(format_args!("`{shown}`: {e}")))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    let own = |name: &&String| {
        let name = name.as_str();
        let folder = ["records", "cluster", SLOWEST_RUN].contains(&name);
        TABLE_FILES.contains(&name) || folder || temporary::is_temporary(name)
    };
    if let Some(foreign) = names.iter().find(|name| !own(name)) {
        return Err(refuse(format_args!(
            "`{shown}` holds `{}`, which is no file of a study; name another directory",
            cut(foreign)
        )));
    }
    let text = std::fs::read(path.join("study.json")).unwrap_or_default();
    let there: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    match there["name"].as_str() {
        Some(other) if other != name => Err(refuse(format_args!(
            "`{shown}` holds the study `{}`, and this one is called `{}`; name another directory",
            cut(other),
            cut(name)
        ))),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn lock(path: &Path) -> Result<Option<File>, CliError> {
    use rustix::fs::{FlockOperation, flock};
    let Ok(file) = File::open(path) else {
        return Ok(None);
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(refuse(format_args!(
            "another process runs a study in `{}`; wait for its end, or name another directory",
            path.display()
        ))),
        // Some file systems have no locks.
        Err(_) => Ok(None),
    }
}

#[cfg(not(unix))]
fn lock(_: &Path) -> Result<Option<File>, CliError> {
    Ok(None)
}

/// The tables in `dir`.
pub(super) fn shown(dir: &Path) -> Result<String, CliError> {
    if dir.is_dir() && !dir.join("study.json").is_file() {
        return Err(CliError::BadInput(format!(
            "`{}` has no study.json; name the directory of a study that has run",
            dir.display()
        )));
    }
    let path = dir.join("summary.txt");
    std::fs::read_to_string(&path).map_err(|e| {
        CliError::BadInput(format!(
            "cannot read `{}`: {e}; name the directory of a study that has run",
            path.display()
        ))
    })
}

/// The tables of differences in `dir`.
pub(super) fn differences(dir: &Path) -> Result<String, CliError> {
    let text = shown(dir)?;
    match text.find("\nDifferences from ") {
        Some(at) => Ok(text[at + 1..].to_owned()),
        None => Err(CliError::BadInput(format!(
            "`{}` has no differences: no axis has two values whose runs are complete",
            dir.display()
        ))),
    }
}
