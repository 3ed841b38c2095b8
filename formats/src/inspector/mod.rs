//! Logs of NCCL Inspector (RCCL Inspector): the collectives and messages that each process of a program on GPUs completed.
//!
//! A log has a JSON object a line, `header`, `metadata` and `coll_perf` or `p2p_perf`; its fields are those that the plugin
//! writes since version 4.0 of its form. `docs/reference/inspector.md` says what a replay makes of them. [`read`] makes nodes
//! of a [Chakra trace](crate::chakra) of them.

mod program;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flitwise_base::stop::Stop;

use crate::archive::members;
use crate::chakra::Set;
use crate::error::Error;
use crate::member::{Member, Open};
use crate::source::{Input, Source, shown};
use crate::tar_head::{files_in_head, is_tar};
use program::Program;

/// Whether a text begins like a log.
fn is_log(head: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    head.first() == Some(&b'{') && (has(b"\"coll_perf\"") || has(b"\"p2p_perf\""))
}

/// Whether a file may be a log by its name.
fn may_be_log(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name = name.strip_suffix(".zst").unwrap_or(name);
    [".log", ".jsonl", ".json"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// True if a file that begins with `head` is a log, or an archive of logs.
#[must_use]
pub fn probe(head: &[u8]) -> bool {
    is_log(head) || files_in_head(head).any(|(_, content)| is_log(content))
}

/// True if the directory has a log.
#[must_use]
pub fn is_directory(dir: &Path) -> bool {
    logs(dir).is_ok_and(|logs| !logs.is_empty())
}

/// The logs in a directory.
fn logs(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    const MOST: usize = 1 << 16;
    let entries = std::fs::read_dir(dir)?.take(MOST);
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let paths = names
        .filter(|name| may_be_log(name))
        .map(|name| dir.join(name));
    let is_log = |path: &PathBuf| {
        let source = Source::open_regular(path);
        source.is_ok_and(|mut source| source.head().is_ok_and(is_log))
    };
    let mut logs: Vec<PathBuf> = paths.filter(is_log).collect();
    logs.sort();
    Ok(logs)
}

/// Reads the logs at `input`: a directory, an archive, or one file with the lines of all processes.
///
/// # Errors
/// If a file can't be read or is no log, the logs of processes are missing, or the user stops the reading.
pub fn read(input: &Input, stop: Stop<'_>) -> Result<Set, Error> {
    let given = input.path();
    let mut files: BTreeMap<String, Member> = BTreeMap::new();
    if given.is_dir() {
        for path in logs(given).map_err(|e| Error::io(given, e))? {
            files.insert(path.display().to_string(), Member::file(path));
        }
    } else {
        let mut source = input.open()?;
        if is_tar(source.head()?) {
            files = members(given, source, &may_be_log, stop)?
                .into_iter()
                .collect();
        } else {
            files.insert(String::new(), Member::file(given.to_owned()));
        }
    }
    let mut program = Program::default();
    for member in files.values() {
        record::read(member, &Open::default(), stop, |at, record| {
            program.add(member, at, record)
        })?;
    }
    program.finish(shown(given))
}
