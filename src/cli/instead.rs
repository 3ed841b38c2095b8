//! A file or a directory in place of another kind: says what it is, and which command takes it.

use super::bare_trace;
use super::command_line::quoted;
use super::error::{CliError, bad_config};
use flitwise::config::{ConfigError, network_kind, network_lines, network_text};
use flitwise::results::{ANALYSIS_FILE, EXPERIMENT_FILE, RESULT_FILE};
use flitwise::study::{SLOWEST_RUN, STUDY_FILE, STUDY_RESULT_FILE};
use flitwise_formats::source::read_regular_text;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

/// The input that a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Experiment,
    Study,
    /// An experiment, or a network in another form.
    Network,
    /// An experiment, or a table for it.
    Table,
}

/// The content of a path.
enum Found {
    Experiment,
    /// A study, whose experiment is in a file.
    Study(Option<String>),
    /// A network in this form, and the lines by which an experiment names it, if it can.
    Network(&'static str, Option<String>),
    /// A directory that a run, a static analysis or a study wrote.
    RunDir,
    AnalysisDir,
    StudyDir,
    /// A directory of something else.
    Dir,
}

/// The error of `command` about the file in `path`, if there is one: `e`, unless the file is of another kind than
/// `wanted`.
pub(super) fn error(
    command: &str,
    wanted: Wanted,
    path: Option<&Path>,
    e: &ConfigError,
) -> CliError {
    let other = path.and_then(|path| instead(command, wanted, path));
    other.unwrap_or_else(|| bad_config(path, e))
}

/// Explains which command takes what `path` names, if `command` does not take it.
pub(super) fn instead(command: &str, wanted: Wanted, path: &Path) -> Option<CliError> {
    if let Some(found) = of_dir(path) {
        let is_bare = matches!(found, Found::Dir);
        let trace = is_bare.then(|| bare_trace::instead(command, path));
        return trace
            .flatten()
            .or_else(|| explained(command, wanted, path, &found));
    }
    if let Some(trace) = bare_trace::instead(command, path) {
        return Some(trace);
    }
    let text = match read_regular_text(path) {
        Ok(text) => text,
        // It may be packed.
        Err(_) if path.is_file() => network_text(path).ok()?,
        Err(_) => return None,
    };
    if let Some(found) = of_text(path, &text) {
        return explained(command, wanted, path, &found);
    }
    // A file of a result that is no experiment.
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty())?;
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let found = of_dir(dir).filter(|found| !is_toml && !matches!(found, Found::Dir))?;
    explained(command, wanted, dir, &found)
}

/// Returns the content of the directory `path`; `None` if it is no directory.
fn of_dir(path: &Path) -> Option<Found> {
    let has = |name: &str| path.join(name).is_file();
    path.is_dir().then(|| {
        // A study that was stopped has records and no tables; other directories may have a study of this name.
        if has(STUDY_RESULT_FILE) || has(STUDY_FILE) && path.join("records").is_dir() {
            Found::StudyDir
        } else if has(ANALYSIS_FILE) {
            Found::AnalysisDir
        } else if has(RESULT_FILE) {
            Found::RunDir
        } else {
            Found::Dir
        }
    })
}

/// Returns the kind of a text, if its keys tell.
fn of_text(path: &Path, text: &str) -> Option<Found> {
    const OF_EXPERIMENTS: [&str; 6] = [
        "fabric",
        "job",
        "background",
        "qos",
        "measure",
        "congestion",
    ];
    if let Some(form) = network_kind(text) {
        return Some(Found::Network(form, network_lines(path, text)));
    }
    let table: toml::Table = text.parse().ok()?;
    match table.get("experiment") {
        Some(base) => Some(Found::Study(base.as_str().map(str::to_owned))),
        None => OF_EXPERIMENTS
            .iter()
            .any(|key| table.contains_key(*key))
            .then_some(Found::Experiment),
    }
}

fn explained(command: &str, wanted: Wanted, path: &Path, found: &Found) -> Option<CliError> {
    if let (Found::StudyDir, Wanted::Study) = (found, wanted) {
        return Some(unnamed_study(path));
    }
    let cure = cure(command, wanted, path, found)?;
    let takes = match wanted {
        Wanted::Experiment => "an experiment (docs/reference/experiment.md)",
        Wanted::Study => "a study (docs/reference/study.md)",
        Wanted::Network => "an experiment or a network",
        Wanted::Table => "an experiment or a [dtable]",
    };
    Some(CliError::BadInput(format!(
        "`{}` {found}, and `{command}` takes {takes}: {cure}",
        path.display()
    )))
}

/// The error of a study in `dir` that is wanted and not named: by one of its files, or without its study.toml.
fn unnamed_study(dir: &Path) -> CliError {
    let (shown, named) = (dir.display(), quoted(&dir.display().to_string()));
    CliError::BadInput(if dir.join(STUDY_FILE).is_file() {
        format!(
            "name the directory of the study, not one of its files: `flitwise study {named}` repeats it"
        )
    } else {
        format!(
            "`{shown}` has no {STUDY_FILE}, which describes its study; repeat the command that made it, with --out {named}"
        )
    })
}

impl Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Experiment => "is an experiment",
            Self::Study(_) => "is a study",
            Self::Network(form, _) => return write!(f, "is {form}"),
            Self::RunDir => "holds the result of a run",
            Self::AnalysisDir => "holds a static analysis",
            Self::StudyDir => "holds a study",
            Self::Dir => "is a directory without a result",
        })
    }
}

/// The command for what `path` is; `None` if that is wanted.
fn cure(command: &str, wanted: Wanted, path: &Path, found: &Found) -> Option<String> {
    let named = quoted(&path.display().to_string());
    Some(match (found, wanted) {
        (Found::Experiment, Wanted::Study) => {
            format!("`flitwise run {named}` runs it; --seeds and --vary make a study of it")
        }
        (Found::Experiment, _) | (Found::Network(..), Wanted::Network) => return None,
        (Found::Study(base), Wanted::Experiment | Wanted::Network | Wanted::Table) => {
            let base = base.as_ref().map(|base| {
                let dir = path.parent().unwrap_or(Path::new(""));
                format!("; its experiment is `{}`", dir.join(base).display())
            });
            let base = base.unwrap_or_default();
            format!("`flitwise study {named}` runs it{base}")
        }
        (Found::Study(_), Wanted::Study) => return None,
        (Found::Network(_, Some(lines)), _) => format!(
            "write a file with these lines and name that (`flitwise congestion` reads the file itself):\n{lines}"
        ),
        (Found::Network(_, None), _) => format!(
            "`flitwise congestion {named}` analyses it; `flitwise init ib-from-dump` shows how an experiment names one"
        ),
        (Found::RunDir, _) => {
            format!("`flitwise run {named}` repeats it{}", experiment_in(path))
        }
        (Found::AnalysisDir, _) => format!(
            "`flitwise congestion {named}` repeats it{}",
            experiment_in(path)
        ),
        (Found::StudyDir, _) if command == "explain" => format!(
            "`flitwise explain {named}/{SLOWEST_RUN}` explains its slowest run, `flitwise run EXPERIMENT --explain` with \
             --set any other"
        ),
        (Found::StudyDir, _) => format!(
            "`flitwise study {named}` repeats it, `flitwise study show {named}` prints its tables"
        ),
        (Found::Dir, _) => "name a file, or the directory of --out".to_owned(),
    })
}

/// The place of the experiment of a result.
fn experiment_in(dir: &Path) -> String {
    let file = dir.join(EXPERIMENT_FILE);
    if file.is_file() {
        format!("; its experiment is `{}`", file.display())
    } else {
        String::new()
    }
}
