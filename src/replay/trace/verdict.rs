//! The verdict on a trace, as its format gives it and `trace check` prints it.

use flitwise_formats::{Problem, Problems};
use std::path::Path;

/// The cure of a broken trace whose errors do not name one.
pub(super) const RECORD_AGAIN: &str = "; record or convert it again";

/// The problems of a trace, and its contents if they could be read.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// The errors of the trace.
    pub errors: Problems,
    /// The cure of all errors; empty if each has its own.
    pub cure: &'static str,
    /// Oddities that do not prevent a replay.
    pub warnings: Problems,
    /// Numbers of ranks, messages and the like; `None` if the trace could not be read so far.
    pub counts: Option<Vec<Count>>,
    /// Whether the trace is one text, in which the line alone says where a problem is.
    pub is_one_text: bool,
}

impl Verdict {
    /// Warns of the trace at `path` if it has no error and counts nothing but ranks.
    pub fn warn_if_empty(&mut self, path: &Path) {
        let is_empty = |counts: &Vec<Count>| {
            let mut counts = counts.iter().filter(|count| count.name != "ranks");
            counts.all(|count| count.value == 0)
        };
        if self.errors.is_empty() && self.counts.as_ref().is_some_and(is_empty) {
            let message = "has no operation: record or convert it again, or give another file";
            self.warnings.add(|| whole(path, message));
        }
    }
}

/// A number of things in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The name of the things that are counted, as a key of JSON.
    pub name: &'static str,
    /// How many there are.
    pub value: u64,
    /// Whether the text has it, too.
    pub in_text: bool,
}

impl Count {
    /// A number that text and JSON have.
    #[must_use]
    pub fn new(name: &'static str, value: u64) -> Self {
        let in_text = true;
        Self {
            name,
            value,
            in_text,
        }
    }
}

/// The problem of all of the file at `path` that `message` states, which may begin with the path.
pub(super) fn whole(path: &Path, message: &str) -> Problem {
    let shown = format!("{}: ", path.display());
    Problem {
        path: path.into(),
        place: None,
        message: message.strip_prefix(&shown).unwrap_or(message).to_owned(),
    }
}
