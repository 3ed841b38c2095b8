//! The trailer behind the calls of a file: its recorder, its counters, the sizes of its datatypes.
//!
//! The records there stand in any order; the index at the end of the file says where.

use super::call::Function;
use super::handle::Datatype;
use super::layout::Version;
use super::problem::{CUT_SHORT, DAMAGED, Problem};
use super::wire::{Array, Cursor, Decode, Fault};

/// The first bytes of a file, and of its index.
pub(super) const MAGIC: [u8; 8] = *b"\xff\xaa\xddDUMPI";
/// The first bytes of the footer.
pub(super) const FOOTER_MAGIC: u64 = 0xf007_fee7;
/// Bytes of an index: the magic number and the offsets of seven records. Older ones lack one to three of the first.
const INDEX: usize = 64;
/// Offsets that an index has at least: of header, body, footer and key values.
const LEAST_OFFSETS: usize = 4;
/// Offsets that an index has at most.
const MOST_OFFSETS: usize = 7;
/// Counters that a footer has, one for each function and one for their sum. No version is known to have fewer.
pub(super) const COUNTERS: usize = 291;

/// The trailer behind the calls of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trailer {
    /// Version of the recorder.
    pub version: Version,
    /// When the recording began, in seconds of Unix time.
    pub start_time: u64,
    /// The machine.
    pub hostname: String,
    /// Who recorded.
    pub username: String,
    /// Coordinates of the machine in its network, where the recorder knew them.
    pub mesh_coordinates: Vec<i32>,
    /// Size of this network.
    pub mesh_size: Vec<i32>,
    /// Notes of the recorder and, from `MPI_Pcontrol`, of the program.
    pub notes: Vec<(String, String)>,
    /// Calls of each function by its number, in the stream or not; empty if the file does not say. The last entry
    /// is their sum.
    pub calls: Vec<u32>,
    /// The calls among them that are not in the stream.
    pub ignored: Vec<u32>,
    /// Bytes of each datatype by its number. A number that a program used for several types one after another has
    /// one size only: [`Types`](super::Types) knows better.
    pub sizes: Vec<i32>,
}

impl Trailer {
    /// Polls that are not in the stream, because they found nothing.
    #[must_use]
    pub fn polls_left_out(&self) -> u64 {
        let polls = self.ignored.iter().zip(0..Function::END);
        let polls = polls
            .filter(|&(_, number)| Function::from_number(number).is_some_and(Function::is_poll));
        polls.map(|(&count, _)| u64::from(count)).sum()
    }

    /// Bytes of this type in the table of the file; `None` for one that is not there or has no size.
    #[must_use]
    pub fn size(&self, datatype: Datatype) -> Option<u64> {
        let number = usize::try_from(datatype.0).ok()?;
        let size = *self.sizes.get(number)?;
        u64::try_from(size).ok().filter(|&size| size > 0)
    }
}

/// Where the records of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Index {
    header: u64,
    footer: u64,
    notes: u64,
    sizes: u64,
    /// The index itself.
    start: u64,
}

impl Index {
    /// Reads the index at the end of a file of which `end` are the last bytes, up to `len`.
    pub fn read(end: &[u8], len: u64) -> Result<Self, Problem> {
        for offsets in (LEAST_OFFSETS..=MOST_OFFSETS).rev() {
            let size = MAGIC.len() + 8 * offsets;
            let Some(index) = end.len().checked_sub(size).and_then(|at| end.get(at..)) else {
                continue;
            };
            let Some(offsets) = index.strip_prefix(&MAGIC) else {
                continue;
            };
            // The last four are the same in all versions.
            let from_end = |n| {
                let all = Array::<u64>::of(offsets);
                all.len()
                    .checked_sub(n)
                    .and_then(|at| all.get(at))
                    .unwrap_or(0)
            };
            return Ok(Self {
                header: from_end(4),
                footer: from_end(2),
                notes: from_end(1),
                sizes: from_end(7),
                start: len.saturating_sub(size as u64),
            });
        }
        let problem = "expected an index in the last 64 bytes, found none";
        Err(Problem::new(len, None, problem, CUT_SHORT))
    }

    /// Where the first of the records is that are read.
    pub fn first(&self) -> u64 {
        let all = [self.header, self.footer, self.notes, self.sizes];
        let known = all.into_iter().filter(|&at| at > 0);
        known.fold(self.start, u64::min)
    }
}

/// The records of a file.
struct Records<'a> {
    /// Bytes of the file from `offset` to its end.
    bytes: &'a [u8],
    offset: u64,
    index: Index,
}

/// Most bytes of an index.
pub(super) const MAX_INDEX: u64 = INDEX as u64;

/// Reads the end of a file: `bytes`, which begin `offset` bytes after its start.
pub(super) fn read(bytes: &[u8], offset: u64) -> Result<Trailer, Problem> {
    let len = offset.saturating_add(bytes.len() as u64);
    let index = Index::read(bytes, len)?;
    let records = Records {
        bytes,
        offset,
        index,
    };
    let mut trailer = records.header()?;
    trailer.notes = records.part("key values", index.notes, notes)?;
    (trailer.calls, trailer.ignored) = records.footer()?;
    trailer.sizes = records.part("sizes of datatypes", index.sizes, |cursor| {
        let sizes = Array::<i32>::decode(cursor)?;
        Ok(sizes.iter().collect())
    })?;
    Ok(trailer)
}

impl<'a> Records<'a> {
    /// The part of the file that begins at `at`, up to the index.
    fn cursor(&self, what: &'static str, at: u64) -> Result<Cursor<'a>, Problem> {
        let range = || {
            let start = usize::try_from(at.checked_sub(self.offset)?).ok()?;
            let end = usize::try_from(self.index.start.checked_sub(self.offset)?).ok()?;
            self.bytes.get(start..end)
        };
        let Some(bytes) = range() else {
            let problem = format!(
                "the index says that this part is at {at}, but it must be between {} and {}",
                self.offset, self.index.start
            );
            return Err(Problem::new(self.index.start, Some(what), problem, DAMAGED));
        };
        Ok(Cursor::new(bytes, super::layout::Layout::default()))
    }

    /// Reads a part that may be absent: its offset is 0 then.
    fn part<T: Default>(
        &self,
        what: &'static str,
        at: u64,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Fault>,
    ) -> Result<T, Problem> {
        if at == 0 {
            return Ok(T::default());
        }
        let mut cursor = self.cursor(what, at)?;
        read(&mut cursor).map_err(|fault| {
            let problem = match fault {
                Fault::Count(_, count) => format!("a count is {count}"),
                _ => "the index begins before the end of this part".to_owned(),
            };
            Problem::new(at, Some(what), problem, DAMAGED)
        })
    }

    fn header(&self) -> Result<Trailer, Problem> {
        let header = self.part("header", self.index.header, |cursor| {
            header(cursor).map(Some)
        })?;
        header.ok_or_else(|| {
            let problem = "the index says that there is no header";
            Problem::new(self.index.start, None, problem, DAMAGED)
        })
    }

    /// Calls and ignored calls by function.
    fn footer(&self) -> Result<(Vec<u32>, Vec<u32>), Problem> {
        let at = self.index.footer;
        let counters = self.part("footer", at, |cursor| {
            let magic = u64::decode(cursor)?;
            // Fewer counters are told from the size of the part, if nothing follows it.
            let room = usize::try_from(self.index.start - at).unwrap_or(0);
            let counters = COUNTERS.min(room.saturating_sub(8) / 8);
            let calls = Array::<u32>::of(cursor.bytes(counters * 4)?);
            let ignored = Array::<u32>::of(cursor.bytes(counters * 4)?);
            Ok((magic, calls.iter().collect(), ignored.iter().collect()))
        })?;
        let (magic, calls, ignored) = counters;
        if at > 0 && magic != FOOTER_MAGIC {
            let problem = format!("expected the number {FOOTER_MAGIC:#x}, found {magic:#x}");
            return Err(Problem::new(at, Some("footer"), problem, DAMAGED));
        }
        Ok((calls, ignored))
    }
}

/// A text behind a count of 16 bits.
fn string(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let len = u16::decode(cursor)?;
    let bytes = cursor.bytes(len.into())?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn header(cursor: &mut Cursor<'_>) -> Result<Trailer, Fault> {
    let version = Version(
        u8::decode(cursor)?,
        u8::decode(cursor)?,
        u8::decode(cursor)?,
    );
    let start_time = u64::decode(cursor)?;
    let hostname = string(cursor)?;
    let username = string(cursor)?;
    let coordinates = Array::<i32>::decode(cursor)?;
    let size = if version >= Version(0, 5, 0) {
        Array::<i32>::decode(cursor)?.iter().collect()
    } else {
        Vec::new()
    };
    Ok(Trailer {
        version,
        start_time,
        hostname,
        username,
        mesh_coordinates: coordinates.iter().collect(),
        mesh_size: size,
        notes: Vec::new(),
        calls: Vec::new(),
        ignored: Vec::new(),
        sizes: Vec::new(),
    })
}

fn notes(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>, Fault> {
    let count = u32::decode(cursor)?;
    // Each has four bytes at least, so a count that is too large ends early.
    let mut notes = Vec::new();
    for _ in 0..count {
        notes.push((string(cursor)?, string(cursor)?));
    }
    Ok(notes)
}
