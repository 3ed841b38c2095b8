//! Kinds of oddities.

/// A kind of oddity, of which a check reports the first of each rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// A clock went back.
    Time,
    /// The wall clock went far ahead of the processor's.
    Leap,
    /// A call uses a request that no recorded call made.
    Request,
    /// A call uses a communicator that no recorded call made.
    Comm,
    /// A communicator with a topology has no recorded message.
    Topology,
    /// The recording does not begin with `MPI_Init`, or not end with `MPI_Finalize`.
    Ends,
}

impl Odd {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Time,
        Self::Leap,
        Self::Request,
        Self::Comm,
        Self::Topology,
        Self::Ends,
    ];
}
