//! Whose message comes next where several flows share an application queue (`docs/model/fabric.md` §2).

use super::{Background, Tick};
use flitwise_fabric::workload::Message;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The order in which an application queue serves the flows that share it. A flow is here a job, or a
/// background flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum NicQueueing {
    /// In the order of creation: a job waits behind everything that background flows have created
    /// before.
    #[default]
    Fifo,
    /// A message of each flow in turn: a job waits for at most one message of each other flow.
    PerFlow,
}

/// Number of a flow among those that share a queue: jobs come first, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn(u32);

impl Turn {
    /// The flow before the first one.
    pub(super) const BEFORE_FIRST: Self = Self(u32::MAX);

    /// Of a job. There are fewer than 2³¹ of them.
    #[inline]
    pub(super) fn of_job(job: u32) -> Self {
        Self(job)
    }

    /// Of a background flow: there are at most [`MAX_FLOWS`](super::MAX_FLOWS).
    #[inline]
    pub(super) fn of_flow(flow: u32) -> Self {
        Self(1 << 31 | flow)
    }

    /// The number of turns from `last`, which was served last, to `self`, less one.
    #[inline]
    fn after(self, last: Self) -> u32 {
        self.0.wrapping_sub(last.0).wrapping_sub(1)
    }
}

/// Messages of jobs that wait in a queue: a FIFO for each job, or one for all.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// Few, so a search is short. An empty one stays, with its memory.
    lines: Vec<(Turn, VecDeque<Message>)>,
}

impl Held {
    /// Adds the last message of `turn`.
    #[inline]
    pub(super) fn push(&mut self, turn: Turn, message: Message) {
        match self.lines.iter_mut().find(|line| line.0 == turn) {
            Some((_, line)) => line.push_back(message),
            None => self.lines.push((turn, VecDeque::from([message]))),
        }
    }

    /// The first message, where all jobs share a FIFO.
    #[inline]
    pub(super) fn front(&self) -> Option<&Message> {
        self.lines.first().and_then(|(_, line)| line.front())
    }

    /// Removes that message.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Message> {
        self.lines
            .first_mut()
            .and_then(|(_, line)| line.pop_front())
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|(_, line)| line.is_empty())
    }

    /// Number of messages.
    pub(super) fn len(&self) -> usize {
        self.lines.iter().map(|(_, line)| line.len()).sum()
    }
}

/// The place where a message waits.
#[derive(Clone, Copy)]
enum Place {
    /// Index of a FIFO of [`Held`].
    Held(usize),
    /// Index of a source that feeds only this queue.
    Own(u32),
    /// Index of an entry of the messages drawn.
    Drawn(usize),
}

impl Background {
    /// Takes the first message created by tick `now` of the flow in `queue` whose turn it is.
    pub(super) fn message_in_turn(&mut self, queue: u32, now: Tick) -> Option<Message> {
        let state = &mut self.queues[queue];
        let lines = state.held.lines.iter().enumerate();
        let held = lines
            .filter_map(|(at, (turn, line))| Some((*turn, line.front()?.created, Place::Held(at))));
        let own = state.sources.clone().map(|at| {
            let source = &self.sources[at as usize];
            (Turn::of_flow(source.flow), source.next.tick, Place::Own(at))
        });
        let drawn = state.drawn.iter().enumerate().map(|(at, drawn)| {
            let source = &drawn.source;
            (
                Turn::of_flow(source.flow),
                source.next.tick,
                Place::Drawn(at),
            )
        });
        let waiting = held.chain(own).chain(drawn);
        let waiting = waiting.filter(|&(_, created, _)| created <= now && created < Tick::MAX);
        let last = state.last;
        let (turn, _, place) =
            waiting.min_by_key(|&(turn, created, _)| (turn.after(last), created))?;
        state.last = turn;
        match place {
            Place::Held(at) => state.held.lines[at].1.pop_front(),
            Place::Own(source) => Some(self.take_own(source)),
            Place::Drawn(at) => Some(self.take_drawn(queue, at)),
        }
    }
}
