//! A rank of a job, and its position in its program.

use super::program::Op;

/// State of one rank.
#[derive(Debug, Clone, Default)]
pub(super) struct Rank {
    pub state: State,
    /// The current operation: computing, waiting or sending.
    pub op: Option<Op>,
    /// Records taken from the program so far.
    pub records: u64,
    /// Computation done, scaled, in picoseconds.
    pub compute_ps: u64,
    /// Time of the last event of the rank in picoseconds.
    pub last_ps: u64,
}

/// What a rank is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// The previous operation is done; an event will take the next.
    #[default]
    Between,
    /// An event will carry out the operation.
    Computing,
    /// The operation waits for the event that it names.
    Waiting,
    /// The send is not complete.
    Sending,
    /// The program is over.
    Ended,
}

impl Rank {
    /// Notes an event of the rank at `ps`.
    pub(super) fn touch(&mut self, ps: u64) {
        self.last_ps = self.last_ps.max(ps);
    }
}
