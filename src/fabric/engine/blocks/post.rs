//! The mail that the blocks of a fabric send each other: packets, and credits that return.

use super::cut::{Cut, LEAD};
use crate::engine::far_end::FarEnd;
use crate::engine::ids::OutputId;
use crate::prefetch::prefetch_to_write;
use crate::spec::Tick;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The mail of a block to another in a step. `A` is a packet, `C` are credits that return.
#[derive(Debug)]
pub(in crate::engine) struct Mail<A, C> {
    pub arrivals: Vec<A>,
    pub credits: Vec<C>,
}

impl<A, C> Mail<A, C> {
    fn new() -> Self {
        Self {
            arrivals: Vec::new(),
            credits: Vec::new(),
        }
    }
}

/// The mail that a block has not handed over yet.
#[derive(Debug)]
pub(in crate::engine) struct Post<A, C> {
    cut: Arc<Cut>,
    own: usize,
    /// By receiving block.
    mail: Vec<Mail<A, C>>,
    /// The first tick in which any of it has an effect; never if there is none.
    first: Tick,
}

impl<A, C> Post<A, C> {
    /// The post of block `own`.
    pub(in crate::engine) fn new(cut: &Arc<Cut>, own: usize) -> Self {
        Self {
            cut: Arc::clone(cut),
            own,
            mail: (0..cut.blocks()).map(|_| Mail::new()).collect(),
            first: Tick::MAX,
        }
    }

    /// The block where a link leads, if it is another one.
    #[inline]
    pub(in crate::engine) fn elsewhere(&self, to: FarEnd) -> Option<usize> {
        let block = if to.is_nic() {
            LEAD
        } else {
            self.cut.of_input(to.input())
        };
        (block != self.own).then_some(block)
    }

    /// The block of an output, if it is another one.
    #[inline]
    pub(in crate::engine) fn sender_elsewhere(&self, output: OutputId) -> Option<usize> {
        let block = self.cut.of_output(output);
        (block != self.own).then_some(block)
    }

    /// Whether the output belongs to this block.
    pub(in crate::engine) fn owns(&self, output: OutputId) -> bool {
        self.sender_elsewhere(output).is_none()
    }

    /// Whether there is no mail to hand over.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.first == Tick::MAX
    }

    /// A packet goes to block `to`, where it acts in tick `at`.
    #[inline]
    pub(in crate::engine) fn send(&mut self, to: usize, at: Tick, packet: A) {
        self.first = self.first.min(at);
        push(&mut self.mail[to].arrivals, packet);
    }

    /// Credits return to a sender in block `to`, the first one in tick `at`.
    #[inline]
    pub(in crate::engine) fn return_credits(&mut self, to: usize, at: Tick, credits: C) {
        self.first = self.first.min(at);
        push(&mut self.mail[to].credits, credits);
    }
}

/// Items ahead that are prefetched: another core has read them last.
const AHEAD: usize = 4;

#[inline]
fn push<T>(items: &mut Vec<T>, item: T) {
    prefetch_to_write(items, items.len() + AHEAD);
    items.push(item);
}

/// The boxes in which blocks leave mail for each other. The mail of a step is read in the next one, so there are two
/// boxes for each pair of blocks, which change places after each step: one has a writer, the other a reader.
#[derive(Debug)]
pub(super) struct Exchange<A, C> {
    blocks: usize,
    /// By parity of the step, then writer · blocks + reader.
    boxes: [Vec<Mutex<Mail<A, C>>>; 2],
}

impl<A, C> Exchange<A, C> {
    pub(super) fn new(blocks: usize) -> Self {
        let boxes = || {
            let pairs = 0..blocks * blocks;
            pairs.map(|_| Mutex::new(Mail::new())).collect()
        };
        Self {
            blocks,
            boxes: [boxes(), boxes()],
        }
    }

    fn open(&self, step: u64, writer: usize, reader: usize) -> MutexGuard<'_, Mail<A, C>> {
        let mail = &self.boxes[(step % 2) as usize][writer * self.blocks + reader];
        // Nothing panics while a box is open.
        mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block hands over the mail that it wrote in `step`. Returns the first tick in which any of it has an effect;
    /// never if there is none.
    pub(super) fn hand_over(&self, step: u64, post: &mut Post<A, C>) -> Tick {
        for (reader, mail) in post.mail.iter_mut().enumerate() {
            if !mail.arrivals.is_empty() || !mail.credits.is_empty() {
                // The reader has emptied it.
                std::mem::swap(&mut *self.open(step, post.own, reader), mail);
            }
        }
        std::mem::replace(&mut post.first, Tick::MAX)
    }

    /// Passes the mail that all others wrote for block `reader` in `step` to `take`, by writer.
    pub(super) fn take(&self, step: u64, reader: usize, mut take: impl FnMut(&mut Mail<A, C>)) {
        for writer in (0..self.blocks).filter(|&writer| writer != reader) {
            take(&mut self.open(step, writer, reader));
        }
    }
}
