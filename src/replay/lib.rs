//! Replay: turns programs, collectives and background flows into messages.
//!
//! A [`Replay`] is a [workload](flitwise_fabric::workload::Workload) of the fabric.
//! Each job has a player that takes operations from its [program], carries out
//! collectives by the plans in [collectives] and waits for the dependencies.
//! One agenda in picoseconds orders all events.

pub mod agreement;
mod arrived;
pub mod background;
mod causes;
pub mod collectives;
pub mod compute;
pub mod convert;
pub mod critical_path;
mod driver;
mod gaps;
pub mod generate;
pub mod job;
mod link;
mod members;
mod messages;
pub mod mpi;
mod observer;
pub mod outcome;
mod pairs;
pub mod placement;
mod plans;
mod player;
pub mod program;
mod queue;
mod rank;
mod stall;
mod standing;
#[cfg(test)]
mod tests;
pub mod trace;

pub use compute::ComputeModel;
pub use driver::{Replay, ReplaySpec};
pub use gaps::GapsSkipped;
pub use job::{IntraNode, JobSpec, Repeat, SendCompletion};
pub use observer::{Doing, Observer, Sent, StreamOf};
pub use pairs::{PairCount, PairCounts};
pub use standing::Progress;
