//! Bytes of many lanes in one file without a name: each is added to and read for itself.

use std::path::Path;

use crate::error::Error;
use crate::limits::MAX_LANE_BUFFERS;
use crate::store::{Store, StoreWriter};

/// Bytes of a lane that are written at once.
const PIECE: usize = 64 * 1024;

/// A part of a lane: its start in the file and its length.
type Piece = (u64, u32);

/// The lanes, all of which can be read.
#[derive(Debug)]
pub(super) struct Lanes {
    store: Store,
    pieces: Vec<Vec<Piece>>,
}

/// The lanes, while they are written.
#[derive(Debug)]
pub(super) struct LanesWriter {
    writer: StoreWriter,
    pieces: Vec<Vec<Piece>>,
    waiting: Vec<Vec<u8>>,
    /// Bytes in `waiting`.
    bytes: usize,
}

/// A place in a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LanePlace {
    piece: usize,
    /// Bytes of the piece before it.
    offset: u32,
}

impl LanesWriter {
    /// None, for what is read from `path`.
    pub fn new(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            writer: StoreWriter::new(path)?,
            pieces: Vec::new(),
            waiting: Vec::new(),
            bytes: 0,
        })
    }

    /// Number of lanes: those up to the highest that was named.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Makes `lane` and those below it exist.
    pub fn make(&mut self, lane: usize) {
        if lane >= self.pieces.len() {
            self.pieces.resize(lane + 1, Vec::new());
            self.waiting.resize(lane + 1, Vec::new());
        }
    }

    /// True if nothing was added to `lane`.
    pub fn is_empty(&self, lane: usize) -> bool {
        self.pieces[lane].is_empty() && self.waiting[lane].is_empty()
    }

    /// Adds `parts` to a lane that exists.
    pub fn add(&mut self, lane: usize, parts: &[&[u8]]) -> Result<(), Error> {
        for part in parts {
            self.waiting[lane].extend_from_slice(part);
            self.bytes += part.len();
        }
        if self.waiting[lane].len() >= PIECE {
            self.write(lane)?;
        } else if self.bytes >= MAX_LANE_BUFFERS {
            for lane in 0..self.waiting.len() {
                self.write(lane)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, lane: usize) -> Result<(), Error> {
        // Its memory goes as well: later lanes may need it.
        let bytes = std::mem::take(&mut self.waiting[lane]);
        self.bytes -= bytes.len();
        for bytes in bytes.chunks(1 << 30) {
            self.pieces[lane].push((self.writer.len(), bytes.len() as u32));
            self.writer.write(bytes)?;
        }
        Ok(())
    }

    /// The lanes, to be read.
    pub fn finish(mut self) -> Result<Lanes, Error> {
        for lane in 0..self.waiting.len() {
            self.write(lane)?;
        }
        Ok(Lanes {
            store: self.writer.finish()?,
            pieces: self.pieces,
        })
    }
}

impl Lanes {
    /// Adds up to `most` bytes of a lane at `place` to `out`, and moves it on. False at the end of the lane.
    pub fn read(
        &self,
        lane: usize,
        place: &mut LanePlace,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let piece = self.pieces.get(lane).and_then(|p| p.get(place.piece));
        let Some(&(start, len)) = piece else {
            return Ok(false);
        };
        let n = most.min((len - place.offset) as usize);
        let from = out.len();
        out.resize(from + n, 0);
        let at = start + u64::from(place.offset);
        let read = self.store.read_at(at, &mut out[from..])?;
        out.truncate(from + read);
        place.offset += n as u32;
        if place.offset == len {
            *place = LanePlace {
                piece: place.piece + 1,
                offset: 0,
            };
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_keep_what_was_added_to_each() {
        let mut writer = LanesWriter::new(Path::new("x")).unwrap();
        writer.make(4);
        let mut expected = vec![Vec::new(); 5];
        for i in 0..40_000u32 {
            let lane = (i * 7 % 11 % 4) as usize;
            let text = format!("{i} ");
            writer.add(lane, &[text.as_bytes(), b"x\n"]).unwrap();
            expected[lane].extend(format!("{i} x\n").bytes());
        }
        assert!(writer.is_empty(4) && !writer.is_empty(0));
        let lanes = writer.finish().unwrap();
        for (lane, expected) in expected.iter().enumerate() {
            for most in [1000, 1 << 20] {
                let (mut place, mut got) = (LanePlace::default(), Vec::new());
                while lanes.read(lane, &mut place, most, &mut got).unwrap() {}
                assert_eq!(got, *expected);
            }
        }
    }
}
