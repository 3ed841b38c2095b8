//! The repository itself: seams of the code, documents.

#[path = "../common/bless.rs"]
#[allow(dead_code, reason = "documents are compared as a whole")]
mod bless;

mod circles;
mod docs;
mod keys;
mod seams;
mod speed;
mod start;
mod tables;
mod words;
