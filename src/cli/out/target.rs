//! The files in DIR before the run, and whether a result may replace them.

use super::owner::{ANALYSIS, Owner, RECORDING, RUN};
use super::part::Part;
use super::{cannot_write, refuse};
use crate::cli::error::CliError;
use flitwise::config::{Plan, WrittenKey, experiment_json};
use flitwise::results::differences;
use flitwise_base::quote::cut;
use flitwise_formats::source::read_regular;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A directory that a result may replace.
#[derive(Debug)]
pub(in crate::cli) struct Target {
    /// The path as the user wrote it.
    pub shown: PathBuf,
    /// Absolute, and without symbolic links if it exists.
    pub path: PathBuf,
    /// The command whose results it is for.
    pub owner: &'static Owner,
}

impl Target {
    /// Checks `dir` for the result of `plan`, and changes nothing. `file` is the experiment's; with `force` the result
    /// of another experiment may be replaced.
    ///
    /// # Errors
    /// If the result of `plan` must not or cannot take the place of `dir`.
    pub fn of_run(dir: &Path, plan: &Plan, file: &Path, force: bool) -> Result<Self, CliError> {
        let target = Self::new(dir, &RUN)?;
        if !force {
            target.check_experiment(plan, file)?;
        }
        Ok(target)
    }

    /// Checks `dir` for a static analysis, which may replace any other, and changes nothing.
    ///
    /// # Errors
    /// If an analysis must not or cannot take the place of `dir`.
    pub fn of_analysis(dir: &Path) -> Result<Self, CliError> {
        let target = Self::new(dir, &ANALYSIS)?;
        target.document("move them away")?;
        Ok(target)
    }

    /// Checks `dir` for a recording, which may replace any other, and changes nothing.
    ///
    /// # Errors
    /// If a recording must not or cannot be written into `dir`.
    pub fn of_recording(dir: &Path) -> Result<Self, CliError> {
        Self::new(dir, &RECORDING)
    }

    fn new(dir: &Path, owner: &'static Owner) -> Result<Self, CliError> {
        let path = match dir.canonicalize() {
            Ok(path) => path,
            Err(e) if e.kind() == ErrorKind::NotFound => return Self::missing(dir, owner),
            Err(e) => return Err(cannot_write(dir, e)),
        };
        if !path.is_dir() {
            return Err(cannot_write(dir, "it is a file"));
        }
        check_place(dir, &path)?;
        check_files(dir, &path, owner)?;
        Ok(Self {
            shown: dir.to_owned(),
            path,
            owner,
        })
    }

    /// The directory `dir`, which does not exist.
    fn missing(dir: &Path, owner: &'static Owner) -> Result<Self, CliError> {
        if dir.symlink_metadata().is_ok() {
            let why = "it is a symbolic link to nothing";
            return Err(cannot_write(dir, why));
        }
        let path = std::path::absolute(dir).map_err(|e| cannot_write(dir, e))?;
        match path.file_name() {
            Some(_) => Ok(Self {
                shown: dir.to_owned(),
                path,
                owner,
            }),
            None => Err(cannot_write(dir, "it has no name")),
        }
    }

    /// Begins a result that will take the place of the directory.
    ///
    /// # Errors
    /// If there can be no directory beside it.
    pub fn begin(self) -> Result<Part, CliError> {
        Part::begin(self)
    }

    /// The document of the result that the directory holds; `None` if the directory is empty or missing. `cure`: what
    /// else one can do about files without a document.
    fn document(&self, cure: &str) -> Result<Option<Value>, CliError> {
        let entries = std::fs::read_dir(&self.path);
        if entries.map_or(true, |mut entries| entries.next().is_none()) {
            return Ok(None);
        }
        let Owner {
            noun,
            marker,
            schema,
            ..
        } = self.owner;
        let broken = |why: &str| {
            Err(refuse(format_args!(
                "`{}` has files with names that {noun} uses, but {why}; name another directory, or {cure}",
                self.shown.display()
            )))
        };
        let Ok(text) = read_regular(&self.path.join(marker)) else {
            return broken(&format!("no {marker}"));
        };
        let Ok(there) = serde_json::from_slice::<Value>(&text) else {
            return broken(&format!("its {marker} is damaged"));
        };
        if there["schema"] != *schema {
            return broken(&format!("its {marker} is not of the form {schema}"));
        }
        Ok(Some(there))
    }

    /// Refuses anything but the result of the same experiment, as far as that is known before the run: the contents of
    /// traces are not.
    fn check_experiment(&self, plan: &Plan, file: &Path) -> Result<(), CliError> {
        let Some(there) = self.document("replace them with --force")? else {
            return Ok(());
        };
        // Written and read, as the other document was, so that equal numbers are equal.
        let here = experiment_json(&plan.experiment).to_string();
        let here = serde_json::from_str(&here).unwrap_or_default();
        let Some(differs) = difference(&there["experiment"], &here) else {
            return Ok(());
        };
        Err(refuse(format_args!(
            "`{}` holds the result of another experiment than `{}`, {differs}; name another directory, or replace the \
             result with --force",
            self.shown.display(),
            file.display()
        )))
    }
}

/// Refuses places that no result can take.
fn check_place(dir: &Path, path: &Path) -> Result<(), CliError> {
    let cannot = |what: &str| {
        let shown = dir.display();
        Err(refuse(format_args!(
            "`{shown}` is {what}, whose place a result cannot take; name a directory inside it: \
             --out {}",
            dir.join("result").display()
        )))
    };
    if is_mount_point(path) {
        return cannot("a mount point");
    }
    // Otherwise the shell would stay in a directory that no longer exists.
    if std::env::current_dir().is_ok_and(|here| here == path) {
        return cannot("the working directory");
    }
    #[cfg(unix)]
    if let Err(e) = rustix::fs::access(path, rustix::fs::Access::WRITE_OK) {
        return Err(cannot_write(dir, std::io::Error::from(e)));
    }
    Ok(())
}

/// Refuses a directory that holds anything but files of a result of `owner`.
fn check_files(dir: &Path, path: &Path, owner: &Owner) -> Result<(), CliError> {
    match foreign_file(path, owner) {
        Ok(None) => Ok(()),
        Ok(Some(name)) => Err(refuse(format_args!(
            "`{}` holds `{name}`, which is no file of {noun}, and {noun} replaces the whole \
             directory; name another directory, or move `{name}` away",
            dir.display(),
            noun = owner.noun,
            name = cut(&name)
        ))),
        Err(e) => Err(cannot_write(dir, e)),
    }
}

/// The first entry by name that a result of `owner` would not contain.
pub(super) fn foreign_file(path: &Path, owner: &Owner) -> std::io::Result<Option<String>> {
    let mut foreign = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_file() || !(owner.owns)(&name) {
            foreign.push(name);
        }
    }
    // Always the same one, whatever the order of the directory.
    Ok(foreign.into_iter().min())
}

/// Whether another file system, or another part of one, begins at `path`.
fn is_mount_point(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
        let seen = statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS);
        let root = StatxAttributes::MOUNT_ROOT;
        // Linux tells since 5.8.
        if let Ok(seen) = seen
            && seen.stx_attributes_mask.contains(root)
        {
            return seen.stx_attributes.contains(root);
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let device = |path: &Path| path.metadata().map(|meta| meta.dev()).ok();
        path.parent()
            .is_none_or(|parent| device(parent) != device(path))
    }
    #[cfg(not(unix))]
    path.parent().is_none()
}

/// The first difference between the experiment in a directory and the one here, in words.
pub(in crate::cli) fn difference(there: &Value, here: &Value) -> Option<String> {
    let first = differences(there, here).into_iter().next()?;
    let [there, here] = first.brief();
    let WrittenKey { path, unit, .. } = first.written();
    let path = cut(&path);
    Some(match unit {
        Some("") => format!("with {path} = {there} instead of {here}"),
        Some(unit) => {
            // Fractions are texts.
            let [there, here] =
                [there, here].map(|value| value.trim_matches('"').to_owned() + unit);
            format!("with {path} = {there} instead of {here}")
        }
        None => format!("with another {path}"),
    })
}
