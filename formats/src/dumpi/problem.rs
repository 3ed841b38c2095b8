//! A problem in the file of a rank: its place, the call there, and what is wrong.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{self, PlaceError};

/// Something wrong or odd in the file of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Bytes of the unpacked file before the record, or the number, that is wrong.
    pub offset: u64,
    /// The function of the record, or the part of the file, if it is about one.
    pub within: Option<&'static str>,
    /// The problem and its cure.
    pub message: String,
}

/// The cure of a file that ends too early.
pub(super) const CUT_SHORT: &str =
    "the rank ended before MPI_Finalize, or the file is cut short: copy or record it again";
/// The cure of bytes that no recorder writes.
pub(super) const DAMAGED: &str = "the file is damaged: copy or record it again";

impl Problem {
    #[cold]
    pub(super) fn new(
        offset: u64,
        within: Option<&'static str>,
        problem: impl fmt::Display,
        cure: &str,
    ) -> Self {
        let message = format!("{problem}; {cure}");
        Self {
            offset,
            within,
            message,
        }
    }

    /// The same in the file of `rank`, which is at `path`.
    #[must_use]
    pub fn of(self, rank: u32, path: &Arc<Path>) -> place::Problem {
        let within = self.within.map(|within| format!(" ({within})"));
        let within = within.unwrap_or_default();
        let message = format!("rank {rank}{within}: {}", self.message);
        PlaceError::byte(self.offset, message).of(path)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}", self.offset)?;
        if let Some(within) = self.within {
            write!(f, " ({within})")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Problem {}
