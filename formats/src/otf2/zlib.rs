//! Files that the library compressed with zlib, block by block.
//!
//! ```text
//! file  = { mark:u64  packed:u32  unpacked:u32  packed_before:u32  data }
//! ```
//!
//! Versions 1 and 2 of the library could be built so; what they wrote has as many bytes of data as the unpacked block has, of
//! which the first ones count. Later versions neither write nor read such files. The sizes are little-endian.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::read::ZlibDecoder;

use crate::error::Error;
use crate::limits::MAX_SPOOLED;
use crate::source::open_regular;

/// The mark of a block, in one of the two byte orders.
const MARKS: [[u8; 8]; 2] = [0xffff_ffff_u64.to_le_bytes(), 0xffff_ffff_u64.to_be_bytes()];
/// Bytes of the mark and the sizes.
const HEADER: u64 = 20;

/// Adds the unpacked bytes of the file at `path` to `out`; returns how many. No block has more than `chunk` bytes.
pub(super) fn unpack(path: &Path, chunk: u64, out: &mut File) -> Result<u64, Error> {
    let damaged = |e| Error::compressed(path, "zlib", e);
    let file = open_regular(path).map_err(|e| Error::io(path, e))?;
    let len = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let mut file = BufReader::new(file);
    let (mut at, mut total) = (0, 0_u64);
    while at < len {
        let block = Block::read(&mut file, at).map_err(damaged)?;
        let unpacked = block.unpack(&mut file, chunk).map_err(damaged)?;
        total += unpacked.len() as u64;
        if total > MAX_SPOOLED {
            return Err(damaged(io::ErrorKind::FileTooLarge.into()));
        }
        let dir = std::env::temp_dir();
        let written = out.write_all(&unpacked);
        written.map_err(|e| Error::no_room(path, &dir, e))?;
        at = block.next(&mut file, len).map_err(damaged)?;
    }
    Ok(total)
}

struct Block {
    /// Where its data begin.
    start: u64,
    packed: u64,
    unpacked: u64,
}

impl Block {
    fn read(file: &mut (impl Read + Seek), at: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0; HEADER as usize];
        file.read_exact(&mut header)?;
        let [mark @ .., _, _, _, _, _, _, _, _, _, _, _, _] = header;
        if !MARKS.contains(&mark) {
            return Err(bad("no block begins where one has to"));
        }
        let size = |from: usize| {
            let bytes = header.get(from..from + 4).unwrap_or_default();
            u64::from(u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
        };
        Ok(Self {
            start: at + HEADER,
            packed: size(8),
            unpacked: size(12),
        })
    }

    fn unpack(&self, file: &mut impl Read, chunk: u64) -> io::Result<Vec<u8>> {
        if self.unpacked > chunk {
            return Err(bad("a block has more bytes than a chunk"));
        }
        let mut bytes = Vec::new();
        let data = file.take(self.packed);
        let mut unpacked = ZlibDecoder::new(data).take(self.unpacked + 1);
        unpacked.read_to_end(&mut bytes)?;
        if bytes.len() as u64 == self.unpacked {
            Ok(bytes)
        } else {
            Err(bad("a block has another number of bytes than it says"))
        }
    }

    /// Where the next block begins.
    fn next(&self, file: &mut (impl Read + Seek), len: u64) -> io::Result<u64> {
        let behind = self.start + self.packed;
        if behind >= len {
            return Ok(behind);
        }
        file.seek(SeekFrom::Start(behind))?;
        let mut mark = Vec::new();
        file.take(8).read_to_end(&mut mark)?;
        if MARKS.iter().any(|known| mark == known) {
            return Ok(behind);
        }
        Ok(self.start + self.unpacked.max(self.packed))
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
