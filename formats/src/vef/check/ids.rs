//! The state that a check keeps of every message id.
//!
//! Ids are dense and come in nearly ascending order, so they index pages of a table.
//! The table never grows faster than the number of records read: an id far above it
//! goes to a hash map. A page whose records have all started long ago is reduced to a
//! flag.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use crate::idset::IdSet;
use crate::limits::MAX_TRACKED_IDS;

const PAGE: usize = 4096;
const WORDS: usize = PAGE / 64;

/// The knowledge of the check about an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// No such record so far.
    Unseen,
    /// It started long ago; its ends are forgotten.
    Forgotten,
    /// Its ends.
    Ends(Ends),
}

/// Source and destination of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ends {
    pub src: u32,
    dst_or_marker: u32,
}

impl Ends {
    pub fn message(src: u32, dst: u32) -> Self {
        Self {
            src,
            dst_or_marker: dst,
        }
    }

    pub fn marker(task: u32) -> Self {
        Self {
            src: task,
            dst_or_marker: u32::MAX,
        }
    }

    /// The receiver; a marker has none.
    pub fn dst(self) -> Option<u32> {
        (self.dst_or_marker != u32::MAX).then_some(self.dst_or_marker)
    }
}

struct Page {
    seen: [u64; WORDS],
    started: [u64; WORDS],
    awaited: [u64; WORDS],
    unstarted: u32,
    free: u32,
    ends: Box<[Ends]>,
}

#[derive(Default)]
enum Slot {
    /// No id so far.
    #[default]
    Empty,
    Tracked(Box<Page>),
    /// All its ids exist and have started. Which of them are awaited is kept unless all are.
    Forgotten(Option<Box<[u64; WORDS]>>),
}

impl Slot {
    /// True if all its ids exist and have started.
    fn is_over(&self) -> bool {
        matches!(self, Self::Tracked(page) if page.unstarted == 0 && page.free == 0)
    }

    /// Which of its ids are awaited; `None` for all.
    fn awaited(self) -> Option<Box<[u64; WORDS]>> {
        let words = match self {
            Self::Empty => None,
            Self::Tracked(page) => Some(Box::new(page.awaited)),
            Self::Forgotten(words) => words,
        };
        words.filter(|words| words.iter().any(|&word| word != u64::MAX))
    }
}

/// Sets `bit`; true if it was set.
fn set(word: &mut u64, bit: u64) -> bool {
    let before = *word & bit != 0;
    *word |= bit;
    before
}

/// Which messages of a trace its records wait to receive. Pages of ids of which all are
/// awaited take no memory, so it is small for the traces of applications.
#[derive(Debug, Clone, Default)]
pub struct Awaited {
    /// By number; `None` if all are awaited.
    pages: Vec<Option<Box<[u64; WORDS]>>>,
    /// Messages outside the pages that no record waits for.
    sparse_never: HashSet<u64>,
    again: IdSet,
}

impl Awaited {
    /// True if a record waits to receive this message of the trace.
    #[must_use]
    pub fn contains(&self, id: u64) -> bool {
        let (page, at, bit) = place(id);
        let words = self.pages.get(page).and_then(Option::as_ref);
        words.is_none_or(|words| words[at / 64] & bit != 0) && !self.sparse_never.contains(&id)
    }

    /// True if more than one record may wait to receive this message.
    #[must_use]
    pub fn again(&self, id: u64) -> bool {
        self.again.contains(id)
    }
}

#[derive(Default)]
pub(super) struct Ids {
    pages: Vec<Slot>,
    /// Pages that still have the ends of their records, oldest first.
    tracked: VecDeque<usize>,
    sparse: HashMap<u64, Sparse>,
    count: u64,
    /// Messages that more than one record waits to receive.
    awaited_again: IdSet,
}

/// The knowledge of the check about an id that is not in the table.
#[derive(Debug, Clone, Copy)]
struct Sparse {
    ends: Ends,
    started: bool,
    awaited: bool,
}

fn place(id: u64) -> (usize, usize, u64) {
    let at = (id % PAGE as u64) as usize;
    ((id / PAGE as u64) as usize, at, 1 << (at % 64))
}

impl Ids {
    fn page(&self, id: u64) -> Option<(&Page, usize, u64)> {
        let (page, at, bit) = place(id);
        let Slot::Tracked(page) = self.pages.get(page)? else {
            return None;
        };
        (page.seen[at / 64] & bit != 0).then_some((page, at, bit))
    }

    fn forgotten(&self, id: u64) -> bool {
        matches!(self.pages.get(place(id).0), Some(Slot::Forgotten(_)))
    }

    /// Adds a record; false if the id exists.
    pub fn insert(&mut self, id: u64, ends: Ends) -> bool {
        if self.known(id) != Known::Unseen {
            return false;
        }
        self.count += 1;
        if id >= self.count.saturating_mul(4).saturating_add(1 << 16) {
            let awaited = ends.dst().is_none();
            let started = false;
            self.sparse.insert(
                id,
                Sparse {
                    ends,
                    started,
                    awaited,
                },
            );
            return true;
        }
        let (index, at, bit) = place(id);
        if index >= self.pages.len() {
            self.pages.resize_with(index + 1, Slot::default);
        }
        let tracked = &mut self.tracked;
        let slot = &mut self.pages[index];
        if let Slot::Empty = slot {
            tracked.push_back(index);
            *slot = Slot::Tracked(Box::new(Page {
                seen: [0; WORDS],
                started: [0; WORDS],
                awaited: [0; WORDS],
                unstarted: 0,
                free: PAGE as u32,
                ends: vec![Ends::default(); PAGE].into(),
            }));
        }
        let Slot::Tracked(page) = slot else {
            return false;
        };
        page.seen[at / 64] |= bit;
        page.unstarted += 1;
        page.free -= 1;
        page.ends[at] = ends;
        if ends.dst().is_none() {
            // No record waits for a marker. Counting it as awaited lets pages fill.
            page.awaited[at / 64] |= bit;
        }
        if self.tracked.len() > MAX_TRACKED_IDS / PAGE {
            self.forget();
        }
        true
    }

    /// Drops the ends of an old page without a record that may still start.
    #[cold]
    fn forget(&mut self) {
        // A few attempts: a page that must stay is tried again much later.
        for _ in 0..4 {
            let Some(index) = self.tracked.pop_front() else {
                return;
            };
            match &mut self.pages[index] {
                slot if slot.is_over() => {
                    let over = std::mem::take(slot);
                    *slot = Slot::Forgotten(over.awaited());
                    return;
                }
                _ => self.tracked.push_back(index),
            }
        }
    }

    pub fn known(&self, id: u64) -> Known {
        if let Some((page, at, _)) = self.page(id) {
            return Known::Ends(page.ends[at]);
        }
        if self.forgotten(id) {
            return Known::Forgotten;
        }
        match self.sparse.get(&id) {
            Some(sparse) => Known::Ends(sparse.ends),
            None => Known::Unseen,
        }
    }

    pub fn started(&self, id: u64) -> bool {
        match self.page(id) {
            Some((page, at, bit)) => page.started[at / 64] & bit != 0,
            None => self.forgotten(id) || self.sparse.get(&id).is_some_and(|s| s.started),
        }
    }

    /// Notes that the record started.
    pub fn start(&mut self, id: u64) {
        let (page, at, bit) = place(id);
        if let Some(Slot::Tracked(page)) = self.pages.get_mut(page)
            && page.seen[at / 64] & bit != 0
        {
            if page.started[at / 64] & bit == 0 {
                page.started[at / 64] |= bit;
                page.unstarted -= 1;
            }
        } else if let Some(entry) = self.sparse.get_mut(&id) {
            entry.started = true;
        }
    }

    /// Notes that a record waits to receive the message, which exists.
    pub fn awaits(&mut self, id: u64) {
        let (page, at, bit) = place(id);
        let before = match self.pages.get_mut(page) {
            Some(Slot::Tracked(page)) if page.seen[at / 64] & bit != 0 => {
                set(&mut page.awaited[at / 64], bit)
            }
            Some(Slot::Forgotten(None)) => true,
            Some(Slot::Forgotten(Some(words))) => set(&mut words[at / 64], bit),
            _ => match self.sparse.get_mut(&id) {
                Some(sparse) => std::mem::replace(&mut sparse.awaited, true),
                None => false,
            },
        };
        if before {
            self.awaited_again.insert(id);
        }
    }

    /// The messages that records wait to receive.
    pub fn awaited(&mut self) -> Awaited {
        let pages = std::mem::take(&mut self.pages);
        let never = self.sparse.iter().filter(|(_, sparse)| !sparse.awaited);
        Awaited {
            pages: pages.into_iter().map(Slot::awaited).collect(),
            sparse_never: never.map(|(&id, _)| id).collect(),
            again: std::mem::take(&mut self.awaited_again),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_ids_behave_alike() {
        let mut ids = Ids::default();
        for id in [0, 5, 4095, 4096, u64::MAX, 1 << 40] {
            let ends = Ends::message(1, 2);
            assert_eq!(ids.known(id), Known::Unseen);
            assert!(!ids.started(id));
            assert!(ids.insert(id, ends) && !ids.insert(id, ends));
            assert_eq!(ids.known(id), Known::Ends(ends));
            assert!(!ids.started(id));
            ids.start(id);
            assert!(ids.started(id));
        }
        assert!(ids.pages.len() < 10, "an id must not size the table");
    }

    #[test]
    fn awaited_messages_are_remembered() {
        let mut ids = Ids::default();
        let total = (MAX_TRACKED_IDS + 3 * PAGE) as u64;
        let far = 1 << 40;
        for id in (0..total).chain([far, far + 1]) {
            ids.insert(id, Ends::message(0, 1));
            ids.start(id);
            if id != 5 && id != far {
                ids.awaits(id);
            }
            if id % 4096 == 7 {
                ids.awaits(id);
            }
        }
        ids.insert(total, Ends::marker(0));
        // The page of this id is forgotten by now.
        ids.awaits(9);
        let awaited = ids.awaited();
        assert!(!awaited.contains(5) && (6..=total).all(|id| awaited.contains(id)));
        assert!(!awaited.contains(far) && awaited.contains(far + 1));
        assert!(awaited.again(7) && awaited.again(9) && !awaited.again(8));
        let kept = awaited.pages.iter().flatten().count();
        assert!(kept <= 2, "{kept} pages");
    }

    #[test]
    fn old_pages_keep_only_that_their_ids_started() {
        let mut ids = Ids::default();
        let total = (MAX_TRACKED_IDS + 3 * PAGE) as u64;
        for id in 0..total {
            ids.insert(id, Ends::marker(0));
            ids.start(id);
        }
        assert_eq!(ids.known(0), Known::Forgotten);
        assert!(ids.started(0) && !ids.insert(0, Ends::marker(0)));
        assert_eq!(ids.known(total - 1), Known::Ends(Ends::marker(0)));
        assert!(ids.tracked.len() <= MAX_TRACKED_IDS / PAGE);
    }
}
