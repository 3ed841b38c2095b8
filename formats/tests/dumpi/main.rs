//! DUMPI: real recordings, layouts of all functions, sets of files, broken input.

#[path = "../support/data.rs"]
mod data;

mod recordings;
