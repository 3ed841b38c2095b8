//! The runs of a study before any is simulated: refused, or prepared with their warnings.

use super::super::error::CliError;
use super::super::{repeat, warnings};
use super::bad_run;
use flitwise::run::{Control, Session};
use flitwise::study::{Grid, Prepared, Studied, input_files, trace_digests};

/// Prepares the runs of a study, and tells of their warnings.
pub(super) fn prepare(
    grid: &Grid,
    session: &mut Session,
    control: &Control<'_>,
    simulates: bool,
) -> Result<Vec<Prepared>, CliError> {
    let prepared = Studied::prepare(grid, session, control).map_err(bad_run)?;
    let analysed = |run: &Prepared| run.plan.experiment.congestion.is_some();
    if simulates && prepared.first().is_some_and(analysed) {
        let problem = "the experiment asks for a static analysis ([congestion]), which simulates nothing; use `flitwise congestion` instead of `flitwise run`, or remove the table";
        return Err(CliError::BadInput(problem.to_owned()));
    }
    if control.stopped() {
        let what = "interrupted while the runs were prepared: nothing was simulated";
        return Err(CliError::Interrupted(what.to_owned()));
    }
    let traces = trace_digests(&prepared, session);
    if let Some(first) = prepared.first()
        && let Some(origin) = &first.plan.origin
    {
        // Any point may have a trace of its own.
        let (dir, files) = (&first.plan.written.dir, input_files(&prepared));
        repeat::tell_of_changes(origin, &traces, dir, &files);
    }
    let experiments = prepared.iter().map(|run| &run.plan.experiment);
    warnings::tell_of_experiments(experiments, &traces, None);
    Ok(prepared)
}
