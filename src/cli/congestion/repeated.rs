//! `experiment.toml` of a static analysis, and the analysis that it repeats.

use super::Options;
use super::analysed::Analysed;
use super::args::CongestionArgs;
use crate::cli::error::{CliError, bad_config};
use crate::cli::instead::{Wanted, instead};
use crate::cli::{Cli, repeat};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches};
use flitwise::config::{Base, InputFile, Origin, analysis_origin};
use flitwise::results::{ANALYSIS_FILE, AnalysisInput, EXPERIMENT_FILE, analysis_toml};
use flitwise::run::TraceDigest;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of the command.
const COMMAND: &str = "congestion";
/// Options on which the result does not depend, and those that the text of the experiment holds.
const NOT_KEPT: [&str; 4] = ["sets", "out", "threads", "json"];

/// An analysis that is repeated.
#[derive(Debug)]
pub(super) struct Repeated {
    dir: PathBuf,
    origin: Origin,
}

impl Repeated {
    /// The analysis in the directory that the arguments name, if they name one, and its arguments. From then on the
    /// working directory is the one of its command.
    ///
    /// # Errors
    /// If its file is damaged, or the arguments ask for another analysis.
    pub(super) fn of(args: &CongestionArgs) -> Result<Option<(Self, CongestionArgs)>, CliError> {
        let Some(dir) = args.fabric.as_deref().filter(|dir| dir.is_dir()) else {
            return Ok(None);
        };
        let shown = dir.display();
        let bad = |problem: String| Err(CliError::BadInput(problem));
        let file = dir.join(EXPERIMENT_FILE);
        if !dir.join(ANALYSIS_FILE).is_file() || !file.is_file() {
            let other = instead(COMMAND, Wanted::Network, dir);
            return other.map_or_else(
                || {
                    bad(format!(
                        "`{shown}` has no {EXPERIMENT_FILE}; name a network"
                    ))
                },
                Err,
            );
        }
        let sets = args.sets.first().map(|_| "--set".to_owned());
        if let Some(option) = sets.or_else(|| typed(false).first().cloned()) {
            return bad(format!(
                "{option} asks for another analysis than the one in `{shown}`; leave it out, or name a network"
            ));
        }
        let cannot = |e: std::io::Error| CliError::BadInput(format!("cannot use `{shown}`: {e}"));
        let dir = dir.canonicalize().map_err(cannot)?;
        let origin = analysis_origin(&file).map_err(|e| bad_config(Some(&file), &e))?;
        let out = args.out.as_deref().map(std::path::absolute).transpose();
        let out = out.map_err(cannot)?;
        let parsed = parsed(&origin, &dir).map_err(|e| {
            let why = e.to_string();
            let why = why.lines().next().unwrap_or_default();
            CliError::BadInput(format!("{}: origin.options: {why}", file.display()))
        })?;
        if let Some(from) = &origin.working_directory {
            std::env::set_current_dir(dir.join(from)).map_err(cannot)?;
        }
        let args = CongestionArgs {
            out,
            threads: args.threads,
            json: args.json,
            compared: true,
            ..parsed
        };
        Ok(Some((Self { dir, origin }, args)))
    }

    /// The directory of the analysis.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reports the files that have changed since.
    pub(super) fn tell_of_changes(&self, source: &Source<'_>) {
        repeat::tell_of_changes(&self.origin, &source.traces, &source.dir, &source.files);
    }
}

/// The arguments that `origin` keeps, for the analysis in `dir`.
fn parsed(origin: &Origin, dir: &Path) -> Result<CongestionArgs, clap::Error> {
    let network = match &origin.network {
        Some(network) => network.clone(),
        None => dir.join(EXPERIMENT_FILE),
    };
    let mut words: Vec<OsString> = vec![COMMAND.into(), network.into()];
    words.extend(origin.options.iter().map(OsString::from));
    // Some options are for the files alone.
    words.extend(["--out".into(), dir.into()]);
    let own = CongestionArgs::augment_args(clap::Command::new(COMMAND));
    CongestionArgs::from_arg_matches(&own.try_get_matches_from(words)?)
}

/// The input of an analysis, as its `experiment.toml` keeps it.
#[derive(Default)]
pub(super) struct Source<'a> {
    text: String,
    dir: PathBuf,
    network: Option<&'a Path>,
    options: Vec<String>,
    files: Vec<InputFile>,
    traces: Vec<TraceDigest>,
}

impl<'a> Source<'a> {
    /// The input of `results`, for which `files` were read.
    ///
    /// # Errors
    /// If the overrides do not fit the experiment.
    pub(super) fn of(
        args: &'a CongestionArgs,
        repeated: Option<&Repeated>,
        results: &[Analysed],
        files: &[InputFile],
    ) -> Result<Self, CliError> {
        let mut source = Self {
            files: files.to_vec(),
            ..Self::default()
        };
        for trace in results.iter().filter_map(|one| one.trace.as_ref()) {
            if !source.traces.contains(trace) {
                source.traces.push(trace.clone());
            }
        }
        let kept = repeated.map(|repeated| repeated.origin.options.clone());
        let first = results.first().map(|one| &one.candidate);
        let Some((first, text)) = first.and_then(|one| Some((one, one.experiment()?))) else {
            source.network = args.fabric.as_deref();
            source.options = kept.unwrap_or_else(|| typed(false));
            return Ok(source);
        };
        // Jobs and further patterns have no keys.
        let keyed = !args.options.has_job() && args.options.axes().is_empty();
        let file = args.fabric.as_deref();
        source
            .files
            .retain(|read| Some(read.path.as_path()) != file);
        let dir = file.and_then(Path::parent).unwrap_or(Path::new(""));
        let name = file.map_or("no experiment file".into(), Path::to_string_lossy);
        let mut base = Base::of_text(&name, text, dir);
        base.for_analyses = !args.options.has_job();
        let mut sets = args.sets.clone();
        if keyed {
            sets.extend(args.options.sets());
        }
        let written = base.written(&sets).map_err(|e| bad_config(file, &e))?;
        (source.text, source.dir) = (written.text, written.dir);
        source.options = kept.unwrap_or_else(|| {
            let mut options = typed(keyed);
            options.push(format!("--label={}", first.input));
            options
        });
        Ok(source)
    }

    /// The traces whose messages are analysed.
    pub(super) fn traces(&self) -> &[TraceDigest] {
        &self.traces
    }

    /// `experiment.toml` in the directory `into`.
    pub(super) fn text(&self, into: &Path) -> String {
        let input = AnalysisInput {
            text: &self.text,
            dir: &self.dir,
            network: self.network,
            options: self.options.clone(),
            files: &self.files,
            traces: &self.traces,
        };
        analysis_toml(&input, into)
    }
}

/// The options of the command line on which a result depends; `keyed`: without those that are keys of an experiment.
fn typed(keyed: bool) -> Vec<String> {
    let mut options = Vec::new();
    let matches = Cli::command().try_get_matches_from(std::env::args_os());
    let matches = matches.ok();
    let Some(matches) = matches.as_ref().and_then(|m| m.subcommand_matches(COMMAND)) else {
        return options;
    };
    let own = CongestionArgs::augment_args(clap::Command::new(COMMAND));
    for arg in own.get_arguments() {
        let id = arg.get_id().as_str();
        let Some(long) = arg.get_long() else {
            continue;
        };
        let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
        if !is_given || NOT_KEPT.contains(&id) || keyed && Options::WITH_KEYS.contains(&id) {
            continue;
        }
        if !arg.get_action().takes_values() {
            options.push(format!("--{long}"));
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        options.extend(values.map(|value| format!("--{long}={}", value.to_string_lossy())));
    }
    options
}
