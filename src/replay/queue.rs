//! The agenda of a replay: its events in the order of their picoseconds.

use super::program::RankId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at a time. Events are processed in the order of the fields:
/// by time; at the same time first notes, whose order does not matter and which enable
/// acts, then acts, by job, rank and record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// Time in picoseconds.
    pub ps: u64,
    /// Notes come before acts.
    class: Class,
    /// Index of the job.
    pub job: u32,
    /// Rank that acts.
    pub rank: RankId,
    /// Record of the rank, counted from 0.
    record: u64,
    /// What happens.
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Note,
    Act,
}

/// What happens in an [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The message in this slot has left its sender.
    Injected(u32),
    /// The message in this slot has arrived.
    Delivered(u32),
    /// The rank goes on with its program.
    Rank,
    /// The rank goes on with a collective, as this member of this instance.
    Member {
        /// Slot of the instance.
        instance: u32,
        /// Position in the communicator.
        member: u32,
    },
}

/// The events to come.
#[derive(Debug)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Event>>,
    /// Acts to come, by job.
    acts: Vec<u64>,
}

impl Queue {
    /// An empty agenda of `jobs` jobs.
    pub(super) fn new(jobs: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            acts: vec![0; jobs],
        }
    }

    /// True if a rank of `job` will act.
    pub(super) fn will_act(&self, job: u32) -> bool {
        self.acts[job as usize] > 0
    }

    /// Adds the injection or delivery of a message at `ps`.
    pub(super) fn note(&mut self, ps: u64, what: What) {
        self.heap.push(Reverse(Event {
            ps,
            class: Class::Note,
            job: 0,
            rank: RankId::default(),
            record: 0,
            what,
        }));
    }

    /// Adds an act of `rank` of `job` at `ps` for its `record`.
    pub(super) fn act(&mut self, ps: u64, job: u32, rank: RankId, record: u64, what: What) {
        self.acts[job as usize] += 1;
        self.heap.push(Reverse(Event {
            ps,
            class: Class::Act,
            job,
            rank,
            record,
            what,
        }));
    }

    /// Time of the next event.
    pub(super) fn next_ps(&self) -> Option<u64> {
        self.heap.peek().map(|event| event.0.ps)
    }

    /// Takes the next event if it is due at `limit` or before.
    pub(super) fn pop_until(&mut self, limit: u64) -> Option<Event> {
        self.next_ps().filter(|&ps| ps <= limit)?;
        let event = self.heap.pop()?.0;
        if event.class == Class::Act {
            self.acts[event.job as usize] -= 1;
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_go_by_job_rank_and_record() {
        let mut queue = Queue::new(10);
        let keys = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0)];
        for (job, rank, record) in keys {
            queue.act(7, job, RankId::new(rank), record, What::Rank);
        }
        queue.note(7, What::Delivered(5));
        queue.act(6, 9, RankId::new(9), 9, What::Rank);
        queue.act(8, 0, RankId::new(0), 0, What::Rank);
        let mut order = Vec::new();
        while let Some(event) = queue.pop_until(7) {
            order.push((event.what, event.job, event.rank.get(), event.record));
        }
        let expected = [
            (What::Rank, 9, 9, 9),
            (What::Delivered(5), 0, 0, 0),
            (What::Rank, 0, 0, 0),
            (What::Rank, 0, 0, 1),
            (What::Rank, 0, 1, 0),
            (What::Rank, 1, 0, 0),
        ];
        assert_eq!(order, expected);
        assert!(queue.will_act(0) && !queue.will_act(1) && !queue.will_act(9));
        assert_eq!(queue.next_ps(), Some(8));
    }
}
