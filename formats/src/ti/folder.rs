//! Traces given as the directory that has their files.

use std::path::{Path, PathBuf};

use flitwise_base::stop::Stop;

use super::grammar;
use super::list::Entry;
use super::trace::{Form, Trace, probe};
use crate::error::Error;
use crate::limits::{MAX_DIGITS, MAX_TASKS};
use crate::source::{Input, Source, listed};

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
            let form = Source::open_regular(&file)
                .and_then(|mut s| s.head().map(|head| probe(&file, head)));
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

/// The trace in a directory: its list of files; or its only file; or the files of all ranks, in the order of the numbers
/// at the ends of their names.
pub(super) fn read(dir: &Path, stop: Stop<'_>) -> Result<Trace, Error> {
    let found = Found::of(dir).map_err(|e| Error::io(dir, e))?;
    match (&found.lists[..], &found.actions[..]) {
        ([list], _) => Trace::read(&Input::new(list), stop),
        ([], [only]) => {
            let trace = Trace::read(&Input::new(only), stop)?;
            Ok(trace.in_files(vec![only.clone()]))
        }
        ([], []) => Err(Error::set(
            dir,
            "is a directory without a TI trace; give its list of files",
        )),
        ([], files) => {
            let files = in_order(files, DIRECTORY, &is_whole);
            let files = files.map_err(|why| Error::set(dir, why))?;
            let name = |file: &PathBuf| Entry {
                line: 0,
                name: file.display().to_string(),
            };
            let entries: Vec<Entry> = files.iter().map(name).collect();
            Trace::list(dir.into(), &entries, &files, stop)
        }
        (lists, _) => Err(Error::set(dir, several(DIRECTORY, lists))),
    }
}

fn several(is: &str, traces: &[PathBuf]) -> String {
    format!(
        "{is} with several TI traces; name one of them: {}",
        listed(traces)
    )
}

/// A file whose name ends with `rank-` and a number, or with a number, such as `actions0.txt` and `actions.0.gz`.
struct Numbered<'a> {
    number: u64,
    file: &'a PathBuf,
    /// The name around the digits.
    before: &'a str,
    digits: &'a str,
    after: &'a str,
}

impl<'a> Numbered<'a> {
    fn of(file: &'a PathBuf) -> Option<Self> {
        let name = file.file_name()?.to_str()?;
        let start = name.rfind("rank-").map(|at| at + "rank-".len());
        let start = start.or_else(|| number_at(name))?;
        let (before, end) = name.split_at_checked(start)?;
        let (digits, after) = end.split_at_checked(end.find('.').unwrap_or(end.len()))?;
        Some(Self {
            number: digits.parse().ok().filter(|_| digits.len() <= MAX_DIGITS)?,
            file,
            before,
            digits,
            after,
        })
    }

    /// The name of the file with another number.
    fn with(&self, number: u64) -> String {
        let width = if self.digits.starts_with('0') {
            self.digits.len()
        } else {
            0
        };
        format!("{}{number:0width$}{}", self.before, self.after)
    }
}

const DIRECTORY: &str = "is a directory";

/// Where the number at the end of a name begins: its last ending, or what ends the name before that.
fn number_at(name: &str) -> Option<usize> {
    let packed = [".gz", ".zst", ".zstd"];
    let plain = packed.iter().find_map(|end| name.strip_suffix(end));
    let plain = plain.unwrap_or(name);
    let stem = plain.rsplit_once('.').map_or(plain, |(stem, _)| stem);
    [plain, stem].into_iter().find_map(|text| {
        let before = text.trim_end_matches(|c: char| c.is_ascii_digit());
        (before.len() < text.len()).then_some(before.len())
    })
}

/// The files in the order of their numbers; else why they can't be ordered, and what to do. The trace that has them `is`
/// this, and `is_whole` says which of them is a trace of its own.
pub(super) fn in_order(
    files: &[PathBuf],
    is: &str,
    is_whole: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, String> {
    by_number(files).map_err(|why| {
        let whole = files.iter().filter(|file| is_whole(file));
        let whole: Vec<PathBuf> = whole.cloned().collect();
        if whole.is_empty() {
            format!("{is} {why}")
        } else {
            several(is, &whole)
        }
    })
}

fn by_number(files: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let Some(mut numbered) = files.iter().map(Numbered::of).collect::<Option<Vec<_>>>() else {
        return Err(format!(
            "with {} files of ranks and no list of them; their names do not all end with a number: write a list",
            files.len()
        ));
    };
    numbered.sort_unstable_by_key(|file| (file.number, file.file));
    let first = numbered.first().map_or(0, |file| file.number.min(1));
    for (number, file) in (first..).zip(&numbered) {
        if file.number > number {
            return Err(lacking(files.len(), file, number));
        }
        if file.number < number {
            return Err(format!(
                "with more than one file with the number {}, such as `{}`; give each trace a directory of its own",
                file.number,
                file.with(file.number)
            ));
        }
    }
    Ok(numbered.iter().map(|file| file.file.clone()).collect())
}

/// That there is no file of actions with this number, where `next` has a higher one.
fn lacking(files: usize, next: &Numbered, number: u64) -> String {
    let name = next.with(number);
    let rest = if next.file.with_file_name(&name).exists() {
        format!("`{name}` has no actions; record the program again, or copy that file again")
    } else {
        format!("lacks `{name}`; copy the files of all ranks into it")
    };
    format!("with {files} files of ranks, but {rest}")
}

/// True if the file has lines of several ranks at its start, so that it is a trace of its own.
fn is_whole(file: &Path) -> bool {
    let ranks = || -> Result<bool, Error> {
        let mut source = Source::open_regular(file)?;
        let lines = source.head()?.split(|&byte| byte == b'\n');
        let mut ranks = lines.filter_map(|line| Some(grammar::first_column(line).ok()??.0));
        let first = ranks.next();
        Ok(ranks.any(|rank| Some(rank) != first))
    };
    ranks().unwrap_or(false)
}
