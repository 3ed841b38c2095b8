//! `flitwise run DIR` and `flitwise congestion DIR`: repeat the result in a directory, and compare all its files.

mod compare;

use super::command_line::quoted;
use super::console::tell;
use super::error::CliError;
use super::instead::{Wanted, instead};
use super::out::{ANALYSIS, Owner, RUN};
use compare::first_difference;
use flitwise::config::{InputFile, Origin, Plan};
use flitwise::results::{
    ANALYSIS_FILE, COMMAND_FILE, COMPARISON_FILE, EXPERIMENT_FILE, OVERVIEW_FILE, RESULT_FILE,
    origin_files,
};
use flitwise::run::{Session, TraceDigest};
use flitwise::study::{SLOWEST_RUN, STUDY_FILE, TABLE_FILES};
use flitwise_base::quote::cut;
use flitwise_formats::source::read_regular_text;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The files that differ from run to run, or depend on another experiment.
const NOT_COMPARED: [&str; 4] = [COMMAND_FILE, COMPARISON_FILE, EXPERIMENT_FILE, STUDY_FILE];

/// A result that is repeated.
#[derive(Debug)]
pub(super) struct Repeated {
    /// Its directory.
    dir: PathBuf,
}

/// The file of the experiment that `path` names, and the result that it repeats, if `path` is a result or its directory.
///
/// # Errors
/// If `path` is a directory from which `command` takes no experiment.
pub(super) fn experiment(
    command: &str,
    path: &Path,
) -> Result<(PathBuf, Option<Repeated>), CliError> {
    let dir = if path.is_dir() {
        path
    } else if path.file_name().is_some_and(|name| name == RESULT_FILE) {
        path.parent().unwrap_or(Path::new(""))
    } else {
        return Ok((path.to_owned(), None));
    };
    let (file, result) = (dir.join(EXPERIMENT_FILE), dir.join(RESULT_FILE));
    if file.is_file() && !dir.join(ANALYSIS_FILE).is_file() {
        if !result.is_file() {
            return Err(CliError::BadInput(format!(
                "there is no `{}`, so there is no result to repeat; `flitwise {command} {}` takes its experiment",
                result.display(),
                quoted(&file.display().to_string())
            )));
        }
        let dir = dir.to_owned();
        return Ok((file, Some(Repeated { dir })));
    }
    let shown = path.display();
    if result.is_file() {
        return Err(CliError::BadInput(format!(
            "`{shown}` holds a result without {EXPERIMENT_FILE}, which earlier versions did not write; take the command \
             in command.txt"
        )));
    }
    let other = instead(command, Wanted::Experiment, path);
    other.map_or_else(|| Ok((path.to_owned(), None)), Err)
}

/// Whether the result that `plan` repeats has this option.
pub(super) fn has_option(plan: &Plan, option: &str) -> bool {
    let origin = plan.origin.as_ref();
    origin.is_some_and(|origin| origin.options.iter().any(|other| other == option))
}

/// Tells which of these traces and files have changed since `origin` was written. The paths of `origin` start from `dir`.
pub(super) fn tell_of_changes(
    origin: &Origin,
    digests: &[TraceDigest],
    dir: &Path,
    files: &[InputFile],
) -> bool {
    let mut changed = false;
    for file in origin_files(dir, files) {
        let before = origin.file.iter().find(|other| other.name == file.name);
        if let Some(before) = before.filter(|before| before.xxh3 != file.xxh3) {
            changed = true;
            let name = file.name.display().to_string();
            tell(format_args!(
                "warning: the file `{}` has changed since the result was written: its content has the hash {}, and had {}",
                cut(&name),
                file.xxh3,
                cut(&before.xxh3)
            ));
        }
    }
    for TraceDigest { trace, xxh3, .. } in digests {
        let hash = format!("{xxh3:032x}");
        // Two traces may have the same name.
        let mut named = origin.trace.iter().filter(|other| other.name == *trace);
        if named.clone().any(|before| before.xxh3 == hash) {
            continue;
        }
        if let Some(before) = named.next() {
            changed = true;
            tell(format_args!(
                "warning: the trace `{}` has changed since the result was written: its content has the hash {hash}, and had {}",
                cut(trace),
                cut(&before.xxh3)
            ));
        }
    }
    let here = env!("CARGO_PKG_VERSION");
    if let Some(version) = origin.version.as_deref().filter(|&version| version != here) {
        changed = true;
        tell(format_args!(
            "warning: Flitwise {} wrote the result, and this is Flitwise {here}",
            cut(version)
        ));
    }
    changed
}

impl Repeated {
    /// Tells before the run what has changed since the result was written. The traces of `plan` are read.
    pub(super) fn tell_of_changes(&self, plan: &Plan, session: &Session) {
        let Some(origin) = &plan.origin else {
            return;
        };
        if tell_of_changes(
            origin,
            &session.digests(plan),
            &plan.written.dir,
            &plan.files,
        ) {
            return;
        }
        let hash = session.experiment_hash(plan);
        if (origin.experiment_hash.as_ref()).is_some_and(|before| *before != hash) {
            tell(format_args!(
                "warning: the experiment has changed since the result was written: {EXPERIMENT_FILE}, or a file that it names"
            ));
        }
    }

    /// Compares the files of the new result in `now` with the files of the old one.
    pub(super) fn compare(&self, now: &Path) -> Compared {
        self.tell_of_comparison();
        compare_results(&self.dir, now, &RUN)
    }

    /// Tells that the comparison with another experiment is not repeated, and which file that takes.
    fn tell_of_comparison(&self) {
        let path = self.dir.join(COMPARISON_FILE);
        let Ok(text) = read_regular_text(&path) else {
            return;
        };
        let comparison: Value = serde_json::from_str(&text).unwrap_or_default();
        let file = comparison["other"]["file"].as_str();
        let file = file.map_or_else(
            || "the file of --against in command.txt".to_owned(),
            |file| format!("`{}`", cut(file)),
        );
        tell(format_args!(
            "{COMPARISON_FILE} is not repeated: it needs {file}, and `flitwise explain --against FILE --out DIR` writes it"
        ));
    }
}

/// The outcome of a comparison of two results.
#[derive(Debug)]
pub(super) enum Compared {
    /// All files have the same bytes.
    Same(String),
    /// A file differs.
    Different(String),
}

impl Compared {
    /// Reports the outcome.
    ///
    /// # Errors
    /// If a file differs.
    pub(super) fn tell(self) -> Result<(), CliError> {
        match self {
            Self::Same(text) => {
                tell(format_args!("{text}"));
                Ok(())
            }
            Self::Different(text) => Err(CliError::Failed(text)),
        }
    }
}

/// Compares the static analysis in `now` with the one in `before`.
pub(super) fn compare_analyses(before: &Path, now: &Path) -> Compared {
    compare_results(before, now, &ANALYSIS)
}

/// Compares all files of two results of one command, the document first, except for files that differ from run to run.
fn compare_results(before: &Path, now: &Path, owner: &Owner) -> Compared {
    let Owner { marker, owns, .. } = *owner;
    let mut names = vec![marker.to_owned()];
    for dir in [before, now] {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let found = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.extend(found.filter(|name| owns(name) && !NOT_COMPARED.contains(&name.as_str())));
    }
    names[1..].sort();
    names.dedup();
    // An option that names another file writes this one.
    if !now.join(OVERVIEW_FILE).exists() {
        names.retain(|name| name != OVERVIEW_FILE);
    }
    let mut seen = 0;
    let shown = before.display();
    for (at, name) in names.iter().enumerate() {
        if at > 0 && name == marker {
            continue;
        }
        seen += 1;
        if let Some(difference) = first_difference(&before.join(name), &now.join(name)) {
            let file = before.join(name);
            return Compared::Different(format!(
                "the result differs from `{}`{difference}",
                file.display()
            ));
        }
    }
    let but = if marker == RESULT_FILE {
        ", except for the times and events of `engine`"
    } else {
        ""
    };
    Compared::Same(format!(
        "the same bytes as `{shown}` in all {seen} files{but}"
    ))
}

/// Says whether the tables of the study in `now`, and its slowest run, are the same as those in `before`.
///
/// # Errors
/// If a file differs.
pub(super) fn compare_tables(before: &Path, now: &Path) -> Result<(), CliError> {
    let shown = before.display();
    let tables = TABLE_FILES
        .iter()
        .filter(|name| !NOT_COMPARED.contains(name));
    for name in tables {
        if let Some(difference) = first_difference(&before.join(name), &now.join(name)) {
            return Err(CliError::Failed(format!(
                "`{name}` differs from the one in `{shown}`{difference}"
            )));
        }
    }
    let [slowest, again] = [before, now].map(|dir| dir.join(SLOWEST_RUN));
    if let Compared::Different(text) = compare_results(&slowest, &again, &RUN) {
        return Err(CliError::Failed(text));
    }
    tell(format_args!(
        "the tables are the same bytes as those in `{shown}`"
    ));
    Ok(())
}
