//! Replay: turns programs, collectives and background flows into messages.

pub mod outcome;
pub mod program;
pub mod vef;
