//! A file without a name for records that wait longer than memory has room for.
//!
//! It consists of chunks, each with records of one rank in their order. A chunk begins with the
//! place of the rank's next chunk, so that memory holds only the ends of each list.

use super::queued::Queued;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Bytes before the records of a chunk: offset and length of the rank's next chunk.
const LINK: usize = 12;

/// Bytes that are collected before they are written.
const BUFFER: usize = 1 << 20;

/// The place of a chunk. No chunk has length 0.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    offset: u64,
    /// Bytes, with the link.
    length: u32,
}

/// The records of one rank that are on disk or were read back.
#[derive(Debug, Default)]
pub(super) struct Spilled {
    /// The chunk to read next.
    next: Option<Chunk>,
    /// Offset of the last chunk; means nothing if there is no next one.
    last: u64,
    /// Records that were read back, in packed form.
    loaded: Vec<u8>,
    /// Bytes of them that are done.
    done: usize,
    /// The record that was unpacked last.
    previous: Queued,
}

impl Spilled {
    /// Whether `Spill::take` gives no more records.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.next.is_none() && self.done == self.loaded.len()
    }
}

/// The file. It is created when it is needed.
#[derive(Debug)]
pub(super) struct Spill {
    dir: PathBuf,
    file: Option<File>,
    /// Length of the file without the buffer.
    written: u64,
    /// The end of the file.
    buffer: Vec<u8>,
}

impl Spill {
    /// A file in `dir`.
    pub fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            file: None,
            written: 0,
            buffer: Vec::new(),
        }
    }

    /// Drops the file with everything in it.
    pub fn clear(&mut self) {
        *self = Self::new(std::mem::take(&mut self.dir));
    }

    /// Adds records of a rank as a chunk.
    pub fn add<'q>(
        &mut self,
        records: impl Iterator<Item = &'q Queued>,
        of: &mut Spilled,
    ) -> anyhow::Result<()> {
        let start = self.buffer.len();
        self.buffer.extend([0; LINK]);
        let mut previous = Queued::default();
        for record in records {
            record.pack(&previous, &mut self.buffer);
            previous = *record;
        }
        let chunk = Chunk {
            offset: self.written + start as u64,
            // A chunk has fewer than 2^13 records of at most 63 bytes.
            length: (self.buffer.len() - start) as u32,
        };
        match of.next {
            None => of.next = Some(chunk),
            Some(_) => self.link(of.last, chunk)?,
        }
        of.last = chunk.offset;
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes into the chunk at `offset` where the next one of its rank is.
    fn link(&mut self, offset: u64, next: Chunk) -> anyhow::Result<()> {
        let mut link = [0; LINK];
        link[..8].copy_from_slice(&next.offset.to_le_bytes());
        link[8..].copy_from_slice(&next.length.to_le_bytes());
        match offset.checked_sub(self.written) {
            Some(at) => {
                self.buffer[at as usize..][..LINK].copy_from_slice(&link);
                Ok(())
            }
            None => self.write(offset, &link),
        }
    }

    /// Writes the buffer.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(self.written, &buffer)?;
        self.written += buffer.len() as u64;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> anyhow::Result<()> {
        let (dir, file) = (&self.dir, &mut self.file);
        let result = create(dir, file).and_then(|file| {
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(bytes)
        });
        result.map_err(|e| self.failed(&e))
    }

    /// The next record of a rank that was spilled.
    pub fn take(&mut self, of: &mut Spilled) -> anyhow::Result<Option<Queued>> {
        if of.done == of.loaded.len() && !self.load(of)? {
            return Ok(None);
        }
        let mut packed = &of.loaded[of.done..];
        let Some(record) = Queued::unpack(&of.previous, &mut packed) else {
            return Err(self.failed(&io::ErrorKind::InvalidData.into()));
        };
        of.done = of.loaded.len() - packed.len();
        of.previous = record;
        Ok(Some(record))
    }

    /// Reads the next chunk; false if there is none.
    fn load(&mut self, of: &mut Spilled) -> anyhow::Result<bool> {
        let Some(chunk) = of.next else {
            return Ok(false);
        };
        of.loaded.resize(chunk.length as usize, 0);
        let bytes = &mut of.loaded[..];
        let result = create(&self.dir, &mut self.file).and_then(|file| {
            file.seek(SeekFrom::Start(chunk.offset))?;
            file.read_exact(bytes)
        });
        result.map_err(|e| self.failed(&e))?;
        let mut link = ([0; 8], [0; 4]);
        link.0.copy_from_slice(&of.loaded[..8]);
        link.1.copy_from_slice(&of.loaded[8..LINK]);
        let next = Chunk {
            offset: u64::from_le_bytes(link.0),
            length: u32::from_le_bytes(link.1),
        };
        of.next = (next.length > 0).then_some(next);
        (of.done, of.previous) = (LINK, Queued::default());
        Ok(true)
    }

    #[cold]
    fn failed(&self, why: &io::Error) -> anyhow::Error {
        anyhow::anyhow!(
            "the ranks of the trace need its records in another order than the file has them, and \
             {} can't keep those that have to wait: {why}; set TMPDIR to a directory with more \
             room, at most as much as the unpacked trace takes",
            self.dir.display()
        )
    }
}

/// The file, new if there is none.
fn create<'f>(dir: &PathBuf, file: &'f mut Option<File>) -> io::Result<&'f mut File> {
    Ok(match file {
        Some(file) => file,
        None => file.insert(tempfile::tempfile_in(dir)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u64) -> Queued {
        Queued {
            id,
            line: id + 3,
            ..Queued::default()
        }
    }

    #[test]
    fn chunks_come_back_in_order_for_each_rank() {
        let mut spill = Spill::new(std::env::temp_dir());
        let mut of = [Spilled::default(), Spilled::default()];
        let add = |spill: &mut Spill, of: &mut Spilled, ids: std::ops::Range<u64>| {
            let records: Vec<Queued> = ids.map(record).collect();
            spill.add(records.iter(), of).unwrap();
        };
        for at in 0..60 {
            add(&mut spill, &mut of[0], 10 * at..10 * at + 10);
            if at % 3 == 0 {
                add(&mut spill, &mut of[1], at..at + 3);
            }
            if at % 7 == 0 {
                spill.flush().unwrap();
            }
        }
        spill.flush().unwrap();
        for id in 0..60 {
            assert_eq!(spill.take(&mut of[1]).unwrap(), Some(record(id)));
            assert_eq!(spill.take(&mut of[0]).unwrap(), Some(record(id)));
        }
        assert!(of[1].is_empty() && !of[0].is_empty());
        assert_eq!(spill.take(&mut of[1]).unwrap(), None);
        // An empty list begins anew.
        add(&mut spill, &mut of[1], 60..62);
        spill.flush().unwrap();
        for id in 60..62 {
            assert_eq!(spill.take(&mut of[1]).unwrap(), Some(record(id)));
        }
        for id in 60..600 {
            assert_eq!(spill.take(&mut of[0]).unwrap(), Some(record(id)));
        }
        assert!(of.iter().all(Spilled::is_empty));
    }

    #[test]
    fn the_file_has_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(dir.path().to_owned());
        let mut of = Spilled::default();
        spill.add([record(1)].iter(), &mut of).unwrap();
        spill.flush().unwrap();
        assert!(spill.file.is_some());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        spill.clear();
        assert!(spill.file.is_none() && spill.dir == dir.path());
    }

    #[test]
    fn an_error_names_the_directory_and_the_cure() {
        let mut missing = Spill::new("/no/such/directory".into());
        let mut of = Spilled::default();
        missing.add([record(1)].iter(), &mut of).unwrap();
        let text = missing.flush().unwrap_err().to_string();
        for part in ["/no/such/directory can't keep", "set TMPDIR to"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let mut full = Spill::new("/scratch".into());
        let open = File::options().read(true).write(true).open("/dev/full");
        full.file = Some(open.unwrap());
        full.add([record(1)].iter(), &mut Spilled::default())
            .unwrap();
        let text = full.flush().unwrap_err().to_string();
        assert!(text.contains("/scratch can't keep"), "{text}");
        assert!(text.contains("No space left on device"), "{text}");
    }
}
