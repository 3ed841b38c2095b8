//! Traces in a tar archive.

use std::io::{Read, Write};

use flitwise_base::stop::Stop;
use tar::Archive;

use super::list;
use super::set::Set;
use super::trace::{Form, Trace, probe_text};
use crate::error::Error;
use crate::source::{Source, TarNames, TarStream};
use crate::tar_head::files_in_head;

/// Bytes read at once.
const PIECE: usize = 64 * 1024;

/// True if `head` begins an archive whose first file is one of a TI trace, not packed by itself. Texts that may be a list
/// can lie before it.
pub(super) fn probe(head: &[u8]) -> bool {
    let mut contents = files_in_head(head).map(|(_, content)| content);
    let first =
        contents.find(|content| probe_text(content).is_some() || !list::may_be_one(content));
    first.is_some_and(|content| probe_text(content).is_some())
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
