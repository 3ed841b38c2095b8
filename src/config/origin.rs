//! `[origin]`: the result beside which Flitwise wrote an experiment file, and the keys of such a file.

use crate::config::document::{ConfigError, Document, emit, quoted_text, refused};
use crate::config::qos::implied::{implied_preset, imply};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::de::DeValue;

/// The table of an experiment file that a result wrote.
const ORIGIN: &str = "origin";

/// Where an experiment file comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Origin {
    /// Version of Flitwise that wrote the file.
    pub version: Option<String>,
    /// `experiment_hash` of the result.
    pub experiment_hash: Option<String>,
    /// The directory from which all paths of the file start, relative to the file.
    #[schemars(extend("x-default" = "the directory of the file"))]
    pub directory: Option<PathBuf>,
    /// Options of the command or the study on which the result depends.
    #[serde(default)]
    pub options: Vec<String>,
    /// The traces, each once.
    #[serde(default)]
    pub trace: Vec<OriginTrace>,
    /// The directory of the command of a static analysis, relative to the file: paths in `options` and `network` start
    /// there.
    pub working_directory: Option<PathBuf>,
    /// The network of a static analysis, if no experiment describes it: a graph, or the output of ibnetdiscover.
    pub network: Option<PathBuf>,
    /// All other files that were read, each once: lists of hosts, tables, graphs, files of baselines.
    #[serde(default)]
    pub file: Vec<OriginFile>,
}

/// A file of a result that is no trace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OriginFile {
    /// Its path from `directory`.
    pub name: PathBuf,
    /// XXH3 (128 bits) of its content, unpacked. If the file has changed, a run says so before it begins.
    pub xxh3: String,
}

/// A trace of a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OriginTrace {
    /// The trace, as jobs name it.
    pub name: String,
    /// The place where it was found.
    #[schemars(extend("x-default" = "where a trace of this name is looked for"))]
    pub file: Option<PathBuf>,
    /// XXH3 (128 bits) of its content, as in `result.json`. If the trace has changed, a run says so before it begins.
    pub xxh3: String,
}

impl Origin {
    /// The place where a trace of this name was found.
    pub(crate) fn file_of(&self, trace: &str) -> Option<&Path> {
        let found = self.trace.iter().find(|other| other.name == trace);
        found.and_then(|found| found.file.as_deref())
    }

    /// Returns the table, whose path in its file is `path`.
    #[must_use]
    pub fn text(&self, path: &str) -> String {
        let Self {
            version,
            experiment_hash,
            directory,
            options,
            trace,
            working_directory,
            network,
            file,
        } = self;
        let pair = |key: &str, value: &str| format!("{key} = {}\n", quoted_text(value));
        let mut text = format!("[{path}]\n");
        for (key, value) in [("version", version), ("experiment_hash", experiment_hash)] {
            text += &value
                .as_ref()
                .map_or(String::new(), |value| pair(key, value));
        }
        if let Some(directory) = directory {
            text += &pair("directory", &directory.to_string_lossy());
        }
        if !options.is_empty() {
            let options: Vec<String> = options.iter().map(|option| quoted_text(option)).collect();
            text += &format!("options = [{}]\n", options.join(", "));
        }
        for (key, path) in [
            ("working_directory", working_directory),
            ("network", network),
        ] {
            if let Some(path) = path {
                text += &pair(key, &path.to_string_lossy());
            }
        }
        for OriginFile { name, xxh3 } in file {
            let name = pair("name", &name.to_string_lossy());
            text += &format!("\n[[{path}.file]]\n{name}{}", pair("xxh3", xxh3));
        }
        for OriginTrace { name, file, xxh3 } in trace {
            text += &format!("\n[[{path}.trace]]\n{}", pair("name", name));
            if let Some(file) = file {
                text += &pair("file", &file.to_string_lossy());
            }
            text += &pair("xxh3", xxh3);
        }
        text
    }
}

/// An experiment in the keys and units of its file, with all overrides applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Its keys, without `[origin]`.
    pub text: String,
    /// The directory from which its paths start.
    pub dir: PathBuf,
}

impl Written {
    /// The keys of `document`, in a table called `path`. `implied`: the QoS preset that the file implies without the
    /// overrides; it is written where the file implies another one with them.
    pub(crate) fn of(
        document: &Document<'_>,
        path: &str,
        implied: &'static str,
        dir: &Path,
    ) -> Self {
        let mut document = document.clone();
        document.remove(ORIGIN);
        if implied_preset(&document) != implied {
            // The preset is a text, so it can be set wherever `[qos]` is a table.
            let _ = imply(&mut document, implied);
        }
        Self {
            text: emit::text_of(document.texts(), document.root(), path),
            dir: dir.to_owned(),
        }
    }

    /// Replaces the name of the experiment. Each key has a line of its own, and `name` stands above all tables.
    pub(crate) fn set_name(&mut self, name: &str) {
        let mut text = format!("name = {}\n", quoted_text(name));
        let mut in_tables = false;
        for line in self.text.lines() {
            in_tables |= line.starts_with('[');
            if in_tables || !line.starts_with("name = ") {
                text += line;
                text.push('\n');
            }
        }
        self.text = text;
    }
}

/// The directory from which the paths of `document` start, which was read from a file in `dir`.
///
/// # Errors
/// If its name could not be written: it is no text in UTF-8.
pub(crate) fn directory(document: &Document<'_>, dir: &Path) -> Result<PathBuf, ConfigError> {
    let Some(DeValue::String(from)) = document.get("origin.directory") else {
        return Ok(dir.to_owned());
    };
    let path = dir.join(from.as_ref());
    if from.contains(char::REPLACEMENT_CHARACTER) && !path.is_dir() {
        return refused(
            "origin.directory",
            "the directory of the experiment has a name that is no text in UTF-8; rename it and run the experiment \
             again, or write its new name here",
        );
    }
    Ok(path)
}
