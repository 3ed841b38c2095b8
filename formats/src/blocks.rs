//! A file that is read once, from start to end, a block at a time.

use std::io::{self, Read};

use crate::limits::RANK_BLOCK;

/// The bytes read and not consumed.
pub(crate) struct Blocks {
    input: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    pos: usize,
    eof: bool,
}

impl Blocks {
    /// The bytes that `input` gives.
    pub fn new(input: Box<dyn Read + Send>) -> Self {
        Self {
            input,
            bytes: Vec::new(),
            pos: 0,
            eof: false,
        }
    }

    /// The bytes, and whether the file ends after them.
    #[inline]
    pub fn rest(&self) -> (&[u8], bool) {
        (self.bytes.get(self.pos..).unwrap_or_default(), self.eof)
    }

    /// Drops the first `n` bytes, which are there.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.pos += n;
    }

    /// Reads until there are `least` bytes or the file ends.
    pub fn more(&mut self, least: usize) -> io::Result<()> {
        self.bytes.drain(..self.pos.min(self.bytes.len()));
        self.pos = 0;
        // A record that is longer than a block may turn out to be longer still: read on in ever larger steps.
        let least = least.max(self.bytes.len().saturating_mul(3) / 2);
        while self.bytes.len() < least && !self.eof {
            let have = self.bytes.len();
            self.bytes.resize(have + RANK_BLOCK, 0);
            let room = self.bytes.get_mut(have..).unwrap_or_default();
            let read = self.input.read(room);
            self.bytes.truncate(have + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.eof = true,
                Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }
}
