//! An error of a text that is read as a whole: its line, and what is wrong there.

use std::fmt;

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// Line, from 1.
    pub line: usize,
    /// The problem, and the text that is expected.
    pub problem: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for LineError {}

/// A problem at `line`.
#[cold]
pub(crate) fn error<T>(line: usize, problem: impl Into<String>) -> Result<T, LineError> {
    let problem = problem.into();
    Err(LineError { line, problem })
}
