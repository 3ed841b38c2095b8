//! The packing of files, recognised by their first bytes.

use std::io::{self, Read};

/// How the bytes of a file are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Plain,
    /// RFC 1952, one member or several.
    Gzip,
    /// RFC 8878.
    Zstd,
}

impl Encoding {
    /// Recognises the packing by the first bytes of a file.
    #[must_use]
    pub fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

/// The first bytes, which say how the others are packed.
pub(crate) fn start_of(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(4);
    input.take(4).read_to_end(&mut start)?;
    Ok(start)
}

/// The unpacked bytes of `input`, which are read in blocks of `block` bytes if they are packed.
pub(crate) fn unpack(
    input: impl Read + Send + 'static,
    encoding: Encoding,
    block: usize,
) -> io::Result<Box<dyn Read + Send>> {
    let blocks = |input| io::BufReader::with_capacity(block, input);
    Ok(match encoding {
        Encoding::Plain => Box::new(input),
        Encoding::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(blocks(input))),
        Encoding::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(blocks(input))?),
    })
}
