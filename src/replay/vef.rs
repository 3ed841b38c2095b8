//! VEF traces as programs: reads ahead only as far as the ranks ask.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use flitwise_formats::limits::MAX_WAITING;
use flitwise_formats::vef::{
    Blocks, Check, DepId, DepKind, Gathering, Kind, Member, Message, Positions, Reader, Record,
    check_file,
};
use hashbrown::HashMap;

use super::program::{Action, After, AlltoallBlocks, Collective, CollectiveKind, Op, Program};

/// Errors of a trace that the refusal quotes.
const QUOTED: usize = 5;

/// A VEF trace that checked clean, read lazily.
#[derive(Debug)]
pub struct VefProgram {
    reader: Reader,
    path: PathBuf,
    positions: Positions,
    /// Records per rank that were not read yet.
    unread: Vec<u64>,
    /// Per rank, what was read and not asked for.
    windows: Vec<VecDeque<Queued>>,
    /// Sum of their lengths.
    waiting: usize,
    /// Collectives with lines missing, by id.
    gathering: HashMap<u64, Gathering>,
    /// Collectives whose lines are all in, by id, with the members yet to fetch them.
    whole: HashMap<u64, (Arc<Collective>, usize)>,
}

#[derive(Debug)]
struct Queued {
    after: After,
    compute_ps: u64,
    line: u64,
    action: Part,
}

#[derive(Debug)]
enum Part {
    Marker(u64),
    Send { id: u64, to: u32, bytes: u64 },
    Member(u64),
}

impl VefProgram {
    /// Checks a trace and opens it for replay. The file is read twice, so it must not
    /// be a pipe.
    ///
    /// # Errors
    /// If the file can't be read or the trace is broken: the message names file and lines.
    pub fn open(path: impl AsRef<Path>) -> anyhow::Result<(Self, Check)> {
        let path = path.as_ref();
        let meta = std::fs::metadata(path).with_context(|| path.display().to_string())?;
        if !meta.is_file() {
            bail!(
                "{}: a trace is read twice, so it must be a regular file",
                path.display()
            );
        }
        let check = check_file(path)?;
        if !check.is_clean() {
            bail!(refusal(path, &check));
        }
        Ok((Self::resume(path, &check)?, check))
    }

    /// Opens a trace that was checked before.
    ///
    /// # Errors
    /// If the file can't be read or is not the one that was checked.
    pub fn resume(path: &Path, check: &Check) -> anyhow::Result<Self> {
        let reader = Reader::open(path)?;
        if !check.is_clean() || *reader.header() != check.header {
            return Err(changed(path));
        }
        // At most `MAX_TASKS`: the parser has seen to that.
        let tasks = reader.header().tasks as usize;
        let mut windows = Vec::new();
        windows.resize_with(tasks, VecDeque::new);
        let mut unread = check.records.clone();
        unread.resize(tasks, 0);
        Ok(Self {
            positions: Positions::new(reader.comms()),
            path: path.to_owned(),
            reader,
            unread,
            windows,
            waiting: 0,
            gathering: HashMap::new(),
            whole: HashMap::new(),
        })
    }

    /// Reads one more record into its rank's window.
    fn advance(&mut self) -> anyhow::Result<()> {
        let Some((line, record)) = self.reader.next_record()? else {
            return Err(changed(&self.path));
        };
        let task = record.task() as usize;
        let unread = self.unread.get_mut(task).filter(|n| **n > 0);
        let (Some(unread), Some(window)) = (unread, self.windows.get_mut(task)) else {
            return Err(changed(&self.path));
        };
        if self.waiting >= MAX_WAITING {
            bail!(
                "{}:{line}: too many records wait for later lines: sort the lines by the time \
                 of recording",
                self.path.display()
            );
        }
        *unread -= 1;
        let per_unit = self.reader.header().ps_per_unit;
        let queued = Queued {
            after: after(&record).ok_or_else(|| changed(&self.path))?,
            compute_ps: (record.time().checked_mul(per_unit)).ok_or_else(|| changed(&self.path))?,
            line,
            action: part(&record),
        };
        window.push_back(queued);
        self.waiting += 1;
        match record {
            Record::Member(m) => self.gather(line, &m),
            Record::Message(_) => Ok(()),
        }
    }

    /// Adds a member's line to its collective, which may be whole then.
    fn gather(&mut self, line: u64, m: &Member) -> anyhow::Result<()> {
        let misfit =
            |(line, text): (u64, String)| anyhow::anyhow!("{}:{line}: {text}", self.path.display());
        let position = self.positions.of(m.comm, m.task);
        let comm = self.reader.comms().get(m.comm as usize);
        let (Some(position), Some(comm)) = (position, comm) else {
            return Err(changed(&self.path));
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
        let members = comm.members.clone();
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
        self.reader.header().tasks
    }

    fn next(&mut self, rank: u32) -> anyhow::Result<Option<Op>> {
        let at = rank as usize;
        loop {
            let Some(window) = self.windows.get_mut(at) else {
                return Ok(None);
            };
            if let Some(first) = window.front() {
                let action = match first.action {
                    Part::Marker(id) => Some(Action::Marker { id: Some(id) }),
                    Part::Send { id, to, bytes } => Some(Action::Send { id, to, bytes }),
                    Part::Member(g) => self.fetch(g).map(Action::Collective),
                };
                if let Some(action) = action
                    && let Some(q) = self.windows.get_mut(at).and_then(VecDeque::pop_front)
                {
                    self.waiting -= 1;
                    return Ok(Some(Op {
                        after: q.after,
                        compute_ps: q.compute_ps,
                        action,
                        line: q.line,
                    }));
                }
            } else if self.unread.get(at).is_none_or(|&n| n == 0) {
                return Ok(None);
            }
            self.advance()?;
        }
    }
}

fn part(record: &Record) -> Part {
    match *record {
        Record::Message(ref m) if m.is_marker() => Part::Marker(m.id),
        Record::Message(Message { id, dst, size, .. }) => Part::Send {
            id,
            to: dst,
            bytes: size,
        },
        Record::Member(m) => Part::Member(m.id),
    }
}

fn after(record: &Record) -> Option<After> {
    let (dep, on) = record.dep();
    match (dep.kind(), on) {
        (DepKind::Start, DepId::None) => Some(After::Previous),
        (DepKind::Sent, DepId::Message(id)) => Some(After::Sent(id)),
        (DepKind::Received, DepId::Message(id)) => Some(After::Received(id)),
        (DepKind::Completed, DepId::Collective(g)) => Some(After::Completed(g)),
        _ => None,
    }
}

fn kind(kind: Kind, members: u32) -> CollectiveKind {
    match kind {
        Kind::Bcast { root, bytes } => CollectiveKind::Bcast { root, bytes },
        Kind::Reduce { root, bytes } => CollectiveKind::Reduce { root, bytes },
        Kind::Allreduce { bytes } => CollectiveKind::Allreduce { bytes },
        Kind::Gather { root, blocks } => CollectiveKind::Gather { root, blocks },
        Kind::Scatter { root, blocks } => CollectiveKind::Scatter { root, blocks },
        Kind::Allgather { blocks } => CollectiveKind::Allgather { blocks },
        Kind::Barrier => CollectiveKind::Barrier,
        Kind::Alltoall { blocks } => CollectiveKind::Alltoall {
            blocks: blocks
                .into_iter()
                .map(|b| match b {
                    Blocks::Each(bytes) => AlltoallBlocks::Each(bytes),
                    Blocks::Split(total) => AlltoallBlocks::Split { total, members },
                })
                .collect(),
        },
    }
}

#[cold]
fn refusal(path: &Path, check: &Check) -> String {
    let mut text = String::new();
    let path = path.display();
    for (i, e) in check.errors.iter().take(QUOTED).enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        // Writing to a string can't fail.
        let _ = write!(text, "{gap}{path}:{}: {}", e.line, e.message);
    }
    let more = check.error_total.saturating_sub(QUOTED as u64);
    if more > 0 {
        let _ = write!(text, "\n{path}: and {more} more errors");
    }
    text
}

#[cold]
fn changed(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: the file changed between its check and its replay; run again",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut f = tempfile::NamedTempFile::new().unwrap();
        f.write_all(text.as_bytes()).unwrap();
        f
    }

    fn op(after: After, compute_ps: u64, action: Action, line: u64) -> Op {
        Op {
            after,
            compute_ps,
            action,
            line,
        }
    }

    #[test]
    fn every_kind_of_record_becomes_its_operation() {
        // Task 0 waits for message 3, which stands below; task 1 sends to itself.
        let f = file(
            "VEF3 2 5 1 1 2 0 500\nC0 0 1\n\
             4 0 0 0 0 10 -1\n\
             G7 C0 7 0 9 1 2 3 3\n\
             3 1 0 64 4 7 -1\n\
             0 1 1 8 5 1 3\n\
             G7 C0 7 1 2 0 2 0 0\n\
             1 1 1 0 3 0 G7\n\
             2 0 0 0 3 2 G7\n",
        );
        let (mut p, check) = VefProgram::open(f.path()).unwrap();
        assert_eq!(check.records, [3, 4]);
        assert_eq!(p.ranks(), 2);
        let g = Action::Collective(Arc::new(Collective {
            id: 7,
            members: [0, 1].into(),
            kind: CollectiveKind::Alltoall {
                blocks: vec![
                    AlltoallBlocks::Split {
                        total: 9,
                        members: 2,
                    },
                    AlltoallBlocks::Each(2),
                ],
            },
        }));
        let send = |id, to, bytes| Action::Send { id, to, bytes };
        let marker = |id| Action::Marker { id: Some(id) };
        let expected = [
            op(After::Previous, 5_000, marker(4), 3),
            op(After::Received(3), 1_500, g.clone(), 4),
            op(After::Completed(7), 1_000, marker(2), 9),
        ];
        for e in expected {
            assert_eq!(p.next(0).unwrap(), Some(e));
        }
        assert_eq!(p.next(0).unwrap(), None);
        let expected = [
            op(After::Previous, 3_500, send(3, 0, 64), 5),
            op(After::Sent(3), 500, send(0, 1, 8), 6),
            op(After::Received(0), 0, g, 7),
            op(After::Completed(7), 0, marker(1), 8),
        ];
        for e in expected {
            assert_eq!(p.next(1).unwrap(), Some(e));
        }
        assert_eq!((p.next(1).unwrap(), p.next(2).unwrap()), (None, None));
        assert!(p.whole.is_empty() && p.gathering.is_empty() && p.waiting == 0);
    }

    #[test]
    fn a_rank_ends_without_reading_on() {
        let f =
            file("VEF3 2 3 1 0 0 0 1000\nC0 0 1\n0 0 0 0 0 1 -1\n1 1 1 0 0 1 -1\n2 1 1 0 1 1 1\n");
        let (mut p, _) = VefProgram::open(f.path()).unwrap();
        assert!(p.next(0).unwrap().is_some() && p.next(0).unwrap().is_none());
        assert_eq!(p.unread, [0, 2]);
    }

    #[test]
    fn a_broken_trace_is_refused_with_file_and_line() {
        let f = file("VEF3 2 1 1 0 0 0 1000\nC0 0 1\n0 0 5 9 4 1 -1\n");
        let text = VefProgram::open(f.path()).unwrap_err().to_string();
        let at = format!("{}:3: task 5 does not exist", f.path().display());
        assert!(text.starts_with(&at), "{text}");
        assert!(VefProgram::open("/dev/null").is_err());
    }

    #[test]
    fn a_file_that_changed_after_its_check_is_an_error() {
        let text = "VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 0 0 0 1 -1\n1 1 1 0 0 1 -1\n";
        let f = file(text);
        let (_, check) = VefProgram::open(f.path()).unwrap();
        let shorter = file(&text[..text.len() - 15]);
        let mut p = VefProgram::resume(shorter.path(), &check).unwrap();
        assert!(p.next(1).unwrap_err().to_string().contains("changed"));
    }

    #[test]
    fn recorded_traces_give_all_their_records_rank_by_rank() {
        for name in ["hpl-16", "randomaccess-16", "gromacs_water-16"] {
            let root = env!("CARGO_MANIFEST_DIR");
            let path = format!("{root}/traces/{name}.vef.gz");
            let (mut p, check) = VefProgram::open(path).unwrap();
            let mut collectives = 0;
            // The last rank first: the worst order for the window.
            for rank in (0..p.ranks()).rev() {
                let mut n = 0;
                let mut line = 0;
                while let Some(op) = p.next(rank).unwrap() {
                    assert!(op.line > line);
                    line = op.line;
                    n += 1;
                    collectives += u64::from(matches!(op.action, Action::Collective(_)));
                }
                assert_eq!(n, check.records[rank as usize], "{name} {rank}");
            }
            assert_eq!(collectives, check.members);
        }
    }
}
