//! Finds what follows the calls of a file, without reading the calls.

use std::io::{self, Read};

use crate::dumpi::problem::{DAMAGED, Problem};
use crate::dumpi::reader::unreadable;
use crate::dumpi::trailer::{self, Index, MAX_INDEX, Trailer};
use crate::error::Error;
use crate::limits::{MAX_DUMPI_TRAILER, RANK_BLOCK};
use crate::member::{Member, Open};
use crate::source::Encoding;

/// Reads the end of the file of `rank`.
pub fn read(member: &Member, rank: u32, open: &Open) -> Result<Trailer, Error> {
    let name = member.name();
    let encoding = member.encoding(open).map_err(|e| Error::io(name, e))?;
    let trailer = match encoding {
        Encoding::Plain => plain(member, open),
        _ => packed(member, open),
    };
    trailer.map_err(|e| match e {
        Failure::Io(e) => unreadable(name, encoding, e),
        Failure::Parse(e) => Error::broken(e.of(rank, name)),
    })
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum Failure {
    Io(#[from] io::Error),
    Parse(#[from] Problem),
}

/// Goes to the index at the end, and from there to the first of the records.
fn plain(member: &Member, open: &Open) -> Result<Trailer, Failure> {
    let len = member.len()?;
    let end = part(member, open, len.saturating_sub(MAX_INDEX), len)?;
    let first = Index::read(&end, len)?.first();
    if len - first > MAX_DUMPI_TRAILER as u64 {
        return Err(too_long(len, first).into());
    }
    let bytes = part(member, open, first, len)?;
    Ok(trailer::read(&bytes, first)?)
}

fn part(member: &Member, open: &Open, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    member
        .raw(start, open)
        .take(end - start)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cold]
fn too_long(len: u64, first: u64) -> Problem {
    let problem = format!(
        "the index says that {} bytes follow the calls, more than {MAX_DUMPI_TRAILER}",
        len - first
    );
    Problem::new(len, None, problem, DAMAGED)
}

/// Unpacks all of a file and keeps the last bytes.
fn packed(member: &Member, open: &Open) -> Result<Trailer, Failure> {
    let (_, mut input) = member.unpacked(open)?;
    let mut last = Vec::new();
    let mut len = 0;
    loop {
        let have = last.len();
        if have >= 2 * MAX_DUMPI_TRAILER {
            last.drain(..have - MAX_DUMPI_TRAILER);
            continue;
        }
        let n = input
            .by_ref()
            .take(RANK_BLOCK as u64)
            .read_to_end(&mut last)?;
        if n == 0 {
            break;
        }
        len += n as u64;
    }
    let offset = len - last.len() as u64;
    let first = Index::read(&last, len)?.first();
    if first < offset {
        return Err(too_long(len, first).into());
    }
    let start = usize::try_from(first - offset).unwrap_or(usize::MAX);
    let bytes = last.get(start..).unwrap_or_default();
    Ok(trailer::read(bytes, first)?)
}
