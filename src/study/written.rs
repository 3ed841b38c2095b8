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
    let plans = || prepared.iter().map(|run| &run.plan);
    let traces = trace_digests(prepared, session);
    let jobs = plans().flat_map(|plan| plan.experiments().flat_map(|one| &one.jobs));
    let mut files: Vec<InputFile> = Vec::new();
    for file in plans().flat_map(|plan| &plan.files) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    let origin = origin(&base.dir, jobs, &traces, &files, into);
    Ok(HEAD.to_owned() + &grid.study.written(&base, &origin))
}
