//! The anchor file of the archive in a directory.

use std::path::{Path, PathBuf};

use super::anchor::Anchor;
use crate::error::Error;
use crate::source::{Source, listed};

/// Most names of a directory that are looked at.
const MAX_NAMES: usize = 4096;

/// Most of its directories that are inspected.
const MAX_DIRECTORIES: usize = 64;

/// The files of a directory that belong to archives.
#[derive(Default)]
struct Found {
    anchors: Vec<PathBuf>,
    /// Files of global definitions beside a directory of events, without an anchor file.
    unfinished: Vec<PathBuf>,
}

impl Found {
    fn in_directory(dir: &Path) -> Self {
        let mut found = Self::default();
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.take(MAX_NAMES).map(|entry| entry.path()).collect();
        paths.sort_unstable();
        let mut directories = 0;
        for path in paths {
            let ends = |ending| path.extension().is_some_and(|ext| ext == ending);
            if ends("otf2") && is_anchor(&path) {
                found.anchors.push(path);
            } else if is_unfinished(&path, &mut directories) {
                found.unfinished.push(path);
            }
        }
        found
    }
}

/// Whether `path` is a directory of events that has no anchor file; false for all directories after the first ones.
fn is_unfinished(path: &Path, directories: &mut usize) -> bool {
    if *directories >= MAX_DIRECTORIES || !path.is_dir() {
        return false;
    }
    *directories += 1;
    !path.with_extension("otf2").exists() && has_events(path)
}

fn is_anchor(path: &Path) -> bool {
    let head = Source::open_regular(path).and_then(|mut source| Ok(Anchor::probe(source.head()?)));
    head.unwrap_or(false)
}

fn has_events(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_events = |path: &Path| {
        let numbered = path.file_stem().is_some_and(|stem| {
            let stem = stem.as_encoded_bytes();
            !stem.is_empty() && stem.iter().all(u8::is_ascii_digit)
        });
        numbered && path.extension().is_some_and(|ext| ext == "evt")
    };
    entries
        .take(MAX_NAMES)
        .any(|entry| is_events(&entry.path()))
}

/// Whether a directory has an archive, finished or not.
pub(super) fn has_archive(dir: &Path) -> bool {
    if !dir.is_dir() {
        return false;
    }
    let found = Found::in_directory(dir);
    !found.anchors.is_empty() || !found.unfinished.is_empty()
}

/// The one anchor file in a directory.
pub(super) fn anchor_in(dir: &Path) -> Result<PathBuf, Error> {
    let mut found = Found::in_directory(dir);
    let problem = match (&found.anchors[..], &found.unfinished[..]) {
        ([_], _) => {
            return found
                .anchors
                .pop()
                .ok_or_else(|| Error::set(dir, "has no OTF2 archive"));
        }
        ([], []) => "has no OTF2 archive, whose anchor file ends with `.otf2`".to_owned(),
        ([], parts) => format!(
            "has events of an OTF2 archive but no anchor file beside {}: the recording ended early, or the file was not copied; \
             record the program to its end",
            listed(parts)
        ),
        (several, _) => format!(
            "has more than one OTF2 archive: name one of the anchor files {}",
            listed(several)
        ),
    };
    Err(Error::set(dir, problem))
}
