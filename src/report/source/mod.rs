//! The files of runs, studies and static analyses, read from their directories.

mod congestion;
mod run;
mod study;
mod table;

pub use congestion::CongestionSource;
pub use run::{Distribution, LinkUse, Pair, RunSource, Series, Slice};
pub use study::{Change, LOAD, StudyRow, StudySource};

use crate::config::missing_file;
use crate::report::error::ReportError;
use crate::results::document::AnalysedNetwork;
use crate::results::{ANALYSIS_FILE, COMMAND_FILE, RESULT_FILE};
use crate::study::{SLOWEST_RUN, STUDY_RESULT_FILE};
use flitwise_base::quote::cut;
use flitwise_formats::source::{read_regular, read_regular_text};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The directory of a run, a study or a static analysis.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// Of a run.
    Run(Box<RunSource>),
    /// Of a study.
    Study(Box<StudySource>),
    /// Of a static analysis.
    Congestion(Box<CongestionSource>),
}

/// The runs among the sources.
pub(crate) fn runs(sources: &[Source]) -> impl Iterator<Item = &RunSource> {
    sources.iter().filter_map(|source| match source {
        Source::Run(run) => Some(&**run),
        Source::Study(_) | Source::Congestion(_) => None,
    })
}

/// The studies among the sources.
pub(crate) fn studies(sources: &[Source]) -> impl Iterator<Item = &StudySource> {
    sources.iter().filter_map(|source| match source {
        Source::Study(study) => Some(&**study),
        Source::Run(_) | Source::Congestion(_) => None,
    })
}

/// The analyses among the sources.
pub(crate) fn analyses(sources: &[Source]) -> impl Iterator<Item = &CongestionSource> {
    sources.iter().filter_map(|source| match source {
        Source::Congestion(analysis) => Some(&**analysis),
        Source::Run(_) | Source::Study(_) => None,
    })
}

/// The networks of all analyses, each with its name in figures and tables.
pub(crate) fn networks(
    sources: &[Source],
) -> impl Iterator<Item = (String, &CongestionSource, &AnalysedNetwork)> {
    let alone = analyses(sources).count() == 1;
    analyses(sources).flat_map(move |analysis| {
        let networks = analysis.document.networks.iter();
        networks.map(move |network| (analysis.series_name(network, alone), analysis, network))
    })
}

impl Source {
    /// Its name in figures.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Run(run) => &run.label,
            Self::Study(study) => &study.label,
            Self::Congestion(analysis) => &analysis.label,
        }
    }

    /// Gives it another name.
    pub fn set_label(&mut self, label: String) {
        match self {
            Self::Run(run) => run.label = label,
            Self::Study(study) => study.set_label(label),
            Self::Congestion(analysis) => analysis.label = label,
        }
    }

    /// Where it is, as the user wrote it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        match self {
            Self::Run(run) => &run.dir,
            Self::Study(study) => &study.dir,
            Self::Congestion(analysis) => &analysis.dir,
        }
    }
}

/// Reads the directories. The name of each is the label given for it, or the name of its experiment or study. If two
/// would have the same name, it is the name of the directory.
///
/// # Errors
/// If one is given twice, cannot be read, or holds no result, or if some have a label and others have none.
pub fn open(dirs: &[PathBuf], labels: &[String]) -> Result<Vec<Source>, ReportError> {
    let mut sources = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        let path = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if seen.contains(&path) {
            let shown = dir.display();
            return Err(ReportError(format!(
                "`{shown}` is given twice; name it once"
            )));
        }
        seen.push(path);
        sources.push(one(dir)?);
    }
    if !labels.is_empty() && labels.len() != sources.len() {
        let times = match labels.len() {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        let directories = match sources.len() {
            1 => "directory",
            _ => "directories",
        };
        return Err(ReportError(format!(
            "--label is given {times} for {} {directories}; give it once for each, in their order",
            sources.len()
        )));
    }
    for (source, label) in sources.iter_mut().zip(labels) {
        source.set_label(label.clone());
    }
    if labels.is_empty() {
        tell_apart(&mut sources);
    }
    Ok(sources)
}

/// Names the sources of equal names after their directories.
fn tell_apart(sources: &mut [Source]) {
    let names: Vec<String> = sources.iter().map(|one| one.label().to_owned()).collect();
    for (source, name) in sources.iter_mut().zip(&names) {
        if names.iter().filter(|other| *other == name).count() > 1 {
            source.set_label(name_of(source.dir()));
        }
    }
}

fn one(dir: &Path) -> Result<Source, ReportError> {
    let shown = dir.display();
    if !dir.is_dir() {
        let (what, near) = if dir.exists() {
            ("is a file", String::new())
        } else {
            ("does not exist", missing_file(dir, &[dir.to_owned()]))
        };
        return Err(ReportError(format!(
            "`{shown}` {what}{near}; name the directory of a run (`flitwise run EXP.toml --out DIR`) or of a study"
        )));
    }
    if dir.join(RESULT_FILE).is_file() {
        return Ok(Source::Run(Box::new(RunSource::read(dir)?)));
    }
    if dir.join(STUDY_RESULT_FILE).is_file() {
        return Ok(Source::Study(Box::new(StudySource::read(dir)?)));
    }
    if dir.join(ANALYSIS_FILE).is_file() {
        let analysis = CongestionSource::read(dir)?;
        return Ok(Source::Congestion(Box::new(analysis)));
    }
    let inside = |name: &str| {
        let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().find(|path| path.join(name).is_file())
    };
    let documents = [RESULT_FILE, STUDY_RESULT_FILE, ANALYSIS_FILE];
    let hint = match documents.into_iter().find_map(inside) {
        Some(path) => format!("; did you mean `{}`?", path.display()),
        None => "; `flitwise run EXP.toml --out DIR`, `flitwise study STUDY.toml` and `flitwise congestion … --out DIR` \
                 write one"
            .to_owned(),
    };
    Err(ReportError(format!(
        "`{shown}` holds no result: it has no result.json, study.json or congestion.json{hint}"
    )))
}

/// The name of a directory, also of `.`.
fn name_of(dir: &Path) -> String {
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = whole
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| dir.display().to_string())
}

fn read(path: &Path) -> Result<Vec<u8>, ReportError> {
    let shown = path.display();
    read_regular(path).map_err(|e| ReportError(format!("cannot read `{shown}`: {e}; run it again")))
}

fn parsed<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, ReportError> {
    serde_json::from_slice(text).map_err(|e| damaged(path, e))
}

/// The error of a damaged file, with the command that replaces it.
fn damaged(path: &Path, why: impl Display) -> ReportError {
    let in_study = path.parent().is_some_and(|dir| dir.ends_with(SLOWEST_RUN));
    let cure = if in_study {
        "run the study again"
    } else if path.ends_with(RESULT_FILE) {
        "run it again into this directory with --force"
    } else if path.ends_with(ANALYSIS_FILE) {
        "move its directory away, and make the analysis again"
    } else {
        "run it again into this directory"
    };
    ReportError(format!("`{}` is damaged ({why}); {cure}", path.display()))
}

/// The same as a type, so that an error names the line of a wrong value.
fn typed_document<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, ReportError> {
    document(path, schema)?;
    parsed(path, &read(path)?)
}

/// A document of a directory, of the form `schema`.
fn document(path: &Path, schema: &str) -> Result<Value, ReportError> {
    let shown = path.display();
    let text = read(path)?;
    let value: Value = parsed(path, &text)?;
    match value["schema"].as_str() {
        Some(found) if found == schema => Ok(value),
        found => Err(ReportError(format!(
            "`{shown}` is of the form `{}`, and this version reads `{schema}`; run it again with this version",
            cut(found.unwrap_or("unknown"))
        ))),
    }
}

/// The command that made a directory, if it is known.
fn command(dir: &Path) -> Option<String> {
    let text = read_regular_text(&dir.join(COMMAND_FILE)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
