//! Regular files: the ones that a directory has, which another user may have filled.

use super::encoding::{Encoding, start_of, unpack};
use crate::limits::BLOCK;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of a text that is read as a whole.
pub const MAX_TEXT: u64 = 1 << 30;

/// Opens the regular file at `path`. A pipe could keep the program waiting for ever, and a device may never end.
///
/// # Errors
/// If it is no regular file, or can't be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opening a pipe would wait for its writer already.
    is_regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    is_regular(&file.metadata()?)?;
    Ok(file)
}

fn is_regular(meta: &std::fs::Metadata) -> io::Result<()> {
    let problem = if meta.is_file() {
        return Ok(());
    } else if meta.is_dir() {
        "it is a directory"
    } else {
        "it is a pipe or a device, not a regular file; replace it with a file"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// All bytes of the regular file at `path`, of at most [`MAX_TEXT`].
///
/// # Errors
/// As [`open_regular`], or if it is larger.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    at_most_a_text(open_regular(path)?)
}

fn at_most_a_text(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT {
        let problem = format!("it has more than {MAX_TEXT} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// The same as a text.
///
/// # Errors
/// As [`read_regular`], or if it is no text in UTF-8.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    text(read_regular(path)?)
}

/// The same of a file that is packed as its first bytes say.
///
/// # Errors
/// As [`read_regular_text`], or if it can't be unpacked.
pub fn read_packed_text(path: &Path) -> io::Result<String> {
    let mut file = open_regular(path)?;
    let start = start_of(&mut file)?;
    let encoding = Encoding::of(&start);
    let whole = io::Cursor::new(start).chain(file);
    text(at_most_a_text(unpack(whole, encoding, BLOCK)?)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}
