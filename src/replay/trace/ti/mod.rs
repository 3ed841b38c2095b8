//! SimGrid's TI traces: recognised, checked, and opened for replay.

mod collective;
mod program;
mod summary;

pub use program::TiProgram;

use super::refusal;
use crate::program::{Program, RankId};
use crate::trace::{Reading, Setting, Summary, TraceFile, TraceFormat, Verdict};
use anyhow::bail;
use flitwise_base::stop::Stop;
use flitwise_formats::source::Input;
use flitwise_formats::ti::{Trace, check_input, is_folder, probe};
use std::path::{Path, PathBuf};

/// TI.
pub struct Ti;

impl TraceFormat for Ti {
    fn name(&self) -> &'static str {
        "TI"
    }

    fn probe(&self, path: &Path, head: &[u8]) -> bool {
        probe(path, head).is_some()
    }

    fn finds(&self, dir: &Path) -> bool {
        is_folder(dir)
    }

    fn check(&self, input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
        let (check, trace) = check_input(input, stop)?;
        let (Some(trace), true) = (trace, check.is_clean()) else {
            bail!(refusal(&check.errors));
        };
        Ok(Box::new(TiFile {
            trace,
            given: input.path().to_owned(),
            operations: check.info.actions,
            remarks: check.remarks,
        }))
    }

    fn summary(&self, input: &Input) -> anyhow::Result<Summary> {
        Ok(summary::summary(input)?)
    }

    fn verdict(&self, input: &Input) -> anyhow::Result<Verdict> {
        Ok(summary::verdict(input)?)
    }

    fn counts_flops(&self) -> bool {
        true
    }

    fn uses(&self) -> &'static [Setting] {
        &[Setting::Calls, Setting::Collectives, Setting::HostSpeed]
    }
}

/// A trace that checked clean.
struct TiFile {
    trace: Trace,
    /// The path by which it is given.
    given: PathBuf,
    operations: u64,
    remarks: Vec<String>,
}

impl TraceFile for TiFile {
    fn format(&self) -> &'static str {
        Ti.name()
    }

    fn ranks(&self) -> u32 {
        self.trace.ranks()
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let mut parts = self.trace.files().to_vec();
        // All ranks may have one file.
        parts.dedup();
        parts.retain(|part| *part != self.given);
        parts
    }

    fn file_of(&self, rank: RankId) -> Option<&Path> {
        Some(self.trace.path_of(rank.get()))
    }

    fn open<'a>(&self, reading: &Reading, _: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let program = TiProgram::new(self.trace.clone(), reading)?;
        Ok(Box::new(program))
    }
}
