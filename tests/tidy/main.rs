//! The repository itself: seams of the code, documents.

mod docs;
mod seams;
