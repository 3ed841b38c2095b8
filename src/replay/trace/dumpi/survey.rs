//! The facts about a trace that its replay needs beforehand, found while the trace is checked.

use super::collective::says_enough_between;
use super::communicators::{Constructed, resolve};
use super::history::{Construction, Event, History};
use super::outcomes::{Lookup, Outcomes};
use super::unsupported::{UnsupportedKind, kind_of};
use crate::trace::recorded::Unsupported;
use flitwise_formats::Problem;
use flitwise_formats::dumpi::handle::ANY_SOURCE;
use flitwise_formats::dumpi::{Call, Comm, Record, Set};
use flitwise_formats::limits::{MAX_CONSTRUCTIONS, MAX_OUTCOMES};
use hashbrown::HashMap;

/// The facts about a trace.
pub(super) struct Known {
    pub communicators: Constructed,
    /// By rank.
    pub outcomes: Vec<Outcomes>,
    pub unsupported: Unsupported,
    pub calls: u64,
    /// Calls that lack the time of this clock.
    pub without_wall: u64,
    pub without_cpu: u64,
    /// Messages and collectives between ranks that a replay has.
    pub communication: u64,
}

/// Looks at the calls of all ranks.
#[derive(Default)]
pub(super) struct Survey {
    histories: Vec<Vec<Event>>,
    outcomes: Vec<Outcomes>,
    /// The counts of the ranks before the present one.
    outcomes_before: usize,
    events_before: usize,
    rank: Rank,
    unsupported: Unsupported,
    calls: u64,
    without_wall: u64,
    without_cpu: u64,
    communication: u64,
}

/// The rank that is looked at.
#[derive(Default)]
struct Rank {
    history: History,
    lookup: Lookup,
    /// Communicators that recorded calls made; true for communicators between groups.
    comms: HashMap<Comm, bool>,
}

impl Survey {
    /// The next call: of this rank, or the first one of the next rank.
    pub fn see(&mut self, rank: u32, record: &Record<'_>) {
        self.reach(rank);
        self.calls += 1;
        self.without_wall += u64::from(record.wall.is_none());
        self.without_cpu += u64::from(record.cpu.is_none());
        if let Some(kind) = self.rank.unsupported(&record.call) {
            self.unsupported.add(kind as usize, 1, || {
                let function = record.call.function().name();
                format!("{function} of rank {rank} at byte {}", record.offset)
            });
        } else {
            self.communication += u64::from(communicates(&record.call));
        }
        self.rank.comms(&record.call);
        self.rank.lookup.see(&record.call);
        self.rank.history.see(record);
    }

    /// Ends the ranks before `rank`, which may have no calls at all.
    fn reach(&mut self, rank: u32) {
        while self.histories.len() < rank as usize {
            let Rank {
                history, lookup, ..
            } = std::mem::take(&mut self.rank);
            self.events_before += history.events.len();
            self.histories.push(history.events);
            let outcomes = lookup.finish();
            self.outcomes_before += outcomes.len();
            self.outcomes.push(outcomes);
        }
    }

    /// Whether it keeps more than it may.
    pub fn is_full(&self) -> bool {
        let events = self.events_before + self.rank.history.events.len();
        events > MAX_CONSTRUCTIONS || self.outcomes_before + self.rank.lookup.len() > MAX_OUTCOMES
    }

    /// After the last call of `ranks` ranks.
    ///
    /// # Errors
    /// If the ranks do not agree on their communicators.
    pub fn finish(mut self, set: &Set) -> Result<Known, Box<Problem>> {
        self.reach(set.ranks());
        Ok(Known {
            communicators: resolve(self.histories, set)?,
            outcomes: self.outcomes,
            unsupported: self.unsupported,
            calls: self.calls,
            without_wall: self.without_wall,
            without_cpu: self.without_cpu,
            communication: self.communication,
        })
    }
}

/// Whether a call sends or receives, or is a collective of several ranks.
fn communicates(call: &Call<'_>) -> bool {
    let message = call.sent().or(call.received());
    let persistent = call.persistent().map(|(message, _)| message);
    let to_another = message.or(persistent).is_some_and(|message| {
        message.peer >= 0 && message.comm != Comm::SELF || message.peer == ANY_SOURCE
    });
    to_another
        || call
            .collective()
            .is_some_and(|collective| collective.comm != Comm::SELF)
}

impl Rank {
    /// True for a communicator between groups; `None` if it is not known.
    fn is_between(&self, comm: Comm) -> Option<bool> {
        match comm {
            Comm::WORLD | Comm::SELF => Some(false),
            _ => self.comms.get(&comm).copied(),
        }
    }

    fn unsupported(&self, call: &Call<'_>) -> Option<UnsupportedKind> {
        let kind = kind_of(call);
        if kind.is_some() {
            return kind;
        }
        let moves = call.sent().or(call.received()).is_some()
            || call.persistent().is_some()
            || call.collective().is_some()
            || matches!(call, Call::Probe(_));
        let parent = Construction::of(call).and_then(|construction| construction.parent());
        let comm = match parent {
            None if moves => call.comm(),
            parent => parent,
        };
        match self.is_between(comm.filter(|&comm| comm != Comm::NULL)?) {
            None => Some(UnsupportedKind::UnknownComm),
            Some(true) if call.collective().is_some() && !says_enough_between(call) => {
                Some(UnsupportedKind::BetweenGroups)
            }
            Some(_) => None,
        }
    }

    /// Follows the numbers of communicators.
    fn comms(&mut self, call: &Call<'_>) {
        if let Call::CommFree(c) | Call::CommDisconnect(c) = call {
            self.comms.remove(&c.comm);
        }
        let (Some(new), Some(construction)) = (call.made_comm(), Construction::of(call)) else {
            return;
        };
        let parent = construction.parent().and_then(|of| self.is_between(of));
        let between = match (&construction, parent) {
            (Construction::Between(_), Some(_)) => Some(true),
            (Construction::Merge { .. }, Some(true)) => Some(false),
            (Construction::Dup { .. }, of) => of,
            (Construction::Foreign | Construction::Merge { .. } | Construction::Between(_), _) => {
                None
            }
            // Others of a communicator between groups are not followed.
            (_, Some(false)) => Some(false),
            (_, Some(true) | None) => None,
        };
        match between {
            Some(between) => self.comms.insert(new, between),
            None => self.comms.remove(&new),
        };
    }
}
