//! The list of the files of a trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem};
use flitwise_base::quote::quoted;

use super::trace::Form;
use crate::error::Error;
use crate::foreign::Foreign;
use crate::grammar::word;
use crate::limits::{MAX_TASKS, MAX_TI_LIST};
use crate::source::Source;

/// A name in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub line: u64,
    pub name: String,
}

/// Lines that say something.
fn said(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = (1..).zip(text.split(|&b| b == b'\n'));
    lines.filter(|(_, line)| !line.starts_with(b"#") && word::<()>(line).is_ok())
}

/// The word of a line that has no other.
fn only_word(line: &[u8]) -> Option<&[u8]> {
    let (rest, first) = word::<()>(line).ok()?;
    word::<()>(rest).is_err().then_some(first)
}

/// Whether a text that begins with `head` is a list: its first line is one word.
pub(super) fn form(head: &[u8]) -> Form {
    match said(head).next() {
        Some((_, line)) if only_word(line).is_some() => Form::List,
        _ => Form::OneFile,
    }
}

/// Names of a list that are looked for to tell that it is one.
const LOOKED_FOR: usize = 16;

/// True if every line of a text that begins with `head` is one word, which may be the name of a file.
pub(super) fn may_be_one(head: &[u8]) -> bool {
    let mut words = words(head).peekable();
    words.peek().is_some() && words.all(|word| word.is_some())
}

/// The word of each line of `head` that says something; `None` if it has more words, or no text. The last line may be cut
/// off.
fn words(head: &[u8]) -> impl Iterator<Item = Option<&str>> {
    said(head).map(|(_, line)| {
        let text = std::str::from_utf8(only_word(line)?).ok()?;
        (!text.contains(char::is_control)).then_some(text)
    })
}

/// True if the text at `path` that begins with `head` lists files of actions. Words alone could be of any text: one of
/// the first must be the name of such a file.
pub(super) fn lists_actions(path: &Path, head: &[u8]) -> bool {
    let dir = path.parent().unwrap_or(Path::new(""));
    may_be_one(head)
        && words(head)
            .flatten()
            .take(LOOKED_FOR)
            .filter_map(|name| find(dir, name))
            .any(|file| has_actions(&file))
}

fn has_actions(file: &Path) -> bool {
    let recognised = || {
        let mut source = Source::open_regular(file)?;
        let head = source.head()?;
        Ok::<_, Error>(Foreign::of(head) == Some(Foreign::Ti) && form(head) == Form::OneFile)
    };
    recognised().unwrap_or(false)
}

/// The names in a list.
pub(super) fn read(mut source: Source) -> Result<Vec<Entry>, Error> {
    let path: Arc<Path> = source.path().into();
    loop {
        let (text, eof) = source.buffer();
        if text.len() > MAX_TI_LIST {
            let message = format!(
                "is longer than {MAX_TI_LIST} bytes: is this the list of the files of a TI trace?"
            );
            return Err(Error::broken(Problem::whole(&path, message)));
        }
        if eof {
            return entries(text).map_err(|e| Error::broken(e.of(&path)));
        }
        source.more()?;
    }
}

/// The names in the text of a list.
pub(super) fn entries(text: &[u8]) -> Result<Vec<Entry>, PlaceError> {
    let mut entries = Vec::new();
    for (line, name) in said(text) {
        let wrong = |message: String| Err(PlaceError::line(line, message));
        if entries.len() == MAX_TASKS as usize {
            return wrong(format!(
                "more than {MAX_TASKS} files; a trace has at most this many ranks"
            ));
        }
        match std::str::from_utf8(name) {
            Ok(name) => entries.push(Entry {
                line,
                name: name.trim().to_owned(),
            }),
            Err(_) => {
                return wrong(
                    "expected the name of a file, found no text; this is no list of files".into(),
                );
            }
        }
    }
    Ok(entries)
}

/// Where the files are.
pub(super) fn resolve(list: &Arc<Path>, entries: &[Entry]) -> Result<Vec<PathBuf>, Error> {
    let dir = list.parent().unwrap_or(Path::new(""));
    let place = |entry: &Entry| {
        find(dir, &entry.name)
            .ok_or_else(|| missing(list, entry, "the folder of the list, nor in the one above"))
    };
    entries.iter().map(place).collect()
}

/// Where the file is that a list in `dir` calls `name`.
fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    let name = Path::new(name);
    let candidates = [
        Some(dir.join(name)),
        Some(dir.join("..").join(name)).filter(|_| name.is_relative()),
        name.file_name().map(|file| dir.join(file)),
    ];
    candidates.into_iter().flatten().find(|path| path.exists())
}

/// That a file of the list is not there.
pub(super) fn missing(list: &Arc<Path>, entry: &Entry, place: &str) -> Error {
    let message = format!(
        "there is no file {} in {place}; copy it there, or correct its name",
        quoted(&entry.name)
    );
    Error::broken(PlaceError::line(entry.line, message).of(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_have_any_words() {
        for text in [&b"a.txt\nb.txt\n"[..], b"# files\n\n a.ti \r\nb\n"] {
            assert!(may_be_one(text));
        }
        for text in [&b""[..], b"# a\n", b"a.txt\nb c\n", b"a\x01\n", b"\xff\n"] {
            assert!(!may_be_one(text));
        }
    }

    #[test]
    fn lists_have_one_word_on_a_line() {
        assert_eq!(form(b"a.txt\nb.txt\n"), Form::List);
        assert_eq!(form(b"\n# files\n  x/a.txt  \r\n"), Form::List);
        for text in [&b"0 init\n"[..], b"", b"# a\n", b"my file.txt\n"] {
            assert_eq!(form(text), Form::OneFile);
        }
        let names = entries(b"# a\n\n x/a.txt \nb.txt\r").unwrap();
        let names: Vec<_> = names.iter().map(|e| (e.line, e.name.as_str())).collect();
        assert_eq!(names, [(3, "x/a.txt"), (4, "b.txt")]);
    }
}
