//! First pass: finds what remains.

use hashbrown::HashMap;

use super::ids::Ids;
use super::{Group, Part};
use crate::vef::check::Observer;
use crate::vef::clock::Clock;
use crate::vef::collective::Resolved;
use crate::vef::exchange::Exchange;
use crate::vef::record::{Comm, Record};

pub(super) struct Selection<'a> {
    part: &'a Part,
    /// All communicators, whole.
    comms: &'a [Comm],
    clock: Clock,
    open: HashMap<u64, Open>,
    found: Found,
    scattered: bool,
}

/// A collective that is not decided.
struct Open {
    /// Entries of remaining members still to come.
    left: usize,
    /// Latest entry so far.
    latest: u64,
    /// The result of [`Part::restrict`], once all lines were read.
    fate: Option<Option<u64>>,
}

/// The part that remains.
#[derive(Default)]
pub(super) struct Found {
    pub ids: Ids,
    pub groups: HashMap<u64, Group>,
    pub messages: u64,
    pub markers: u64,
    pub bytes: u64,
    /// Lines of collectives.
    pub members: u64,
    /// Last start of a record, of all ranks.
    pub span: u64,
}

impl<'a> Selection<'a> {
    pub fn new(part: &'a Part, comms: &'a [Comm]) -> Self {
        Self {
            part,
            comms,
            clock: Clock::new(comms),
            open: HashMap::new(),
            found: Found::default(),
            scattered: false,
        }
    }

    /// The result, if the ideal clock could be followed.
    pub fn finish(mut self) -> Result<Found, String> {
        if let Some(failure) = self.clock.failure() {
            return Err(failure.into());
        }
        if self.scattered {
            return Err("the message IDs are scattered beyond what can be numbered".into());
        }
        self.found.ids.number();
        let mut order: Vec<u64> = self.found.groups.keys().copied().collect();
        order.sort_unstable();
        for (number, g) in (0..).zip(order) {
            if let Some(group) = self.found.groups.get_mut(&g) {
                group.number = number;
            }
        }
        self.found.span = self.clock.end();
        Ok(self.found)
    }

    /// The undecided collective `g`, if any of its members remains.
    fn open(&mut self, g: u64, comm: u32) -> Option<&mut Open> {
        let left = self.part.members(comm).len();
        let new = || Open {
            left,
            latest: 0,
            fate: None,
        };
        (left > 0).then(|| self.open.entry(g).or_insert_with(new))
    }

    fn decide(&mut self, g: u64, comm: u32) {
        let Some(&Open {
            left: 0,
            latest,
            fate: Some(fate),
        }) = self.open.get(&g)
        else {
            return;
        };
        self.open.remove(&g);
        if let Some(sum) = fate
            && self.part.covers(latest)
        {
            self.found.groups.insert(g, Group { number: 0, sum });
            self.found.members += self.part.members(comm).len() as u64;
        }
    }
}

impl Observer for Selection<'_> {
    type Note = Record;

    fn read(&mut self, _: u64, record: &Record) -> Record {
        *record
    }

    fn started(&mut self, task: u32, record: Record) {
        let start = self.clock.start(&record);
        if self.part.rank(task).is_none() {
            return;
        }
        match record {
            Record::Message(m) => {
                if self.part.keeps(&m, start) && self.part.rank(m.dst).is_some() {
                    self.scattered |= !self.found.ids.insert(m.id);
                    if m.is_marker() {
                        self.found.markers += 1;
                    } else {
                        self.found.messages += 1;
                        self.found.bytes = self.found.bytes.saturating_add(m.size);
                    }
                }
            }
            Record::Member(m) => {
                if let Some(open) = self.open(m.id, m.comm) {
                    open.left = open.left.saturating_sub(1);
                    open.latest = open.latest.max(start);
                    self.decide(m.id, m.comm);
                }
            }
        }
    }

    fn resolved(&mut self, g: u64, collective: &Resolved) {
        let index = collective.comm;
        let Some(comm) = self.comms.get(index as usize) else {
            return;
        };
        let exchange = Exchange::of(&collective.kind, comm);
        self.clock.resolve(g, index, exchange);
        let fate = self.part.restrict(&collective.kind, comm, index);
        if let Some(open) = self.open(g, index) {
            open.fate = Some(fate);
            self.decide(g, index);
        }
    }
}
