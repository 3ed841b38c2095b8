//! The directory of a study.

use super::earlier::Place;
use crate::cli::command_line::quoted;
use crate::cli::console::tell;
use crate::cli::error::CliError;
use crate::cli::out::{Lock, cannot_write, lock, refuse, remove_part, take_place};
use crate::cli::{command_line, signal};
use flitwise::study::{SLOWEST_RUN, STUDY_FILE, STUDY_RESULT_FILE, TABLE_FILES};
use flitwise_base::quote::cut;
use flitwise_formats::source::read_regular_text;
use flitwise_formats::{sink, temporary};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directories within a study's.
const FOLDERS: [&str; 3] = ["records", "cluster", SLOWEST_RUN];

/// A directory in which no other process works.
#[derive(Debug)]
pub(super) struct StudyDir {
    path: PathBuf,
    /// Locks the directory, where the system can.
    _lock: Option<File>,
}

/// The directory of the study called `name`, unless --out names one.
pub(super) fn usual(name: &str) -> PathBuf {
    let words: Vec<&str> = name.split_whitespace().collect();
    PathBuf::from(format!("{}.study", words.join("-")))
}

impl StudyDir {
    /// Creates or opens the directory of a study, and removes what killed processes left.
    ///
    /// # Errors
    /// If it holds something else or another study, or another process works in it.
    pub(super) fn open(place: Place<'_>) -> Result<Self, CliError> {
        let path = place.path;
        std::fs::create_dir_all(path).map_err(|e| cannot_write(path, e))?;
        let lock = match lock(path) {
            Lock::Ours(file) => Some(file),
            Lock::Theirs => {
                return Err(refuse(format_args!(
                    "another process runs a study in `{}`; wait for its end, or name another directory",
                    path.display()
                )));
            }
            Lock::Unknown => None,
        };
        check_files(path)?;
        place.check()?;
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

    /// Writes `text` as the study.toml of a directory without one, so that the directory resumes the study if this process
    /// is killed.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn describe(&self, text: &str) -> Result<(), CliError> {
        let (file, tables) = (
            self.path.join(STUDY_FILE),
            self.path.join(STUDY_RESULT_FILE),
        );
        if file.exists() || tables.exists() {
            return Ok(());
        }
        sink::write(&file, text.as_bytes())
            .map_err(|e| CliError::Failed(format!("cannot write {e}")))
    }

    /// Reports that the tables are written, and the command that makes a page of them.
    pub(super) fn tell_written(&self) {
        let path = self.path.display().to_string();
        tell(format_args!(
            "wrote {path}: runs, jobs, points, differences, tables; `flitwise report {}` makes a page of them",
            command_line::quoted(&path)
        ));
    }

    /// Creates a hidden directory in which the files of a table set or of a run wait until they are complete.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(super) fn stage(&self, name: &str) -> Result<Stage, CliError> {
        let path = self.hidden(name);
        signal::remove_if_aborted(&path, &[]);
        let stage = Stage { path };
        std::fs::create_dir(&stage.path).map_err(|e| failed(&stage.path, &e))?;
        Ok(stage)
    }

    /// Gives the tables in `tables` their names, in place of all earlier ones, and the files in `slowest` the place of the
    /// earlier slowest run. Links in the directory are replaced, not followed.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn commit(&self, tables: &Stage, slowest: &Stage) -> Result<(), CliError> {
        let _whole = signal::hold_off_abort();
        // Without it nothing reads the others: a process that is killed here leaves no mixture that looks whole.
        let document = self.path.join(STUDY_RESULT_FILE);
        absent_is_fine(std::fs::remove_file(&document)).map_err(|e| failed(&document, &e))?;
        if !is_empty(&slowest.path) {
            self.replace_slowest(slowest)?;
        }
        let others = TABLE_FILES
            .iter()
            .filter(|name| **name != STUDY_RESULT_FILE);
        for name in others.chain([&STUDY_RESULT_FILE]) {
            let (from, to) = (tables.path.join(name), self.path.join(name));
            let done = if from.exists() {
                std::fs::rename(from, &to)
            } else {
                absent_is_fine(std::fs::remove_file(&to))
            };
            done.map_err(|e| failed(&to, &e))?;
        }
        Ok(())
    }

    /// A new hidden name.
    fn hidden(&self, name: &str) -> PathBuf {
        let hidden = format!(".{name}.{}.part", temporary::unique());
        self.path.join(hidden)
    }

    fn replace_slowest(&self, slowest: &Stage) -> Result<(), CliError> {
        let place = self.path.join(SLOWEST_RUN);
        // A killed process leaves it under a name that the next one removes.
        let aside = self.hidden(SLOWEST_RUN);
        let is_link = (place.symlink_metadata()).is_ok_and(|meta| meta.is_symlink());
        let unlinked = if is_link {
            std::fs::remove_file(&place)
        } else {
            Ok(())
        };
        let taken = unlinked.and_then(|()| take_place(&slowest.path, &place, &aside));
        taken.map_err(|e| failed(&place, &e))?;
        remove_part(&aside);
        Ok(())
    }
}

/// Whether a directory has no entries, as a study without a complete run has none.
fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn failed(path: &Path, e: &std::io::Error) -> CliError {
    CliError::Failed(format!("cannot write `{}`: {e}", path.display()))
}

fn absent_is_fine(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// A hidden directory within a study's, which is removed in the end.
#[derive(Debug)]
pub(super) struct Stage {
    path: PathBuf,
}

impl Stage {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        signal::keep_if_aborted(&self.path);
        remove_part(&self.path);
    }
}

/// Refuses a directory with files of something else.
fn check_files(path: &Path) -> Result<(), CliError> {
    let shown = path.display();
    let entries = std::fs::read_dir(path).map_err(|e| refuse(format_args!("`{shown}`: {e}")))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    let own = |name: &&String| {
        let name = name.as_str();
        let folder = FOLDERS.contains(&name);
        TABLE_FILES.contains(&name) || folder || temporary::is_temporary(name)
    };
    if let Some(foreign) = names.iter().find(|name| !own(name)) {
        return Err(refuse(format_args!(
            "`{shown}` holds `{}`, which is no file of a study; name another directory",
            cut(foreign)
        )));
    }
    // A link in place of the slowest run is replaced.
    let is_link = |name: &&str| *name != SLOWEST_RUN && path.join(name).is_symlink();
    if let Some(link) = FOLDERS.iter().copied().find(is_link) {
        return Err(refuse(format_args!(
            "`{shown}` holds `{link}`, which is a symbolic link; name another directory, or --records DIR of `flitwise run`"
        )));
    }
    Ok(())
}

/// The tables in `dir`.
pub(super) fn shown(dir: &Path) -> Result<String, CliError> {
    if !dir.exists() {
        return Err(CliError::BadInput(format!(
            "there is no directory `{}`; name the directory of a study that has run",
            dir.display()
        )));
    }
    if dir.is_dir() && !dir.join(STUDY_RESULT_FILE).is_file() {
        return Err(CliError::BadInput(format!(
            "`{}` has no study.json; name the directory of a study that has run",
            dir.display()
        )));
    }
    if dir.is_file() {
        let shown = dir.display();
        return Err(CliError::BadInput(format!(
            "`{shown}` is a file; name the directory that `flitwise study {}` wrote: NAME.study, or the one of --out",
            quoted(&shown.to_string())
        )));
    }
    let path = dir.join("summary.txt");
    let text = read_regular_text(&path).map_err(|e| {
        CliError::BadInput(format!(
            "cannot read `{}`: {e}; name the directory of a study that has run",
            path.display()
        ))
    })?;
    if text.trim().is_empty() {
        return Err(CliError::BadInput(format!(
            "`{}` is empty; `flitwise study {}` writes it again",
            path.display(),
            quoted(&dir.display().to_string())
        )));
    }
    Ok(text)
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
