//! Takes the lines of all ranks in one file apart, rank by rank.

use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{PlaceError, Problem};
use flitwise_base::quote::cut;
use flitwise_base::stop::Stop;

use super::grammar;
use super::lanes::LanesWriter;
use super::parser::line;
use crate::error::Error;
use crate::limits::{BLOCK, MAX_TASKS};
use crate::source::Source;

/// Blocks between two checks whether the user stops the reading.
const ASK_EVERY: u32 = 16;

/// Gives the bytes of something block by block: adds to its argument; false at the end.
pub(super) type Blocks<'a> = dyn FnMut(&mut Vec<u8>) -> Result<bool, Error> + 'a;

/// The bytes of a source.
pub(super) fn source_blocks(mut source: Source) -> impl FnMut(&mut Vec<u8>) -> Result<bool, Error> {
    move |out| {
        loop {
            let (bytes, eof) = source.buffer();
            let n = bytes.len().min(BLOCK);
            out.extend_from_slice(&bytes[..n]);
            if n > 0 || eof {
                source.consume(n);
                return Ok(n > 0);
            }
            source.more()?;
        }
    }
}

/// `path` as messages show it.
pub(super) fn name_of(path: &Path) -> String {
    cut(&path.display().to_string()).to_string()
}

/// The lines of each rank in a lane of its own, with the line number in place of the rank.
pub(super) fn demux(
    path: &Arc<Path>,
    blocks: &mut Blocks,
    stop: Stop<'_>,
) -> Result<LanesWriter, Error> {
    let mut writer = LanesWriter::new(path)?;
    let mut buf = Vec::new();
    let (mut eof, mut number) = (false, 0u64);
    let mut stop = stop.every(ASK_EVERY);
    loop {
        let mut start = 0;
        while start < buf.len() {
            let wrong = |e| Error::broken(PlaceError::line(number + 1, e).of(path));
            let Some(line) = line(&buf[start..], eof, MAX_TASKS).map_err(wrong)? else {
                break;
            };
            let found = grammar::first_column(line).map_err(wrong)?;
            start = (start + line.len() + 1).min(buf.len());
            number += 1;
            if let Some((rank, rest)) = found {
                writer.make(rank as usize);
                let digits = itoa::Buffer::new().format(number).to_owned();
                writer.add(rank as usize, &[digits.as_bytes(), rest, b"\n"])?;
            }
        }
        buf.drain(..start);
        if eof {
            break;
        }
        stop.check()?;
        eof = !blocks(&mut buf)?;
    }
    if writer.len() == 0 {
        let message = "has no action in it; it is empty, or no TI trace";
        return Err(Error::broken(Problem::whole(path, message)));
    }
    Ok(writer)
}
