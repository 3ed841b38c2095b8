//! Recordings by `flitwise record`: recognised, checked, and opened for replay.

mod caller;
mod clock;
mod collective;
mod communicators;
mod gaps;
mod messages;
mod outcomes;
mod program;
mod summary;
mod survey;
#[cfg(test)]
mod tests;
mod unsupported;
mod verdict;
mod work;

use crate::agreement::compare;
use crate::program::{Program, RankId};
use crate::trace::{
    self, Agreement, ComputeTime, Reading, Summary, TraceFile, TraceFormat, Verdict,
};
use anyhow::bail;
use clock::Clock;
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::recording::{Check, RankInfo, Set};
use flitwise_formats::source::Input;
use hashbrown::HashSet;
use program::{RecordingProgram, Settings};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use survey::{Known, survey};
use work::Cancelled;

/// Recordings, whose streams begin with `FLITREC`.
pub struct Recording;

impl TraceFormat for Recording {
    fn name(&self) -> &'static str {
        "FLITREC"
    }

    fn probe(&self, path: &Path, head: &[u8]) -> bool {
        Set::probe(path, head)
    }

    fn finds(&self, dir: &Path) -> bool {
        Set::is_directory(dir)
    }

    fn check(&self, input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
        Ok(Box::new(RecordingFile::open(input, stop)?))
    }

    fn summary(&self, input: &Input) -> anyhow::Result<Summary> {
        summary::summary(input)
    }

    fn verdict(&self, input: &Input) -> anyhow::Result<Verdict> {
        verdict::verdict(input)
    }
}

/// A recording that checked clean.
struct RecordingFile {
    set: Arc<Set>,
    check: Check,
    known: Arc<Known>,
    clock: Clock,
    /// The path by which it is given.
    given: PathBuf,
    compared: OnceLock<Compared>,
}

/// The findings of a comparison of the ranks.
#[derive(Default)]
struct Compared {
    /// The points on which they disagree.
    doubts: Option<String>,
    /// Collectives of different sizes.
    sizes: u64,
    /// Cancelled receives that took a message.
    took: Arc<HashSet<(RankId, u64)>>,
}

/// The remarks on a recording: a sentence for each kind, with its number.
fn remarks(check: &Check) -> Vec<String> {
    let ranks =
        |is: fn(&RankInfo) -> bool| check.ranks.iter().filter(|rank| is(rank)).count() as u64;
    let counts = [
        (
            check.total(|rank| rank.cut.into()),
            "streams have no end, because the program was killed: the replay has their calls up to the last whole block",
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
        let set = Set::open(input.path())?;
        let (check, known) = survey(&set, stop)?;
        let Some(known) = known else {
            bail!(trace::refusal(&check.errors));
        };
        Ok(Self {
            given: input.path().to_owned(),
            clock: Clock::of(&set, &check),
            set: Arc::new(set),
            check,
            known: Arc::new(known),
            compared: OnceLock::new(),
        })
    }

    /// Refuses a recording of which nothing is left that the ranks say to each other.
    fn is_allowed(&self, reading: &Reading) -> anyhow::Result<()> {
        if self.known.communication > 0 || self.ranks() < 2 || reading.allow_no_communication {
            return Ok(());
        }
        bail!(
            "{}: has no message and no collective that a replay has, of {} ranks: {} replays its computation alone",
            self.set.path().display(),
            self.ranks(),
            reading.wording.allow_no_communication()
        )
    }

    fn program<'a>(
        &self,
        reading: &Reading,
        cancelled: Cancelled,
        stop: Stop<'a>,
    ) -> anyhow::Result<RecordingProgram<'a>> {
        let unsupported = self.unsupported();
        if !unsupported.is_empty() && !reading.skip_unsupported {
            bail!(
                "{}: has {}; a replay has no counterpart for them: {} leaves them out",
                self.set.path().display(),
                unsupported.join(", "),
                reading.wording.skip_unsupported()
            );
        }
        self.is_allowed(reading)?;
        let settings = Settings {
            clock: match reading.compute_time {
                None | Some(ComputeTime::Auto) => self.clock.clock,
                Some(clock) => clock,
            },
            poll_gap_ps: reading.poll_gap_ps,
            cancelled,
        };
        let (set, known) = (Arc::clone(&self.set), Arc::clone(&self.known));
        RecordingProgram::new(set, known, settings, stop)
    }
}

impl TraceFile for RecordingFile {
    fn format(&self) -> &'static str {
        Recording.name()
    }

    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn operations(&self) -> u64 {
        self.check.total(|rank| rank.records)
    }

    fn unsupported(&self) -> Vec<String> {
        self.known.unsupported.kinds()
    }

    fn file_of(&self, rank: RankId) -> Option<&Path> {
        self.set.file(rank.get()).map(|path| &**path)
    }

    fn agreement(&self, stop: Stop<'_>) -> anyhow::Result<Agreement> {
        let reading = Reading {
            skip_unsupported: true,
            allow_no_communication: true,
            ..Reading::default()
        };
        let mut program = self.program(&reading, Cancelled::Spare, Stop::never())?;
        let mut found = compare(&mut program, stop)?;
        let took = std::mem::take(&mut found.taken).into_iter().collect();
        let agreement = trace::agreement_of(found, |rank| {
            let file = self.set.file(rank.get());
            file.map_or_else(|| self.set.path().into(), Arc::clone)
        });
        self.compared.get_or_init(|| Compared {
            doubts: (agreement.errors.total > 0).then(|| trace::refusal(&agreement.errors)),
            sizes: agreement.warnings.total,
            took: Arc::new(took),
        });
        Ok(agreement)
    }

    fn doubts(&self) -> Option<String> {
        self.compared.get()?.doubts.clone()
    }

    fn remarks(&self) -> Vec<String> {
        let sizes = self.compared.get().map_or(0, |compared| compared.sizes);
        let sizes = (sizes > 0).then(|| {
            format!("{sizes} collectives have different sizes at different ranks; the replay uses the size at each rank")
        });
        let clock = self.clock.remark();
        let all = clock.into_iter().chain(remarks(&self.check));
        all.chain(sizes).collect()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let files = self.set.files().filter(|file| *file != self.given);
        files.map(PathBuf::from).collect()
    }

    fn open<'a>(&self, reading: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let compared = self.compared.get();
        let took = compared.map(|compared| Arc::clone(&compared.took));
        let cancelled = Cancelled::Took(took.unwrap_or_default());
        Ok(Box::new(self.program(reading, cancelled, stop)?))
    }
}
