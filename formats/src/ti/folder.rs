//! Traces given as the directory that has their files.

use std::path::{Path, PathBuf};

use super::list::Entry;
use super::trace::{Form, Trace, probe_text};
use crate::error::Error;
use crate::limits::MAX_TASKS;
use crate::source::{Input, Source};

/// Most traces that a message names.
const NAMED: usize = 3;

/// The files of a directory that belong to TI traces, in order of their names.
#[derive(Default)]
struct Found {
    lists: Vec<PathBuf>,
    actions: Vec<PathBuf>,
}

impl Found {
    fn of(dir: &Path) -> std::io::Result<Self> {
        let mut found = Self::default();
        let entries = std::fs::read_dir(dir)?.take(MAX_TASKS as usize + 16);
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        files.sort_unstable();
        for file in files {
            let form = Source::open(&file).and_then(|mut s| s.head().map(probe_text));
            match form {
                Ok(Some(Form::List)) => found.lists.push(file),
                Ok(Some(Form::OneFile)) => found.actions.push(file),
                // What can't be read is none of its files, or is said to be missing.
                Ok(Some(Form::Archive) | None) | Err(_) => {}
            }
        }
        Ok(found)
    }
}

/// True if `dir` is a directory with a TI trace.
#[must_use]
pub fn is_folder(dir: &Path) -> bool {
    dir.is_dir()
        && Found::of(dir).is_ok_and(|found| !found.lists.is_empty() || !found.actions.is_empty())
}

/// The trace in a directory: its list of files; or its only file; or the files of all ranks, whose names end with
/// `rank-` and a number, in the order of these. `None` if `go_on` returned false.
pub(super) fn read(dir: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Trace>, Error> {
    let found = Found::of(dir).map_err(|e| Error::io(dir, e))?;
    match (&found.lists[..], &found.actions[..]) {
        ([list], _) => Trace::read(&Input::new(list), go_on),
        ([], [only]) => {
            let trace = Trace::read(&Input::new(only), go_on)?;
            Ok(trace.map(|trace| trace.in_files(vec![only.clone()])))
        }
        ([], []) => Err(Error::set(
            dir,
            "is a directory without a TI trace; give its list of files",
        )),
        ([], files) => match by_number(files) {
            Some(files) => {
                let name = |file: &PathBuf| Entry {
                    line: 0,
                    name: file.display().to_string(),
                };
                let entries: Vec<Entry> = files.iter().map(name).collect();
                Trace::list(dir.into(), &entries, &files, go_on)
            }
            None => Err(Error::set(
                dir,
                format!(
                    "is a directory with {} files of ranks and no list of them; their names do not end with `rank-` \
                     and the numbers from 0 or 1 on: write a list",
                    files.len()
                ),
            )),
        },
        (lists, _) => {
            let names = lists.iter().take(NAMED);
            let names: Vec<String> = names.map(|list| format!("`{}`", list.display())).collect();
            let more = if lists.len() > NAMED { ", …" } else { "" };
            let message = format!(
                "is a directory with several TI traces; name one of them: {}{more}",
                names.join(", ")
            );
            Err(Error::set(dir, message))
        }
    }
}

/// The files in the order of their numbers, if these are consecutive from 0 or 1.
fn by_number(files: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let number = |file: &PathBuf| {
        let name = file.file_name()?.to_str()?;
        let (_, end) = name.rsplit_once("rank-")?;
        let digits = end.split('.').next()?;
        Some((digits.parse::<u64>().ok()?, file.clone()))
    };
    let mut numbered: Vec<_> = files.iter().map(number).collect::<Option<_>>()?;
    numbered.sort_unstable();
    let first = numbered.first()?.0;
    let consecutive = (first..)
        .zip(&numbered)
        .all(|(n, (number, _))| n == *number);
    (first <= 1 && consecutive).then(|| numbered.into_iter().map(|(_, file)| file).collect())
}
