//! Recordings: every record and call, streams that are cut or damaged, sets of files, communicators of ranks, and recordings
//! that the recorder made.

mod broken;
mod calls;
mod communicators;
mod recordings;
mod sets;
mod threads;
mod write;

#[path = "../../../tests/fuzz/recordings.rs"]
mod properties;
