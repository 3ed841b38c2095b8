//! Numbers of ranks and of their streams.

use flitwise_base::define_ids;

define_ids! {
    /// A rank of a job. Not its position in a communicator.
    RankId;
    /// A stream of operations of one rank.
    StreamId;
    /// A named part of the program, by its place in the names of the trace.
    RegionId;
}
