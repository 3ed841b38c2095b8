//! Reads and checks each trace once, however many runs need it.

use super::{RunError, Stopped};
use crate::config::Experiment;
use crate::config::experiment::Job;
use crate::replay::vef::VefProgram;
use anyhow::{Context, anyhow};
use flitwise_formats::source::Input;
use flitwise_formats::vef::Check;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use twox_hash::XxHash3_128;

/// Identifies the content of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceDigest {
    /// The trace as written in the experiment file.
    pub trace: String,
    /// XXH3 (128 bits, seed 0) of the bytes of the file, compressed or not.
    pub xxh3: u128,
}

/// The traces of some experiments, each checked once.
pub(super) struct Traces {
    checked: Vec<(Input, Check)>,
    digests: Vec<TraceDigest>,
}

impl Traces {
    pub(super) fn none() -> Self {
        Self {
            checked: Vec::new(),
            digests: Vec::new(),
        }
    }

    pub(super) fn check(
        experiments: &[&Experiment],
        stopped: Stopped<'_>,
    ) -> Result<Self, RunError> {
        let mut checked: Vec<(Input, Check)> = Vec::new();
        let mut digests = Vec::new();
        for job in experiments.iter().flat_map(|experiment| &experiment.jobs) {
            if !checked
                .iter()
                .any(|(input, _)| input.path() == job.trace_path)
            {
                let opened = VefProgram::open_while(&job.trace_path, &mut || !stopped())
                    .map_err(RunError::Trace)?;
                let Some((program, check)) = opened else {
                    return Err(RunError::Failed(anyhow!(
                        "interrupted while trace `{}` was checked: nothing was simulated",
                        job.trace
                    )));
                };
                checked.push((program.input().clone(), check));
                digests.push(TraceDigest {
                    trace: job.trace.clone(),
                    xxh3: xxh3(&job.trace_path)
                        .with_context(|| job.trace_path.display().to_string())
                        .map_err(RunError::Trace)?,
                });
            }
        }
        Ok(Self { checked, digests })
    }

    /// In the order in which the experiments name them.
    pub(super) fn digests(&self) -> Vec<TraceDigest> {
        self.digests.clone()
    }

    pub(super) fn of(&self, job: &Job) -> Result<&(Input, Check), RunError> {
        self.checked
            .iter()
            .find(|(input, _)| input.path() == job.trace_path)
            .ok_or_else(|| RunError::Failed(anyhow!("trace `{}` was not checked", job.trace)))
    }
}

/// Bytes read at once.
const BLOCK: usize = 1 << 20;

fn xxh3(path: &Path) -> std::io::Result<u128> {
    let (mut file, mut block) = (File::open(path)?, vec![0; BLOCK]);
    let mut hash = XxHash3_128::new();
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(hash.finish_128()),
            Ok(n) => hash.write(&block[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::xxh3;

    /// A file read in blocks has the digest of its bytes at once, and no bytes have XXH3's
    /// published value.
    #[test]
    fn digests_are_those_of_the_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, b"").unwrap();
        assert_eq!(
            xxh3(&path).unwrap(),
            0x99aa_06d3_0147_98d8_6001_c324_468d_497f
        );
        let bytes: Vec<u8> = (0..3_000_001_u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let whole = twox_hash::XxHash3_128::oneshot(&bytes);
        assert_eq!(xxh3(&path).unwrap(), whole);
    }
}
