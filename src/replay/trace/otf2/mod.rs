//! OTF2 archives: recognised, checked, and opened for replay.

mod caller;
mod communicators;
mod gaps;
mod program;
mod regions;
mod scout;
mod sizes;
mod summary;
mod survey;
#[cfg(test)]
mod tests;

use crate::program::{Program, RankId};
use crate::trace::recorded::{Comparison, RecordedProgram, check_communication, check_unsupported};
use crate::trace::{Agreement, Reading, Setting, TraceFile, TraceFormat, refusal};
use anyhow::{Context, anyhow, bail};
use flitwise_base::stop::Stop;
use flitwise_formats::otf2::{Archive, Check, Stamped, check_seen};
use flitwise_formats::source::Input;
use program::Otf2Calls;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use survey::{Known, Survey};

/// OTF2.
pub const OTF2: TraceFormat = TraceFormat {
    name: "OTF2",
    probe: |_, head| Archive::probe(head),
    finds: Archive::is_directory,
    check,
    summary: summary::summary,
    verdict: summary::verdict,
    reads_once: false,
    uses: &[Setting::Calls, Setting::Collectives, Setting::Recorder],
};

fn check(input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
    let examined = Examined::of(input, stop)?;
    if !examined.check.is_clean() {
        bail!(refusal(&examined.check.errors));
    }
    Ok(Box::new(examined.file()?))
}

/// An archive, what a check of it says, and the facts that a replay needs.
struct Examined {
    /// The path by which it is given.
    given: PathBuf,
    archive: Archive,
    check: Check,
    known: Result<Known, String>,
}

impl Examined {
    fn of(input: &Input, stop: Stop<'_>) -> anyhow::Result<Self> {
        let archive = Archive::of_input(input, stop)?;
        let mut survey = Survey::new(&archive);
        let mut see = |rank, next: &Stamped| survey.see(rank, next);
        let check = check_seen(&archive, &mut see, stop)?;
        let known = survey.finish(&check);
        let given = input.path().to_owned();
        Ok(Self {
            given,
            archive,
            check,
            known,
        })
    }

    /// The trace, as far as it can be read.
    fn file(self) -> anyhow::Result<Otf2File> {
        let path = self.archive.path();
        let known = self.known;
        let known = known.map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
        Ok(Otf2File {
            event_files: event_files(&self.archive),
            remarks: remarks(&self.archive, &self.check),
            given: self.given,
            archive: Arc::new(self.archive),
            known: Arc::new(known),
            compared: Comparison::default(),
        })
    }
}

fn event_files(archive: &Archive) -> Vec<PathBuf> {
    let locations = (0..archive.ranks()).filter_map(|rank| archive.location(rank));
    locations
        .map(|location| archive.event_file(location.id))
        .collect()
}

/// The losses of the recording, and what a replay may misread: a sentence for each kind.
fn remarks(archive: &Archive, check: &Check) -> Vec<String> {
    let counts = check.counts;
    let mut found: Vec<String> = (check.warnings.first.iter())
        .map(|problem| problem.message.clone())
        .collect();
    if counts.switched_off > 0 {
        found.push(format!(
            "the recording was switched off {} times: what the ranks did meanwhile is missing, and its time counts as computation",
            counts.switched_off
        ));
    }
    if counts.files > 0 {
        found.push(format!(
            "{} calls of functions of files, whose time the replay leaves out",
            counts.files
        ));
    }
    if check.threads > 0 {
        found.push(format!(
            "has threads besides the first one of a rank ({}): the computation of a rank is the wall time of its first thread",
            check.threads
        ));
    }
    if !archive.anchor().creator.starts_with("Score-P") && counts.collectives > 0 {
        found.push(format!(
            "{} collectives are read with the sums of bytes that Score-P writes, but {} recorded them",
            counts.collectives,
            archive.anchor().creator()
        ));
    }
    found
}

/// An archive that checked clean.
struct Otf2File {
    archive: Arc<Archive>,
    known: Arc<Known>,
    /// The path by which it is given.
    given: PathBuf,
    event_files: Vec<PathBuf>,
    remarks: Vec<String>,
    compared: Comparison,
}

impl TraceFile for Otf2File {
    fn format(&self) -> &'static str {
        OTF2.name
    }

    fn ranks(&self) -> u32 {
        self.archive.ranks()
    }

    fn operations(&self) -> u64 {
        let of_regions = self.known.regions.visits.saturating_mul(2);
        self.known.events.saturating_add(of_regions)
    }

    fn unfollowed(&self, region: &str) -> Option<String> {
        self.known.regions.why_not(region)
    }

    fn regions(&self) -> &[Arc<str>] {
        self.known.regions.names.names()
    }

    fn unsupported(&self) -> Vec<String> {
        self.known.unsupported.clone()
    }

    fn remarks(&self) -> Vec<String> {
        let sizes = self.compared.remark();
        self.remarks.iter().cloned().chain(sizes).collect()
    }

    fn file_of(&self, rank: RankId) -> Option<&Path> {
        self.event_files.get(rank.index()).map(PathBuf::as_path)
    }

    fn agreement(&self, stop: Stop<'_>) -> anyhow::Result<Agreement> {
        let mut program = self.program(&Comparison::reading(), Stop::never())?;
        let file = |rank| self.file_of(rank).unwrap_or(self.archive.path());
        self.compared.agreement(&mut program, file, stop)
    }

    fn doubts(&self) -> Option<String> {
        self.compared.doubts()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let anchor = std::iter::once(self.archive.path().to_owned());
        let all = anchor.chain(self.archive.files());
        all.filter(|file| *file != self.given).collect()
    }

    fn open<'a>(&self, reading: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        Ok(Box::new(self.program(reading, stop)?))
    }
}

impl Otf2File {
    fn program<'a>(
        &self,
        reading: &Reading,
        stop: Stop<'a>,
    ) -> anyhow::Result<RecordedProgram<'a, Otf2Calls>> {
        let path = self.archive.path();
        check_unsupported(path, &self.known.unsupported, reading)?;
        let communication = (self.ranks(), self.known.communication);
        let advice = "; record the program with Score-P";
        check_communication(path, communication, advice, reading)?;
        let calls = Otf2Calls {
            archive: Arc::clone(&self.archive),
            known: Arc::clone(&self.known),
            poll_gap_ps: reading.poll_gap_ps,
        };
        RecordedProgram::new(calls, stop).with_context(|| path.display().to_string())
    }
}
