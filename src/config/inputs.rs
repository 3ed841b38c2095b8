//! The files that an experiment or a network names, as they were read: hosts, tables, dumps, graphs, baselines.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Its path.
    pub path: PathBuf,
    /// XXH3 (128 bits, seed 0) of its content, unpacked.
    pub xxh3: u128,
}

thread_local! {
    /// The files that this thread has read since the innermost [`noting`] began. All readers of this module's parent
    /// note them here, so no key that names a file can be forgotten.
    static READ: RefCell<Vec<InputFile>> = const { RefCell::new(Vec::new()) };
}

/// Notes that the file at `path` was read and has the content `bytes`.
pub(crate) fn note(path: &Path, bytes: &[u8]) {
    note_hash(path, XxHash3_128::oneshot(bytes));
}

/// Notes that the file at `path` was read and has a content with this hash.
pub(crate) fn note_hash(path: &Path, xxh3: u128) {
    READ.with_borrow_mut(|read| {
        let path = path.to_owned();
        let file = InputFile { path, xxh3 };
        if !read.contains(&file) {
            read.push(file);
        }
    });
}

/// Returns the result of `work`, and the files that `work` read, each once, in order.
pub fn noting<T>(work: impl FnOnce() -> T) -> (T, Vec<InputFile>) {
    let outer = READ.take();
    let result = work();
    let inner = READ.replace(outer);
    for file in &inner {
        note_hash(&file.path, file.xxh3);
    }
    (result, inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_noted_once_and_by_all_that_wait() {
        let ((), outer) = noting(|| {
            note(Path::new("a"), b"1");
            let ((), inner) = noting(|| {
                note(Path::new("b"), b"2");
                note(Path::new("b"), b"2");
            });
            assert_eq!(inner.len(), 1);
        });
        let paths: Vec<_> = outer.iter().map(|file| file.path.clone()).collect();
        assert_eq!(paths, [Path::new("a"), Path::new("b")]);
        let ((), none) = noting(|| ());
        assert!(none.is_empty());
    }
}
