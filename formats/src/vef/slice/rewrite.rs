//! Second pass: writes the slice.

use std::io::{self, Write};

use super::{Group, Plan};
use crate::vef::check::Observer;
use crate::vef::clock::Clock;
use crate::vef::collective::{Op, Resolved};
use crate::vef::comms::Positions;
use crate::vef::exchange::Exchange;
use crate::vef::record::{Comm, Dep, DepId, Member, Message, Record};
use crate::vef::write::Writer;

pub(super) struct Rewriting<'a, W: Write> {
    plan: &'a Plan,
    /// All communicators, whole.
    comms: &'a [Comm],
    positions: Positions,
    /// Of the trace.
    clock: Clock,
    /// Of the slice, in the numbers of the trace.
    slice: Clock,
    writer: Writer<W>,
    failure: io::Result<()>,
}

impl<'a, W: Write> Rewriting<'a, W> {
    pub fn new(plan: &'a Plan, comms: &'a [Comm], writer: Writer<W>) -> Self {
        Self {
            plan,
            comms,
            positions: Positions::new(comms),
            clock: Clock::new(comms),
            slice: Clock::new(&plan.part.comms),
            writer,
            failure: Ok(()),
        }
    }

    pub fn finish(self) -> io::Result<Writer<W>> {
        self.failure.map(|()| self.writer)
    }

    /// The record in the numbers of the slice; `None` if it does not remain.
    fn rewritten(&mut self, record: Record) -> Option<Record> {
        let start = self.clock.start(&record);
        let part = &self.plan.part;
        let task = part.rank(record.task())?;
        match record {
            Record::Message(m) => {
                let dst = part.rank(m.dst).filter(|_| part.keeps(&m, start))?;
                let (dep, time, after) = self.timed(record, start);
                Some(Record::Message(Message {
                    id: self.plan.ids.rank(m.id)?,
                    src: task,
                    dst,
                    size: m.size,
                    dep: Dep(dep.0 & 3 | if m.is_marker() { 0 } else { 4 }),
                    time,
                    after,
                }))
            }
            Record::Member(m) => {
                let group = *self.plan.groups.get(&m.id)?;
                let (dep, time, after) = self.timed(record, start);
                let (send, recv) = self.sizes(&m, group);
                Some(Record::Member(Member {
                    id: group.number,
                    comm: *self.plan.comm_numbers.get(m.comm as usize)?,
                    op: m.op,
                    task,
                    send,
                    recv,
                    dep: Dep(dep.0 & 3),
                    time,
                    after,
                }))
            }
        }
    }

    /// Dependency and time of a record that remains. With these it starts at the same time on
    /// the ideal clocks of slice and trace, or at the start of the slice.
    fn timed(&mut self, mut record: Record, start: u64) -> (Dep, u64, DepId) {
        let (old, on) = record.dep();
        let after = match on {
            DepId::None => None,
            DepId::Message(id) => self.plan.ids.rank(id).map(DepId::Message),
            DepId::Collective(g) => {
                let group = self.plan.groups.get(&g);
                group.map(|group| DepId::Collective(group.number))
            }
        };
        let (dep, time) = match &mut record {
            Record::Message(m) => (&mut m.dep, &mut m.time),
            Record::Member(m) => (&mut m.dep, &mut m.time),
        };
        if after.is_none() {
            *dep = Dep(old.0 & !3);
        }
        let dep = *dep;
        *time = 0;
        let at = start.saturating_sub(self.plan.part.from);
        let before = self.slice.last(record.task());
        let ready = before.max(self.slice.event(&record));
        debug_assert!(ready <= at, "what a record waits for lies before it");
        let units = at.saturating_sub(ready);
        match &mut record {
            Record::Message(m) => m.time = units,
            Record::Member(m) => m.time = units,
        }
        self.slice.start(&record);
        (dep, units, after.unwrap_or(DepId::None))
    }

    /// The size fields without the members that are left out.
    fn sizes(&self, m: &Member, group: Group) -> (u64, u64) {
        match Op::from_code(m.op) {
            Some(Op::Gather) if m.recv > 0 => (m.send, group.sum),
            Some(Op::Scatter) if m.send > 0 => (group.sum, m.recv),
            Some(Op::Allgather) => (m.send, group.sum),
            Some(Op::Alltoall) if m.recv == 1 => (self.split(m), 1),
            _ => (m.send, m.recv),
        }
    }

    /// The remaining part of an all-to-all in vector form: `send` bytes in total, split evenly,
    /// the remainder to the first. The parts that remain split evenly as well.
    fn split(&self, m: &Member) -> u64 {
        let all = self
            .comms
            .get(m.comm as usize)
            .map_or(&[][..], |c| &c.members);
        let n = (all.len() as u64).max(1);
        let (floor, larger) = (m.send / n, m.send % n);
        let kept = self.plan.part.members(m.comm);
        let first = kept.partition_point(|&task| {
            let position = self.positions.of(m.comm, task);
            position.is_some_and(|p| u64::from(p) < larger)
        });
        floor * kept.len() as u64 + first as u64
    }
}

impl<W: Write> Observer for Rewriting<'_, W> {
    type Note = Record;

    fn read(&mut self, _: u64, record: &Record) -> Record {
        *record
    }

    fn started(&mut self, _: u32, record: Record) {
        if self.failure.is_ok()
            && let Some(record) = self.rewritten(record)
        {
            self.failure = self.writer.record(&record);
        }
    }

    fn resolved(&mut self, g: u64, collective: &Resolved) {
        let index = collective.comm;
        let Some(comm) = self.comms.get(index as usize) else {
            return;
        };
        // Of the whole communicator: a part that remains is empty in the slice if it was before.
        let exchange = Exchange::of(&collective.kind, comm);
        if self.plan.groups.contains_key(&g) {
            self.slice.resolve(g, index, exchange.clone());
        }
        self.clock.resolve(g, index, exchange);
    }
}
