//! The ideal clock: when every record would start if the network took no time.
//!
//! The ideal clock gives the times of a replay (`docs/model/replay.md`) in which messages arrive when
//! they are sent, and a member completes a collective as soon as the data that it gets exist
//! (`exchange`):
//! start(r) = max(start of the task's previous record, event of r) + time of r. Times
//! are in the units of the trace, from its start.
//!
//! It is the only clock that depends on nothing but the trace, and a cut at one of its
//! times is consistent: no record before the cut waits for an event after it.

use hashbrown::HashMap;

use super::collective::Resolved;
use super::exchange::{Entries, Exchange};
use super::record::{Comm, DepId, DepKind, Record};
use crate::limits::MAX_WAITING;

/// A clock that hears of records in the order of an [`Observer`](super::Observer).
#[derive(Debug)]
pub struct Clock {
    comms: Vec<Comm>,
    /// Start of the last record of each task.
    last: Vec<u64>,
    /// Start and receiver of messages that a rank may still wait for.
    sent: HashMap<u64, (u64, u32)>,
    groups: HashMap<u64, Group>,
    /// Size of `sent` and `groups` from which on to look for entries to drop.
    look: usize,
    end: u64,
    failure: Option<&'static str>,
}

/// Entries into one collective.
#[derive(Debug)]
struct Group {
    comm: u32,
    /// `None` before all lines are read.
    exchange: Option<Exchange>,
    entered: u32,
    /// Latest entry.
    latest: u64,
    entries: Entries,
    /// Tasks and times of the entries before the exchange was known.
    early: Vec<(u32, u64)>,
}

/// Fewest entries from which on to look for entries to drop.
const LOOK: usize = 1 << 12;

const OVERFLOW: &str = "the ideal clock exceeds 2^64 units of time";
const CROWDED: &str = "too many messages are under way at once: sort the lines by the time of \
                       recording";

impl Clock {
    /// A clock at the start of a trace.
    #[must_use]
    pub fn new(comms: &[Comm]) -> Self {
        Self {
            comms: comms.to_vec(),
            last: Vec::new(),
            sent: HashMap::new(),
            groups: HashMap::new(),
            look: LOOK,
            end: 0,
            failure: None,
        }
    }

    /// Start of the last record of a task; 0 before its first.
    #[must_use]
    pub fn last(&self, task: u32) -> u64 {
        self.last.get(task as usize).copied().unwrap_or(0)
    }

    /// The latest start.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Why the times are wrong; `None` if they are right.
    #[must_use]
    pub fn failure(&self) -> Option<&'static str> {
        self.failure
    }

    /// The time of the event of `record`: exact if later than the task's last record, else
    /// any time up to that.
    #[must_use]
    pub fn event(&self, record: &Record) -> u64 {
        let (dep, after) = record.dep();
        match (dep.kind(), after) {
            (DepKind::Received, DepId::Message(id)) => self.sent.get(&id).map_or(0, |s| s.0),
            (DepKind::Completed, DepId::Collective(g)) => {
                let group = self.groups.get(&g);
                group.map_or(0, |group| group.completed_by(record.task()))
            }
            // Its own earlier record.
            _ => 0,
        }
    }

    /// Notes the next record that starts and returns its time.
    pub fn start(&mut self, record: &Record) -> u64 {
        let task = record.task();
        let before = self.last(task).max(self.event(record));
        let start = before.checked_add(record.time()).unwrap_or_else(|| {
            self.failure = Some(OVERFLOW);
            u64::MAX
        });
        let at = task as usize;
        if at >= self.last.len() {
            self.last.resize(at + 1, 0);
        }
        self.last[at] = start;
        self.end = self.end.max(start);
        match record {
            Record::Message(m) => {
                if !m.is_marker() && start > self.last(m.dst) {
                    self.sent.insert(m.id, (start, m.dst));
                }
            }
            Record::Member(m) => {
                self.group(m.id, m.comm).enter(task, start);
            }
        }
        if self.sent.len() + self.groups.len() > self.look {
            self.drop_past();
        }
        start
    }

    /// Notes what the lines of collective `g` mean, as an [`Observer`](super::Observer) hears it.
    pub fn resolved(&mut self, g: u64, collective: &Resolved) {
        if let Some(comm) = self.comms.get(collective.comm as usize) {
            let exchange = Exchange::of(&collective.kind, comm);
            self.resolve(g, collective.comm, exchange);
        }
    }

    /// Says whose data the members of `g`, a collective on communicator `comm`, get.
    pub(super) fn resolve(&mut self, g: u64, comm: u32, exchange: Exchange) {
        self.group(g, comm).resolve(exchange);
    }

    fn group(&mut self, g: u64, comm: u32) -> &mut Group {
        self.groups.entry(g).or_insert_with(|| Group {
            comm,
            exchange: None,
            entered: 0,
            latest: 0,
            entries: Entries::default(),
            early: Vec::new(),
        })
    }

    /// Drops entries that lie in the past of all ranks that may wait for them.
    #[cold]
    fn drop_past(&mut self) {
        let last = |task: u32| self.last.get(task as usize).copied().unwrap_or(0);
        self.sent.retain(|_, &mut (start, dst)| start > last(dst));
        let comms = &self.comms;
        self.groups.retain(|_, group| {
            let members = comms.get(group.comm as usize).map(|c| &c.members);
            members.is_none_or(|members| {
                group.exchange.is_none()
                    || (group.entered as usize) < members.len()
                    || members.iter().any(|&task| last(task) < group.latest)
            })
        });
        if self.sent.len() > MAX_WAITING {
            self.failure = Some(CROWDED);
            self.sent.clear();
        }
        self.look = LOOK.max(2 * (self.sent.len() + self.groups.len()));
    }
}

impl Group {
    fn enter(&mut self, task: u32, start: u64) {
        self.entered += 1;
        self.latest = self.latest.max(start);
        match &self.exchange {
            Some(exchange) => self.entries.add(exchange.reach(task), start),
            None => self.early.push((task, start)),
        }
    }

    fn resolve(&mut self, exchange: Exchange) {
        for (task, start) in std::mem::take(&mut self.early) {
            self.entries.add(exchange.reach(task), start);
        }
        self.exchange = Some(exchange);
    }

    /// When the last of those entered whose data `task` gets; 0 if it gets none.
    fn completed_by(&self, task: u32) -> u64 {
        let place = self.exchange.as_ref().map(|exchange| exchange.place(task));
        place.map_or(0, |place| self.entries.latest_beyond(place))
    }
}
