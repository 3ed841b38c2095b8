//! The lines of a text.

use memchr::memchr_iter;

/// Where the lines of a text end.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub fn of(text: &str) -> Self {
        Self(memchr_iter(b'\n', text.as_bytes()).collect())
    }

    /// The line, from 1, in which byte `at` is.
    pub fn at(&self, at: usize) -> usize {
        self.0.partition_point(|&end| end < at) + 1
    }
}
