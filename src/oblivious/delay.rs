//! The longest path through the levels of a pattern, weighed by congestion (ORCS, section 2.5, `dep_max_delay`).

/// Which messages wait for which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelayRule {
    /// Delays are not computed.
    #[default]
    None,
    /// As the report says: a message waits for those of all earlier levels that its sender or receiver took part in.
    Report,
    /// As the program computes: a message waits for the first one of the level just before whose receiver is its sender;
    /// messages of ranks from this number on are load only.
    Orcs(u32),
}

/// Delays of ranks: a message begins when both of its ends have had all their earlier messages.
///
/// A rank takes part in a level as sender, receiver or both. A message waits for the messages of earlier levels that
/// its sender or receiver took part in: the longest such path is what the report measures.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    /// By rank, after the levels so far.
    done: Vec<u64>,
    next: Vec<(u32, u64)>,
    rule: DelayRule,
    /// Longest path that ended before the present level, where `done` has the last level only.
    longest: u64,
}

impl Delays {
    /// Before the first level.
    pub fn restart(&mut self, ranks: u32, rule: DelayRule) {
        self.done.clear();
        self.done.resize(ranks as usize, 0);
        self.next.clear();
        (self.rule, self.longest) = (rule, 0);
    }

    /// A message of the present level takes `delay`.
    pub fn message(&mut self, from: u32, to: u32, delay: u64) {
        let [a, b] = [from, to].map(|rank| self.done.get(rank as usize).copied().unwrap_or(0));
        match self.rule {
            DelayRule::None => {}
            DelayRule::Report => {
                let end = a.max(b).saturating_add(delay);
                self.next.extend([(from, end), (to, end)]);
            }
            DelayRule::Orcs(ranks) if from.max(to) < ranks => {
                self.next.push((to, a.saturating_add(delay)));
            }
            DelayRule::Orcs(_) => {}
        }
    }

    /// The present level ends.
    pub fn end_level(&mut self) {
        match self.rule {
            DelayRule::None => {}
            DelayRule::Report => {
                for (rank, end) in self.next.drain(..) {
                    let done = &mut self.done[rank as usize];
                    *done = (*done).max(end);
                    self.longest = self.longest.max(end);
                }
            }
            DelayRule::Orcs(_) => {
                self.done.fill(0);
                // The first message of a receiver is the one that counts.
                for (rank, end) in self.next.drain(..).rev() {
                    self.done[rank as usize] = end;
                    self.longest = self.longest.max(end);
                }
            }
        }
    }

    /// The longest path so far.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binomial_tree_takes_its_longest_path() {
        let mut delays = Delays::default();
        delays.restart(4, DelayRule::Report);
        delays.message(0, 1, 5);
        delays.end_level();
        delays.message(0, 2, 1);
        delays.message(1, 3, 2);
        delays.end_level();
        assert_eq!(delays.longest(), 7);
        // Within a level nothing waits for another message.
        delays.restart(3, DelayRule::Report);
        delays.message(0, 1, 1);
        delays.message(1, 2, 1);
        delays.end_level();
        assert_eq!(delays.longest(), 1);
    }

    /// Rank 0 sends in both levels: by the report the second message waits for the first, by the program it does not.
    #[test]
    fn the_program_forgets_senders() {
        let longest = |rule| {
            let mut delays = Delays::default();
            delays.restart(4, rule);
            delays.message(0, 1, 5);
            delays.end_level();
            delays.message(0, 2, 3);
            delays.message(1, 3, 1);
            delays.end_level();
            delays.longest()
        };
        assert_eq!(longest(DelayRule::Report), 8);
        assert_eq!(longest(DelayRule::Orcs(4)), 6);
        assert_eq!(longest(DelayRule::Orcs(2)), 5);
    }
}
