//! DUMPI: recognised, checked, and opened for replay.

mod calls;
mod collective;
mod communicators;
mod envelope;
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

use crate::program::{Program, RankId};
use crate::trace::recorded::{
    Cancelled, Comparison, RecordedProgram, check_communication, check_unsupported,
};
use crate::trace::{Agreement, ComputeTime, Reading, Setting, TraceFile, TraceFormat, refusal};
use anyhow::{Context, bail};
use flitwise_base::stop::Stop;
use flitwise_formats::dumpi::{Check, Odd, Record, Set, check_seen};
use flitwise_formats::source::Input;
use gaps::Loops;
use program::{DumpiCalls, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use survey::{Known, Survey};

/// DUMPI.
pub const DUMPI: TraceFormat = TraceFormat {
    name: "DUMPI",
    probe: |_, head| Set::probe(head),
    finds: Set::is_directory,
    check: |input, stop| Ok(Box::new(DumpiFile::open(input, stop)?)),
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

/// A trace that checked clean.
struct DumpiFile {
    set: Arc<Set>,
    known: Arc<Known>,
    check: Check,
    /// The path by which it is given.
    given: PathBuf,
    /// Communication that the recording lacks, or that is doubtful.
    remarks: Vec<String>,
    compared: Comparison,
}

/// The remarks on a recording: a sentence for each kind, with its number.
fn remarks(check: &Check) -> Vec<String> {
    let of_odd = Odd::ALL.into_iter().filter_map(|odd| {
        let what = match odd {
            Odd::Time => "calls begin before the previous call ends, or end before they begin, because a clock went back",
            Odd::Leap => {
                "computations take far longer by the wall clock than by the processor's, where a clock was set or went back; \
                 compute_time says which clock counts"
            }
            Odd::Request => {
                "calls wait for requests that no recorded call made: DUMPI does not record the calls of MPI-3, such as MPI_Iallreduce, so they are missing in the replay"
            }
            Odd::Topology => {
                "communicators with a topology have no recorded message: DUMPI does not record neighbourhood collectives, \
                 which may be missing in the replay"
            }
            // Its calls are counted as ones that can't be replayed.
            Odd::Comm => return None,
            Odd::Ends => {
                "calls of MPI_Init or MPI_Finalize are missing: the recorder was switched off, or the program ended early"
            }
        };
        Some((check.odd(odd), what))
    });
    of_odd
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
}

impl DumpiFile {
    fn open(input: &Input, stop: Stop<'_>) -> anyhow::Result<Self> {
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
            bail!(refusal(&check.errors));
        }
        if full {
            bail!(
                "{}: makes too many communicators, or posts too many receives from anyone, to follow them",
                path()
            );
        }
        let known = survey
            .finish(&set)
            .map_err(|problem| anyhow::Error::new(*problem))?;
        let mut found = remarks(&check);
        found.extend(verdict::polls_left_out(&set)?);
        Ok(Self {
            given: input.path().to_owned(),
            set: Arc::new(set),
            remarks: found,
            known: Arc::new(known),
            check,
            compared: Comparison::default(),
        })
    }

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
        DUMPI.name
    }

    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn operations(&self) -> u64 {
        self.known.calls
    }

    fn unsupported(&self) -> Vec<String> {
        self.known.unsupported.texts(&unsupported::KINDS)
    }

    fn file_of(&self, rank: RankId) -> Option<&Path> {
        self.set.file(rank.get())
    }

    fn agreement(&self, stop: Stop<'_>) -> anyhow::Result<Agreement> {
        let mut program = self.program(&Comparison::reading(), Cancelled::Spare, Stop::never())?;
        let file = |rank: RankId| self.set.file(rank.get()).unwrap_or(self.set.path());
        self.compared.agreement(&mut program, file, stop)
    }

    fn doubts(&self) -> Option<String> {
        self.compared.doubts()
    }

    fn remarks(&self) -> Vec<String> {
        let sizes = self.compared.remark();
        self.remarks.iter().cloned().chain(sizes).collect()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let files = self.set.files().filter(|file| *file != self.given);
        files.map(PathBuf::from).collect()
    }

    fn open<'a>(&self, reading: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let cancelled = self.compared.cancelled();
        Ok(Box::new(self.program(reading, cancelled, stop)?))
    }
}

impl DumpiFile {
    fn program<'a>(
        &self,
        reading: &Reading,
        cancelled: Cancelled,
        stop: Stop<'a>,
    ) -> anyhow::Result<RecordedProgram<'a, DumpiCalls>> {
        let path = self.set.path();
        check_unsupported(path, &self.unsupported(), reading)?;
        let clock = self.clock(reading);
        let settings = Settings {
            clock: clock.with_context(|| path.display().to_string())?,
            skip_unsupported: reading.skip_unsupported,
            wording: reading.wording,
            loops: Loops {
                longest_ps: reading.poll_gap_ps,
                ..Loops::default()
            },
            cancelled,
        };
        let communication = (self.ranks(), self.known.communication);
        check_communication(path, communication, NO_MPI_3, reading)?;
        let (set, known) = (Arc::clone(&self.set), Arc::clone(&self.known));
        let calls = DumpiCalls {
            set,
            known,
            settings,
        };
        RecordedProgram::new(calls, stop)
    }
}

/// The reason why a trace may lack all communication.
const NO_MPI_3: &str =
    ": DUMPI does not record calls of MPI-3; record the program with `flitwise record`";
