//! DUMPI: real recordings, layouts of all functions, sets of files, broken input.

#[path = "../support/data.rs"]
mod data;

mod broken;
mod fuzzed;
mod layouts;
mod messages;
mod recordings;
mod sets;
mod write;

#[path = "../../../tests/fuzz/dumpi.rs"]
mod properties;
