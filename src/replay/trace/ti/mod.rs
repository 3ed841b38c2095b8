//! SimGrid's TI traces: recognised, checked, and opened for replay.

mod collective;
mod program;
mod summary;

pub use program::TiProgram;

use super::refusal;
use crate::program::{Program, RankId};
use crate::trace::{Reading, Setting, TraceFile, TraceFormat};
use anyhow::bail;
use flitwise_base::stop::Stop;
use flitwise_formats::source::Input;
use flitwise_formats::ti::{Trace, check_input, is_folder, probe};
use std::path::{Path, PathBuf};

/// TI.
pub const TI: TraceFormat = TraceFormat {
    name: "TI",
    probe: |path, head| probe(path, head).is_some(),
    finds: is_folder,
    check,
    summary: |input| Ok(summary::summary(input)?),
    verdict: |input| Ok(summary::verdict(input)?),
    reads_once: false,
    uses: &[Setting::Calls, Setting::Collectives, Setting::HostSpeed],
};

fn check(input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
    let (check, trace) = check_input(input, stop)?;
    let (Some(trace), true) = (trace, check.is_clean()) else {
        bail!(refusal(&check.errors));
    };
    Ok(Box::new(TiFile {
        trace,
        given: input.path().to_owned(),
        operations: check.info.actions,
        has_flops: check.info.has_flops(),
        remarks: check.remarks,
    }))
}

/// A trace that checked clean.
struct TiFile {
    trace: Trace,
    /// The path by which it is given.
    given: PathBuf,
    operations: u64,
    has_flops: bool,
    remarks: Vec<String>,
}

impl TraceFile for TiFile {
    fn format(&self) -> &'static str {
        TI.name
    }

    fn ranks(&self) -> u32 {
        self.trace.ranks()
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn has_flops(&self) -> bool {
        self.has_flops
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
