//! Errors in an experiment: where, why, and what would be right.

use std::fmt;
use thiserror::Error;

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
    /// The whole line.
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
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)?;
        if let Some(at) = &self.location {
            let number = at.line.to_string();
            let gutter = " ".repeat(number.len());
            let indent = " ".repeat(at.column - 1);
            let carets = "^".repeat(at.width);
            write!(
                f,
                "\n{gutter} |\n{number} | {}\n{gutter} | {indent}{carets}",
                at.text
            )?;
        }
        Ok(())
    }
}

/// The candidate most like `word`, if it is close enough to be a slip.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
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
        None => format!("; valid here: {}", candidates.join(", ")),
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
