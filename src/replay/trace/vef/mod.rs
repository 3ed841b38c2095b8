//! VEF traces as programs. The reader reads only as far ahead as the ranks need.

mod file;
mod queued;
mod spill;
mod summary;
mod windows;

pub use file::VEF;

use flitwise_base::stop::{Stop, StopEvery};
use std::path::Path;
use std::sync::Arc;

use flitwise_formats::IdSet;
use flitwise_formats::source::Input;
use flitwise_formats::vef::{
    Awaited, Check, Comm, DepKind, Gathering, Header, Member, Positions, Reader, Record,
};
use hashbrown::HashMap;

use self::queued::{Part, Queued, queued};
use self::windows::{MAX_IN_MEMORY, Windows};
use crate::program::{
    Action, After, Collective, Event, Op, Place, Program, RankId, STOP_EVERY, StreamId,
};

/// A VEF trace that checked clean, read lazily and once.
///
/// Records that are read before their rank asks for them wait: in memory up to a number, the
/// others in a file without a name in the system's directory for temporary files.
#[derive(Debug)]
pub struct VefProgram<'a> {
    input: Input,
    header: Header,
    comms: Vec<Comm>,
    /// Ranks of each communicator.
    ranks_of: Vec<Arc<[RankId]>>,
    positions: Positions,
    lines: Lines,
    /// Records that were read and not asked for.
    windows: Windows,
    /// Number of records not read yet, by task.
    unread: Vec<u64>,
    /// Records of every task, to start over.
    records: Vec<u64>,
    /// Collectives of which some lines are missing, by id.
    gathering: HashMap<u64, Gathering>,
    /// Complete collectives, by id, with the number of members yet to fetch them.
    whole: HashMap<u64, (Arc<Collective>, usize)>,
    /// Messages that records wait to receive.
    awaited: Arc<Awaited>,
    /// Of the messages that several records wait for, the ones of which one was asked for.
    waited: IdSet,
    stop: StopEvery<'a>,
}

/// The source of the records.
#[derive(Debug)]
enum Lines {
    File(Reader),
    /// All records with their lines.
    Read(std::vec::IntoIter<(u64, Record)>),
}

impl Lines {
    fn next_record(&mut self) -> anyhow::Result<Option<(u64, Record)>> {
        match self {
            Self::File(reader) => Ok(reader.next_record()?),
            Self::Read(records) => Ok(records.next()),
        }
    }
}

impl<'a> VefProgram<'a> {
    /// Opens a trace that was checked before. Its operations end with an error when the user stops the run.
    ///
    /// # Errors
    /// If the file can't be read or is not the one that was checked.
    pub fn resume(input: &Input, check: &Check, stop: Stop<'a>) -> anyhow::Result<Self> {
        let reader = Reader::of(input.open()?)?;
        if !check.is_clean() || *reader.header() != check.header {
            return Err(changed(input.path()));
        }
        let comms = reader.comms().to_vec();
        Ok(Self::over(input, check, comms, Lines::File(reader), stop))
    }

    /// The program of a trace with records from `lines`.
    fn over(input: &Input, check: &Check, comms: Vec<Comm>, lines: Lines, stop: Stop<'a>) -> Self {
        let header = check.header.clone();
        let mut records = check.records.clone();
        // At most `MAX_TASKS`, which the parser checks.
        records.resize(header.tasks as usize, 0);
        Self {
            positions: Positions::new(&comms),
            input: input.clone(),
            header,
            ranks_of: comms.iter().map(ranks).collect(),
            comms,
            lines,
            windows: Windows::new(records.len(), MAX_IN_MEMORY, std::env::temp_dir()),
            unread: records.clone(),
            records,
            gathering: HashMap::new(),
            whole: HashMap::new(),
            awaited: Arc::clone(&check.awaited),
            waited: IdSet::default(),
            stop: stop.every(STOP_EVERY),
        }
    }

    /// The same, but at most `records` records wait in memory, and at least one.
    #[must_use]
    pub fn keeping(mut self, records: usize) -> Self {
        let ranks = self.records.len();
        self.windows = Windows::new(ranks, records, std::env::temp_dir());
        self
    }

    /// The file it is read from.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The file from its first record.
    fn reopen(&self) -> anyhow::Result<Lines> {
        let reader = Reader::of(self.input.open()?)?;
        if *reader.header() == self.header {
            Ok(Lines::File(reader))
        } else {
            Err(changed(self.input.path()))
        }
    }

    /// Reads one more record into the window of its rank.
    fn advance(&mut self) -> anyhow::Result<()> {
        self.stop.check()?;
        let Some((line, record)) = self.lines.next_record()? else {
            return Err(changed(self.input.path()));
        };
        let task = record.task() as usize;
        let queued = queued(&record, line, self.header.ps_per_unit, &self.positions);
        let (Some(queued), Some(unread @ 1..)) = (queued, self.unread.get_mut(task)) else {
            return Err(changed(self.input.path()));
        };
        *unread -= 1;
        self.windows.push(task, queued).map_err(|e| {
            let path = self.input.path().display();
            e.context(format!("{path}: line {line}"))
        })?;
        match record {
            Record::Member(m) => self.gather(line, &m),
            Record::Message(_) => Ok(()),
        }
    }

    /// Adds a member's line to its collective, which may complete it.
    fn gather(&mut self, line: u64, m: &Member) -> anyhow::Result<()> {
        let misfit = |(line, text): (u64, String)| {
            anyhow::anyhow!("{}:{line}: {text}", self.input.path().display())
        };
        let position = self.positions.of(m.comm, m.task);
        let at = m.comm as usize;
        let groups = self.comms.get(at).zip(self.ranks_of.get(at));
        let (Some(position), Some((comm, members))) = (position, groups) else {
            return Err(changed(self.input.path()));
        };
        let gathering = match self.gathering.entry(m.id) {
            hashbrown::hash_map::Entry::Occupied(e) => e.into_mut(),
            hashbrown::hash_map::Entry::Vacant(e) => {
                e.insert(Gathering::new(line, m).map_err(misfit)?)
            }
        };
        gathering.add(line, position, m).map_err(misfit)?;
        if gathering.len() < comm.members.len() {
            return Ok(());
        }
        let resolved = gathering.resolve(m.id, comm).map_err(misfit)?;
        let members = Arc::clone(members);
        let fetches = members.len();
        let collective = Collective {
            id: m.id,
            kind: resolved.kind,
            members,
        };
        self.gathering.remove(&m.id);
        self.whole.insert(m.id, (Arc::new(collective), fetches));
        Ok(())
    }

    /// The event that a record waits for. The check has made sure that a record which a task depends on
    /// having sent comes before, so program order says as much; so it does for a message
    /// that an earlier record has waited for.
    fn after(&mut self, q: &Queued) -> After {
        match q.after {
            DepKind::Start | DepKind::Sent => After::Previous,
            DepKind::Received if self.awaited.again(q.event) && !self.waited.insert(q.event) => {
                After::Previous
            }
            DepKind::Received => After::Event(Event::Received(q.event)),
            DepKind::Completed => After::Event(Event::Completed(q.event)),
        }
    }

    /// All operations by rank, of a trace that was not begun.
    ///
    /// # Errors
    /// If a line does not fit the check.
    fn operations(mut self) -> anyhow::Result<Vec<Vec<Op>>> {
        let room = |&records: &u64| Vec::with_capacity(records as usize);
        let mut ranks: Vec<Vec<Op>> = self.records.iter().map(room).collect();
        // Where the members of incomplete collectives are, and their positions.
        let mut members: HashMap<u64, Vec<(usize, usize, u32)>> = HashMap::new();
        while let Some((line, record)) = self.lines.next_record()? {
            let queued = queued(&record, line, self.header.ps_per_unit, &self.positions);
            let rank = record.task() as usize;
            let (Some(queued), true) = (queued, rank < ranks.len()) else {
                return Err(changed(self.input.path()));
            };
            // An entry becomes its collective when that is complete.
            let action = self.action(&queued).unwrap_or(Action::Marker);
            let op = self.op(&queued, action);
            if let Record::Member(m) = record {
                let entries = members.entry(m.id).or_default();
                entries.push((rank, ranks[rank].len(), queued.to));
                self.gather(line, &m)?;
            }
            ranks[rank].push(op);
            if let Part::Member = queued.part
                && let Some((collective, _)) = self.whole.remove(&queued.id)
            {
                for (rank, at, position) in members.remove(&queued.id).unwrap_or_default() {
                    let collective = Arc::clone(&collective);
                    ranks[rank][at].action = Action::Collective(collective, position);
                }
            }
        }
        Ok(ranks)
    }

    /// The action of a record; `None` for an entry of a collective.
    fn action(&self, q: &Queued) -> Option<Action> {
        match q.part {
            Part::Marker => Some(Action::Marker),
            Part::Send => Some(Action::Send {
                id: q.id,
                to: RankId::new(q.to),
                bytes: q.bytes,
                awaited: self.awaited.contains(q.id),
            }),
            Part::Member => None,
        }
    }

    /// The operation of a record, which does `action`.
    fn op(&mut self, q: &Queued, action: Action) -> Op {
        Op {
            after: self.after(q),
            compute_ps: q.compute_ps,
            action,
            label: None,
            place: Place::line(q.line),
        }
    }

    /// The collective `g` for one of its members, once all its lines are in.
    fn fetch(&mut self, g: u64) -> Option<Arc<Collective>> {
        let (collective, fetches) = self.whole.get_mut(&g)?;
        *fetches = fetches.saturating_sub(1);
        let (last, collective) = (*fetches == 0, Arc::clone(collective));
        if last {
            self.whole.remove(&g);
        }
        Some(collective)
    }
}

impl Program for VefProgram<'_> {
    fn ranks(&self) -> u32 {
        self.header.tasks
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        self.stop.check()?;
        let at = rank.index();
        let record = loop {
            if let Some(record) = self.windows.take(at)? {
                break record;
            }
            if self.unread.get(at).is_none_or(|&unread| unread == 0) {
                return Ok(None);
            }
            self.advance()?;
        };
        let action = loop {
            if let Some(action) = self.action(&record) {
                break action;
            }
            if let Some(collective) = self.fetch(record.id) {
                break Action::Collective(collective, record.to);
            }
            self.advance()?;
        };
        Ok(Some(self.op(&record, action)))
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.lines = self.reopen()?;
        self.windows.clear();
        self.unread.clone_from(&self.records);
        self.gathering.clear();
        self.whole.clear();
        self.waited = IdSet::default();
        Ok(())
    }
}

/// The ranks of a communicator. A VEF trace calls them tasks.
fn ranks(comm: &Comm) -> Arc<[RankId]> {
    comm.members.iter().copied().map(RankId::new).collect()
}

#[cold]
fn changed(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: the file changed between its check and its replay; run again",
        path.display()
    )
}

#[cfg(test)]
mod tests;
