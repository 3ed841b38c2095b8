//! Messages about a directory that was given in place of a trace.

use std::path::{Path, PathBuf};

use super::Source;
use crate::foreign::Foreign;

/// Most names of a directory that are looked at.
const MAX_NAMES: usize = 4096;
/// Most of its files that are opened.
const MAX_OPENED: usize = 64;
/// Most traces that a message names.
const NAMED: usize = 3;

/// The contents of a directory.
#[derive(Default)]
struct Found {
    /// Files that are a trace each.
    traces: Vec<PathBuf>,
    /// They may have a trace of several files.
    archives: Vec<PathBuf>,
    /// The kind of the first file that is only part of a trace.
    part: Option<Foreign>,
}

fn look(path: &Path) -> Found {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let files = entries.take(MAX_NAMES).map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort_unstable();
    let mut found = Found::default();
    for file in files.into_iter().take(MAX_OPENED) {
        let Ok(mut source) = Source::open_regular(&file) else {
            continue;
        };
        let Ok(head) = source.head() else {
            continue;
        };
        match Foreign::of(head) {
            _ if head.starts_with(b"VEF") => found.traces.push(file),
            Some(Foreign::Goal | Foreign::GoalBinary | Foreign::Ti) => found.traces.push(file),
            Some(Foreign::Tar) => found.archives.push(file),
            Some(format) if format.is_trace() => {
                found.part.get_or_insert(format);
            }
            _ => {}
        }
    }
    found
}

/// That the directory at `path` is no trace, and which traces are in it, as the rest of a message
/// that names it.
#[must_use]
pub fn directory(path: &Path) -> String {
    const WHAT: &str = "is a directory, not a trace file";
    let found = look(path);
    if !found.traces.is_empty() {
        let traces = listed(&found.traces);
        return format!("{WHAT}; name one of those in it: {traces}");
    }
    match (found.part, &found.archives[..]) {
        (Some(Foreign::Dumpi), _) => {
            format!("{WHAT}; the files of a DUMPI trace in it must be called `PREFIX-NNNN.bin`")
        }
        (_, [archive]) => format!("{WHAT}; name the archive in it: `{}`", archive.display()),
        (_, archives @ [_, ..]) => {
            let archives = listed(archives);
            format!("{WHAT}; name one of the archives in it: {archives}")
        }
        (Some(format), []) => format!("{WHAT}; in it is {format}"),
        (None, []) => format!(
            "{WHAT}, and no file in it looks like one; name a file, or the directory of the files of a DUMPI, TI or OTF2 trace"
        ),
    }
}

/// The first of these files, for a message.
pub(crate) fn listed(files: &[PathBuf]) -> String {
    let mut names: Vec<String> = (files.iter().take(NAMED))
        .map(|file| format!("`{}`", file.display()))
        .collect();
    if files.len() > NAMED {
        names.push("…".into());
    }
    names.join(", ")
}
