//! Traces in a tar archive.

use std::io::{Read, Write};

use flitwise_base::stop::Stop;
use tar::Archive;

use super::list;
use super::set::Set;
use super::trace::{Form, Trace, probe_text};
use crate::error::Error;
use crate::source::{Source, TarNames, TarStream};

/// Bytes of the block in which an archive is made.
const BLOCK: usize = 512;
/// Bytes read at once.
const PIECE: usize = 64 * 1024;

/// True if `head` begins a tar archive.
fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// True if `head` begins an archive whose first file is one of a TI trace, not packed by itself. Texts that may be a list
/// can lie before it.
pub(super) fn probe(head: &[u8]) -> bool {
    if !is_tar(head) {
        return false;
    }
    let mut rest = head;
    while let Some((header, after)) = rest.split_at_checked(BLOCK) {
        let digits = header.get(124..136).unwrap_or_default();
        let Some(size) = octal(digits) else {
            return false;
        };
        let content = after.get(..size.min(after.len())).unwrap_or_default();
        match header.get(156) {
            Some(b'0' | 0) if size > 0 && probe_text(content).is_some() => return true,
            Some(b'0' | 0) if size > 0 && !list::may_be_one(content) => return false,
            _ => {}
        }
        rest = after
            .get(size.next_multiple_of(BLOCK)..)
            .unwrap_or_default();
    }
    false
}

fn octal(digits: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok()?;
    let text = text.trim_matches(|c: char| c == '\0' || c == ' ');
    if text.is_empty() {
        Some(0)
    } else {
        usize::from_str_radix(text, 8).ok()
    }
}

/// The trace in the archive that `source` gives.
pub(super) fn read(source: Source, stop: Stop<'_>) -> Result<Trace, Error> {
    let path = source.path().to_owned();
    let mut set = Set::new(&path)?;
    let mut stream = TarStream::new(source);
    let added = add_all(&mut set, &path, &mut stream, stop);
    // What the archive lacks because its own bytes could not be unpacked is not its fault.
    if let Some(error) = stream.failed {
        return Err(error);
    }
    added?;
    set.finish()
}

fn add_all(
    set: &mut Set,
    path: &std::path::Path,
    stream: &mut TarStream,
    stop: Stop<'_>,
) -> Result<(), Error> {
    let failed = |e| Error::compressed(path, "tar", e);
    let dir = std::env::temp_dir();
    let no_room = |e| Error::no_room(path, &dir, e);
    let mut names = TarNames::default();
    let mut block = vec![0; PIECE];
    let mut archive = Archive::new(stream);
    for entry in archive.entries().map_err(failed)?.raw(true) {
        let mut entry = entry.map_err(failed)?;
        let Some(name) = names.file(&mut entry).map_err(failed)? else {
            continue;
        };
        TarNames::whole(&entry).map_err(failed)?;
        let mut file = tempfile::tempfile_in(&dir).map_err(no_room)?;
        let mut size = 0;
        loop {
            stop.check()?;
            let n = entry.read(&mut block).map_err(failed)?;
            if n == 0 {
                break;
            }
            size += n as u64;
            let bytes = block.get(..n).unwrap_or_default();
            file.write_all(bytes).map_err(no_room)?;
        }
        if size < entry.size() {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        let mut member = Source::of_file(&path.join(&name), file)?;
        let head = member.head()?;
        let name = name.trim_start_matches("./");
        let certain = probe_text(head) == Some(Form::List);
        match list::form(head) {
            Form::List if !certain && !list::may_be_one(head) => {}
            Form::List if !certain => set.add_words(name, member)?,
            _ => set.add(name, member)?,
        }
    }
    Ok(())
}
