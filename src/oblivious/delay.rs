//! The longest path through the levels of a pattern, weighed by congestion (ORCS, section 2.5, `dep_max_delay`).

/// Delays of ranks: a message begins when both of its ends have had all their earlier messages.
///
/// A rank takes part in a level as sender, receiver or both. A message waits for the messages of earlier levels that
/// its sender or receiver took part in: the longest such path is what the report measures.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    /// By rank, after the levels so far.
    done: Vec<u64>,
    next: Vec<(u32, u64)>,
}

impl Delays {
    /// Before the first level.
    pub fn restart(&mut self, ranks: u32) {
        self.done.clear();
        self.done.resize(ranks as usize, 0);
        self.next.clear();
    }

    /// A message of the present level takes `delay`.
    pub fn message(&mut self, from: u32, to: u32, delay: u64) {
        let [a, b] = [from, to].map(|rank| self.done[rank as usize]);
        let end = a.max(b).saturating_add(delay);
        self.next.extend([(from, end), (to, end)]);
    }

    /// The present level ends.
    pub fn end_level(&mut self) {
        for (rank, end) in self.next.drain(..) {
            let done = &mut self.done[rank as usize];
            *done = (*done).max(end);
        }
    }

    /// The longest path so far.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.done.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binomial_tree_takes_its_longest_path() {
        let mut delays = Delays::default();
        delays.restart(4);
        delays.message(0, 1, 5);
        delays.end_level();
        delays.message(0, 2, 1);
        delays.message(1, 3, 2);
        delays.end_level();
        assert_eq!(delays.longest(), 7);
        // Within a level nothing waits for another message.
        delays.restart(3);
        delays.message(0, 1, 1);
        delays.message(1, 2, 1);
        delays.end_level();
        assert_eq!(delays.longest(), 1);
    }
}
