//! Replay: turns programs, collectives and background flows into messages.

pub mod background;
mod cbr;
pub mod collectives;
pub mod outcome;
pub mod placement;
pub mod program;
pub mod rng;
