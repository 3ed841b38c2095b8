//! DUMPI: recognised, checked, and opened for replay.

mod calls;
mod collective;
mod communicators;
mod gaps;
mod groups;
mod history;
mod members;
mod outcomes;
mod program;
mod requests;
mod summary;
mod survey;
mod unsupported;
mod verdict;

use crate::agreement::{Disagreement, compare};
use crate::program::{Program, RankId};
use crate::trace::{
    self, Agreement, ComputeTime, Reading, Summary, TraceFile, TraceFormat, Verdict,
};
use anyhow::{Context, bail};
use flitwise_base::stop::Stop;
use flitwise_formats::Place;
use flitwise_formats::dumpi::{Record, Set, check_seen};
use flitwise_formats::source::Input;
use flitwise_formats::{Problem, Problems};
use gaps::Loops;
use program::{DumpiProgram, Settings};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use survey::{Known, Survey};

/// DUMPI.
pub struct Dumpi;

impl TraceFormat for Dumpi {
    fn name(&self) -> &'static str {
        "DUMPI"
    }

    fn probe(&self, _: &Path, head: &[u8]) -> bool {
        Set::probe(head)
    }

    fn finds(&self, dir: &Path) -> bool {
        Set::is_directory(dir)
    }

    fn check(&self, input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
        let set = Set::of_input(input, stop)?;
        let path = || set.path().display().to_string();
        let mut survey = Survey::default();
        let mut full = false;
        let mut see = |rank, record: &Record<'_>| {
            full = full || survey.is_full();
            if !full {
                survey.see(rank, record);
            }
        };
        let check = check_seen(&set, &mut see, stop)?;
        if !check.is_clean() {
            let errors = verdict::located(&set, &check.errors, check.error_total);
            bail!(trace::refusal(&errors));
        }
        if full {
            bail!(
                "{}: makes too many communicators, or posts too many receives from anyone, to follow them",
                path()
            );
        }
        let known = survey.finish(set.ranks());
        let known = known.map_err(|problem| anyhow::Error::new(problem.of(&set)))?;
        Ok(Box::new(DumpiFile {
            given: input.path().to_owned(),
            set: Arc::new(set),
            known: Arc::new(known),
            doubts: OnceLock::new(),
        }))
    }

    fn summary(&self, input: &Input) -> anyhow::Result<Summary> {
        summary::summary(input)
    }

    fn verdict(&self, input: &Input) -> anyhow::Result<Verdict> {
        verdict::verdict(input)
    }
}

/// A trace that checked clean.
struct DumpiFile {
    set: Arc<Set>,
    known: Arc<Known>,
    /// The path by which it is given.
    given: PathBuf,
    /// The points on which its ranks disagree, once they were compared.
    doubts: OnceLock<String>,
}

impl DumpiFile {
    /// The clock of the computations.
    fn clock(&self, reading: &Reading) -> anyhow::Result<Option<ComputeTime>> {
        let lacks = |clock| match clock {
            ComputeTime::Wall => self.known.without_wall,
            ComputeTime::Cpu => self.known.without_cpu,
        };
        match reading.compute_time {
            None => Ok([ComputeTime::Wall, ComputeTime::Cpu]
                .into_iter()
                .find(|&clock| lacks(clock) == 0)),
            Some(clock) if lacks(clock) == 0 => Ok(Some(clock)),
            Some(clock) => {
                let (calls, name) = (lacks(clock), clock.name());
                let asking = reading.wording.compute_time();
                bail!(
                    "{calls} calls lack the {name} time that {asking} asks for; leave it out to take the time that is there"
                )
            }
        }
    }
}

impl TraceFile for DumpiFile {
    fn format(&self) -> &'static str {
        Dumpi.name()
    }

    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn operations(&self) -> u64 {
        self.known.calls
    }

    fn unsupported(&self) -> Vec<String> {
        self.known.unsupported.kinds()
    }

    fn file_of(&self, rank: RankId) -> Option<&Path> {
        self.set.file(rank.get())
    }

    fn agreement(&self, stop: Stop<'_>) -> anyhow::Result<Agreement> {
        let reading = Reading {
            skip_unsupported: true,
            ..Reading::default()
        };
        let mut program = self.open(&reading, Stop::never())?;
        let found = compare(&mut *program, stop)?;
        let problem = |one: Disagreement| Problem {
            path: self
                .set
                .file(one.rank.get())
                .unwrap_or(self.set.path())
                .into(),
            place: one.place.map(Place::from),
            message: format!("rank {}: {}", one.rank, one.message),
        };
        let problems = |first: Vec<Disagreement>, total| Problems {
            first: first.into_iter().map(problem).collect(),
            total,
        };
        let agreement = Agreement {
            errors: problems(found.errors, found.error_total),
            unmatched: found.unmatched_total,
            warnings: problems(found.warnings, found.warning_total),
        };
        if agreement.errors.total > 0 {
            self.doubts
                .get_or_init(|| trace::refusal(&agreement.errors));
        }
        Ok(agreement)
    }

    fn doubts(&self) -> Option<String> {
        self.doubts.get().cloned()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let files = self.set.files().filter(|file| *file != self.given);
        files.map(PathBuf::from).collect()
    }

    fn open<'a>(&self, reading: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let shown = || self.set.path().display().to_string();
        let unsupported = self.unsupported();
        if !unsupported.is_empty() && !reading.skip_unsupported {
            bail!(
                "{}: has {}; a replay has no counterpart for them: {} leaves them out",
                shown(),
                unsupported.join(", "),
                reading.wording.skip_unsupported()
            );
        }
        let settings = Settings {
            clock: self.clock(reading).with_context(shown)?,
            skip_unsupported: reading.skip_unsupported,
            wording: reading.wording,
            loops: Loops {
                longest_ps: reading.poll_gap_ps,
                ..Loops::default()
            },
        };
        let (set, known) = (Arc::clone(&self.set), Arc::clone(&self.known));
        let program = DumpiProgram::new(set, known, settings, stop)?;
        Ok(Box::new(program))
    }
}
