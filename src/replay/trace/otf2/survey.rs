//! The facts about an archive that its replay needs beforehand, found while it is checked.

use super::communicators::Communicators;
use super::regions::{Chosen, Visits};
use super::scout::{Outcome, Outcomes};
use super::sizes::{Member, Sizes, between};
use crate::program::RankId;
use flitwise_formats::otf2::{Archive, Check, Collective, Event, Seen, Stamped, View};
use hashbrown::HashMap;

/// The facts about an archive.
#[derive(Debug)]
pub(super) struct Known {
    pub communicators: Communicators,
    /// By the place of a communicator of one group.
    pub sizes: HashMap<u32, Sizes>,
    /// Calls that can't be replayed, a text for each kind.
    pub unsupported: Vec<String>,
    /// Messages and collectives between ranks.
    pub communication: u64,
    /// Events of communication.
    pub events: u64,
    /// The regions of the program.
    pub regions: Chosen,
    /// By rank the place of the last event of its calls; `None` if it makes none.
    last_calls: Vec<Option<u64>>,
}

impl Known {
    /// Whether the rank makes a call after the event at this place.
    pub fn calls_after(&self, rank: RankId, offset: u64) -> bool {
        let last = self.last_calls.get(rank.index()).copied().flatten();
        last.is_some_and(|last| last > offset)
    }
}

/// Looks at the events of all ranks.
pub(super) struct Survey<'a> {
    archive: &'a Archive,
    rank: u32,
    view: View,
    outcomes: Outcomes,
    /// Collectives of the rank by communicator.
    counts: HashMap<u32, usize>,
    sizes: HashMap<u32, Sizes>,
    kept: usize,
    is_full: bool,
    with_root_between: u64,
    /// Collectives that only a later version knows.
    later: u64,
    communication: u64,
    events: u64,
    /// The functions of MPI that the rank is in.
    inside: u64,
    visits: Visits,
    last_calls: Vec<Option<u64>>,
    /// The time of the last event.
    time: u64,
}

impl<'a> Survey<'a> {
    pub fn new(archive: &'a Archive) -> Self {
        Self {
            archive,
            rank: 0,
            view: archive.view(0),
            outcomes: Outcomes::default(),
            counts: HashMap::new(),
            sizes: HashMap::new(),
            kept: 0,
            is_full: false,
            with_root_between: 0,
            later: 0,
            communication: 0,
            events: 0,
            inside: 0,
            visits: Visits::default(),
            last_calls: vec![None; archive.ranks() as usize],
            time: 0,
        }
    }

    /// The next event: of this rank, or the first one of a later rank.
    pub fn see(&mut self, rank: u32, next: &Stamped) {
        if rank != self.rank {
            self.end_rank();
            self.rank = rank;
            self.view = self.archive.view(rank);
        }
        self.events += u64::from(next.event.is_communication());
        if self.is_of_call(next)
            && let Some(last) = self.last_calls.get_mut(rank as usize)
        {
            *last = Some(next.offset);
        }
        self.time = next.time;
        match &next.event {
            Event::Send(message) | Event::Isend(message, _) => {
                let seen = self.view.get(self.archive.comms(), message.comm);
                let to = seen.ok().and_then(|seen| seen.peer(message.peer).ok());
                self.communication += u64::from(to != Some(rank));
            }
            event => self.outcomes.see(event),
        }
        while let Some(outcome) = self.outcomes.next() {
            self.outcome(outcome);
        }
    }

    /// Follows the regions that the rank is in; true if the event is one of a call.
    fn is_of_call(&mut self, next: &Stamped) -> bool {
        match next.event {
            Event::Enter(region) if self.archive.called(region).is_mpi() => self.inside += 1,
            Event::Leave(region) if self.archive.called(region).is_mpi() => {
                self.inside = self.inside.saturating_sub(1);
            }
            Event::Enter(region) => {
                if self.inside == 0 {
                    self.visits.enter(region, next.time);
                }
                return false;
            }
            Event::Leave(region) => {
                if self.inside == 0 {
                    self.visits.leave(region, next.time);
                }
                return false;
            }
            event => return event.is_communication(),
        }
        true
    }

    fn end_rank(&mut self) {
        self.visits.end_rank(self.time);
        self.inside = 0;
        while let Some(outcome) = self.outcomes.next_at_end() {
            self.outcome(outcome);
        }
        self.outcomes = Outcomes::default();
        self.counts.clear();
    }

    fn outcome(&mut self, outcome: Outcome) {
        let Outcome::Collective(call) = outcome else {
            return;
        };
        let Ok(operation) = call.operation else {
            self.later += u64::from(!call.is_handle());
            return;
        };
        if self.is_full {
            return;
        }
        // Communicators that are not known are errors of the check.
        let Ok(seen) = self.view.get(self.archive.comms(), call.comm) else {
            return;
        };
        if let Some((others, first)) = &seen.others {
            let replayed =
                between(operation, &call, seen.own.len(), others.len(), *first).is_some();
            self.with_root_between += u64::from(!replayed);
            self.communication += u64::from(replayed);
            return;
        }
        if seen.own.len() < 2 {
            return;
        }
        self.communication += 1;
        let number = self.counts.entry(seen.place).or_default();
        let this = *number;
        *number += 1;
        let sizes = self.sizes.entry(seen.place).or_default();
        let before = sizes.len();
        let noted = sizes.note(this, member(seen, &call), operation, &call);
        self.kept += sizes.len() - before;
        self.is_full = !noted || self.kept > flitwise_formats::limits::MAX_OTF2_SIZES;
    }

    /// The facts, after the last event.
    ///
    /// # Errors
    /// If there are more than are kept.
    pub fn finish(mut self, check: &Check) -> Result<Known, String> {
        self.end_rank();
        if self.is_full {
            return Err(
                "calls too many collectives whose blocks differ to follow their sizes; cut out a part of the trace".to_owned(),
            );
        }
        Ok(Known {
            communicators: Communicators::of(self.archive)?,
            sizes: self.sizes,
            unsupported: unsupported(check, [self.with_root_between, self.later]),
            communication: self.communication,
            events: self.events,
            regions: self.visits.choose(self.archive, self.events),
            last_calls: self.last_calls,
        })
    }
}

/// The rank as a member of the communicator of a collective in one group.
pub(super) fn member(seen: &Seen, call: &Collective) -> Member {
    Member {
        me: seen.me,
        n: u32::try_from(seen.own.len()).unwrap_or(u32::MAX),
        root: seen.root(call.root).unwrap_or(u32::MAX),
    }
}

/// The calls that can't be replayed: a text for each kind, with how many there are.
fn unsupported(check: &Check, [with_root_between, later]: [u64; 2]) -> Vec<String> {
    let silent = check.silent.iter();
    let mut kinds: Vec<String> = silent
        .map(|(name, count)| format!("{count} calls of {name} without an event of communication"))
        .collect();
    for (count, what) in [
        (check.counts.one_sided, "one-sided communications"),
        (
            check.thread_events,
            "events of communication of threads besides the first one of a rank",
        ),
        (
            with_root_between,
            "collectives between two groups that have a root, or blocks that differ",
        ),
        (later, "collectives that this version does not know"),
    ] {
        if count > 0 {
            kinds.push(format!("{count} {what}"));
        }
    }
    kinds
}
