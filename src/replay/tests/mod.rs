//! Replay on an ideal fabric.

mod collectives;
mod harness;
mod jobs;
mod repeat;
mod semantics;
