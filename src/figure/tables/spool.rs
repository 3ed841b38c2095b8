//! Temporary storage for the rows of a time series: a run appends its rows, and the writers
//! of tables and figures then read them as often as needed.

use flitwise_formats::temporary::Temporary;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

/// One row of any of the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Ticks from the start to the end of the tick in which the sample was taken.
    pub ticks: u64,
    /// The subject of the row.
    pub key: Key,
    /// The sampled values.
    pub values: [u64; 2],
}

/// The subject of a row, in three numbers.
pub type Key = [u32; 3];

/// A part of a key that is missing.
pub const NONE: u32 = u32::MAX;

/// The layout of a row in the file: little-endian, in the order of the fields.
const ROW_BYTES: usize = 8 + 3 * 4 + 2 * 8;

/// A file of rows that disappears with it.
#[derive(Debug)]
pub struct Spool {
    file: Temporary,
    /// `None` once it is closed.
    out: Option<BufWriter<File>>,
}

impl Spool {
    /// A spool beside the file `path`, which it never becomes.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (file, out) = Temporary::create(path)?;
        let out = Some(BufWriter::new(out));
        Ok(Self { file, out })
    }

    /// Appends a row.
    pub fn push(&mut self, row: &Row) -> io::Result<()> {
        let mut bytes = [0; ROW_BYTES];
        bytes[..8].copy_from_slice(&row.ticks.to_le_bytes());
        for (i, part) in row.key.iter().enumerate() {
            bytes[8 + 4 * i..12 + 4 * i].copy_from_slice(&part.to_le_bytes());
        }
        for (i, value) in row.values.iter().enumerate() {
            bytes[20 + 8 * i..28 + 8 * i].copy_from_slice(&value.to_le_bytes());
        }
        match &mut self.out {
            Some(out) => out.write_all(&bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    /// Takes no more rows and releases the file handle: a curve may have thousands of runs.
    pub fn close(&mut self) -> io::Result<()> {
        match self.out.take() {
            Some(mut out) => out.flush(),
            None => Ok(()),
        }
    }

    /// All rows, in their order; closes the file.
    pub fn rows(&mut self) -> io::Result<Rows> {
        self.close()?;
        Ok(Rows(BufReader::new(File::open(self.file.path())?)))
    }
}

/// Reads a [`Spool`].
pub struct Rows(BufReader<File>);

impl Iterator for Rows {
    type Item = io::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = [0; ROW_BYTES];
        match self.0.read_exact(&mut bytes) {
            Ok(()) => Some(Ok(Row::of(&bytes))),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => None,
            Err(e) => Some(Err(e)),
        }
    }
}

impl Row {
    fn of(bytes: &[u8; ROW_BYTES]) -> Self {
        let long = |at: usize| {
            let mut part = [0; 8];
            part.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(part)
        };
        let short = |at: usize| {
            let mut part = [0; 4];
            part.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(part)
        };
        Self {
            ticks: long(0),
            key: [short(8), short(12), short(16)],
            values: [long(20), long(28)],
        }
    }
}
