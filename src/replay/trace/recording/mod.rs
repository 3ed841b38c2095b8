//! Recordings by `flitwise record`: recognised, checked, and opened for replay.

mod caller;
mod clock;
mod collective;
mod communicators;
mod cut;
mod gaps;
mod messages;
mod outcomes;
mod program;
mod reach;
mod summary;
mod survey;
#[cfg(test)]
mod tests;
mod unsupported;
mod verdict;
mod work;

use crate::program::{Program, RankId};
use crate::trace::recorded::{
    Cancelled, Comparison, RecordedProgram, check_communication, check_unsupported,
};
use crate::trace::{Agreement, ComputeTime, Reading, Setting, TraceFile, TraceFormat, refusal};
use anyhow::bail;
use clock::Clock;
use cut::Cut;
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::recording::{Check, RankInfo, Reason, Set};
use flitwise_formats::source::Input;
use program::{RecordedCalls, Settings};
use reach::{Reach, reach};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use survey::{Known, survey};

/// Recordings, whose streams begin with `FLITREC`.
pub const RECORDING: TraceFormat = TraceFormat {
    name: "FLITREC",
    probe: Set::probe,
    finds: Set::is_directory,
    check: |input, stop| Ok(Box::new(RecordingFile::open(input, stop)?)),
    summary: summary::summary,
    verdict: verdict::verdict,
    reads_once: false,
    uses: &[
        Setting::Calls,
        Setting::Collectives,
        Setting::ComputeTime,
        Setting::Recorder,
    ],
};

/// A recording that checked clean.
struct RecordingFile {
    set: Arc<Set>,
    check: Check,
    known: Arc<Known>,
    clock: Clock,
    /// The path by which it is given.
    given: PathBuf,
    compared: Comparison,
    /// How far the ranks come, found when they are compared; `None` if they come to their ends.
    reach: OnceLock<Option<Arc<Reach>>>,
}

/// The remarks on a recording: a sentence for each kind, with its number.
fn remarks(check: &Check) -> Vec<String> {
    let ranks =
        |is: fn(&RankInfo) -> bool| check.ranks.iter().filter(|rank| is(rank)).count() as u64;
    let counts = [
        (
            check.total(|rank| rank.cut.into()),
            "streams have no end, because the program was killed or ended while a thread was in a call: the replay has their calls up to the last whole block",
        ),
        (
            check.total(|rank| rank.failed),
            "calls returned an error; the replay leaves them out",
        ),
        (
            check.total(|rank| rank.unfinished),
            "requests never complete in the recording; the replay does not wait for them",
        ),
        (
            ranks(|rank| rank.threads > 1),
            "ranks call MPI from several threads; the replay has their calls in one order, by time",
        ),
        (
            ranks(RankInfo::is_hybrid),
            "ranks have threads that compute without calling MPI, so that the CPU time of a rank is not all of its computation",
        ),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let notes = check.notes.iter().map(|(note, count)| (*count, &**note));
    let all = counts.chain(notes);
    all.map(|(count, what)| format!("{} {what}", human_count(count)))
        .collect()
}

impl RecordingFile {
    fn open(input: &Input, stop: Stop<'_>) -> anyhow::Result<Self> {
        Self::of(Set::of_input(input, stop)?, stop)
    }

    /// The recording of these files.
    fn of(set: Set, stop: Stop<'_>) -> anyhow::Result<Self> {
        let (check, known) = survey(&set, stop)?;
        let Some(known) = known else {
            bail!(refusal(&check.errors));
        };
        Ok(Self {
            given: set.path().to_owned(),
            clock: Clock::of(&set, &check),
            set: Arc::new(set),
            check,
            known: Arc::new(known),
            compared: Comparison::default(),
            reach: OnceLock::new(),
        })
    }

    fn program<'a>(
        &self,
        reading: &Reading,
        cancelled: Cancelled,
        stop: Stop<'a>,
    ) -> anyhow::Result<RecordedProgram<'a, RecordedCalls>> {
        let path = self.set.path();
        check_unsupported(path, &self.unsupported(), reading)?;
        let communication = (self.ranks(), self.known.communication);
        let advice = ": record a part of the program in which its ranks communicate";
        check_communication(path, communication, advice, reading)?;
        let settings = Settings {
            clock: reading.compute_time.unwrap_or(self.clock.clock),
            poll_gap_ps: reading.poll_gap_ps,
            cancelled,
        };
        let (set, known) = (Arc::clone(&self.set), Arc::clone(&self.known));
        let calls = RecordedCalls {
            set,
            known,
            settings,
        };
        RecordedProgram::new(calls, stop)
    }
}

impl RecordingFile {
    /// Whether the program may have ended before all ranks had made their calls.
    fn was_killed(&self) -> bool {
        let mut ranks = self.check.ranks.iter();
        ranks.any(|rank| rank.cut > 0 || matches!(rank.reason, Some(Reason::Exit | Reason::Abort)))
    }

    /// The program as far as its ranks come.
    fn cut<'a>(&self, program: RecordedProgram<'a, RecordedCalls>) -> Box<dyn Program + 'a> {
        match self.reach.get() {
            Some(Some(reach)) => Box::new(Cut::new(program, Arc::clone(reach))),
            _ => Box::new(program),
        }
    }

    /// The remarks on ranks that end early.
    fn reach_remarks(&self) -> &[String] {
        match self.reach.get() {
            Some(Some(reach)) => &reach.remarks,
            _ => &[],
        }
    }
}

impl TraceFile for RecordingFile {
    fn format(&self) -> &'static str {
        RECORDING.name
    }

    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn operations(&self) -> u64 {
        self.check.total(|rank| rank.records)
    }

    fn recording(&self) -> Option<(&Set, ComputeTime)> {
        Some((&self.set, self.clock.clock))
    }

    fn unsupported(&self) -> Vec<String> {
        self.known.unsupported.texts(&unsupported::KINDS)
    }

    fn regions(&self) -> &[Arc<str>] {
        self.known.regions.names()
    }

    fn file_of(&self, rank: RankId) -> Option<&Path> {
        self.set.file(rank.get()).map(|path| &**path)
    }

    fn agreement(&self, stop: Stop<'_>) -> anyhow::Result<Agreement> {
        let mut program = self.program(&Comparison::reading(), Cancelled::Spare, Stop::never())?;
        if self.was_killed() && self.reach.get().is_none() {
            let found = reach(&mut program, stop)?;
            self.reach.get_or_init(|| found.map(Arc::new));
            program.restart()?;
        }
        let file = |rank| self.file_of(rank).unwrap_or(self.set.path());
        self.compared.agreement(&mut *self.cut(program), file, stop)
    }

    fn doubts(&self) -> Option<String> {
        self.compared.doubts()
    }

    fn remarks(&self) -> Vec<String> {
        let all = remarks(&self.check).into_iter();
        let reach = self.reach_remarks().iter().cloned();
        all.chain(reach).chain(self.compared.remark()).collect()
    }

    fn clock_remark(&self) -> Option<String> {
        self.clock.remark()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let files = self.set.files().filter(|file| *file != self.given);
        files.map(PathBuf::from).collect()
    }

    fn open<'a>(&self, reading: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let cancelled = self.compared.cancelled();
        Ok(self.cut(self.program(reading, cancelled, stop)?))
    }
}
