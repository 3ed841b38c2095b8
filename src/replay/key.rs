//! The names by which the collectives of a job are told apart.

use super::mpi::CommId;
use std::fmt;

/// Tells apart the collectives of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The collective with this id.
    Id(u64),
    /// A call of MPI.
    Call {
        /// Communicator.
        comm: CommId,
        /// Number among the collectives that each member calls on it.
        number: u32,
    },
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "collective {id}"),
            Self::Call { comm, number } => {
                write!(f, "collective {number} of communicator {comm}")
            }
        }
    }
}
