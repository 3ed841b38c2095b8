//! One packet per VL in turn, which is OpaSim's own scheduler (DIAB-18-12-1 §2.1, OB).

use crate::engine::bits::first_from;

#[derive(Debug)]
pub(in crate::engine) struct RrVl {
    /// VL after the one that sent last, per output.
    next: Vec<u8>,
}

impl RrVl {
    pub(super) fn new(outputs: usize) -> Self {
        Self {
            next: vec![0; outputs],
        }
    }

    /// See [`Schedulers::pick`](super::Schedulers::pick).
    #[inline]
    pub(super) fn pick(&mut self, output: usize, candidates: u32) -> usize {
        let vl = first_from(candidates.into(), self.next[output]) as usize;
        self.next[output] = vl as u8 + 1;
        vl
    }
}
