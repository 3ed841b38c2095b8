//! Puts a directory in the place of another one.

use std::io::{self, ErrorKind};
use std::path::Path;

/// The number of attempts, because other processes may create and remove `dir` meanwhile.
const TRIES: u32 = 100;

/// Gives the directory `part` the name `dir`. The directory that had this name is called `part` afterwards, or `aside`
/// if the system cannot exchange two directories at once.
///
/// # Errors
/// If the system refuses; both directories are as before.
pub(in crate::cli) fn take_place(part: &Path, dir: &Path, aside: &Path) -> io::Result<()> {
    let mut last = io::Error::other("other processes change it all the time");
    for _ in 0..TRIES {
        match exchange(part, dir) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) if lacks_exchange(&e) => return rename_twice(part, dir, aside),
            Err(e) => return Err(e),
        }
        // Replaces an empty directory at most.
        match std::fs::rename(part, dir) {
            Ok(()) => return Ok(()),
            Err(e) if is_occupied(&e) => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(part: &Path, dir: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, part, CWD, dir, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Whether the error says that the file system or the operating system supports no exchange.
fn lacks_exchange(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::CrossesDevices
    )
}

fn is_occupied(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty
    )
}

/// The same in two steps, between which there is no `dir`.
fn rename_twice(part: &Path, dir: &Path, aside: &Path) -> io::Result<()> {
    let mut last = io::Error::other("other processes change it all the time");
    for _ in 0..TRIES {
        let moved = match std::fs::rename(dir, aside) {
            Ok(()) => true,
            Err(e) if e.kind() == ErrorKind::NotFound => false,
            Err(e) => return Err(e),
        };
        last = match std::fs::rename(part, dir) {
            Ok(()) => return Ok(()),
            Err(e) => e,
        };
        if moved {
            // Only another process can have taken the name.
            let _ = std::fs::rename(aside, dir);
        }
        if !is_occupied(&last) {
            break;
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(dir: &Path, text: &str) {
        std::fs::create_dir(dir).unwrap();
        std::fs::write(dir.join(text), text).unwrap();
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_directory_takes_the_place_of_another_or_of_none() {
        for place in [take_place, rename_twice] {
            let root = tempfile::tempdir().unwrap();
            let at = |name: &str| root.path().join(name);
            put(&at("part"), "new");
            place(&at("part"), &at("dir"), &at("aside")).unwrap();
            assert_eq!(names(root.path()), ["dir"]);
            put(&at("part"), "newer");
            place(&at("part"), &at("dir"), &at("aside")).unwrap();
            assert_eq!(names(&at("dir")), ["newer"]);
            let old = [at("part"), at("aside")]
                .into_iter()
                .find(|old| old.exists());
            assert_eq!(names(&old.unwrap()), ["new"]);
        }
    }

    #[test]
    fn a_refusal_leaves_both() {
        for place in [take_place, rename_twice] {
            let root = tempfile::tempdir().unwrap();
            let at = |name: &str| root.path().join(name);
            put(&at("dir"), "old");
            assert!(place(&at("part"), &at("dir"), &at("aside")).is_err());
            assert_eq!(names(root.path()), ["dir"]);
            assert_eq!(names(&at("dir")), ["old"]);
        }
    }
}
