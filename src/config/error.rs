//! Errors in an experiment: where, why, and what would be right.

use flitwise_formats::limits::MAX_QUOTE;
use flitwise_formats::quote::{cut, is_unprintable, quoted};
use std::fmt;
use thiserror::Error;

/// Most characters of a name of a job, a service level or a vFabric: as many as a file name has.
const MAX_NAME: usize = 255;

/// One clear message about an experiment file or an override.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub struct ConfigError {
    /// Where it stands; boxed because errors are rare and results are not.
    pub location: Option<Box<Location>>,
    /// Key in the form used by `--set`, e.g. `job.0.sl`.
    pub key: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

/// A place in a text, with the line for the caret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// File name, or `--set`.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The whole line, of which a message shows at most 200 characters.
    pub text: String,
    /// Characters to underline, at least 1.
    pub width: usize,
}

impl ConfigError {
    /// A problem with `key`, not yet located.
    #[cold]
    #[must_use]
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            location: None,
            key: key.into(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.location {
            write!(f, "{}:{}:{}: ", at.source, at.line, at.column)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", cut(&self.key))?;
        }
        f.write_str(&self.problem)?;
        if let Some(at) = &self.location {
            at.excerpt(f)?;
        }
        Ok(())
    }
}

impl Location {
    /// The line with carets under the place; of a long line the part around it.
    fn excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let skipped = match self.text.chars().count() {
            0..=MAX_QUOTE => 0,
            // As much before the place as after it.
            _ => self.column.saturating_sub(1 + MAX_QUOTE / 2),
        };
        let mut rest = self.text.chars().skip(skipped);
        // One column for each character, so that the carets stand where they belong.
        let in_one_column = |c| if is_unprintable(c) { ' ' } else { c };
        let part: String = rest.by_ref().take(MAX_QUOTE).map(in_one_column).collect();
        let before = if skipped > 0 { "…" } else { "" };
        let after = match rest.count() {
            0 if skipped == 0 => String::new(),
            left => {
                let more = if left > 0 { "…" } else { "" };
                format!("{more} ({} characters)", self.text.chars().count())
            }
        };
        let indent = self.column - 1 - skipped;
        let room = part.chars().count().saturating_sub(indent).max(1);
        let carets = "^".repeat(self.width.min(room));
        let indent = " ".repeat(indent + before.chars().count());
        write!(
            f,
            "\n{gutter} |\n{number} | {before}{part}{after}\n{gutter} | {indent}{carets}"
        )
    }
}

/// Refuses a name that a table or a message could not show: tables of results show names whole.
pub(super) fn check_name(name: &str, key: impl FnOnce() -> String) -> Result<(), ConfigError> {
    let problem = if name.chars().any(is_unprintable) {
        format!(
            "{} has a control character; take another name",
            quoted(name)
        )
    } else if name.chars().nth(MAX_NAME).is_some() {
        format!(
            "{} is too long; a name has at most {MAX_NAME} characters",
            quoted(name)
        )
    } else {
        return Ok(());
    };
    Err(ConfigError::new(key(), problem))
}

/// The candidate most like `word`, if it is close enough to be a slip.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // No name is that long, and the comparison takes as much memory as both texts multiplied.
    if word.len() > MAX_NAME {
        return None;
    }
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&lower, &c.to_lowercase()), c))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, c)| distance <= 1 + word.len().min(c.len()) / 3)
        .map(|(_, c)| c)
}

/// "; did you mean `x`?" or a list of all candidates.
pub(super) fn suggestion(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if candidates.is_empty() => String::new(),
        None => format!("; valid here: {}", cut(&candidates.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        assert_eq!(
            nearest("shedular", ["preset", "scheduler"]),
            Some("scheduler")
        );
        assert_eq!(nearest("cl", ["VO", "CL"]), Some("CL"));
        assert_eq!(nearest("bandwidth", ["preset", "routing"]), None);
    }
}
