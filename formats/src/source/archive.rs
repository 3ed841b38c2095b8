//! Parts that the readers of tar archives share: the names of entries, and the bytes of a source as a stream.

use std::borrow::Cow;
use std::io::{self, Read};

use tar::{Entry, EntryType, PaxExtensions};

use super::Source;
use crate::error::Error;
use crate::limits::MAX_TAR_NAME;

/// Names of the entries of an archive, which is read entry by entry as it is: whatever it says of itself, at most
/// [`MAX_TAR_NAME`] bytes of it are in memory.
#[derive(Debug, Default)]
pub(crate) struct TarNames {
    /// The name of the next entry, if its own header had no room for it.
    long: Option<String>,
}

impl TarNames {
    /// The name of an entry that is a file.
    pub fn file(&mut self, entry: &mut Entry<'_, impl Read>) -> io::Result<Option<String>> {
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let name = text(entry)?;
                let name = name.split('\0').next().unwrap_or_default();
                self.long = Some(name.to_owned());
                return Ok(None);
            }
            EntryType::XHeader => {
                self.long = extended_name(&text(entry)?)?;
                return Ok(None);
            }
            // Of the entry that comes.
            EntryType::GNULongLink | EntryType::XGlobalHeader => return Ok(None),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {}
            _ => {
                self.long = None;
                return Ok(None);
            }
        }
        Ok(Some(self.long.take().unwrap_or_else(|| {
            let bytes: Cow<'_, [u8]> = entry.header().path_bytes();
            String::from_utf8_lossy(&bytes).into_owned()
        })))
    }

    /// Refuses a file with holes, whose bytes are not there one after the other.
    pub fn whole(entry: &Entry<'_, impl Read>) -> io::Result<()> {
        match entry.header().entry_type() {
            EntryType::GNUSparse => Err(other("a file with holes (made with --sparse)")),
            _ => Ok(()),
        }
    }
}

fn other(what: &str) -> io::Error {
    io::Error::other(format!(
        "it has {what}, which is not read: pack the files again"
    ))
}

/// All of an entry that says something of the next one.
fn text(entry: &mut Entry<'_, impl Read>) -> io::Result<String> {
    if entry.size() > MAX_TAR_NAME {
        return Err(other("a name of more than 64 KiB"));
    }
    let mut bytes = Vec::new();
    entry.take(MAX_TAR_NAME).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The name in an extended header, if there is one.
fn extended_name(text: &str) -> io::Result<Option<String>> {
    let mut name = None;
    for extension in PaxExtensions::new(text.as_bytes()) {
        let extension = extension?;
        match extension.key() {
            Ok("path") => name = extension.value().ok().map(str::to_owned),
            Ok("size") => return Err(other("a file of more than 8 GiB in the format `pax`")),
            Ok(key) if key.starts_with("GNU.sparse") => {
                return Err(other("a file with holes (made with --sparse)"));
            }
            _ => {}
        }
    }
    Ok(name)
}

/// The bytes of a source. Keeps why they end too early.
#[derive(Debug)]
pub(crate) struct TarStream {
    source: Source,
    pub failed: Option<Error>,
}

impl TarStream {
    pub fn new(source: Source) -> Self {
        let failed = None;
        Self { source, failed }
    }
}

impl Read for TarStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let (buf, eof) = self.source.buffer();
            let n = buf.len().min(out.len());
            if n > 0 || eof || out.is_empty() {
                let from = buf.get(..n).unwrap_or_default();
                out.get_mut(..n).unwrap_or_default().copy_from_slice(from);
                self.source.consume(n);
                return Ok(n);
            }
            if let Err(e) = self.source.more() {
                self.failed.get_or_insert(e);
                return Err(io::Error::other("its bytes can't be unpacked"));
            }
        }
    }
}
