//! `flitwise run --timeline FILE` and `--messages FILE`.

use super::console::tell;
use super::error::CliError;
use super::out::not_an_input;
use clap::Args;
use flitwise::config::Plan;
use flitwise::results::{
    MessageFile, MissingFeature, OVERVIEW_FILE, TimelineFile, TimelineFormat, WatchedByBoth,
};
use flitwise::run::Timeline;
use flitwise::units::Picoseconds;
use std::path::{Path, PathBuf};

/// Arguments about a timeline, and about a table of messages.
#[derive(Debug, Args)]
pub(super) struct TimelineArgs {
    /// Writes what every rank does, the messages and the use of the links over time
    /// (docs/reference/timeline.md): for Perfetto if the name ends in .pftrace or .perfetto-trace, Paje
    /// in .paje or .trace, rows per rank in .csv; compressed with .gz or .zst behind it.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Interval between the timeline's samples of link use; 0us: none.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10us",
        requires = "timeline"
    )]
    timeline_interval: Picoseconds,
    /// Writes a row for each message of a job: ranks, NICs, bytes, and when it was posted, injected,
    /// delivered and matched (docs/reference/timeline.md). The name ends in .csv, .csv.gz, .csv.zst or .parquet.
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,
}

/// The files that watch a run.
pub(super) struct Watching<'a> {
    timeline: Option<TimelineFile<'a>>,
    messages: Option<MessageFile>,
}

impl Watching<'_> {
    /// Lets `watch` have the one observer of the run, if there is one.
    pub(super) fn with<T>(&self, watch: impl FnOnce(Option<&dyn Timeline>) -> T) -> T {
        match (&self.timeline, &self.messages) {
            (None, None) => watch(None),
            (Some(timeline), None) => watch(Some(timeline)),
            (None, Some(messages)) => watch(Some(messages)),
            (Some(timeline), Some(messages)) => watch(Some(&WatchedByBoth { timeline, messages })),
        }
    }

    /// Completes the files.
    pub(super) fn finish(self) -> Result<(), CliError> {
        let failed = |option: &str, e| CliError::Failed(format!("{option}: {e:#}"));
        let timeline = self.timeline.map_or(Ok(()), TimelineFile::finish);
        let messages = self.messages.map_or(Ok(()), MessageFile::finish);
        timeline.map_err(|e| failed("--timeline", e))?;
        messages.map_err(|e| failed("--messages", e))
    }
}

impl TimelineArgs {
    /// The options with their files.
    pub(super) fn files(&self) -> [(&'static str, Option<&Path>); 2] {
        [
            ("--timeline", self.timeline.as_deref()),
            ("--messages", self.messages.as_deref()),
        ]
    }

    /// Opens the files that are asked for, which must not be the experiment in `file` or an input that it names. The
    /// timeline has an overview in `out`, the directory of the results, if there is one.
    pub(super) fn begin<'a>(
        &self,
        plan: &'a Plan,
        file: &Path,
        out: Option<&Path>,
    ) -> Result<Watching<'a>, CliError> {
        for (option, path) in self.files() {
            let named = plan.files.iter().map(|file| &*file.path);
            let traces = plan.experiment.jobs.iter().map(|job| &*job.trace_path);
            if let Some(path) = path {
                not_an_input(option, path, named.chain(traces).chain([file]))?;
            }
        }
        Ok(Watching {
            timeline: self.timeline(plan, out)?,
            messages: self.messages(plan)?,
        })
    }

    fn messages(&self, plan: &Plan) -> Result<Option<MessageFile>, CliError> {
        let Some(path) = &self.messages else {
            return Ok(None);
        };
        let Some(format) = MessageFile::format_of_name(path) else {
            return Err(CliError::BadInput(format!(
                "--messages: the name `{}` has an unknown extension; let it end in .csv, .csv.gz, .csv.zst or .parquet",
                path.display()
            )));
        };
        let file = MessageFile::create(path, format, &plan.experiment.fabric.topology);
        file.map(Some).map_err(|e| not_created("--messages", &e))
    }

    fn timeline<'a>(
        &self,
        plan: &'a Plan,
        out: Option<&Path>,
    ) -> Result<Option<TimelineFile<'a>>, CliError> {
        let Some(path) = &self.timeline else {
            return Ok(None);
        };
        if plan.experiment.background_gap_skip_ps.is_some() {
            return Err(CliError::BadInput(
                "--timeline does not go with background_gap_skip: links have no utilisation in a skipped gap; remove one of the two"
                    .into(),
            ));
        }
        let Some(format) = TimelineFormat::of_name(path) else {
            return Err(CliError::BadInput(format!(
                "--timeline: the name `{}` has an unknown extension; let it end in .pftrace (Perfetto), .paje \
                 or .csv, and .gz or .zst behind it",
                path.display()
            )));
        };
        let tick = plan.experiment.fabric.units.tick;
        let interval = match self.timeline_interval.0 {
            0 => None,
            ps => Some(tick.ticks(ps)),
        };
        let file = TimelineFile::create(path, format, &plan.experiment, interval);
        let with_overview = |file: TimelineFile<'a>| match out {
            Some(dir) => file.with_overview(&dir.join(OVERVIEW_FILE)),
            None => Ok(file),
        };
        let created = file.and_then(with_overview).map(Some);
        created.map_err(|e| not_created("--timeline", &e))
    }

    /// Reports the files that were written, unless the user wants no messages.
    pub(super) fn say_written(&self, silent: bool) {
        for path in [&self.timeline, &self.messages].into_iter().flatten() {
            if !silent {
                tell(format_args!("wrote {}", path.display()));
            }
        }
    }
}

fn not_created(option: &str, e: &anyhow::Error) -> CliError {
    CliError::BadInput(match e.downcast_ref::<MissingFeature>() {
        Some(missing) => missing.to_string(),
        None => format!("{option}: cannot write {e:#}"),
    })
}
