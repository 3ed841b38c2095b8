//! The error of a fabric that cannot be built.

use thiserror::Error;

/// A fabric that cannot be built, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct SpecError {
    /// Experiment-file key that the problem belongs to.
    pub key: &'static str,
    /// The problem, and the values that would be right.
    pub problem: String,
}

/// An error about `key`.
pub(crate) fn error<T>(key: &'static str, problem: String) -> Result<T, SpecError> {
    Err(SpecError { key, problem })
}
