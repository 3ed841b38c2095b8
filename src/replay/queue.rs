//! The agenda of a replay: its events in the order of their picoseconds.

use super::causes::Causes;
use super::observer::StreamOf;
use super::program::{RankId, StreamId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at a time. Events are processed in the order of the fields:
/// by time; at the same time first notes, whose order does not matter and which enable
/// the others; then last steps; then acts. Last steps and acts follow the order of job, rank, actor and record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// Time in picoseconds.
    pub ps: u64,
    /// Notes come before acts.
    class: Class,
    /// The part of a job that acts, or that a last step leads to; of a note the default.
    pub act: Act,
    /// The action of the event.
    pub what: What,
    /// The event that caused it, if causes are kept. It decides no order: what differs in
    /// nothing else is the same event.
    pub cause: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Note,
    Step,
    Act,
}

/// The part of a rank that acts, in the order of acts at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Actor {
    /// It takes up the MPI messages that have arrived.
    #[default]
    Endpoint,
    /// A stream resumes.
    Stream(StreamId),
    /// A message of this rank takes its last step.
    Sender(RankId),
}

/// The actor of an event, and its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Act {
    /// Index of the job.
    pub job: u32,
    /// Rank that acts.
    pub rank: RankId,
    /// Which part of the rank acts.
    pub actor: Actor,
    /// Operation of the stream, or message of the sender, counted from 0.
    pub record: u64,
}

/// The action of an [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The message in this slot has left its sender.
    Injected(u32),
    /// The message in this slot has arrived.
    Delivered(u32),
    /// The message in this slot has come to the node of its receiver, on another plane.
    Step(u32),
    /// The rank takes up the MPI messages that have arrived at it.
    Progress,
    /// A stream of the rank resumes its program.
    Stream(StreamId),
    /// The rank proceeds with the open collective of this number.
    Member(u32),
}

/// The events to come.
#[derive(Debug)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Event>>,
    /// Acts to come, by job.
    acts: Vec<u64>,
    /// Why events happen, if that is asked for.
    pub causes: Option<Box<Causes>>,
}

impl Act {
    /// A stream resumes for its operation `record`.
    pub(super) fn of_stream(stream: StreamOf, record: u64) -> Self {
        Self {
            job: stream.job,
            rank: stream.rank,
            actor: Actor::Stream(stream.stream),
            record,
        }
    }

    /// The stream that acts, if it is one.
    pub(super) fn stream(&self) -> Option<StreamId> {
        match self.actor {
            Actor::Stream(stream) => Some(stream),
            Actor::Endpoint | Actor::Sender(_) => None,
        }
    }
}

impl Queue {
    /// An empty agenda of `jobs` jobs.
    pub(super) fn new(jobs: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            acts: vec![0; jobs],
            causes: None,
        }
    }

    /// Whether a rank of `job` will act.
    pub(super) fn will_act(&self, job: u32) -> bool {
        self.acts[job as usize] > 0
    }

    /// Adds the injection or delivery of a message at `ps`.
    pub(super) fn note(&mut self, ps: u64, what: What) {
        self.heap.push(Reverse(Event {
            ps,
            class: Class::Note,
            act: Act::default(),
            what,
            cause: 0,
        }));
    }

    /// Adds the last step of a message at `ps`.
    pub(super) fn step(&mut self, ps: u64, act: Act, slot: u32) {
        self.heap.push(Reverse(Event {
            ps,
            class: Class::Step,
            act,
            what: What::Step(slot),
            cause: 0,
        }));
    }

    /// Adds an act at `ps`.
    pub(super) fn act(&mut self, ps: u64, act: Act, what: What) {
        self.acts[act.job as usize] += 1;
        let cause = self.causes.as_mut().map_or(0, |causes| causes.hold());
        self.heap.push(Reverse(Event {
            ps,
            class: Class::Act,
            act,
            what,
            cause,
        }));
    }

    /// The event has been carried out.
    pub(super) fn carried_out(&mut self) {
        if let Some(causes) = &mut self.causes {
            causes.end();
        }
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
            self.acts[event.act.job as usize] -= 1;
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_go_by_job_rank_actor_and_record() {
        let mut queue = Queue::new(10);
        let stream = |stream| Actor::Stream(StreamId::new(stream));
        let act = |job, rank, actor, record| Act {
            job,
            rank: RankId::new(rank),
            actor,
            record,
        };
        let acts = [
            act(0, 0, stream(0), 1),
            act(0, 1, stream(0), 0),
            act(1, 0, stream(0), 0),
            act(0, 0, stream(1), 0),
            act(0, 0, Actor::Endpoint, 0),
            act(0, 0, stream(0), 0),
        ];
        for a in acts {
            queue.act(7, a, What::Progress);
        }
        queue.note(7, What::Delivered(5));
        queue.act(6, act(9, 9, stream(0), 9), What::Progress);
        queue.act(8, act(0, 0, stream(0), 0), What::Progress);
        let mut order = Vec::new();
        while let Some(event) = queue.pop_until(7) {
            let Act { job, rank, .. } = event.act;
            order.push((
                event.what,
                job,
                rank.get(),
                event.act.actor,
                event.act.record,
            ));
        }
        let expected = [
            (What::Progress, 9, 9, stream(0), 9),
            (What::Delivered(5), 0, 0, Actor::Endpoint, 0),
            (What::Progress, 0, 0, Actor::Endpoint, 0),
            (What::Progress, 0, 0, stream(0), 0),
            (What::Progress, 0, 0, stream(0), 1),
            (What::Progress, 0, 0, stream(1), 0),
            (What::Progress, 0, 1, stream(0), 0),
            (What::Progress, 1, 0, stream(0), 0),
        ];
        assert_eq!(order, expected);
        assert!(queue.will_act(0) && !queue.will_act(1) && !queue.will_act(9));
        assert_eq!(queue.next_ps(), Some(8));
    }
}
