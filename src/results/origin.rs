//! `experiment.toml`: the experiment of a result in the keys that users write, to be run again.

use crate::config::experiment::Job;
use crate::config::{InputFile, Origin, OriginFile, OriginTrace, Plan};
use crate::run::TraceDigest;
use std::path::{Path, PathBuf};

/// The first lines of the file of a run,
const OF_RUN: &str = "# The experiment of this result, with all overrides. `flitwise run` on this directory repeats it, and says\n\
                      # whether the result is the same.\n\n";
/// and of the file of a static analysis.
const OF_ANALYSIS: &str = "# The network and the options of this analysis. `flitwise congestion` on this directory repeats it, and says\n\
                           # whether the result is the same.\n\n";

/// Returns `experiment.toml` for a result in the directory `into`. `hash` is the `experiment_hash` of the result, `options`
/// are the options of the command on which it depends.
#[must_use]
pub fn experiment_toml(
    plan: &Plan,
    traces: &[TraceDigest],
    hash: &str,
    into: &Path,
    options: Vec<String>,
) -> String {
    let jobs = plan.experiments().flat_map(|experiment| &experiment.jobs);
    let written = &plan.written;
    let origin = Origin {
        experiment_hash: Some(hash.to_owned()),
        options,
        ..origin(&written.dir, jobs, traces, &plan.files, into)
    };
    format!("{OF_RUN}{}\n{}", written.text, origin.text("origin"))
}

/// The input of a static analysis.
#[derive(Debug, Clone)]
pub struct AnalysisInput<'a> {
    /// The experiment with all overrides; empty if no experiment describes the network.
    pub text: &'a str,
    /// The directory from which the paths of the experiment start.
    pub dir: &'a Path,
    /// The file of the network, if it is no experiment.
    pub network: Option<&'a Path>,
    /// The options of the command on which the result depends; their paths start from the working directory.
    pub options: Vec<String>,
    /// All files that were read.
    pub files: &'a [InputFile],
    /// The trace whose messages are analysed.
    pub traces: &'a [TraceDigest],
}

/// Returns `experiment.toml` for a static analysis in the directory `into`.
#[must_use]
pub fn analysis_toml(input: &AnalysisInput<'_>, into: &Path) -> String {
    let origin = Origin {
        options: input.options.clone(),
        working_directory: Some(relative(into, Path::new(""))),
        network: input.network.map(Path::to_owned),
        ..origin(
            input.dir,
            std::iter::empty(),
            input.traces,
            input.files,
            into,
        )
    };
    let text = match input.text {
        "" => String::new(),
        text => format!("{text}\n"),
    };
    format!("{OF_ANALYSIS}{text}{}", origin.text("origin"))
}

/// The origin of a file in the directory `into`, whose paths start from `dir`, with the traces of `jobs`.
pub(crate) fn origin<'a>(
    dir: &Path,
    jobs: impl Iterator<Item = &'a Job>,
    traces: &[TraceDigest],
    files: &[InputFile],
    into: &Path,
) -> Origin {
    let mut found: Vec<(&str, &Path)> = Vec::new();
    for job in jobs {
        let place = (job.trace.as_str(), job.trace_path.as_path());
        if !found.contains(&place) {
            found.push(place);
        }
    }
    let one = |digest: &TraceDigest| {
        let mut places = found.iter().filter(|(name, _)| *name == digest.trace);
        let (first, second) = (places.next(), places.next());
        // A name of two traces stays ambiguous: the lookup then decides again.
        let path = first.filter(|_| second.is_none()).map(|(_, path)| *path);
        let usual = dir.join(&digest.trace).canonicalize().ok();
        let is_usual = |path: &Path| usual.is_some() && path.canonicalize().ok() == usual;
        OriginTrace {
            name: digest.trace.clone(),
            file: path
                .filter(|path| path.exists() && !is_usual(path))
                .map(|path| relative(dir, path)),
            xxh3: format!("{:032x}", digest.xxh3),
        }
    };
    Origin {
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        directory: Some(relative(into, dir)),
        trace: traces.iter().map(one).collect(),
        file: origin_files(dir, files),
        ..Origin::default()
    }
}

/// The files as an origin names them, whose paths start from `dir`.
#[must_use]
pub fn origin_files(dir: &Path, files: &[InputFile]) -> Vec<OriginFile> {
    let one = |file: &InputFile| OriginFile {
        name: relative_input(dir, &file.path),
        xxh3: format!("{:032x}", file.xxh3),
    };
    files.iter().map(one).collect()
}

/// The path of an input from the directory `dir`; `-`, which is standard input, stays.
#[must_use]
pub fn relative_input(dir: &Path, path: &Path) -> PathBuf {
    match path.to_str() {
        Some("-") => path.to_owned(),
        _ => relative(dir, path),
    }
}

/// The path of `to` from the directory `from`; absolute if the two have only the root in common.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let resolved = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let absolute = path.canonicalize().or_else(|_| std::path::absolute(path));
        absolute.unwrap_or_else(|_| path.to_owned())
    };
    let (from, to) = (resolved(from), resolved(to));
    let pairs = from.components().zip(to.components());
    let common = pairs.take_while(|(a, b)| a == b).count();
    if common <= 1 {
        return to;
    }
    let up = from.components().skip(common).map(|_| "..");
    let path: PathBuf = up.map(PathBuf::from).collect();
    let path = path.join(to.components().skip(common).collect::<PathBuf>());
    if path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_where_they_share_a_directory() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for name in ["a/b", "a/c"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        assert_eq!(relative(&at("a/b"), &at("a/c")), Path::new("../c"));
        assert_eq!(relative(&at("a"), &at("a/c")), Path::new("c"));
        assert_eq!(relative(&at("a"), &at("a")), Path::new("."));
        assert_eq!(relative(&at("a"), Path::new("/")), Path::new("/"));
    }
}
