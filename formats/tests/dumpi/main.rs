//! DUMPI: real recordings, layouts of all functions, sets of files, broken input.

#[path = "../support/data.rs"]
mod data;

mod broken;
mod layouts;
mod recordings;
mod sets;
mod write;
