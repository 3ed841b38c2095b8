//! The tasks of a study one by one, for other machines: `flitwise study tasks` lists them, `flitwise study task`
//! does some (`docs/reference/cluster.md`).

use super::{Source, bad_run, grid_of};
use crate::cli::console::{print, tell};
use crate::cli::error::{CliError, bad_config};
use crate::cli::out::unusable;
use crate::cli::signal;
use crate::cli::threads::threads;
use clap::Args;
use flitwise::run::{Control, Session};
use flitwise::study::{Grid, Studied, StudyTask, TaskEnd, distinct_tasks, run_tasks};

/// Arguments of `flitwise study tasks`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    source: Source,
}

/// Arguments of `flitwise study task`.
#[derive(Debug, Args)]
pub(super) struct DoArgs {
    #[command(flatten)]
    source: Source,
    /// Tasks, as `flitwise study tasks` prints them.
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// Tasks side by side.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
}

/// Prints the tasks that have no record, a line each.
pub(super) fn list(args: &ListArgs) -> Result<(), CliError> {
    let study = args.source.load()?;
    let out = args.source.out(&study);
    let grid = grid_of(study)?;
    let stop = signal::stop_on_signal();
    let control = Control::default().stopped_by(stop);
    let mut session = Session::new(threads(None));
    let prepared = Studied::prepare(&grid, &mut session, &control).map_err(bad_run)?;
    if control.stopped() {
        let what = "interrupted while the runs were prepared: nothing is listed";
        return Err(CliError::Interrupted(what.to_owned()));
    }
    // Without records nothing has run, and listing must not create their directory.
    if out.join("records").is_dir() {
        session = with_records(session, &out)?;
    }
    let open = distinct_tasks(&prepared).into_iter();
    let open = open.filter(|task| session.recorded(task.id).is_none());
    print(&open.map(|task| format!("{task}\n")).collect::<String>())
}

fn with_records(session: Session, out: &std::path::Path) -> Result<Session, CliError> {
    let dir = out.join("records");
    session
        .with_records(&dir)
        .map_err(|e| CliError::BadInput(format!("{}, with --out", unusable(&dir, e))))
}

/// Does some tasks; each has a record afterwards.
pub(super) fn execute(args: &DoArgs) -> Result<(), CliError> {
    let parsed: Result<Vec<StudyTask>, CliError> = (args.tasks.iter())
        .map(|word| {
            let bad = |e| CliError::BadInput(format!("`{}`: {e}", flitwise_base::quote::cut(word)));
            word.parse().map_err(bad)
        })
        .collect();
    let tasks = parsed?;
    let study = args.source.load()?;
    let out = args.source.out(&study);
    let grid = Grid::of(study).map_err(|e| bad_config(None, &e))?;
    let stop = signal::stop_on_signal();
    let control = Control::default().stopped_by(stop);
    let mut session = with_records(Session::new(args.jobs.into()), &out)?;
    let ends = run_tasks(&grid, &mut session, &tasks, &control, args.jobs.into());
    let ends = ends.map_err(bad_run)?;
    let count = |is: fn(&TaskEnd) -> bool| ends.iter().filter(|end| is(end)).count();
    let interrupted = count(|end| *end == TaskEnd::Interrupted);
    tell(format_args!(
        "{}: {} done, {} recorded before, {} failed, {interrupted} stopped",
        match tasks.len() {
            1 => "1 task".to_owned(),
            n => format!("{n} tasks"),
        },
        count(|end| *end == TaskEnd::Recorded),
        count(|end| *end == TaskEnd::WasRecorded),
        count(|end| matches!(end, TaskEnd::Failed(_))),
    ));
    if interrupted > 0 {
        let what = "interrupted; the same command continues".to_owned();
        return Err(CliError::Interrupted(what));
    }
    let failed = tasks.iter().zip(&ends).find_map(|(task, end)| match end {
        TaskEnd::Failed(reason) => Some(format!("{task}: {reason}")),
        _ => None,
    });
    failed.map_or(Ok(()), |reason| Err(CliError::Failed(reason)))
}
