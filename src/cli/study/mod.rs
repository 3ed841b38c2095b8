//! `flitwise study`: many runs and their tables. `flitwise run --vary` is the same without a file.

mod dir;
mod earlier;
mod measured;
mod plan;
mod prepare;
mod slowest;
mod slurm;
mod source;
mod tasks;

use super::console::{print, print_summary, tell};
use super::error::{CliError, bad_config};
use super::out::unusable;
use super::progress::{Shown, working};
use super::run::not_interrupted;
use super::threads::threads;
use super::{command_line, repeat, signal};
use clap::{Args, Subcommand, ValueEnum};
use dir::StudyDir;
use earlier::Place;
use flitwise::config::Study;
use flitwise::results::COMMAND_FILE;
use flitwise::run::{Control, Session};
use flitwise::study::{
    Engine, Grid, Here, Prepared, SLOWEST_RUN, STUDY_FILE, Studied, compare, estimate, json_lines,
    study_toml, summary_text, write_tables,
};
use measured::measured;
use prepare::prepare;
use slurm::{Following, Slurm, SlurmArgs};
pub(super) use source::set_seeds;
use source::{Source, bad_run, grid_of};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Arguments of `flitwise study`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  flitwise study scheduler-study.toml --dry-run\n  \
                  flitwise study scheduler-study.toml --out scheduler.study\n  \
                  flitwise study scheduler-study.toml --engine slurm --time 1:00:00\n  \
                  flitwise study show scheduler.study"
)]
pub struct StudyArgs {
    #[command(subcommand)]
    command: Option<StudyCommand>,
    #[command(flatten)]
    run: StudyRunArgs,
}

#[derive(Debug, Subcommand)]
enum StudyCommand {
    /// Prints the tables of a study.
    #[command(after_help = "Example:\n  flitwise study show scheduler.study")]
    Show {
        /// Directory of the study.
        dir: PathBuf,
    },
    /// Prints paired differences: in one study, of each value from the reference of its axis; of two studies, of
    /// the second from the first, run by run.
    #[command(after_help = "Example:\n  flitwise study compare results/before results/after")]
    Compare {
        /// Directory of the study.
        dir: PathBuf,
        /// Directory of another study, with axes of the same names.
        other: Option<PathBuf>,
    },
    /// Prints the tasks of a study that have no record yet, one on each line, for other machines to run.
    #[command(after_help = "Example:\n  flitwise study tasks scheduler-study.toml > tasks")]
    Tasks(tasks::ListArgs),
    /// Runs tasks of a study. Each leaves a complete record; running a task again, or twice at once, changes
    /// nothing.
    #[command(
        after_help = "Example:\n  parallel -a tasks flitwise study task scheduler-study.toml"
    )]
    Task(tasks::DoArgs),
    /// Removes a study's jobs from the queue of a Slurm cluster.
    #[command(after_help = "Example:\n  flitwise study cancel scheduler.study")]
    Cancel {
        /// Directory of the study.
        dir: PathBuf,
    },
}

/// Where the tasks of a study are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum EngineKind {
    /// In threads of this process.
    #[default]
    Local,
    /// In job arrays of a Slurm cluster.
    Slurm,
}

/// Arguments of a study that runs.
#[derive(Debug, Args)]
pub struct StudyRunArgs {
    #[command(flatten)]
    source: Source,
    /// Where tasks run: in threads of this process, or on a Slurm cluster.
    #[arg(long, value_enum, default_value_t)]
    engine: EngineKind,
    /// Runs in parallel [default: one per processor]. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Lists the runs and estimates their time, and keeps nothing. Without records it simulates some of the
    /// runs for half a second each.
    #[arg(long, visible_alias = "estimate", conflicts_with_all = ["json", "quiet"])]
    dry_run: bool,
    /// Adds seeds to a point until the 95 % interval of its execution time is within this part of the
    /// mean on both sides, such as 2%.
    #[arg(long, value_name = "PART")]
    until_ci: Option<String>,
    /// Most seeds of a point with --until-ci [default: 30].
    #[arg(long, value_name = "N", requires = "until_ci", value_parser = clap::value_parser!(u16).range(1..))]
    max_seeds: Option<u16>,
    /// Prints the rows of all runs as JSON Lines in place of the tables.
    #[arg(long)]
    json: bool,
    /// Prints no tables and no progress.
    #[arg(long)]
    quiet: bool,
    // The last one, because its heading would cover the options behind it.
    #[command(flatten)]
    slurm: SlurmArgs,
}

/// Most seeds of a point, unless --max-seeds says otherwise.
const MAX_SEEDS: u16 = 30;

/// The settings for running a study and printing its results.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// Directory of records and tables; none: nothing is written.
    pub out: Option<PathBuf>,
    /// Directory of the records, if it is not in `out`.
    pub records: Option<PathBuf>,
    pub jobs: Option<u16>,
    pub dry_run: bool,
    pub json: bool,
    pub quiet: bool,
    pub stop_when_saturated: bool,
    /// The command is only for simulations.
    pub simulates: bool,
    /// Whether this study replaces any other in `out`; `None`: the command has no option for that.
    pub force: Option<bool>,
    /// The directory of an earlier study that this one repeats.
    pub repeats: Option<PathBuf>,
    /// The command of an element, and its requests to a cluster; none: this process does the tasks.
    pub cluster: Option<(SlurmArgs, Vec<String>)>,
}

pub(super) fn run(args: &StudyArgs) -> Result<(), CliError> {
    match &args.command {
        Some(StudyCommand::Show { dir }) => print(&dir::shown(dir)?),
        Some(StudyCommand::Compare { dir, other: None }) => print(&dir::differences(dir)?),
        Some(StudyCommand::Compare {
            dir,
            other: Some(other),
        }) => {
            let text = compare(dir, other).map_err(|e| CliError::BadInput(format!("{e:#}")))?;
            print(&text)
        }
        Some(StudyCommand::Tasks(args)) => tasks::list(args),
        Some(StudyCommand::Task(args)) => tasks::execute(args),
        Some(StudyCommand::Cancel { dir }) => print(&slurm::cancel(dir)?),
        None => run_file(&args.run),
    }
}

fn run_file(args: &StudyRunArgs) -> Result<(), CliError> {
    working::begin_study(args.quiet);
    let mut study = args.source.load()?;
    if let Some(part) = &args.until_ci {
        let most = args.max_seeds.unwrap_or(MAX_SEEDS);
        study
            .set_until_ci(part, most.into())
            .map_err(|e| bad_config(None, &e))?;
    }
    let out = args.source.out(&study);
    let options = Options {
        cluster: cluster_of(args, &out)?,
        out: Some(out),
        records: None,
        jobs: args.jobs,
        dry_run: args.dry_run,
        json: args.json,
        quiet: args.quiet,
        stop_when_saturated: false,
        simulates: false,
        force: None,
        repeats: args.source.repeats(),
    };
    execute(study, &options)
}

/// The settings of a cluster and the command of its tasks, if a cluster runs the tasks.
fn cluster_of(
    args: &StudyRunArgs,
    out: &Path,
) -> Result<Option<(SlurmArgs, Vec<String>)>, CliError> {
    match (args.engine, args.slurm.given()) {
        (EngineKind::Local, None) => Ok(None),
        (EngineKind::Local, Some(option)) => Err(CliError::BadInput(format!(
            "{option} is for a cluster; add --engine slurm"
        ))),
        (EngineKind::Slurm, _) => {
            let command = args.source.task_command(out, args.slurm.cpus());
            let bad = |e| {
                CliError::Failed(format!(
                    "cannot find the path of the study or of this program: {e}"
                ))
            };
            Ok(Some((args.slurm.clone(), command.map_err(bad)?)))
        }
    }
}

/// Runs a study, and prints and writes its tables.
pub(super) fn execute(study: Study, options: &Options) -> Result<(), CliError> {
    let name = study.name.clone();
    let grid = grid_of(study)?;
    let stop = signal::stop_on_signal();
    let mut control = Control::default().stopped_by(stop);
    if options.stop_when_saturated {
        control = control.ending_when_saturated();
    }
    let threads = threads(options.jobs);
    let mut session = Session::new(threads);
    let prepared = prepare(&grid, &mut session, &control, options.simulates)?;
    // Nothing is created for a study that cannot run.
    let path = options.out.as_deref().filter(|_| !options.dry_run);
    let place = path.map(|path| Place {
        path,
        study: &grid.study,
        runs: &prepared,
        force: options.force,
    });
    let out = place.map(StudyDir::open).transpose()?;
    session = with_records(session, options)?;
    if options.dry_run {
        return print_plan(&grid, &prepared, &session, stop, threads);
    }
    working::end();
    let text = out
        .as_ref()
        .map(|out| described(out, &grid, &prepared, &session));
    let text = text.transpose()?;
    let cluster = match (&options.cluster, &out) {
        (Some((args, command)), Some(out)) => {
            let slurm = Slurm::new(args, out.path(), &name, command.clone())?;
            Some(Following::new(slurm))
        }
        _ => None,
    };
    let engine: &dyn Engine = cluster.as_ref().map_or(&Here, |following| following);
    let shown = Shown::new(options.quiet);
    let studied = Studied::run(
        grid,
        prepared,
        &mut session,
        engine,
        &control,
        &shown,
        threads,
    );
    shown.finish();
    let studied = studied.map_err(bad_run)?;
    let kept = out.as_ref().zip(text.as_deref());
    let printed = deliver(&studied, kept, &mut session, options)?;
    if let (Some(_), Some(out), Some(_)) = (&cluster, &out, signal::first()) {
        tell(format_args!(
            "the cluster continues without this command; `flitwise study cancel {}` cancels what is left",
            out.path().display()
        ));
    }
    outcome_of(&studied, options).and(printed)
}

/// The study.toml of `out`, which has one from now on.
fn described(
    out: &StudyDir,
    grid: &Grid,
    prepared: &[Prepared],
    session: &Session,
) -> Result<String, CliError> {
    let text = study_toml(grid, prepared, session, out.path());
    let text = text.map_err(|e| bad_config(None, &e))?;
    out.describe(&text)?;
    Ok(text)
}

/// Prints what the study would run, and how long that would take.
fn print_plan(
    grid: &Grid,
    prepared: &[Prepared],
    session: &Session,
    stop: &AtomicBool,
    threads: usize,
) -> Result<(), CliError> {
    let plan = estimate(prepared, session);
    let measured = match plan.left {
        Some(_) => None,
        None => measured(prepared, session, stop).map_err(bad_run)?,
    };
    working::end();
    not_interrupted("the runs")?;
    print(&plan::text(grid, &plan, measured, threads))
}

/// Prints the warnings and the tables, and writes the tables if they have a directory. Returns the result of printing.
fn deliver(
    studied: &Studied,
    out: Option<(&StudyDir, &str)>,
    session: &mut Session,
    options: &Options,
) -> Result<Result<(), CliError>, CliError> {
    for warning in studied.warnings() {
        tell(format_args!("warning: {warning}"));
    }
    let written = out.map_or(Ok(()), |(out, text)| write(out, text, studied, session));
    let printed = match (options.json, options.quiet) {
        (true, _) => print(&json_lines(studied)),
        (false, false) => print_summary(&summary_text(studied)),
        (false, true) => Ok(()),
    };
    written?;
    let Some((out, _)) = out else {
        return Ok(printed);
    };
    if !options.quiet && !options.json {
        out.tell_written();
    }
    if let Some(earlier) = &options.repeats {
        return Ok(printed.and(repeat::compare_tables(earlier, out.path())));
    }
    Ok(printed)
}

/// Writes the tables and the slowest run, which replace earlier ones when all are complete.
fn write(
    out: &StudyDir,
    text: &str,
    studied: &Studied,
    session: &mut Session,
) -> Result<(), CliError> {
    let (tables, slowest) = (out.stage("tables")?, out.stage(SLOWEST_RUN)?);
    write_tables(tables.path(), studied).map_err(|e| CliError::Failed(format!("{e:#}")))?;
    let command = command_line::typed();
    for (name, text) in [(COMMAND_FILE, command.as_str()), (STUDY_FILE, text)] {
        std::fs::write(tables.path().join(name), text).map_err(|e| {
            CliError::Failed(format!(
                "cannot write `{}`: {e}",
                out.path().join(name).display()
            ))
        })?;
    }
    let place = out.path().join(SLOWEST_RUN);
    slowest::write(slowest.path(), &place, studied, session)?;
    out.commit(&tables, &slowest)
}

/// The session with the records of the study.
fn with_records(session: Session, options: &Options) -> Result<Session, CliError> {
    let in_out = || options.out.as_ref().map(|dir| dir.join("records"));
    let Some(dir) = options.records.clone().or_else(in_out) else {
        return Ok(session);
    };
    // A dry plan changes nothing.
    if options.dry_run && !dir.is_dir() {
        return Ok(session);
    }
    session
        .with_records(&dir)
        .map_err(|e| CliError::BadInput(unusable(&dir, e)))
}

/// Maps the state of a study with written tables to the exit result of the command.
fn outcome_of(studied: &Studied, options: &Options) -> Result<(), CliError> {
    if studied.missing > 0 || signal::first().is_some() {
        let next = if options.out.is_some() || options.records.is_some() {
            "and the same command continues"
        } else {
            "and nothing is kept: with --out DIR the same command would continue"
        };
        return Err(CliError::Interrupted(format!(
            "interrupted; {} of {} runs are done, {next}",
            studied.runs - studied.missing,
            studied.runs
        )));
    }
    match studied.failed() {
        0 => Ok(()),
        failed => Err(CliError::Failed(format!(
            "{failed} of {} runs failed; their rows say why",
            studied.runs
        ))),
    }
}
