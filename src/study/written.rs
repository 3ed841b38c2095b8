//! `study.toml`: a study with its base experiment, to be run again.

use super::execute::Prepared;
use super::grid::Grid;
use crate::config::{ConfigError, InputFile};
use crate::results::origin::origin;
use crate::run::{Session, TraceDigest};
use std::path::Path;

/// The first lines of the file.
const HEAD: &str = "# The study of these tables with its base experiment. `flitwise study DIR --out OTHER` repeats the study of this\n\
                    # directory, and says whether the tables are the same (docs/reference/study.md).\n\n";

/// Returns the digests of the traces of all runs, each once.
#[must_use]
pub fn trace_digests(prepared: &[Prepared], session: &Session) -> Vec<TraceDigest> {
    let mut traces: Vec<TraceDigest> = Vec::new();
    for digest in prepared.iter().flat_map(|run| session.digests(&run.plan)) {
        if !traces.contains(&digest) {
            traces.push(digest);
        }
    }
    traces
}

/// Returns the other files that all runs have read, each once.
#[must_use]
pub fn input_files(prepared: &[Prepared]) -> Vec<InputFile> {
    let mut files: Vec<InputFile> = Vec::new();
    for file in prepared.iter().flat_map(|run| &run.plan.files) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    files
}

/// Returns `study.toml` for the directory `into`. `prepared` are the runs of the study, whose traces `session` has read.
///
/// # Errors
/// If the base experiment is no experiment.
pub fn study_toml(
    grid: &Grid,
    prepared: &[Prepared],
    session: &Session,
    into: &Path,
) -> Result<String, ConfigError> {
    let base = grid.study.base_written()?;
    let experiments = prepared.iter().flat_map(|run| run.plan.experiments());
    let jobs = experiments.flat_map(|experiment| &experiment.jobs);
    let (traces, files) = (trace_digests(prepared, session), input_files(prepared));
    let origin = origin(&base.dir, jobs, &traces, &files, into);
    Ok(HEAD.to_owned() + &grid.study.written(&base, &origin))
}
