//! Replays the order of a trace without time: a record starts when its predecessor has
//! started and its dependency has happened; messages arrive at once. What can't start
//! here can't start in a replay in which collectives synchronise as their kind says.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use super::groups::{Groups, Rule};
use super::ids::{Ids, Known};
use super::observer::Observer;
use crate::vef::record::Comm;

/// The event that a record waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Nothing,
    /// The start of this message or marker.
    Message(u64),
    /// The completion of this collective by the task.
    Collective(u64),
}

/// The effects of a record's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Starts {
    Nothing,
    Message { id: u64, dst: u32 },
    Member(u64),
}

pub(super) struct Pending<N> {
    pub line: u64,
    pub after: Event,
    pub starts: Starts,
    /// For the observer.
    pub note: N,
}

pub(super) struct Order<O: Observer> {
    pub observer: O,
    pub ids: Ids,
    pub groups: Groups,
    /// Records of each task that were read and have not started, in program order.
    pub queues: Vec<VecDeque<Pending<O::Note>>>,
    /// Sum of their lengths.
    pub waiting: usize,
    /// Tasks whose first record may start now.
    ready: Vec<u32>,
    /// Message ids that don't exist. The check reports them, and no record waits for them.
    pub waived: HashSet<u64>,
}

impl<O: Observer> Order<O> {
    pub fn new(observer: O) -> Self {
        Self {
            observer,
            ids: Ids::default(),
            groups: Groups::default(),
            queues: Vec::new(),
            waiting: 0,
            ready: Vec::new(),
            waived: HashSet::new(),
        }
    }

    fn queue(&mut self, task: u32) -> &mut VecDeque<Pending<O::Note>> {
        let at = task as usize;
        if at >= self.queues.len() {
            self.queues.resize_with(at + 1, VecDeque::new);
        }
        &mut self.queues[at]
    }

    fn has_waiting(&self, task: u32) -> bool {
        self.queues
            .get(task as usize)
            .is_some_and(|q| !q.is_empty())
    }

    fn happened(&self, task: u32, event: Event) -> bool {
        match event {
            Event::Nothing => true,
            Event::Message(id) => {
                self.ids.started(id) || (!self.waived.is_empty() && self.waived.contains(&id))
            }
            Event::Collective(g) => self.groups.completed(g, task),
        }
    }

    /// Adds the next record of `task` and starts all records that can start.
    pub fn push(&mut self, task: u32, record: Pending<O::Note>, comms: &[Comm]) {
        if self.has_waiting(task) || !self.happened(task, record.after) {
            self.waiting += 1;
            self.queue(task).push_back(record);
            return;
        }
        self.start(task, record, comms);
        self.run(comms);
    }

    fn start(&mut self, task: u32, record: Pending<O::Note>, comms: &[Comm]) {
        self.observer.started(task, record.note);
        match record.starts {
            Starts::Nothing => {}
            Starts::Message { id, dst } => {
                self.ids.start(id);
                if dst != task && self.has_waiting(dst) {
                    self.ready.push(dst);
                }
            }
            Starts::Member(g) => {
                let comm = self.groups.live.get(&g).map(|l| l.gathering.comm());
                if self.groups.enter(g, task, comms) {
                    self.wake(comm, comms);
                }
            }
        }
    }

    fn wake(&mut self, comm: Option<u32>, comms: &[Comm]) {
        let Some(comm) = comm.and_then(|c| comms.get(c as usize)) else {
            return;
        };
        for &member in &*comm.members {
            if self.has_waiting(member) {
                self.ready.push(member);
            }
        }
    }

    /// Notes that all lines of `g` are read.
    pub fn settle(&mut self, g: u64, rule: Rule, comms: &[Comm]) {
        let comm = self.groups.live.get(&g).map(|l| l.gathering.comm());
        self.groups.settle(g, rule, comms);
        self.wake(comm, comms);
        self.run(comms);
    }

    fn run(&mut self, comms: &[Comm]) {
        while let Some(task) = self.ready.pop() {
            while let Some(next) = self.queues.get(task as usize).and_then(VecDeque::front) {
                if !self.happened(task, next.after) {
                    break;
                }
                let Some(next) = self.queue(task).pop_front() else {
                    break;
                };
                self.waiting -= 1;
                self.start(task, next, comms);
            }
        }
    }

    /// Tries every task again, after a dependency was waived.
    pub fn run_all(&mut self, comms: &[Comm]) {
        let tasks = 0..self.queues.len() as u32;
        self.ready = tasks.filter(|&t| self.has_waiting(t)).collect();
        self.run(comms);
    }

    /// For each collective, the lowest task whose entry has not started.
    pub fn stuck_members(&self) -> HashMap<u64, u32> {
        let mut map = HashMap::new();
        for (task, queue) in (0..).zip(&self.queues) {
            for record in queue {
                if let Starts::Member(g) = record.starts {
                    map.entry(g).or_insert(task);
                }
            }
        }
        map
    }

    /// The task whose stuck record `task`'s first record waits for; `members` is the result
    /// of [`Self::stuck_members`].
    pub fn blocker(&self, task: u32, members: &HashMap<u64, u32>) -> Option<u32> {
        match self.queues.get(task as usize)?.front()?.after {
            Event::Nothing => None,
            Event::Message(id) => match self.ids.known(id) {
                Known::Ends(ends) => Some(ends.src),
                _ => None,
            },
            Event::Collective(g) => match self.groups.live.get(&g)?.rule {
                Some(Rule::FromRoot(root)) => Some(root),
                _ => members.get(&g).copied(),
            },
        }
    }
}
