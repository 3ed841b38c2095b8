//! The longest path through the levels of a pattern, weighed by congestion (ORCS, section 2.5, `dep_max_delay`).

/// The paths through the levels that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelayPaths {
    /// None.
    #[default]
    None,
    /// The paths of the report: a message waits for all messages of earlier levels that its sender or receiver took part
    /// in. Of two patterns the first is examined.
    All,
    /// The paths of the program: the first message that a rank sends in a level waits for the first one that it got in the
    /// level before, and for nothing else. Messages between ranks below this number are examined.
    AsOrcs(u32),
}

/// Delays of ranks, level after level.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    paths: DelayPaths,
    /// By rank, its delay after the levels so far; in the mode of ORCS, the arrival of its first message of the last
    /// level.
    done: Vec<u64>,
    next: Vec<(u32, u64)>,
    /// Ranks that have sent in the present level.
    sent: Vec<bool>,
    longest: u64,
}

impl Delays {
    /// Resets the delays to the state before the first level.
    pub fn restart(&mut self, paths: DelayPaths, ranks: u32) {
        self.paths = paths;
        self.done.clear();
        self.done.resize(ranks as usize, 0);
        self.sent.clear();
        self.sent.resize(ranks as usize, false);
        self.next.clear();
        self.longest = 0;
    }

    /// Whether a message counts; `counted`: it is of the examined pattern.
    #[must_use]
    pub fn examines(&self, from: u32, to: u32, counted: bool) -> bool {
        match self.paths {
            DelayPaths::None => false,
            DelayPaths::All => counted,
            DelayPaths::AsOrcs(below) => from.max(to) < below,
        }
    }

    /// Adds a message of the present level, which takes `delay`.
    pub fn message(&mut self, from: u32, to: u32, delay: u64) {
        let [sender, receiver] = [from, to].map(|rank| self.done[rank as usize]);
        let as_orcs = matches!(self.paths, DelayPaths::AsOrcs(_));
        let first = !std::mem::replace(&mut self.sent[from as usize], true);
        let begin = match (as_orcs, first) {
            (false, _) => sender.max(receiver),
            (true, true) => sender,
            (true, false) => 0,
        };
        let end = begin.saturating_add(delay);
        self.longest = self.longest.max(end);
        if !as_orcs {
            self.next.push((from, end));
        }
        self.next.push((to, end));
    }

    /// Ends the present level.
    pub fn end_level(&mut self) {
        self.sent.fill(false);
        if matches!(self.paths, DelayPaths::AsOrcs(_)) {
            self.done.fill(0);
            // Of several messages to a rank the first remains.
            for (rank, end) in self.next.drain(..).rev() {
                self.done[rank as usize] = end;
            }
            return;
        }
        for (rank, end) in self.next.drain(..) {
            let done = &mut self.done[rank as usize];
            *done = (*done).max(end);
        }
    }

    /// The longest path so far.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.longest
    }
}
