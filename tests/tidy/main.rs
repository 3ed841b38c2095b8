//! The repository itself: seams of the code, documents.

#[path = "../common/bless.rs"]
#[allow(dead_code, reason = "documents are compared as a whole")]
mod bless;

mod docs;
mod keys;
#[path = "../../benches/page.rs"]
#[allow(dead_code, reason = "the benchmarks write it")]
mod page;
#[path = "../../benches/record.rs"]
#[allow(dead_code, reason = "the benchmarks write it")]
mod record;
mod seams;
mod start;
mod tables;
mod words;
