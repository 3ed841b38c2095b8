//! Reads and checks each trace once, however many runs need it.

use super::RunError;
use super::error::is_stopped;
use crate::config::Experiment;
use crate::config::experiment::Job;
use crate::replay::trace::{TraceFile, check_input};
use crate::stop::Stop;
use anyhow::{Context, anyhow};
use flitwise_formats::source::{Input, StreamId, open_regular, stream_id};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// Identifies the content of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceDigest {
    /// The trace as written in the experiment file.
    pub trace: String,
    /// XXH3 (128 bits, seed 0) of the bytes of the file, compressed or not; of a trace of several files, of all of
    /// them one after the other.
    pub xxh3: u128,
    /// The format of the trace, as [`TraceFormat::name`](crate::replay::trace::TraceFormat::name) has it.
    #[serde(default)]
    pub format: String,
    /// Whether its ranks compute flops, which take as long as `host_speed` of the job says.
    #[serde(default)]
    pub has_flops: bool,
    /// The calls that can't be replayed, with how many there are; `None` without any. A replay leaves them out, as
    /// its job asks for with `skip_unsupported`.
    #[serde(default)]
    pub left_out: Option<String>,
    /// Communication that the trace lacks, or that is doubtful: a sentence for each kind.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Why the replay may not have completed, as far as the trace tells.
    #[serde(default)]
    pub doubts: Option<String>,
}

impl TraceDigest {
    /// The calls that the replay left out, and the communication that the trace lacks, or that is doubtful; `None` without
    /// any.
    #[must_use]
    pub fn lacks(&self) -> Option<String> {
        const UNMATCHED: &str =
            "messages or collectives without their counterpart, which `flitwise trace check` names";
        let all = self.left_out.iter().chain(&self.remarks);
        let unmatched = self.doubts.as_ref().map(|_| UNMATCHED);
        let all: Vec<&str> = all.map(String::as_str).chain(unmatched).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// A trace that was read.
struct Checked {
    /// A stream may have several: it is read once for all of them.
    paths: Vec<PathBuf>,
    stream: Option<StreamId>,
    file: Box<dyn TraceFile>,
    xxh3: u128,
}

/// Traces, each read, checked and hashed once.
pub(super) struct Traces {
    checked: Vec<Checked>,
}

impl Traces {
    pub(super) fn none() -> Self {
        Self {
            checked: Vec::new(),
        }
    }

    /// Reads, checks and hashes the traces that are not known yet.
    pub(super) fn check<'a>(
        &mut self,
        experiments: impl IntoIterator<Item = &'a Experiment>,
        stop: Stop<'_>,
    ) -> Result<(), RunError> {
        for job in experiments.into_iter().flat_map(|e| &e.jobs) {
            if self.position(job).is_some() {
                continue;
            }
            let stream = stream_id(&job.trace_path);
            let same = |checked: &&mut Checked| stream.is_some() && checked.stream == stream;
            if let Some(known) = self.checked.iter_mut().find(same) {
                known.paths.push(job.trace_path.clone());
                continue;
            }
            let read = read(&job.trace_path, stop);
            let (file, xxh3) = read.map_err(|error| {
                if is_stopped(&error) {
                    RunError::Interrupted(format!("trace `{}` was checked", job.trace))
                } else {
                    RunError::Trace(error)
                }
            })?;
            self.checked.push(Checked {
                paths: vec![job.trace_path.clone()],
                stream,
                file,
                xxh3,
            });
        }
        Ok(())
    }

    fn position(&self, job: &Job) -> Option<usize> {
        let mut checked = self.checked.iter();
        checked.position(|trace| trace.paths.contains(&job.trace_path))
    }

    /// The digests of the traces of some experiments, each once, in the order in which the experiments name them.
    pub(super) fn digests_in<'a>(
        &self,
        experiments: impl IntoIterator<Item = &'a Experiment>,
    ) -> Vec<TraceDigest> {
        let (mut seen, mut digests) = (Vec::new(), Vec::new());
        let jobs: Vec<&Job> = experiments.into_iter().flat_map(|e| &e.jobs).collect();
        let any_of = |at, is: fn(&Job) -> bool| {
            let mut jobs = jobs.iter();
            jobs.any(|job| self.position(job) == Some(at) && is(job))
        };
        for job in &jobs {
            let at = self.position(job).filter(|at| !seen.contains(at));
            if let Some(at) = at {
                seen.push(at);
                let checked = &self.checked[at];
                let mut remarks = checked.file.remarks();
                if any_of(at, |job| job.compute.time.is_none()) {
                    remarks.splice(0..0, checked.file.clock_remark());
                }
                if any_of(at, |job| !job.order_streams) {
                    remarks.splice(0..0, checked.file.order_remark());
                }
                digests.push(TraceDigest {
                    trace: job.trace.clone(),
                    xxh3: checked.xxh3,
                    format: checked.file.format().to_owned(),
                    has_flops: checked.file.has_flops(),
                    left_out: left_out(&*checked.file),
                    remarks,
                    doubts: checked.file.doubts(),
                });
            }
        }
        digests
    }

    /// The digest of the trace of each job.
    pub(super) fn digests_of(&self, experiment: &Experiment) -> Vec<u128> {
        let jobs = experiment.jobs.iter();
        jobs.filter_map(|job| Some(self.checked[self.position(job)?].xxh3))
            .collect()
    }

    pub(super) fn of(&self, job: &Job) -> Result<&dyn TraceFile, RunError> {
        let trace = self.position(job).map(|at| &*self.checked[at].file);
        trace.ok_or_else(|| RunError::Failed(anyhow!("trace `{}` was not checked", job.trace)))
    }
}

/// Describes the calls that the replay of a trace leaves out or refuses.
fn left_out(file: &dyn TraceFile) -> Option<String> {
    let kinds = file.unsupported();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// Checks and hashes a trace.
fn read(path: &Path, stop: Stop<'_>) -> anyhow::Result<(Box<dyn TraceFile>, u128)> {
    let input = Input::repeatable(path, stop)?;
    let file = check_input(&input, stop)?;
    let mut hash = XxHash3_128::new();
    let shown = || input.path().display().to_string();
    // A directory has no bytes of its own.
    if !input.path().is_dir() {
        add(&mut hash, input.bytes()?, stop).with_context(shown)?;
    }
    for part in file.parts() {
        let shown = || part.display().to_string();
        let bytes = open_regular(&part).with_context(shown)?;
        add(&mut hash, bytes, stop).with_context(shown)?;
    }
    Ok((file, hash.finish_128()))
}

/// Bytes read at once.
const BLOCK: usize = 1 << 20;
/// Blocks between two checks whether the user stops the run.
const LOOK: u32 = 64;

/// Adds a file to a digest.
fn add(hash: &mut XxHash3_128, mut file: impl Read, stop: Stop<'_>) -> anyhow::Result<()> {
    let (mut block, mut stop) = (vec![0; BLOCK], stop.every(LOOK));
    loop {
        stop.check()?;
        match file.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(n) => hash.write(&block[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    fn xxh3(file: impl Read) -> anyhow::Result<u128> {
        let mut hash = super::XxHash3_128::new();
        super::add(&mut hash, file, super::Stop::never()).map(|_| hash.finish_128())
    }

    /// A file read in blocks has the digest of its bytes at once, and no bytes have XXH3's
    /// published value.
    #[test]
    fn digests_are_those_of_the_bytes() {
        let none = xxh3(&b""[..]).unwrap();
        assert_eq!(none, 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
        let bytes: Vec<u8> = (0..3_000_001_u32).map(|i| (i % 251) as u8).collect();
        let whole = twox_hash::XxHash3_128::oneshot(&bytes);
        assert_eq!(xxh3(&bytes[..]).unwrap(), whole);
    }
}
