//! The records that were read before their ranks asked for them: in memory up to a number, the
//! others on disk.

use super::queued::Queued;
use super::spill::{Spill, Spilled};
use std::collections::VecDeque;
use std::path::PathBuf;

/// Most records that wait in memory: 13 MB, and as much again because the windows that hold them
/// grow by doubling.
pub(super) const MAX_IN_MEMORY: usize = 1 << 18;

/// Most records of a chunk on disk. Every rank reads one of its chunks at a time.
const MAX_CHUNK: usize = 1 << 12;

/// Fewest that are cut to a chunk, however many ranks share the memory.
const MIN_CHUNK: usize = 16;

/// The records that wait, by rank.
#[derive(Debug)]
pub(super) struct Windows {
    ranks: Vec<Window>,
    /// Number of records in memory, without the packed ones.
    waiting: usize,
    /// Bound of `waiting`.
    budget: usize,
    spill: Spill,
}

/// The records of one rank that wait.
#[derive(Debug, Default)]
struct Window {
    /// The records that were read last.
    recent: VecDeque<Queued>,
    /// The records before.
    spilled: Option<Box<Spilled>>,
}

impl Windows {
    /// No record waits for any of `ranks` ranks. Beyond `budget` records they wait in a file in
    /// `dir`.
    pub fn new(ranks: usize, budget: usize, dir: PathBuf) -> Self {
        Self {
            ranks: (0..ranks).map(|_| Window::default()).collect(),
            waiting: 0,
            budget: budget.max(1),
            spill: Spill::new(dir),
        }
    }

    /// Drops all records.
    pub fn clear(&mut self) {
        self.ranks.fill_with(Window::default);
        self.waiting = 0;
        self.spill.clear();
    }

    /// Number of records in memory, without the packed ones.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether no record waits.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        let spilled = self.ranks.iter().filter_map(|w| w.spilled.as_ref());
        self.waiting == 0 && spilled.into_iter().all(|s| s.is_empty())
    }

    /// Adds a record of `rank`, which exists.
    pub fn push(&mut self, rank: usize, record: Queued) -> anyhow::Result<()> {
        if self.waiting >= self.budget {
            self.make_room()?;
        }
        self.ranks[rank].recent.push_back(record);
        self.waiting += 1;
        Ok(())
    }

    /// The first record of `rank` that waits.
    pub fn take(&mut self, rank: usize) -> anyhow::Result<Option<Queued>> {
        let Some(window) = self.ranks.get_mut(rank) else {
            return Ok(None);
        };
        if let Some(spilled) = &mut window.spilled {
            if let Some(record) = self.spill.take(spilled)? {
                return Ok(Some(record));
            }
            window.spilled = None;
        }
        let first = window.recent.pop_front();
        if first.is_some() {
            self.waiting -= 1;
            if window.recent.is_empty() && window.recent.capacity() > MAX_CHUNK {
                window.recent = VecDeque::new();
            }
        }
        Ok(first)
    }

    /// Writes the longest windows: they belong to the ranks that lag most.
    #[cold]
    fn make_room(&mut self) -> anyhow::Result<()> {
        let long = self.ranks.iter().filter(|w| !w.recent.is_empty());
        // At least half of the records are in windows of half the mean length.
        let least = self.waiting / long.count().max(1) / 2;
        let chunk = (self.budget / self.ranks.len().max(1)).clamp(MIN_CHUNK, MAX_CHUNK);
        for window in &mut self.ranks {
            let length = window.recent.len();
            if length == 0 || length < least {
                continue;
            }
            let spilled = window.spilled.get_or_insert_default();
            let mut records = window.recent.iter();
            for _ in 0..length.div_ceil(chunk) {
                self.spill.add(records.by_ref().take(chunk), spilled)?;
            }
            window.recent = VecDeque::new();
            self.waiting -= length;
        }
        self.spill.flush()
    }
}
