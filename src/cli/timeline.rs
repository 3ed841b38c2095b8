//! `flitwise run --timeline FILE`.

use super::{CliError, tell};
use clap::Args;
use flitwise::config::Plan;
use flitwise::results::{MissingFeature, OVERVIEW_FILE, TimelineFile, TimelineFormat};
use flitwise::units::Picoseconds;
use std::path::{Path, PathBuf};

/// Arguments about a timeline.
#[derive(Debug, Args)]
pub(super) struct TimelineArgs {
    /// Writes what every rank does, the messages and the use of the links over time
    /// (docs/timeline.md): for Perfetto if the name ends in .pftrace or .perfetto-trace, Paje
    /// in .paje or .trace, rows per rank in .csv; compressed with .gz or .zst behind it.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// How often the timeline has the use of the links; 0us: not at all.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10us",
        requires = "timeline"
    )]
    timeline_interval: Picoseconds,
}

impl TimelineArgs {
    /// Whether a timeline is asked for.
    pub(super) fn is_given(&self) -> bool {
        self.timeline.is_some()
    }

    /// Opens the file of the timeline of `plan`, if one is asked for.
    /// With an overview in `out`, the directory of the results, if there is one.
    pub(super) fn begin<'a>(
        &self,
        plan: &'a Plan,
        out: Option<&Path>,
    ) -> Result<Option<TimelineFile<'a>>, CliError> {
        let Some(path) = &self.timeline else {
            return Ok(None);
        };
        if plan.experiment.measure.is_some() {
            return Err(CliError::BadInput(
                "--timeline shows the ranks of jobs, and the experiment has none: add a [[job]], or \
                 take time series of its loads ([series])"
                    .into(),
            ));
        }
        if plan.experiment.background_gap_skip_ps.is_some() {
            return Err(CliError::BadInput(
                "--timeline does not go with background_gap_skip: links have no use in a gap that is \
                 skipped; remove one of the two"
                    .into(),
            ));
        }
        let Some(format) = TimelineFormat::of_name(path) else {
            return Err(CliError::BadInput(format!(
                "--timeline: the name of `{}` says no format; let it end in .pftrace (Perfetto), .paje \
                 or .csv",
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
        file.and_then(with_overview).map(Some).map_err(|e| {
            CliError::BadInput(match e.downcast_ref::<MissingFeature>() {
                Some(missing) => missing.to_string(),
                None => format!("--timeline: cannot write {e:#}"),
            })
        })
    }

    /// Reports that the file was written, if there is one, unless the user wants no messages.
    pub(super) fn say_written(&self, silent: bool) {
        if let (Some(path), false) = (&self.timeline, silent) {
            tell(format_args!("wrote {}", path.display()));
        }
    }
}

/// Completes the file of a timeline.
pub(super) fn finish(timeline: TimelineFile<'_>) -> Result<(), CliError> {
    let done = timeline.finish();
    done.map_err(|e| CliError::Failed(format!("--timeline: {e:#}")))
}
