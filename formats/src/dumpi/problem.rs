//! The problems of a trace.

use super::parse_error::ParseError;
use flitwise_base::place::Place;
use std::fmt;

/// Something wrong or odd in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The rank in whose file it is.
    pub rank: u32,
    /// Bytes of the unpacked file before it.
    pub offset: u64,
    /// The function that is called there, or the part of the file, if it is about one.
    pub within: Option<&'static str>,
    /// The problem and its cure.
    pub message: String,
}

impl Problem {
    /// That the file of `rank` violates the format.
    #[must_use]
    pub fn of_error(rank: u32, error: &ParseError) -> Self {
        Self {
            rank,
            offset: error.offset(),
            within: error.within(),
            message: error.message(),
        }
    }

    /// The problem and its rank.
    pub(super) fn of_rank(&self) -> String {
        let within = self.within.map(|within| format!(" ({within})"));
        let within = within.unwrap_or_default();
        format!("rank {}{within}: {}", self.rank, self.message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Place::Byte(self.offset), self.of_rank())
    }
}
