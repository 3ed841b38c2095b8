//! The streams of a program in the making.

use super::super::case::Case;
use super::super::ops::{self, Around};
use super::dice::Dice;
use flitwise::replay::mpi::{Communicator, Until};
use flitwise::replay::program::{Event, Label, Op};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A stream in the making.
#[derive(Debug, Clone, Default)]
pub struct Track {
    pub ops: Vec<Op>,
    /// Events that a later operation has to wait for, and how many operations come before it.
    pub deferred: Vec<(Event, usize)>,
    /// The label of the next operation, if operations wait for it already.
    pub next_label: Option<u64>,
    /// Requests that may be active.
    pub requests: Vec<u64>,
    /// Requests that were freed.
    pub freed: Vec<u64>,
}

/// A stream of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub rank: usize,
    pub stream: usize,
}

/// A program in the making.
pub struct Builder {
    pub case: Case,
    /// By rank and stream.
    pub tracks: Vec<Vec<Track>>,
    /// The communicators of collectives.
    pub comms: Vec<Arc<Communicator>>,
    /// Messages to different streams of a rank have different communicators.
    pub apart: bool,
    /// Wildcards are allowed.
    pub wildcards: bool,
    /// Streams end with a wait for all their requests.
    pub tidy: bool,
    /// Communicator, rank and place of the last call of a collective.
    calls: BTreeMap<(usize, usize), (At, usize)>,
    ids: u64,
}

impl Builder {
    pub fn new(dice: &mut Dice<'_>) -> Self {
        let case = super::job::settings(dice);
        let ranks = case.ranks.len() as u32;
        let all: Vec<u32> = (0..ranks).collect();
        let turned: Vec<u32> = (0..ranks).map(|rank| (rank + 1) % ranks).rev().collect();
        let some: Vec<u32> = (0..ranks).filter(|rank| rank % 3 != 1).collect();
        Self {
            tracks: case
                .ranks
                .iter()
                .map(|streams| vec![Track::default(); streams.len()])
                .collect(),
            comms: vec![
                ops::communicator(0, &all),
                ops::communicator(900, &turned),
                ops::communicator(7, &some),
            ],
            apart: !dice.one_in(3),
            wildcards: !dice.one_in(3),
            tidy: !dice.one_in(4),
            calls: BTreeMap::new(),
            ids: 0,
            case,
        }
    }

    /// A number for a message or collective with an id, or for a label.
    pub fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    pub fn track(&mut self, at: At) -> &mut Track {
        &mut self.tracks[at.rank][at.stream]
    }

    /// A stream of any rank.
    pub fn any(&self, dice: &mut Dice<'_>) -> At {
        let rank = dice.below(self.tracks.len());
        self.any_of(rank, dice)
    }

    /// A stream of this rank.
    pub fn any_of(&self, rank: usize, dice: &mut Dice<'_>) -> At {
        let stream = dice.below(self.tracks[rank].len());
        At { rank, stream }
    }

    /// The next operation of a stream.
    pub fn push(&mut self, at: At, op: Op) {
        let track = self.track(at);
        let mut events = op.after.events().to_vec();
        for (event, before) in std::mem::take(&mut track.deferred) {
            match before {
                0 if events.contains(&event) => {}
                0 => events.push(event),
                _ => track.deferred.push((event, before - 1)),
            }
        }
        let op = Op {
            after: ops::after(events),
            label: track.next_label.take().and_then(Label::new).or(op.label),
            ..op
        };
        track.ops.push(op);
    }

    /// A call, with a request or not.
    pub fn push_call(&mut self, at: At, call: Op, with_request: bool) {
        if with_request {
            let number = self.request(at);
            self.push(at, call.request(number));
        } else {
            self.push(at, call);
        }
    }

    /// The least request of a stream that is not active. Streams have their own numbers.
    fn request(&mut self, at: At) -> u64 {
        let track = self.track(at);
        let number = (0..).map(|k| 10 * k + at.stream as u64);
        let free = number
            .into_iter()
            .find(|number| !track.requests.contains(number) && !track.freed.contains(number));
        let free = free.expect("there are many");
        track.requests.push(free);
        free
    }

    /// Lets an operation of a stream wait for an event, after `before` others.
    pub fn defer(&mut self, at: At, event: Event, before: usize) {
        self.track(at).deferred.push((event, before));
    }

    /// Where a rank called the last collective of a communicator.
    pub fn last_call(&self, comm: usize, rank: usize) -> Option<(At, usize)> {
        self.calls.get(&(comm, rank)).copied()
    }

    /// Notes that the last operation of a stream calls a collective of this communicator.
    pub fn note_call(&mut self, comm: usize, at: At) {
        let index = self.track(at).ops.len() - 1;
        self.calls.insert((comm, at.rank), (at, index));
    }

    /// The label of an operation; it gets one if it has none.
    pub fn label_of(&mut self, at: At, index: usize) -> u64 {
        let fresh = Label::new(self.id());
        let label = &mut self.track(at).ops[index].label;
        *label = label.or(fresh);
        label.expect("small numbers are labels").get()
    }

    /// Ends all streams.
    pub fn build(mut self) -> Case {
        for rank in 0..self.tracks.len() {
            for stream in 0..self.tracks[rank].len() {
                self.close(At { rank, stream });
            }
        }
        let streams = |tracks: Vec<Track>| tracks.into_iter().map(|track| track.ops).collect();
        Case {
            ranks: self.tracks.into_iter().map(streams).collect(),
            ..self.case
        }
    }

    fn close(&mut self, at: At) {
        if self.tidy && !self.track(at).requests.is_empty() {
            let requests = self.track(at).requests.clone();
            self.push(at, ops::wait(Until::All, &requests));
        }
        let track = self.track(at);
        track
            .deferred
            .iter_mut()
            .for_each(|(_, before)| *before = 0);
        if !track.deferred.is_empty() || track.next_label.is_some() {
            self.push(at, ops::marker());
        }
    }
}
