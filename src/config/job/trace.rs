//! The trace of a job: where it is found, and what a job without a name is called after it.

use crate::config::document::read::missing_file;
use crate::config::document::{ConfigError, refused};
use crate::config::job::keys::RawJob;
use crate::replay::trace::is_trace_directory;
use flitwise_base::quote::quoted;
use flitwise_formats::source::{STDIN, directory};
use std::path::{Path, PathBuf};

/// The path of the trace of a job: relative to the study file that names it, else to the experiment file, else to the current directory; or
/// standard input. A pipe will do, and so will the directory of a trace of several files.
pub(super) fn find_trace(job: &RawJob, dir: &Path, key: &str) -> Result<PathBuf, ConfigError> {
    let trace = job.trace.as_str();
    let here = PathBuf::from(trace);
    if trace == STDIN {
        return Ok(here);
    }
    let of_study = job.trace_dir.as_ref().map(|dir| dir.join(trace));
    let recorded = job.trace_file.as_ref().map(|file| dir.join(file));
    let mut places: Vec<PathBuf> = recorded.into_iter().chain(of_study).collect();
    places.extend([dir.join(trace), here]);
    let readable = |path: &&PathBuf| match path.metadata() {
        Ok(meta) if meta.is_dir() => is_trace_directory(path),
        meta => meta.is_ok(),
    };
    if let Some(found) = places.iter().find(readable) {
        return Ok(found.clone());
    }
    if let Some(found) = places.iter().find(|path| path.is_dir()) {
        let problem = format!("`{}` {}", found.display(), directory(found));
        return refused(key, problem);
    }
    let beside = match job.trace_dir {
        Some(_) => "beside the study file nor beside the experiment file",
        None => "beside the experiment file",
    };
    let cure = missing_file(Path::new(trace), &places);
    let problem = format!(
        "no trace {}, neither {beside} nor in the current directory{cure}",
        quoted(trace)
    );
    refused(key, problem)
}

/// The name of a job after its trace: `hpl-16` of `traces/hpl-16.vef.gz`, `stdin` of standard input.
pub(super) fn stem(trace: &str) -> String {
    if trace == STDIN {
        return "stdin".into();
    }
    let trace = trace.trim_end_matches('/');
    let file = trace.rsplit('/').next().unwrap_or(trace);
    file.split('.')
        .next()
        .filter(|s| !s.is_empty())
        .unwrap_or(file)
        .to_owned()
}
