//! `flitwise explain`: why the jobs of an experiment take as long as they do.

use super::clock::Clock;
use super::console::print;
use super::error::CliError;
use super::instead::{self, Wanted};
use super::out::{Part, Target};
use super::progress::Shown;
use super::run::{
    committed, failed, for_output, options_of, outcome_of, say_written, series_files, write_result,
};
use super::threads::threads;
use super::{repeat, signal, warnings};
use clap::Args;
use flitwise::config::{self, Plan};
use flitwise::results::{
    COMPARISON_FILE, ComparedRun, SeriesFiles, comparison_json, explanation_page, result_json,
    summary,
};
use flitwise::run::{Control, RunResult, Session};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Arguments of `flitwise explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  flitwise explain hpl-tree.toml --set background.0.rate=0.2\n\n\
                  docs/reference/explain.md says what the parts mean."
)]
pub struct ExplainArgs {
    /// Experiment file with jobs (docs/reference/experiment.md describes every key), or the directory of a result.
    experiment: PathBuf,
    /// Overrides a value of the file; lists are indexed: job.0.sl=BK.
    #[arg(long = "set", value_name = "a.b=c")]
    sets: Vec<String>,
    /// Compares with the jobs of the same names in this experiment, or the one of this result, instead of the baseline.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Directory for the result with the explanation, as `flitwise run --explain --out` writes it; `flitwise run DIR` repeats
    /// it. With --against comparison.json lies beside it.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replaces the directory of --out even if it holds the result of another experiment.
    #[arg(long, requires = "out")]
    force: bool,
    /// Seed, instead of the file's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Clock of computations in DUMPI traces and recordings [default: auto].
    #[arg(long, value_name = "CLOCK")]
    clock: Option<Clock>,
    /// Threads [default: one per processor]: baselines run in parallel with the experiment, and several
    /// threads simulate a large fabric.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Prints JSON and nothing else: the explanation of result.json, or with --against the comparison (`flitwise schema
    /// comparison`).
    #[arg(long)]
    json: bool,
    /// Shows no progress.
    #[arg(long)]
    quiet: bool,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), CliError> {
    let mut sets = args.sets.clone();
    sets.extend(args.seed.map(|seed| format!("seed={seed}")));
    sets.extend(args.clock.map(Clock::set));
    let (file, _) = repeat::experiment("explain", &args.experiment)?;
    let mut plan = load(&file, &sets)?;
    // A result that is kept is whole.
    plan.split = args.out.is_some();
    let other = against(args, &mut plan)?;
    let target = |dir| Target::of_run(dir, &plan, &file, args.force);
    let target = args.out.as_deref().map(target).transpose()?;
    let stop = signal::stop_on_signal();
    let part = target.map(Target::begin).transpose()?;
    let series = part
        .as_ref()
        .map(|part| series_files(&plan, Some(part.path())));
    let series = series.transpose()?.flatten();
    let own = (&*file, &plan, &*sets);
    let (result, against) = simulate(args, own, other.as_ref(), series.as_ref(), stop)?;
    warnings::tell_all(&plan, &result);
    warnings::tell_of_one_thread(args.threads, &plan.experiment);
    if let Some((plan, result)) = &against {
        warnings::tell_all(plan, result);
    }
    let own = name_of(&plan, &args.experiment);
    let this = ComparedRun {
        name: &own,
        file: &args.experiment,
        plan: &plan,
        result: &result,
    };
    let path = args.against.as_deref().unwrap_or(Path::new(""));
    let name = other.as_ref().map(|(_, plan)| match name_of(plan, path) {
        // Two of one name are told apart by their files.
        same if same == own && path != args.experiment => path.display().to_string(),
        name => name,
    });
    let other = against.as_ref().map(|(plan, result)| ComparedRun {
        name: name.as_deref().unwrap_or_default(),
        file: path,
        plan,
        result,
    });
    let text = match (args.json, other) {
        (true, Some(other)) => for_output(&comparison_json(this, other))?,
        (true, None) => for_output(&result_json(&plan, &result).explanation.flatten())?,
        (false, other) => explanation_page(&plan, &result, other),
    };
    let written = part.map(|part| keep(part, series, this, other));
    let printed = print(&text);
    if let (Some(names), Some(dir), false) =
        (written.transpose()?, &args.out, args.quiet || args.json)
    {
        say_written(dir, &names);
    }
    if let Some((plan, result)) = &against {
        outcome_of(&result.status(plan))?;
    }
    outcome_of(&result.status(&plan)).and(printed)
}

/// The other experiment and its result.
type Compared<'a> = (&'a Plan, RunResult);

/// The result of the experiment, and the plan and result of the other one that it is compared with.
fn simulate<'a>(
    args: &ExplainArgs,
    (file, plan, sets): (&Path, &Plan, &[String]),
    other: Option<&'a (PathBuf, Plan)>,
    series: Option<&SeriesFiles<'_>>,
    stop: &'static AtomicBool,
) -> Result<(RunResult, Option<Compared<'a>>), CliError> {
    let shown = Shown::new(args.quiet);
    let mut control = Control::default().stopped_by(stop).reporting_to(&shown);
    if let Some(files) = series {
        control = control.recorded_by(files);
    }
    let mut session = Session::new(threads(args.threads));
    let mut one = |file: &Path, plan: &Plan, sets: &[String]| {
        let outcome = session.run(plan, &control);
        outcome.map_err(|e| failed(&e, file, sets))
    };
    let result = one(file, plan, sets);
    let against = other.map(|(file, plan)| Ok((plan, one(file, plan, &[])?)));
    shown.finish();
    Ok((result?, against.transpose()?))
}

/// The name of an experiment, or the name of `path`, from which it was read.
fn name_of(plan: &Plan, path: &Path) -> String {
    if let Some(name) = &plan.about.name {
        return name.clone();
    }
    let named = path.file_name().unwrap_or_default().to_string_lossy();
    named.strip_suffix(".toml").unwrap_or(&named).to_owned()
}

/// The experiment that `plan` is compared with, if there is one: its result takes the place of the baselines, but in a result
/// that is kept.
fn against(args: &ExplainArgs, plan: &mut Plan) -> Result<Option<(PathBuf, Plan)>, CliError> {
    let Some(path) = &args.against else {
        return Ok(None);
    };
    let (file, _) = repeat::experiment("explain", path)?;
    let seed = args.seed.map(|seed| format!("seed={seed}"));
    let mut other = load(&file, seed.as_slice())?;
    if args.out.is_none() {
        plan.baselines.clear();
    }
    other.baselines.clear();
    same_names(plan, &other)?;
    Ok(Some((file, other)))
}

/// Checks that the two experiments of a comparison have a job of the same name.
fn same_names(plan: &Plan, other: &Plan) -> Result<(), CliError> {
    let names = |plan: &Plan| -> Vec<String> {
        let jobs = plan.experiment.jobs.iter();
        jobs.map(|job| job.name.to_string()).collect()
    };
    let (own, others) = (names(plan), names(other));
    if own.iter().any(|name| others.contains(name)) {
        return Ok(());
    }
    Err(CliError::BadInput(format!(
        "--against: its jobs are {}, and the experiment's are {}: none has the same name; give one to both, as \
         with --set job.0.name={}",
        others.join(", "),
        own.join(", "),
        others.first().map_or("", String::as_str)
    )))
}

/// Writes the files of the result, and its comparison with the other one. Returns the names of the files.
fn keep(
    part: Part,
    series: Option<SeriesFiles<'_>>,
    this: ComparedRun<'_>,
    other: Option<ComparedRun<'_>>,
) -> Result<Vec<String>, CliError> {
    let ComparedRun { plan, result, .. } = this;
    if let Some(other) = other {
        let comparison = serde_json::to_string_pretty(&comparison_json(this, other));
        let comparison = comparison.map_err(|e| part.failed(format_args!("{e}")))?;
        part.write(COMPARISON_FILE, comparison + "\n")?;
    }
    let (json, summary) = (result_json(plan, result), summary(plan, result, true));
    let options = options_of(plan, false);
    let written = write_result(part.path(), plan, result, &json, &summary, options);
    let written = written.and_then(|()| series.map_or(Ok(()), |series| series.finish(result)));
    written.map_err(|e| part.failed(format_args!("{e:#}")))?;
    committed(part)
}

/// The plan of an experiment with jobs, with explanations switched on.
fn load(file: &Path, sets: &[String]) -> Result<Plan, CliError> {
    let mut plan = config::load(file, sets)
        .map_err(|e| instead::error("explain", Wanted::Experiment, Some(file), &e))?;
    if plan.experiment.measure.is_some() {
        return Err(CliError::BadInput(format!(
            "{}: there is no job whose time could be explained; name an experiment with a [[job]]",
            file.display()
        )));
    }
    plan.explain = true;
    explainable(&plan)?;
    Ok(plan)
}

/// Refuses a run that skips gaps: an explanation is exact to the picosecond, and such a run is not. Refuses one whose
/// switches carry out collectives, too: a critical path leads from rank to rank.
pub(super) fn explainable(plan: &Plan) -> Result<(), CliError> {
    if plan.explain && plan.experiment.fabric.topology.aggregation().is_some() {
        return Err(CliError::BadInput(
            "collectives: a run with \"in-network\" operations is not explained; take another algorithm, or do not \
             ask why"
                .into(),
        ));
    }
    if plan.explain && plan.experiment.background_gap_skip_ps.is_some() {
        return Err(CliError::BadInput(
            "background_gap_skip: a run that skips gaps is not explained; remove the key, or do not \
             ask why"
                .into(),
        ));
    }
    Ok(())
}
