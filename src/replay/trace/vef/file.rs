//! VEF files: recognised, checked, and opened for replay.

use super::{Lines, VefProgram, summary};
use crate::program::Program;
use crate::trace::kept::Kept;
use crate::trace::{Reading, Setting, TraceFile, TraceFormat};
use anyhow::bail;
use flitwise_base::stop::Stop;
use flitwise_formats::source::Input;
use flitwise_formats::vef::{Check, Clock, Observer, Reader, Record, Resolved, observe};
use std::fmt::Write as _;
use std::path::Path;

/// Most operations of a trace that is kept in memory after it was checked: 40 MB of them.
const MAX_KEPT: u64 = 500_000;

/// Errors of a trace that the refusal quotes.
const QUOTED: usize = 5;

/// VEF and VEF3.
pub const VEF: TraceFormat = TraceFormat {
    name: "VEF",
    probe: |_, head| head.starts_with(b"VEF"),
    finds: |_| false,
    check,
    summary: |input| Ok(summary::summary(input)?),
    verdict: |input| Ok(summary::verdict(input)?),
    reads_once: true,
    uses: &[Setting::Collectives],
};

fn check(input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
    let mut reader = Reader::of(input.open()?)?;
    let comms = reader.comms().to_vec();
    let header = reader.header();
    let ps_per_unit = header.ps_per_unit;
    let announced = header.messages.saturating_add(header.members);
    let keep = Keep::new(announced, Clock::new(&comms));
    let (check, Keep { records, clock }) = observe(&mut reader, keep, stop)?;
    let is_known = clock.failure().is_none();
    let ideal_ps = is_known
        .then(|| clock.end().checked_mul(ps_per_unit))
        .flatten();
    if !check.is_clean() {
        bail!(refusal(input.path(), &check));
    }
    let Some(records) = records else {
        let input = input.clone();
        return Ok(Box::new(VefFile {
            input,
            check,
            ideal_ps,
        }));
    };
    let lines = Lines::Read(records.into_iter());
    let program = VefProgram::over(input, &check, comms, lines, Stop::never());
    let operations = program.operations()?;
    Ok(Box::new(
        Kept::of(VEF.name, operations, ideal_ps).with_remarks(check.remarks()),
    ))
}

/// A trace that is read again for every replay.
struct VefFile {
    input: Input,
    check: Check,
    ideal_ps: Option<u64>,
}

impl TraceFile for VefFile {
    fn format(&self) -> &'static str {
        VEF.name
    }

    fn ranks(&self) -> u32 {
        self.check.header.tasks
    }

    fn remarks(&self) -> Vec<String> {
        self.check.remarks()
    }

    fn operations(&self) -> u64 {
        self.check.records.iter().sum()
    }

    fn ideal_ps(&self) -> Option<u64> {
        self.ideal_ps
    }

    fn open<'a>(&self, _: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let program = VefProgram::resume(&self.input, &self.check, stop)?;
        Ok(Box::new(program))
    }
}

impl VefProgram<'_> {
    /// Checks a trace and opens it, of any size, to be read again while it is replayed.
    ///
    /// # Errors
    /// If the file can't be read or the trace is broken: the message names file and lines.
    ///
    /// # Examples
    /// ```
    /// use flitwise_replay::program::{Action, Program, RankId, StreamId};
    /// use flitwise_replay::trace::vef::VefProgram;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("ping.vef");
    /// // Rank 0 computes 10 ns and sends 64 bytes to rank 1, which waits for them.
    /// let trace = "VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 64 4 10 -1\n1 1 1 0 2 0 0\n";
    /// std::fs::write(&path, trace)?;
    ///
    /// let (mut program, check) = VefProgram::open(&path)?;
    /// assert_eq!((program.ranks(), check.messages), (2, 1));
    /// let (rank, stream) = (RankId::new(0), StreamId::new(0));
    /// let op = program.next(rank, stream)?.expect("one operation");
    /// let (to, awaited) = (RankId::new(1), true);
    /// assert_eq!(op.action, Action::Send { id: 0, to, bytes: 64, awaited });
    /// assert_eq!(program.next(rank, stream)?, None);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> anyhow::Result<(Self, Check)> {
        let input = Input::repeatable(path.as_ref(), Stop::never())?;
        let mut reader = Reader::of(input.open()?)?;
        let (check, ()) = observe(&mut reader, (), Stop::never())?;
        if !check.is_clean() {
            bail!(refusal(input.path(), &check));
        }
        Ok((Self::resume(&input, &check, Stop::never())?, check))
    }
}

/// Keeps the records of a trace while it is checked, and follows the ideal clock.
struct Keep {
    /// All so far with their lines; `None` if they are too many.
    records: Option<Vec<(u64, Record)>>,
    clock: Clock,
}

impl Keep {
    /// Room for the records of a trace; its header says that there are `announced`.
    fn new(announced: u64, clock: Clock) -> Self {
        // The number that a header announces may be wrong: reserving for it must cost little.
        let room = announced.min(MAX_KEPT) as usize;
        Self {
            records: (announced <= MAX_KEPT).then(|| Vec::with_capacity(room)),
            clock,
        }
    }
}

impl Observer for Keep {
    type Note = Record;

    fn read(&mut self, line: u64, record: &Record) -> Record {
        if let Some(records) = &mut self.records {
            if (records.len() as u64) < MAX_KEPT {
                records.push((line, *record))
            } else {
                self.records = None
            }
        }
        *record
    }

    fn started(&mut self, _: u32, record: Record) {
        self.clock.start(&record);
    }

    fn resolved(&mut self, g: u64, collective: &Resolved) {
        self.clock.resolved(g, collective);
    }
}

#[cold]
fn refusal(path: &Path, check: &Check) -> String {
    let mut text = String::new();
    let path = path.display();
    for (i, problem) in check.errors.first.iter().take(QUOTED).enumerate() {
        let gap = if i == 0 { "" } else { "\n" };
        // Writing to a string can't fail.
        let _ = write!(text, "{gap}{problem}");
    }
    let more = check.errors.total.saturating_sub(QUOTED as u64);
    if more > 0 {
        let _ = write!(text, "\n{path}: and {more} more errors");
    }
    text
}
