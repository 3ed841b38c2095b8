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

use crate::agreement::compare;
use crate::program::{Program, RankId};
use crate::trace::{
    self, Agreement, ComputeTime, Reading, Summary, TraceFile, TraceFormat, Verdict,
};
use anyhow::{Context, bail};
use flitwise_base::stop::Stop;
use flitwise_formats::dumpi::{Check, Odd, Record, Set, check_seen};
use flitwise_formats::source::Input;
use gaps::Loops;
use hashbrown::HashSet;
use program::{Cancelled, DumpiProgram, Settings};
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
        let mut found = remarks(&check);
        found.extend(verdict::polls_left_out(&set)?);
        Ok(Box::new(DumpiFile {
            given: input.path().to_owned(),
            set: Arc::new(set),
            remarks: found,
            known: Arc::new(known),
            compared: OnceLock::new(),
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
    /// Communication that the recording lacks, or that is doubtful.
    remarks: Vec<String>,
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
    /// The clock of the computations.
    fn clock(&self, reading: &Reading) -> anyhow::Result<Option<ComputeTime>> {
        let lacks = |clock| match clock {
            ComputeTime::Wall => self.known.without_wall,
            ComputeTime::Cpu => self.known.without_cpu,
            ComputeTime::Auto => 0,
        };
        match reading.compute_time {
            None | Some(ComputeTime::Auto) => Ok([ComputeTime::Wall, ComputeTime::Cpu]
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
            allow_no_communication: true,
            ..Reading::default()
        };
        let mut program = self.program(&reading, Cancelled::Spare, Stop::never())?;
        let mut found = compare(&mut program, stop)?;
        let took = std::mem::take(&mut found.taken).into_iter().collect();
        let agreement = trace::agreement_of(found, |rank| {
            let file = self.set.file(rank.get());
            file.unwrap_or(self.set.path()).into()
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
        self.remarks.iter().cloned().chain(sizes).collect()
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

impl DumpiFile {
    /// Refuses a recording of which nothing is left that the ranks say to each other.
    fn is_allowed(&self, reading: &Reading) -> anyhow::Result<()> {
        if self.known.communication > 0 || self.ranks() < 2 || reading.allow_no_communication {
            return Ok(());
        }
        bail!(
            "{}: has no message and no collective that a replay has, of {} ranks: DUMPI does not record calls of MPI-3; record the \
             program with VEF-Prospector or SimGrid, or let {} replay its computation alone",
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
    ) -> anyhow::Result<DumpiProgram<'a>> {
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
            cancelled,
        };
        self.is_allowed(reading)?;
        let (set, known) = (Arc::clone(&self.set), Arc::clone(&self.known));
        DumpiProgram::new(set, known, settings, stop)
    }
}
