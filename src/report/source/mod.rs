//! What runs and studies left in their directories.

mod run;
mod study;
mod table;

pub use run::{Distribution, LinkUse, Pair, RunSource, Sample, Series, Slice};
pub use study::{StudyRow, StudySource};

use super::ReportError;
use flitwise_formats::quote::cut;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The directory of a run or of a study.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// Of a run.
    Run(Box<RunSource>),
    /// Of a study.
    Study(Box<StudySource>),
}

impl Source {
    /// What figures call it.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Run(run) => &run.label,
            Self::Study(study) => &study.label,
        }
    }

    fn set_label(&mut self, label: String) {
        match self {
            Self::Run(run) => run.label = label,
            Self::Study(study) => study.label = label,
        }
    }

    /// Where it is, as the user wrote it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        match self {
            Self::Run(run) => &run.dir,
            Self::Study(study) => &study.dir,
        }
    }
}

/// Reads the directories. Each is called by the label given for it, or by the name of its experiment or study, or, where
/// two would have the same, by the name of the directory.
///
/// # Errors
/// If one is given twice, cannot be read, or holds no result.
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
    if labels.len() > sources.len() {
        return Err(ReportError(format!(
            "--label is given {} times for {} directories; give it once for each, in their order",
            labels.len(),
            sources.len()
        )));
    }
    for (source, label) in sources.iter_mut().zip(labels) {
        source.set_label(label.clone());
    }
    for at in labels.len()..sources.len() {
        let label = sources[at].label().to_owned();
        if sources
            .iter()
            .filter(|other| other.label() == label)
            .count()
            > 1
        {
            let clash: Vec<usize> = (labels.len()..sources.len())
                .filter(|&other| sources[other].label() == label)
                .collect();
            for other in clash {
                let name = name_of(sources[other].dir());
                sources[other].set_label(name);
            }
        }
    }
    Ok(sources)
}

fn one(dir: &Path) -> Result<Source, ReportError> {
    let shown = dir.display();
    if !dir.is_dir() {
        let what = if dir.exists() {
            "is a file"
        } else {
            "does not exist"
        };
        return Err(ReportError(format!(
            "`{shown}` {what}; name the directory of a run (`flitwise run EXP.toml --out DIR`) or of a study"
        )));
    }
    if dir.join("result.json").is_file() {
        return Ok(Source::Run(Box::new(RunSource::read(dir)?)));
    }
    if dir.join("study.json").is_file() {
        return Ok(Source::Study(Box::new(StudySource::read(dir)?)));
    }
    let inside = |name: &str| {
        let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().find(|path| path.join(name).is_file())
    };
    let hint = match inside("result.json").or_else(|| inside("study.json")) {
        Some(path) => format!("; did you mean `{}`?", path.display()),
        None => "; `flitwise run EXP.toml --out DIR` and `flitwise study STUDY.toml` write one"
            .to_owned(),
    };
    Err(ReportError(format!(
        "`{shown}` holds no result: it has neither result.json nor study.json{hint}"
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

/// A document of a directory, of the form `schema`.
fn document(path: &Path, schema: &str) -> Result<Value, ReportError> {
    let shown = path.display();
    let text = std::fs::read(path)
        .map_err(|e| ReportError(format!("cannot read `{shown}`: {e}; run it again")))?;
    let value: Value = serde_json::from_slice(&text).map_err(|e| {
        ReportError(format!(
            "`{shown}` is damaged ({e}); run it again into this directory"
        ))
    })?;
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
    let text = std::fs::read_to_string(dir.join(crate::results::COMMAND_FILE)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
