//! An error of a file: its place, the call there, and what is wrong.

use std::fmt;

/// The file violates the format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    offset: u64,
    within: Option<&'static str>,
    problem: String,
    cure: &'static str,
}

/// The cure of a file that ends too early.
pub(super) const CUT_SHORT: &str =
    "the rank ended before MPI_Finalize, or the file is cut short: copy or record it again";
/// The cure of bytes that no recorder writes.
pub(super) const DAMAGED: &str = "the file is damaged: copy or record it again";

impl ParseError {
    #[cold]
    pub(super) fn new(
        offset: u64,
        within: Option<&'static str>,
        problem: impl Into<String>,
        cure: &'static str,
    ) -> Self {
        let problem = problem.into();
        Self {
            offset,
            within,
            problem,
            cure,
        }
    }

    /// Bytes of the unpacked file before the record, or the number, that is wrong.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The problem and its cure.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{}; {}", self.problem, self.cure)
    }

    /// The function of the record, or the part of the file, that is wrong.
    #[must_use]
    pub fn within(&self) -> Option<&'static str> {
        self.within
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}", self.offset)?;
        if let Some(within) = self.within {
            write!(f, " ({within})")?;
        }
        write!(f, ": {}", self.message())
    }
}

impl std::error::Error for ParseError {}
