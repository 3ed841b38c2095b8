//! Summary of a trace, for `trace info`.

use std::collections::BTreeMap;
use std::path::Path;

use super::check::{Checker, Observer};
use super::clock::Clock;
use super::collective::{Op, Resolved};
use super::comms::Positions;
use super::reader::Reader;
use super::record::{Comm, DepKind, Header, Member, Record};
use crate::error::Error;
use crate::traffic::{self, Traffic};

/// Contents of a trace. For a trace that does not check clean, they count the lines as they
/// are, whatever they mean.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Info {
    /// The first line.
    pub header: Header,
    /// Lines after the communicators.
    pub records: u64,
    /// Point-to-point messages.
    pub traffic: Traffic,
    /// Entries of receives and waits, and ends.
    pub markers: u64,
    /// Members of each communicator, by index.
    pub comm_sizes: Vec<u32>,
    /// Collectives by operation and communicator, those that occur.
    pub collectives: Vec<Collectives>,
    /// Sum of the computation of each task, in picoseconds.
    pub compute_ps: Vec<u64>,
    /// Records by dependency: none, own message sent, message received, collective completed.
    pub dependencies: [u64; 4],
    /// Dependencies on messages of a later line.
    pub forward: u64,
    /// Figures on the ideal clock; `None` if the trace does not check clean.
    pub ideal: Option<Ideal>,
}

/// Collectives of one operation on one communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collectives {
    /// Operation.
    pub op: Op,
    /// Index of the communicator.
    pub comm: u32,
    /// How many.
    pub count: u64,
    /// Bytes that they move if every block goes straight from its source to its destination;
    /// an allreduce counts as reduce and bcast. An algorithm may send more or less.
    pub bytes: u64,
}

/// A trace on the [ideal clock](super::clock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ideal {
    /// Start of the last record, in picoseconds.
    pub span_ps: u64,
    /// Records that wait for a message received, if the message was sent before the start of
    /// the task's previous record.
    pub early: u64,
}

impl Info {
    /// Reads a whole file.
    ///
    /// # Errors
    /// If the file can't be read or is not VEF.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of(Reader::open(path)?)
    }

    /// The same for a trace that is open, from its first record on.
    ///
    /// # Errors
    /// As [`Info::read`].
    pub fn of(mut reader: Reader) -> Result<Self, Error> {
        let header = reader.header().clone();
        let comms = reader.comms().to_vec();
        let mut tally = Tally::new(&header, &comms);
        let follower = Follower {
            clock: Clock::new(&comms),
            early: 0,
        };
        let mut checker = Some(Checker::new(&reader, follower));
        while let Some((line, record)) = reader.next_record()? {
            tally.add(&record);
            if let Some(mut c) = checker.take()
                && c.record(line, &record)
            {
                checker = Some(c);
            }
        }
        let mut info = tally.finish();
        if let Some((check, follower)) = checker.map(|c| c.finish(None)) {
            info.forward = check.forward;
            let sound = check.is_clean() && follower.clock.failure().is_none();
            let span = follower.clock.end().checked_mul(info.header.ps_per_unit);
            let early = follower.early;
            info.ideal = span
                .filter(|_| sound)
                .map(|span_ps| Ideal { span_ps, early });
        }
        Ok(info)
    }

    /// Least and most computation of a task, in picoseconds.
    #[must_use]
    pub fn compute_span_ps(&self) -> (u64, u64) {
        let min = self.compute_ps.iter().min().copied();
        let max = self.compute_ps.iter().max().copied();
        (min.unwrap_or(0), max.unwrap_or(0))
    }

    /// Mean computation of a task, in picoseconds, rounded down.
    #[must_use]
    pub fn compute_mean_ps(&self) -> u64 {
        let sum: u128 = self.compute_ps.iter().map(|&ps| u128::from(ps)).sum();
        // A mean of 64-bit numbers fits.
        (sum / (self.compute_ps.len() as u128).max(1)) as u64
    }

    /// Bytes of all collectives; see [`Collectives::bytes`].
    #[must_use]
    pub fn collective_bytes(&self) -> u64 {
        let bytes = self.collectives.iter().map(|c| c.bytes);
        bytes.fold(0, u64::saturating_add)
    }
}

/// Follows the ideal clock.
struct Follower {
    clock: Clock,
    early: u64,
}

impl Observer for Follower {
    type Note = Record;

    fn read(&mut self, _: u64, record: &Record) -> Record {
        *record
    }

    fn started(&mut self, task: u32, record: Record) {
        if record.dep().0.kind() == DepKind::Received {
            let early = self.clock.event(&record) <= self.clock.last(task);
            self.early += u64::from(early);
        }
        self.clock.start(&record);
    }

    fn resolved(&mut self, g: u64, collective: &Resolved) {
        self.clock.resolved(g, collective);
    }
}

struct Tally {
    info: Info,
    messages: traffic::Tally,
    positions: Positions,
    /// Collective lines and bytes by operation and communicator.
    lines: BTreeMap<(Op, u32), (u64, u64)>,
}

impl Tally {
    fn new(header: &Header, comms: &[Comm]) -> Self {
        Self {
            info: Info {
                header: header.clone(),
                records: 0,
                traffic: Traffic::default(),
                markers: 0,
                comm_sizes: comms.iter().map(|c| c.members.len() as u32).collect(),
                collectives: Vec::new(),
                compute_ps: Vec::new(),
                dependencies: [0; 4],
                forward: 0,
                ideal: None,
            },
            messages: traffic::Tally::default(),
            positions: Positions::new(comms),
            lines: BTreeMap::new(),
        }
    }

    fn add(&mut self, record: &Record) {
        let info = &mut self.info;
        info.records += 1;
        let task = record.task();
        if task < info.header.tasks {
            let at = task as usize;
            if at >= info.compute_ps.len() {
                info.compute_ps.resize(at + 1, 0);
            }
            let ps = record.time().saturating_mul(info.header.ps_per_unit);
            info.compute_ps[at] = info.compute_ps[at].saturating_add(ps);
        }
        info.dependencies[record.dep().0.kind() as usize] += 1;
        match record {
            Record::Message(m) if m.is_marker() => info.markers += 1,
            Record::Message(m) => self.messages.add(m.src, m.dst, m.size),
            Record::Member(m) => self.member(m),
        }
    }

    fn member(&mut self, m: &Member) {
        let Some(op) = Op::from_code(m.op) else {
            return;
        };
        let Some(&size) = self.info.comm_sizes.get(m.comm as usize) else {
            return;
        };
        let n = u64::from(size).max(1);
        let bytes = match op {
            Op::Bcast => m.recv,
            Op::Reduce => m.send,
            // Sum over all members, see `finish`.
            Op::Allreduce => m.send,
            // The root's own block stays where it is.
            Op::Gather if m.recv == 0 => m.send,
            Op::Scatter if m.send == 0 => m.recv,
            Op::Gather | Op::Scatter | Op::Barrier => 0,
            Op::Allgather => m.send.saturating_mul(n - 1),
            Op::Alltoall if m.recv == 0 => m.send.saturating_mul(n - 1),
            Op::Alltoall => {
                let position = self.positions.of(m.comm, m.task);
                let larger = position.is_some_and(|p| u64::from(p) < m.send % n);
                m.send - m.send / n - u64::from(larger)
            }
        };
        let lines = self.lines.entry((op, m.comm)).or_default();
        lines.0 += 1;
        lines.1 = lines.1.saturating_add(bytes);
    }

    fn finish(self) -> Info {
        let mut info = self.info;
        for ((op, comm), (lines, bytes)) in self.lines {
            let n = u64::from(info.comm_sizes.get(comm as usize).copied().unwrap_or(1)).max(1);
            let bytes = match op {
                Op::Allreduce => (bytes / n).saturating_mul(2 * (n - 1)),
                _ => bytes,
            };
            info.collectives.push(Collectives {
                op,
                comm,
                // A communicator of n members leaves n lines per collective.
                count: lines.div_ceil(n),
                bytes,
            });
        }
        info.traffic = self.messages.finish(|pair| (pair.bytes, pair.messages));
        info
    }
}
