//! `name`, `description` and `tags`: the words of a file about itself.

use crate::config::document::error::MAX_NAME;
use crate::config::document::{ConfigError, check_name, refused};
use flitwise_base::quote::{is_unprintable, quoted};
use schemars::JsonSchema;
use serde::Serialize;

/// Most characters of a description, and most tags.
const MAX_DESCRIPTION: usize = 4096;

const MAX_TAGS: usize = 64;

/// Name, description and tags of an experiment, as its file gives them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct About {
    /// The name of the experiment, on one line.
    pub name: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// Words to find it by, each once.
    pub tags: Vec<String>,
}

impl About {
    /// Whether the file says nothing about itself.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that tables and messages can show the words.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let Some(name) = &self.name {
            check_name(name, || "name".into())?;
            not_empty(name, "name")?;
        }
        if let Some(text) = &self.description {
            not_empty(text, "description")?;
            if text.chars().nth(MAX_DESCRIPTION).is_some() {
                let problem = format!("has more than {MAX_DESCRIPTION} characters; say less");
                return refused("description", problem);
            }
            if text.chars().any(|c| c.is_control() && c != '\n') {
                let problem = "has a control character other than the end of a line; remove it";
                return refused("description", problem);
            }
        }
        let tags = &self.tags;
        if tags.len() > MAX_TAGS {
            let problem = format!("{} tags; at most {MAX_TAGS} are kept", tags.len());
            return refused("tags", problem);
        }
        for (i, tag) in tags.iter().enumerate() {
            let key = format!("tags.{i}");
            check_name(tag, || key.clone())?;
            not_empty(tag, &key)?;
            if tags[..i].contains(tag) {
                let problem = format!("{} is listed twice; keep one", quoted(tag));
                return refused(key, problem);
            }
        }
        Ok(())
    }
}

/// As much of `name` as the name of an experiment may have.
pub(crate) fn shown_name(name: &str) -> String {
    let shown = name.chars().filter(|&c| !is_unprintable(c));
    shown.take(MAX_NAME).collect()
}

fn not_empty(text: &str, key: &str) -> Result<(), ConfigError> {
    if text.trim().is_empty() {
        return refused(key, "is empty; leave it out");
    }
    Ok(())
}
