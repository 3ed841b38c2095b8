//! Errors in an experiment: their place, their reason, and what would be right.

use crate::fabric::spec::SpecError;
use flitwise_base::near::nearest;
use flitwise_base::quote::MAX_QUOTE;
use flitwise_base::quote::{cut, is_unprintable, quoted};
use std::fmt;
use thiserror::Error;
use toml::de::DeValue;

/// Most characters of a name of a job, a service level or a vFabric: as many as a file name has.
pub(crate) const MAX_NAME: usize = 255;

/// The name of a command-line override in messages.
pub(crate) const SET: &str = "--set";

/// The name of a command-line axis in messages.
pub(crate) const VARY: &str = "--vary";

/// The beginning of the example of a table at the end of a message.
const TABLE_EXAMPLE: &str = ", such as {";

/// One clear message about an experiment file or an override.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub struct ConfigError {
    /// Its place; boxed because errors are rare and results are not.
    pub location: Option<Box<Location>>,
    /// Key in the form used by `--set`, e.g. `job.0.sl`.
    pub key: String,
    /// The problem, and what would be right.
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
    /// The part of the line around the place that a message shows, at most 200 characters.
    pub text: String,
    /// Characters of the line before that part.
    pub(crate) skipped: usize,
    /// Characters of the whole line.
    pub(crate) length: usize,
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

    /// Whether the key is none of an experiment or a study, or its value is none of the key.
    pub(crate) fn is_unknown(&self) -> bool {
        self.is_unknown_key()
            || ["unknown value ", "wrong type: ", "commas "]
                .iter()
                .any(|start| self.problem.starts_with(start))
    }

    /// Whether the key is none of an experiment or a study.
    pub(crate) fn is_unknown_key(&self) -> bool {
        self.problem.starts_with("unknown key ")
    }

    /// Adds the last of the overrides `sets` that writes the key, or a part of it, to an error
    /// without a place: one that shows only in the run.
    #[must_use]
    pub fn placed_in(mut self, sets: &[String]) -> Self {
        let within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let of_key = |set: &&String| {
            let path = set.split('=').next().unwrap_or("").trim();
            !path.is_empty() && (within(path, &self.key) || within(&self.key, path))
        };
        let of_topology = |set: &&String| self.is_for_topology() && sets_topology(set);
        let last = sets.iter().rev().find(of_key);
        let last = last.or_else(|| sets.iter().rev().find(of_topology));
        if let (None, Some(set)) = (&self.location, last) {
            let value = set
                .split_once('=')
                .map_or("", |(_, value)| value)
                .trim_start();
            let line = set.lines().next().unwrap_or("");
            let column = set.chars().count() - value.chars().count();
            let left = line.chars().count().saturating_sub(column);
            let width = value.trim_end().chars().count().min(left);
            self.location = Some(Box::new(Location::of(SET, [1, column + 1], line, width)));
        }
        self
    }

    /// The problem of an override of the list `top`, which the experiment does not have.
    pub(crate) fn no_list(&self, top: &str) -> String {
        let whole = self.location.as_ref().and_then(|at| at.whole_list(top));
        let whole = whole.map_or_else(String::new, |list| format!(", or give all of it: {list}"));
        format!("the experiment has no [[{top}]] to change; add one to the file{whole}")
    }

    /// Whether another topology could cure the error: it is about the NICs of a job or of traffic.
    pub(crate) fn is_for_topology(&self) -> bool {
        let owners = ["job.", "background.", "vfabric."];
        owners.iter().any(|owner| self.key.starts_with(owner)) && self.problem.contains("NIC")
    }
}

/// Whether an override `a.b=c` sets the topology or a part of it.
pub(crate) fn sets_topology(set: &str) -> bool {
    let path = set.split('=').next().unwrap_or("").trim();
    path == "fabric" || path == "fabric.topology" || path.starts_with("fabric.topology.")
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.location {
            match at.source.as_str() {
                source if is_argument(source) => write!(f, "{source}: ")?,
                source => write!(f, "{source}:{}:{}: ", at.line, at.column)?,
            }
        }
        if !self.key.is_empty() && (self.key != SET || self.location.is_none()) {
            write!(f, "{}: ", cut(&self.key))?;
        }
        match &self.location {
            Some(at) if is_argument(&at.source) => f.write_str(&as_typed(&self.problem))?,
            _ => f.write_str(&self.problem)?,
        }
        if let Some(at) = &self.location {
            at.excerpt(f)?;
        }
        Ok(())
    }
}

impl Location {
    /// A place at a line and a column of a text, in `line`. It keeps no more of a long line than a message shows: each of
    /// many thousand values of one line has a place.
    pub(crate) fn of(source: &str, [number, column]: [usize; 2], line: &str, width: usize) -> Self {
        let length = line.chars().count();
        let skipped = match length {
            0..=MAX_QUOTE => 0,
            // As much text before the place as after it.
            _ => column.saturating_sub(1 + MAX_QUOTE / 2),
        };
        Self {
            source: source.to_owned(),
            line: number,
            column,
            text: line.chars().skip(skipped).take(MAX_QUOTE).collect(),
            skipped,
            length,
            width: width.max(1),
        }
    }

    /// How the override `top.0.key=value` gives the list `top` as a whole. Jobs need more than one key.
    fn whole_list(&self, top: &str) -> Option<String> {
        let (path, value) = self.text.split_once('=')?;
        let key = path.trim().strip_prefix(top)?.strip_prefix(".0.")?;
        let value = match DeValue::parse(value.trim()) {
            Ok(_) => value.trim().to_owned(),
            Err(_) => format!("{:?}", value.trim()),
        };
        let is_whole = self.source == SET && self.length < MAX_QUOTE && top != "job";
        is_whole.then(|| format!("{SET} '{top}=[{{{key}={value}}}]'"))
    }

    /// The line with carets under the place; of a long line the part around it. An override has no lines;
    /// it is shown as it was typed.
    fn excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, typed) = match self.source.as_str() {
            source if is_argument(source) => (" ".to_owned(), format!("{source} ")),
            _ => (self.line.to_string(), String::new()),
        };
        let gutter = " ".repeat(number.len());
        let skipped = self.skipped;
        // One column for each character, so that the carets stand in the right place.
        let in_one_column = |c| if is_unprintable(c) { ' ' } else { c };
        let part: String = self.text.chars().map(in_one_column).collect();
        let shown = part.chars().count();
        let before = if skipped > 0 { "…" } else { "" };
        let after = match self.length.saturating_sub(skipped + shown) {
            0 if skipped == 0 => String::new(),
            left => {
                let more = if left > 0 { "…" } else { "" };
                format!("{more} ({} characters)", self.length)
            }
        };
        let indent = self.column - 1 - skipped;
        let room = shown.saturating_sub(indent).max(1);
        let carets = "^".repeat(self.width.min(room));
        let indent = " ".repeat(typed.len() + indent + before.chars().count());
        write!(
            f,
            "\n{gutter} |\n{number} | {typed}{before}{part}{after}\n{gutter} | {indent}{carets}"
        )
    }
}

/// The same message with each `a.b = "c"` of a file as it is typed: `--set a.b=c`.
fn as_typed(problem: &str) -> String {
    // A shell splits tables.
    if let Some((before, keys)) = problem.split_once(TABLE_EXAMPLE)
        && keys.ends_with('}')
    {
        return format!("{before}{}'{{{keys}'", TABLE_EXAMPLE.trim_end_matches('{'));
    }
    let is_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
    let mut typed = String::new();
    let mut rest = problem;
    while let Some((before, after)) = rest.split_once(" = ") {
        let key = &before[before.trim_end_matches(is_key).len()..];
        let end = after.find([' ', ',', ';', ')']).unwrap_or(after.len());
        let (value, behind) = after.split_at(end);
        let bare = value.trim_matches('"');
        // Lists and tables need quotes for the shell, and parts of tables are no keys of their own.
        if key.contains('.') && !bare.is_empty() && !bare.starts_with(['{', '[']) {
            let before = &before[..before.len() - key.len()];
            typed += before.strip_suffix("set ").unwrap_or(before);
            typed += &format!("{SET} {key}={bare}");
        } else {
            typed += before;
            typed += " = ";
            typed += value;
        }
        rest = behind;
    }
    typed + rest
}

/// Refuses `key`.
pub(crate) fn refused<T>(
    key: impl Into<String>,
    problem: impl Into<String>,
) -> Result<T, ConfigError> {
    Err(ConfigError::new(key, problem))
}

/// Refuses a name that a table or a message could not show: tables of results show names whole.
pub(crate) fn check_name(name: &str, key: impl FnOnce() -> String) -> Result<(), ConfigError> {
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

/// Other names in use for what has another name here, which may be close to a third one.
const SYNONYMS: [(&str, &str); 1] = [("dragonfly+", "megafly")];

/// "; did you mean `x`?" or a list of all candidates.
pub(crate) fn suggestion(word: &str, candidates: &[&str]) -> String {
    let lower = word.to_lowercase();
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == lower);
    let synonym = synonym
        .map(|(_, name)| *name)
        .filter(|name| candidates.contains(name));
    // `edr` stands for `ib-edr`.
    let is_end = |c: &&str| c.strip_suffix(&*lower).is_some_and(|c| c.ends_with('-'));
    let whole = || candidates.iter().copied().find(is_end);
    let near = || nearest(word, candidates.iter().copied());
    match synonym.or_else(near).or_else(whole) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if candidates.is_empty() => String::new(),
        None => format!("; valid here: {}", cut(&candidates.join(", "))),
    }
}

impl From<SpecError> for ConfigError {
    fn from(e: SpecError) -> Self {
        Self::new(e.key, e.problem)
    }
}

pub(crate) fn small(value: u64, key: &str) -> Result<u32, ConfigError> {
    u32::try_from(value).map_err(|_| ConfigError::new(key, "is larger than 4 GiB"))
}

/// Whether the place of an error is an argument and no file.
pub(crate) fn is_argument(source: &str) -> bool {
    [SET, VARY].contains(&source)
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
        assert_eq!(nearest("kk", ["w", "k"]), Some("k"));
        assert_eq!(nearest("sede", ["fabric", "seed"]), Some("seed"));
        assert_eq!(nearest("bandwidth", ["preset", "routing"]), None);
        // Short names are near to all others: these are other names, not slips.
        assert_eq!(nearest("BK", ["VO", "BE"]), None);
        assert_eq!(nearest("X", ["A"]), None);
        assert_eq!(nearest("rate", ["name", "trace"]), None);
    }

    #[test]
    fn names_from_elsewhere_are_known() {
        let kinds = ["dragonfly", "megafly"];
        let meant = "; did you mean `megafly`?";
        assert_eq!(suggestion("Dragonfly+", &kinds), meant);
        assert_eq!(
            suggestion("dragonfly+", &kinds[..1]),
            "; did you mean `dragonfly`?"
        );
    }

    #[test]
    fn cures_are_typed_where_the_error_was() {
        let cured = |problem| as_typed(problem);
        assert_eq!(
            cured("remove it, or take fabric.kind = \"voq\"; or power.policy = \"on-off\""),
            "remove it, or take --set fabric.kind=voq; or --set power.policy=on-off"
        );
        assert_eq!(
            cured("at most 31: set qos.queues = 31 or less"),
            "at most 31: --set qos.queues=31 or less"
        );
        let table = "write { hotspot = 0, fraction = 0.1 }, or a.b = { c = 1 }";
        assert_eq!(cured(table), table);
        assert_eq!(cured("a = "), "a = ");
    }

    #[test]
    fn overrides_are_shown_as_typed() {
        let sets = ["job.0.sl=A", "job.0.placement = {list=[0]} ", "seed=1"];
        let sets = sets.map(String::from);
        let error = ConfigError::new("job.0.placement", "is too short");
        assert_eq!(
            error.clone().placed_in(&sets).to_string(),
            "--set: job.0.placement: is too short\n  |\n  | --set job.0.placement = {list=[0]} \n  \
             |                         ^^^^^^^^^^"
        );
        assert_eq!(error.clone().placed_in(&sets[..1]), error);
    }
}
