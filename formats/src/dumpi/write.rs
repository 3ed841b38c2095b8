//! Writes the files of ranks, in a tar archive.

use std::io::{self, Write};

use super::call::{Call, Function};
use super::handle::Datatype;
use super::layout::Version;
use super::record::{Span, mask};
use super::trailer::{COUNTERS, FOOTER_MAGIC, MAGIC};
use super::wire::{Array, Elements, Encode, Encoder};
use crate::archive::Packer;

/// The version of sst-dumpi whose files these are like.
const VERSION: Version = Version(13, 0, 0);
/// The names of the files begin so.
const PREFIX: &str = "dumpi";
const SECOND: i64 = 1_000_000_000;

/// The file of a rank.
///
/// # Examples
/// ```
/// use flitwise_formats::dumpi::call::{Nothing, OneComm};
/// use flitwise_formats::dumpi::{Archive, Call, Comm, Set, Span, Writer};
///
/// let mut rank = Writer::new();
/// let barrier = Call::Barrier(OneComm { comm: Comm::WORLD });
/// rank.call(&barrier, Span { start: 0, stop: 70 });
/// let mut archive = Archive::new(Vec::new(), 1)?;
/// archive.rank(rank)?;
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("barrier.tar");
/// std::fs::write(&path, archive.finish()?)?;
///
/// let mut reader = Set::open(&path)?.reader(0)?;
/// let read = reader.next_record(|record| record.call.function().name())?;
/// assert_eq!(read, Some("MPI_Barrier"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    to: Encoder,
    /// Calls of each function by its number, and of all.
    calls: Vec<u32>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// A file without calls, whose clock counts from 0.
    #[must_use]
    pub fn new() -> Self {
        let mut to = Encoder::default();
        to.bytes.extend(MAGIC);
        [0_i32, 0].iter().for_each(|bias| bias.encode(&mut to));
        Self {
            to,
            calls: vec![0; COUNTERS],
        }
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.last().copied().unwrap_or(0).into()
    }

    /// Adds a call at these times of the wall clock. It has no statuses.
    pub fn call(&mut self, call: &Call<'_>, wall: Span) {
        let number = call.function().number();
        number.encode(&mut self.to);
        mask::WALL.encode(&mut self.to);
        for time in [wall.start, wall.stop] {
            // The lowest 16 bits of the seconds.
            (time.div_euclid(SECOND) as u16).encode(&mut self.to);
            (time.rem_euclid(SECOND) as u32).encode(&mut self.to);
        }
        call.encode(&mut self.to);
        let of_function = usize::from(number);
        for at in [of_function, self.calls.len() - 1] {
            if let Some(calls) = self.calls.get_mut(at) {
                *calls = calls.saturating_add(1);
            }
        }
    }

    /// The bytes of the file.
    fn finish(mut self) -> Vec<u8> {
        let to = &mut self.to;
        Function::END.encode(to);
        let header = to.bytes.len() as u64;
        [VERSION.0, VERSION.1, VERSION.2]
            .iter()
            .for_each(|part| part.encode(to));
        // Neither a start, nor the names of a machine and a user, nor a place in a network is known.
        0_u64.encode(to);
        [0_u16, 0].iter().for_each(|length| length.encode(to));
        [0_i32, 0].iter().for_each(|count| count.encode(to));
        let footer = to.bytes.len() as u64;
        FOOTER_MAGIC.encode(to);
        let ignored = vec![0; self.calls.len()];
        for calls in [&self.calls, &ignored] {
            calls.iter().for_each(|calls| calls.encode(to));
        }
        let sizes = to.bytes.len() as u64;
        let size = |number| Datatype(number).predefined().unwrap_or(0) as i32;
        let table: Elements<i32> = (0..Datatype::USER.0).map(size).collect();
        Array::encode(&table.array(), to);
        to.bytes.extend(MAGIC);
        // Sizes, addresses, labels, header, calls, footer and key values.
        for offset in [sizes, 0, 0, header, MAGIC.len() as u64, footer, 0] {
            offset.encode(to);
        }
        self.to.bytes
    }
}

/// A tar archive that becomes a trace.
pub struct Archive<W: Write> {
    files: Packer<W>,
    ranks: u32,
}

impl<W: Write> Archive<W> {
    /// An archive that has the metafile of a trace of `ranks` ranks.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(out: W, ranks: u32) -> io::Result<Self> {
        let mut files = Packer::new(out, 0);
        let Version(version, minor, patch) = VERSION;
        let meta = format!(
            "hostname=\nnumprocs={ranks}\nusername=\nstartime=0\nfileprefix={PREFIX}\n\
             version={version}\nsubversion={minor}\nsubsubversion={patch}\n"
        );
        files.add(&format!("{PREFIX}.meta"), meta.as_bytes())?;
        Ok(Self { files, ranks: 0 })
    }

    /// Adds the file of the next rank.
    ///
    /// # Errors
    /// If the output fails.
    pub fn rank(&mut self, file: Writer) -> io::Result<()> {
        let name = format!("{PREFIX}-{:04}.bin", self.ranks);
        self.ranks += 1;
        self.files.add(&name, &file.finish())
    }

    /// Completes the archive.
    ///
    /// # Errors
    /// If the output fails.
    pub fn finish(self) -> io::Result<W> {
        self.files.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dumpi::wire::Cursor;
    use crate::dumpi::{Layout, Set};
    use std::path::Path;

    #[test]
    fn calls_are_written_as_they_are_read() {
        let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/dumpi");
        let mut functions = std::collections::BTreeSet::new();
        for name in ["nas_is_S-16.tar.gz", "nas_dt_WH_W-11"] {
            let set = Set::open(traces.join(name)).unwrap();
            for rank in 0..set.ranks() {
                let mut reader = set.reader(rank).unwrap();
                let again = |call: &Call<'_>| {
                    let mut to = Encoder {
                        statuses: true,
                        ..Encoder::default()
                    };
                    call.encode(&mut to);
                    let mut cursor = Cursor::new(&to.bytes, Layout::default());
                    cursor.statuses(true);
                    let number = call.function().number();
                    assert_eq!(Call::decode(number, &mut cursor).as_ref(), Ok(call));
                    assert_eq!(cursor.pos(), to.bytes.len());
                    call.function().name()
                };
                while let Some(name) = reader.next_record(|record| again(&record.call)).unwrap() {
                    functions.insert(name);
                }
            }
        }
        assert!(functions.len() > 10, "{functions:?}");
    }
}
