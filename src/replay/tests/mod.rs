//! Replay on an ideal fabric.

mod collectives;
mod gaps;
mod harness;
mod jobs;
mod repeat;
mod semantics;
