//! Where in a file something is wrong, and what.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Problems that a check keeps in full; it only counts further ones.
pub const MAX_PROBLEMS: usize = 100;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of a text, from 1.
    Line(u64),
    /// The offset of a byte of a binary file, from 0, in its unpacked content.
    Byte(u64),
}

impl Place {
    /// The number of the line, or the offset of the byte.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Line(number) | Self::Byte(number) => number,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// A problem at a place: the cause and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceError {
    /// Where.
    pub place: Place,
    /// The problem and its cure.
    pub message: String,
}

impl PlaceError {
    /// A problem of a line, from 1.
    #[cold]
    #[must_use]
    pub fn line(line: u64, message: impl Into<String>) -> Self {
        let message = message.into();
        let place = Place::Line(line);
        Self { place, message }
    }

    /// A problem at the offset of a byte, from 0.
    #[cold]
    #[must_use]
    pub fn byte(offset: u64, message: impl Into<String>) -> Self {
        let message = message.into();
        let place = Place::Byte(offset);
        Self { place, message }
    }

    /// The same in the file at `path`.
    #[must_use]
    pub fn of(self, path: &Arc<Path>) -> Problem {
        Problem {
            path: Arc::clone(path),
            place: Some(self.place),
            message: self.message,
        }
    }
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for PlaceError {}

/// Something wrong or odd in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: Arc<Path>,
    /// Where; `None` if it concerns all of the file.
    pub place: Option<Place>,
    /// The problem and its cure.
    pub message: String,
}

impl Problem {
    /// A problem of all of the file at `path`.
    #[cold]
    #[must_use]
    pub fn whole(path: &Arc<Path>, message: impl Into<String>) -> Self {
        Self {
            path: Arc::clone(path),
            place: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, message) = (self.path.display(), &self.message);
        match self.place {
            Some(Place::Line(line)) => write!(f, "{path}:{line}: {message}"),
            Some(place) => write!(f, "{path}: {place}: {message}"),
            None => write!(f, "{path}: {message}"),
        }
    }
}

impl std::error::Error for Problem {}

/// The first problems of a file, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    /// The first [`MAX_PROBLEMS`], in order of discovery.
    pub first: Vec<Problem>,
    /// Number of problems.
    pub total: u64,
}

impl Problems {
    /// A single one.
    #[must_use]
    pub fn one(problem: Problem) -> Self {
        Self {
            first: vec![problem],
            total: 1,
        }
    }

    /// Adds one; builds its message only if it is kept.
    pub fn add(&mut self, problem: impl FnOnce() -> Problem) {
        self.total += 1;
        if self.first.len() < MAX_PROBLEMS {
            self.first.push(problem());
        }
    }

    /// Adds the problems of another part of a trace.
    pub fn extend(&mut self, others: Self) {
        self.first.extend(others.first);
        self.total += others.total;
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}
