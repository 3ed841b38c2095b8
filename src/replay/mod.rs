//! Replay: turns programs, collectives and background flows into messages.
//!
//! A [`Replay`] is a [workload](crate::fabric::workload::Workload) of the fabric.
//! Each job has a player that takes operations from its [program], carries out
//! collectives by the plans in [collectives] and waits for the dependencies.
//! One agenda in picoseconds orders all events.

pub mod background;
pub mod collectives;
mod driver;
mod idset;
pub mod job;
mod link;
mod messages;
pub mod outcome;
pub mod placement;
mod player;
pub mod program;
mod queue;
mod rank;
mod running;
mod stall;
#[cfg(test)]
mod tests;
pub mod vef;

pub use driver::{Progress, Replay, ReplaySpec};
pub use job::{IntraNode, JobSpec, Repeat, SendCompletion};
