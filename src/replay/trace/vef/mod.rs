//! VEF traces as programs. The reader reads only as far ahead as the ranks need.

mod file;
mod queued;

pub use file::Vef;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use flitwise_formats::IdSet;
use flitwise_formats::limits::MAX_WAITING;
use flitwise_formats::source::Input;
use flitwise_formats::vef::{
    Awaited, Check, Comm, DepKind, Gathering, Header, Member, Positions, Reader, Record,
};
use hashbrown::HashMap;

use self::queued::{Part, Queued, kind, queued};
use crate::replay::program::{
    Action, After, Collective, Event, Op, Place, Program, RankId, StreamId,
};

/// A VEF trace that checked clean, read lazily.
///
/// Records that are read before their rank asks for them are kept, up to [`MAX_WAITING`].
/// Beyond that the lagging ranks get another reader, which starts at the first record that
/// one of them still needs.
#[derive(Debug)]
pub struct VefProgram {
    input: Input,
    header: Header,
    comms: Vec<Comm>,
    /// Ranks of each communicator.
    ranks_of: Vec<Arc<[RankId]>>,
    positions: Positions,
    /// Readers at different lines of the file; every rank uses one of them.
    cursors: Vec<Cursor>,
    tasks: Vec<Task>,
    /// Records of every task, to start over.
    records: Vec<u64>,
    /// Number of records read and not asked for.
    waiting: usize,
    /// Bound of `waiting`.
    budget: usize,
    /// Last line that was added to a collective.
    noted: u64,
    /// Collectives of which some lines are missing, by id.
    gathering: HashMap<u64, Gathering>,
    /// Complete collectives, by id, with the number of members yet to fetch them.
    whole: HashMap<u64, (Arc<Collective>, usize)>,
    /// Messages that records wait to receive.
    awaited: Arc<Awaited>,
    /// Of the messages that several records wait for, those of which one was asked for.
    waited: IdSet,
}

/// Where the records come from.
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

/// A reader and its line.
#[derive(Debug)]
struct Cursor {
    lines: Lines,
    /// Line that was read last.
    line: u64,
}

/// What the program knows of one rank.
#[derive(Debug, Default)]
struct Task {
    /// Index of its cursor.
    cursor: usize,
    /// Lines before this one are done.
    from: u64,
    /// Number of records not read yet.
    unread: u64,
    /// Records read and not asked for.
    window: VecDeque<Queued>,
}

/// Most readers. Beyond that all ranks share one, except ranks with the leading reader.
const MAX_CURSORS: usize = 16;

impl VefProgram {
    /// Opens a trace that was checked before.
    ///
    /// # Errors
    /// If the file can't be read or is not the one that was checked.
    pub fn resume(input: &Input, check: &Check) -> anyhow::Result<Self> {
        let reader = Reader::of(input.open()?)?;
        if !check.is_clean() || *reader.header() != check.header {
            return Err(changed(input.path()));
        }
        let comms = reader.comms().to_vec();
        Ok(Self::over(input, check, comms, Lines::File(reader)))
    }

    /// The program of a trace whose records come from `lines`.
    fn over(input: &Input, check: &Check, comms: Vec<Comm>, lines: Lines) -> Self {
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
            cursors: vec![Cursor { lines, line: 1 }],
            tasks: unread(&records),
            records,
            waiting: 0,
            budget: MAX_WAITING,
            noted: 0,
            gathering: HashMap::new(),
            whole: HashMap::new(),
            awaited: Arc::clone(&check.awaited),
            waited: IdSet::default(),
        }
    }

    /// The file it is read from.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The file from its first record.
    fn reopen(&self) -> anyhow::Result<Lines> {
        let reader = Reader::of(self.input.open()?)?;
        match *reader.header() == self.header {
            true => Ok(Lines::File(reader)),
            false => Err(changed(self.input.path())),
        }
    }

    /// Reads one more record with the cursor of `rank`. The record goes into the window of
    /// the rank it belongs to, if that rank has the same cursor.
    fn advance(&mut self, rank: usize) -> anyhow::Result<()> {
        if self.waiting >= self.budget {
            self.make_room(rank)?;
        }
        let at = self.tasks.get(rank).map_or(0, |task| task.cursor);
        let Some(cursor) = self.cursors.get_mut(at) else {
            return Err(changed(self.input.path()));
        };
        let Some((line, record)) = cursor.lines.next_record()? else {
            return Err(changed(self.input.path()));
        };
        cursor.line = line;
        let Some(task) = self.tasks.get_mut(record.task() as usize) else {
            return Err(changed(self.input.path()));
        };
        if task.cursor == at && line >= task.from {
            let queued = queued(&record, line, self.header.ps_per_unit, &self.positions);
            let (Some(queued), 1..) = (queued, task.unread) else {
                return Err(changed(self.input.path()));
            };
            task.unread -= 1;
            task.window.push_back(queued);
            self.waiting += 1;
        }
        match record {
            Record::Member(m) if line > self.noted => {
                self.noted = line;
                self.gather(line, &m)
            }
            _ => Ok(()),
        }
    }

    /// Drops the records that wait for the ranks that lag most behind `rank`; another reader
    /// will read them again.
    #[cold]
    fn make_room(&mut self, rank: usize) -> anyhow::Result<()> {
        let own = self.tasks.get(rank).map_or(0, |task| task.window.len());
        if own > self.budget / 2 {
            bail!(
                "{}: rank {rank} can't go on before {own} later records are read: sort the \
                 lines by the time of recording",
                self.input.path().display()
            );
        }
        let others = |task: &Task| !task.window.is_empty();
        let lagging = self.tasks.iter().filter(|task| others(task)).count().max(1);
        let mean = self.waiting / lagging;
        let leader = self.tasks.get(rank).map_or(0, |task| task.cursor);
        let crowded = self.cursors.len() >= MAX_CURSORS;
        let fresh = self.cursors.len();
        let mut start = u64::MAX;
        for (at, task) in self.tasks.iter_mut().enumerate() {
            let many = !task.window.is_empty() && task.window.len() >= mean / 2;
            if at == rank || !(many || crowded && task.cursor != leader) {
                continue;
            }
            task.from = match (task.window.front(), self.cursors.get(task.cursor)) {
                (Some(first), _) => first.line,
                (None, Some(cursor)) => task.from.max(cursor.line + 1),
                (None, None) => task.from,
            };
            // A rank whose records were all asked for needs nothing.
            task.unread += task.window.len() as u64;
            if task.unread > 0 {
                start = start.min(task.from);
            }
            self.waiting -= task.window.len();
            task.window = VecDeque::new();
            task.cursor = fresh;
        }
        let mut cursor = Cursor {
            lines: self.reopen()?,
            // The header and the communicators stand before the records.
            line: 1 + self.comms.len() as u64,
        };
        while cursor.line + 1 < start {
            let Some((line, _)) = cursor.lines.next_record()? else {
                break;
            };
            cursor.line = line;
        }
        self.cursors.push(cursor);
        self.close_unused();
        Ok(())
    }

    /// Closes the readers that no rank needs any more.
    fn close_unused(&mut self) {
        let mut used = vec![false; self.cursors.len()];
        for task in &self.tasks {
            if let Some(used) = used.get_mut(task.cursor) {
                // A rank reads on even if it waits only for lines of other ranks.
                *used |= task.unread > 0 || !task.window.is_empty();
            }
        }
        let mut kept = 0;
        let renamed: Vec<usize> = (used.iter())
            .map(|&used| {
                kept += usize::from(used);
                kept.saturating_sub(1)
            })
            .collect();
        for task in &mut self.tasks {
            if used.get(task.cursor) == Some(&false) {
                task.from = u64::MAX;
            }
            task.cursor = renamed.get(task.cursor).copied().unwrap_or(0);
        }
        let mut used = used.iter();
        self.cursors
            .retain(|_| used.next().copied().unwrap_or(false));
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
            kind: kind(resolved.kind, fetches as u32),
            members,
        };
        self.gathering.remove(&m.id);
        self.whole.insert(m.id, (Arc::new(collective), fetches));
        Ok(())
    }

    /// What a record waits for. The check has made sure that a record which a task depends on
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
        while let Some((line, record)) = self.cursors[0].lines.next_record()? {
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

    /// What a record does; `None` for an entry of a collective.
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

impl Program for VefProgram {
    fn ranks(&self) -> u32 {
        self.header.tasks
    }

    fn next(&mut self, rank: RankId, _: StreamId) -> anyhow::Result<Option<Op>> {
        let at = rank.index();
        loop {
            let Some(task) = self.tasks.get(at) else {
                return Ok(None);
            };
            if let Some(first) = task.window.front() {
                let (id, position) = (first.id, first.to);
                let action = match self.action(first) {
                    Some(action) => Some(action),
                    None => self.fetch(id).map(|c| Action::Collective(c, position)),
                };
                if let Some(action) = action
                    && let Some(q) = self.tasks.get_mut(at).and_then(|t| t.window.pop_front())
                {
                    self.waiting -= 1;
                    return Ok(Some(self.op(&q, action)));
                }
            } else if task.unread == 0 {
                return Ok(None);
            }
            self.advance(at)?;
        }
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        let lines = self.reopen()?;
        self.cursors = vec![Cursor { lines, line: 1 }];
        self.tasks = unread(&self.records);
        self.waiting = 0;
        self.noted = 0;
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

/// Tasks of which nothing was read.
fn unread(records: &[u64]) -> Vec<Task> {
    let one = |&unread: &u64| Task {
        unread,
        ..Task::default()
    };
    records.iter().map(one).collect()
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
