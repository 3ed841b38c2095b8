//! `name`, `description` and `tags`: what a file says about itself.

use super::error::{ConfigError, check_name};
use super::experiment::About;
use super::raw::RawExperiment;
use flitwise_formats::quote::quoted;

/// Most characters of a description, and most tags.
const MAX_DESCRIPTION: usize = 4096;
const MAX_TAGS: usize = 64;

pub(super) fn about(raw: &RawExperiment) -> Result<About, ConfigError> {
    if let Some(name) = &raw.name {
        check_name(name, || "name".into())?;
        not_empty(name, "name")?;
    }
    if let Some(text) = &raw.description {
        not_empty(text, "description")?;
        if text.chars().nth(MAX_DESCRIPTION).is_some() {
            let problem = format!("has more than {MAX_DESCRIPTION} characters; say less");
            return Err(ConfigError::new("description", problem));
        }
        if text.chars().any(|c| c.is_control() && c != '\n') {
            let problem = "has a control character other than the end of a line; remove it";
            return Err(ConfigError::new("description", problem));
        }
    }
    let tags = raw.tags.as_deref().unwrap_or_default();
    if tags.len() > MAX_TAGS {
        let problem = format!("{} tags; at most {MAX_TAGS} are kept", tags.len());
        return Err(ConfigError::new("tags", problem));
    }
    for (i, tag) in tags.iter().enumerate() {
        let key = format!("tags.{i}");
        check_name(tag, || key.clone())?;
        not_empty(tag, &key)?;
        if tags[..i].contains(tag) {
            let problem = format!("{} is listed twice; keep one", quoted(tag));
            return Err(ConfigError::new(key, problem));
        }
    }
    Ok(About {
        name: raw.name.clone(),
        description: raw.description.clone(),
        tags: tags.to_vec(),
    })
}

fn not_empty(text: &str, key: &str) -> Result<(), ConfigError> {
    match text.trim().is_empty() {
        true => Err(ConfigError::new(key, "is empty; leave it out")),
        false => Ok(()),
    }
}
