//! The experiment that a study varies, and the overrides of the study.

use crate::config::document::{ConfigError, Location, quoted_text, read};
use crate::config::load::written;
use crate::config::origin::Written;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::DeValue;

/// The source of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Base {
    /// The name of the text in messages.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
    /// The table in the text that holds the experiment; `None`: the whole text does.
    pub key: Option<String>,
    /// The directory in which traces and baseline files are looked for first.
    pub dir: PathBuf,
    /// Whether parts that only simulations use, such as jobs, are ignored.
    pub for_analyses: bool,
}

impl Base {
    /// An experiment that is a whole text.
    #[must_use]
    pub fn of_text(name: &str, text: &str, dir: &Path) -> Self {
        Self {
            name: name.to_owned(),
            text: text.into(),
            key: None,
            dir: dir.to_owned(),
            for_analyses: false,
        }
    }

    /// An experiment file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(path: &Path) -> Result<Self, ConfigError> {
        let dir = path.parent().unwrap_or(Path::new(""));
        let name = path.display().to_string();
        Ok(Self::of_text(&name, &read(path)?, dir))
    }

    /// The experiment in the keys of its file, with the texts `sets` of `--set` applied.
    ///
    /// # Errors
    /// If the text is no experiment, or cannot take one of `sets`.
    pub fn written(&self, sets: &[String]) -> Result<Written, ConfigError> {
        written(self, "", sets)
    }
}

/// A key with its value, laid over an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Override {
    /// In the form `a.b=c` of `--set`.
    pub text: String,
    /// The place where the value was written; `None`: as `--set` on the command line.
    pub(crate) place: Option<Box<Location>>,
    /// The place where the key was written, if it is not in front of the value.
    pub(crate) key_place: Option<Box<Location>>,
    /// The directory in which traces that it names are looked for first; `None`: the directory for traces of the
    /// experiment.
    pub(crate) dir: Option<PathBuf>,
}

impl Override {
    /// One that was typed behind `--set`.
    #[must_use]
    pub fn typed(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            place: None,
            key_place: None,
            dir: None,
        }
    }

    /// The value as TOML: a bare word is a text.
    #[must_use]
    pub fn value(&self) -> String {
        let value = self.text.split_once('=').map_or("", |(_, value)| value);
        let value = value.trim();
        match DeValue::parse(value) {
            Ok(_) => value.to_owned(),
            Err(_) => quoted_text(value),
        }
    }

    /// The key, as written.
    #[must_use]
    pub fn key(&self) -> &str {
        self.text.split('=').next().unwrap_or_default().trim()
    }
}
