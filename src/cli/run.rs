//! `flitwise run`: runs an experiment and its baselines.

mod options;

use super::clock::Clock;
use super::console::{json_text, print, tell};
use super::error::{CliError, bad_config, no_result, unwritable};
use super::explain::explainable;
use super::instead::{self, Wanted, instead};
use super::one_run::OneRun;
use super::out::{Part, Target, apart, unusable};
use super::progress::{estimate, working};
use super::repeat::{self, Repeated, has_option};
use super::threads::threads;
use super::timeline::TimelineArgs;
use super::{command_line, fabric, signal};
use anyhow::Context;
use clap::Args;
use flitwise::config::{self, Base, Plan, Study, series_lacks};
use flitwise::results::document::Document;
use flitwise::results::{
    COMMAND_FILE, EXPERIMENT_FILE, MissingFeature, RESULT_FILE, SeriesFiles, curve_csv, curve_svg,
    experiment_toml, is_series_file, write_distributions, write_link_files,
};
use flitwise::run::{RunError, RunResult, Session, Status};
use options::{EXPLAIN, NO_SPLIT, UNTIL_SATURATED, Work};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Arguments of `flitwise run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  flitwise run hpl-tree.toml --set background.0.rate=0.2 --out results/hpl\n  \
                  flitwise run hpl-tree.toml --seeds 1..5 --vary qos.scheduler=rr,sbt,dtable"
)]
pub struct RunArgs {
    /// Experiment file (docs/reference/experiment.md describes every key); or the directory of a result: runs its
    /// experiment.toml, and says whether the result is the same.
    #[arg(required_unless_present = "from")]
    experiment: Option<PathBuf>,
    /// Repeats this result: its result.json, or its directory.
    #[arg(long, value_name = "RESULT", conflicts_with = "experiment")]
    from: Option<PathBuf>,
    /// Overrides a value of the file; lists are indexed: job.0.sl=BK.
    #[arg(long = "set", value_name = "a.b=c")]
    sets: Vec<String>,
    /// Directory for result.json and summary.txt, without a job also curve.csv and
    /// curve.svg, and for time series and their figures ([series]). It appears whole, in
    /// place of an earlier result of the same experiment.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Replaces the directory of --out even if it holds the result of another experiment.
    #[arg(long, requires = "out")]
    force: bool,
    /// Seed, instead of the file's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Clock of computations in DUMPI traces and recordings [default: auto].
    #[arg(long, value_name = "CLOCK")]
    clock: Option<Clock>,
    /// Threads [default: one per processor]: baselines and the loads of a curve run in parallel with the
    /// experiment, and several threads simulate a large fabric. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) threads: Option<u16>,
    /// Runs the experiment with each of these seeds, 1..5 with both ends or 1,2,7, and prints a table:
    /// a study without a file (docs/reference/study.md). --out then names its directory.
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed")]
    seeds: Option<String>,
    /// Runs the experiment with each of these values of a key, and prints a table; commas separate
    /// values, 0..0.2:0.05 is a range. Several of them give every combination.
    #[arg(long, value_name = "KEY=v1,v2")]
    vary: Vec<String>,
    /// Adds seeds until the 95 % interval of the execution time is within this part of the mean on both
    /// sides, such as 2%.
    #[arg(long, value_name = "PART", conflicts_with = "seed")]
    until_ci: Option<String>,
    /// Keeps a record of each run (experiment, baselines, loads) in this directory, and reuses the records
    /// there. Creates the directory.
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Skips the replays on better networks, and with them the split of the time.
    #[arg(long)]
    no_split: bool,
    /// Ends the run as soon as a background flow saturates, and keeps the results so far: a job that shares its
    /// queue would wait ever longer.
    #[arg(long)]
    stop_when_saturated: bool,
    /// Simulates for a second, estimates how long the experiment takes, and ends; with many runs, simulates a
    /// few of them for half a second each.
    #[arg(long)]
    estimate: bool,
    /// With --seeds or --vary: lists the runs and estimates their time, as `flitwise study --dry-run` does.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(super) timeline: TimelineArgs,
    /// Prints result.json and nothing else: on one line, unless it goes to a terminal.
    #[arg(long)]
    pub(super) json: bool,
    /// Prints no summary and no progress.
    #[arg(long)]
    pub(super) quiet: bool,
    /// Adds to the results why each job takes as long as it does (docs/reference/explain.md), for which the runs are
    /// simulated twice; and details per job and more links to the summary.
    #[arg(long)]
    explain: bool,
}

impl RunArgs {
    /// The options that some work ignores, as far as they are given.
    fn given(&self) -> Vec<&'static str> {
        let [timeline, messages] = self.timeline.files();
        let options = [
            (EXPLAIN, self.explain),
            (timeline.0, timeline.1.is_some()),
            (messages.0, messages.1.is_some()),
            (NO_SPLIT, self.no_split),
            (UNTIL_SATURATED, self.stop_when_saturated),
            ("--json", self.json),
            ("--quiet", self.quiet),
            ("--out", self.out.is_some()),
            ("--records", self.records.is_some()),
        ];
        let given = options.into_iter().filter(|(_, given)| *given);
        given.map(|(option, _)| option).collect()
    }

    /// The overrides of all options that change the experiment.
    fn overrides(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| format!("seed={seed}"));
        let sets = self.sets.iter().cloned();
        sets.chain(seed).chain(self.clock.map(Clock::set)).collect()
    }
}

/// A setting of a study on which its runs depend.
const NO_ENDLESS_BASELINES: &str = "endless_baselines = false";

/// Most seeds that `--until-ci` runs.
const MAX_SEEDS: u64 = 30;

/// Runs the experiment many times.
fn run_many(args: &RunArgs, file: &Path) -> Result<(), CliError> {
    let lists = args.dry_run || args.estimate;
    let work = if lists {
        Work::ListOfRuns
    } else {
        Work::ManyRuns
    };
    options::check(&args.given(), work)?;
    working::begin_study(args.quiet);
    let typed = |e| bad_config(None, &e);
    if let Some(other) = instead("run", Wanted::Experiment, file) {
        return Err(other);
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let base = Base::of_file(file).map_err(|e| bad_config(Some(file), &e))?;
    let mut study = Study::of(&name, base);
    for set in args.overrides() {
        study.set(&set);
    }
    if let Some(seeds) = &args.seeds {
        super::study::set_seeds(&mut study, seeds)?;
    }
    for vary in &args.vary {
        study.vary(vary).map_err(typed)?;
    }
    if let Some(part) = &args.until_ci {
        study.set_until_ci(part, MAX_SEEDS).map_err(typed)?;
    }
    study.split = !args.no_split;
    // The words that the experiment has for itself head the tables of its study as well.
    if let Ok(plan) = config::load(file, &args.sets) {
        study.name = plan.about.name.clone().unwrap_or(study.name);
        fits_jobs(args, &plan)?;
    }
    let options = super::study::Options {
        cluster: None,
        simulates: true,
        repeats: None,
        force: Some(args.force),
        out: args.out.clone(),
        records: args.records.clone(),
        jobs: args.threads,
        dry_run: lists,
        json: args.json,
        quiet: args.quiet,
        stop_when_saturated: args.stop_when_saturated,
    };
    super::study::execute(study, &options)
}

/// The plan of the experiment with these `sets`.
fn plan(
    args: &RunArgs,
    file: &Path,
    repeated: Option<&Repeated>,
    sets: &[String],
) -> Result<Plan, CliError> {
    let mut plan = config::load(file, sets)
        .map_err(|e| instead::error("run", Wanted::Experiment, Some(file), &e))?;
    let given = |option| repeated.is_some() && has_option(&plan, option);
    let options = [NO_SPLIT, EXPLAIN, NO_ENDLESS_BASELINES];
    let [no_split, explain, few_baselines] = options.map(given);
    plan.split = !no_split && !args.no_split;
    plan.explain = explain || args.explain;
    if few_baselines {
        plan.leave_out_endless_baselines();
    }
    explainable(&plan)?;
    fits_jobs(args, &plan)?;
    Ok(plan)
}

/// Refuses options for jobs if there is none.
fn fits_jobs(args: &RunArgs, plan: &Plan) -> Result<(), CliError> {
    match plan.experiment.measure {
        Some(_) => options::check(&args.given(), Work::Loads),
        None => Ok(()),
    }
}

pub(super) fn run(args: &RunArgs) -> Result<(), CliError> {
    let named = args.from.as_deref().or(args.experiment.as_deref());
    let (file, repeated) = repeat::experiment("run", named.unwrap_or(Path::new("")))?;
    if args.seeds.is_some() || !args.vary.is_empty() || args.until_ci.is_some() {
        return run_many(args, &file);
    }
    if args.dry_run {
        return Err(CliError::BadInput(
            "--dry-run is for many runs: add --seeds or --vary; --estimate says how long one run takes".into(),
        ));
    }
    if args.estimate {
        options::check(&args.given(), Work::Estimate)?;
    }
    let [timeline, messages] = args.timeline.files();
    let outputs = [timeline, messages, ("--records", args.records.as_deref())];
    apart(args.out.as_deref(), &outputs)?;
    let (file, repeated) = (file.as_path(), repeated.as_ref());
    let sets = args.overrides();
    let plan = plan(args, file, repeated, &sets)?;
    let until_saturated =
        args.stop_when_saturated || repeated.is_some() && has_option(&plan, UNTIL_SATURATED);
    // With other values or options it has another result.
    let has_all = |options: Vec<String>| options.iter().all(|option| has_option(&plan, option));
    let repeated =
        repeated.filter(|_| sets.is_empty() && has_all(options_of(&plan, until_saturated)));
    let target = |dir| Target::of_run(dir, &plan, file, args.force);
    let target = args.out.as_deref().map(target).transpose()?;
    if let Some(warning) = fabric::warning(&plan.experiment.fabric, file, &args.sets) {
        tell(format_args!("warning: {warning}"));
    }
    // From here on there are files to remove after an error.
    let stop = signal::stop_on_signal();
    if args.estimate {
        return print_estimate(&plan, stop, |e| failed(&e, file, &sets));
    }
    let run = OneRun {
        args,
        file,
        sets: &sets,
        plan: &plan,
        repeated,
        until_saturated,
    };
    run.execute(session(args)?, target, stop)
}

/// Measures a part of the run, and prints how long all of it takes.
fn print_estimate(
    plan: &Plan,
    stop: &'static AtomicBool,
    failed: impl FnOnce(RunError) -> CliError,
) -> Result<(), CliError> {
    working::begin("run");
    let said = estimate(plan, stop).map_err(failed)?;
    working::end();
    not_interrupted("the run")?;
    print(&format!("estimate        {said}\n"))
}

/// The error of a signal while the time that `work` takes was measured.
pub(super) fn not_interrupted(work: &str) -> Result<(), CliError> {
    match signal::first() {
        None => Ok(()),
        Some(_) => Err(CliError::Interrupted(format!(
            "interrupted while the time of {work} was measured: nothing was kept"
        ))),
    }
}

/// The error of a run of `file` with these `sets` that has no result.
pub(super) fn failed(e: &RunError, file: &Path, sets: &[String]) -> CliError {
    no_result(e, |e| bad_config(Some(file), &e.clone().placed_in(sets)))
}

/// A directory for files that are compared and not kept.
pub(super) fn scratch() -> Result<TempDir, CliError> {
    let dir = tempfile::tempdir().map_err(|e| {
        CliError::Failed(format!(
            "cannot create a temporary directory for the files that are compared: {e}"
        ))
    })?;
    signal::remove_if_aborted(dir.path(), &[]);
    Ok(dir)
}

/// Puts the files of a result in place, and returns their names.
pub(super) fn committed(part: Part) -> Result<Vec<String>, CliError> {
    part.write(COMMAND_FILE, command_line::typed())?;
    part.commit()
}

/// Writes the files that every result has into `dir`.
pub(super) fn write_result(
    dir: &Path,
    plan: &Plan,
    result: &RunResult,
    json: &Document,
    summary: &str,
    options: Vec<String>,
) -> anyhow::Result<()> {
    let write = |name: &str, text: &str| {
        let written = std::fs::write(dir.join(name), text);
        written.with_context(|| format!("cannot write `{name}`"))
    };
    write(RESULT_FILE, &(serde_json::to_string_pretty(json)? + "\n"))?;
    write("summary.txt", summary)?;
    let (traces, hash) = (&result.traces, &json.experiment_hash);
    let experiment = experiment_toml(plan, traces, hash, dir, options);
    write(EXPERIMENT_FILE, &experiment)?;
    if plan.experiment.measure.is_some() {
        write("curve.csv", &curve_csv(plan, result)?)?;
        if let Some(svg) = curve_figure(plan, result) {
            write("curve.svg", &svg)?;
        }
    }
    write_link_files(dir, plan, &result.main.stats)?;
    write_distributions(dir, plan, &result.main)
}

/// The options of the command or the study on which the result of `plan` depends.
pub(super) fn options_of(plan: &Plan, until_saturated: bool) -> Vec<String> {
    let options = [
        (NO_SPLIT, !plan.split),
        (NO_ENDLESS_BASELINES, !plan.endless_baselines),
        (EXPLAIN, plan.explain),
        (UNTIL_SATURATED, until_saturated),
    ];
    let given = options.into_iter().filter(|(_, given)| *given);
    given.map(|(option, _)| option.to_owned()).collect()
}

/// `result.json` for standard output: indented on a terminal, on one line for programs.
pub(super) fn for_output(json: &impl Serialize) -> Result<String, CliError> {
    if std::io::stdout().is_terminal() {
        return json_text(json);
    }
    let text = serde_json::to_string(json).map_err(unwritable)?;
    Ok(text + "\n")
}

/// Says which files were written into `dir`.
pub(super) fn say_written(dir: &Path, names: &[String]) {
    tell(format_args!("wrote {}: {}", dir.display(), listed(names)));
}

/// The files of a result in a few words.
fn listed(names: &[String]) -> String {
    let (series, own): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| is_series_file(name));
    let mut parts: Vec<String> = own.into_iter().cloned().collect();
    match series.len() {
        0 => {}
        1 => parts.push("1 series file".to_owned()),
        n => parts.push(format!("{n} series files")),
    }
    parts.join(", ")
}

/// Maps the status of a run with written results to the exit result of the command.
pub(super) fn outcome_of(status: &Status) -> Result<(), CliError> {
    match status {
        Status::Complete => Ok(()),
        Status::Stalled(why) => Err(CliError::Failed(format!(
            "the run stalled: {}",
            why.trim_end()
        ))),
        Status::Saturated => Err(CliError::Failed(
            "stopped as saturated; the results hold what was simulated so far".into(),
        )),
        Status::Interrupted => Err(CliError::Interrupted(
            "interrupted; the results hold what was simulated so far".into(),
        )),
    }
}

/// Writes the figure of a curve. A build without figures says so, and writes no file.
fn curve_figure(plan: &Plan, result: &RunResult) -> Option<String> {
    let missing = |e: MissingFeature| tell(format_args!("warning: {e}"));
    curve_svg(plan, result).map_err(missing).ok()
}

/// The files of the time series, if there are any and `--out` names a directory for them.
pub(super) fn series_files<'a>(
    plan: &'a Plan,
    out: Option<&Path>,
) -> Result<Option<SeriesFiles<'a>>, CliError> {
    match (&plan.series, out) {
        (Some(series), Some(dir)) => {
            let bad = |e: anyhow::Error| {
                CliError::BadInput(match e.downcast_ref::<MissingFeature>() {
                    Some(missing) => missing.to_string(),
                    None => format!("--out: cannot write {e:#}"),
                })
            };
            let files = SeriesFiles::open(dir, plan, series).map_err(bad)?;
            for &kind in &series.record {
                if let Some(needs) = series_lacks(kind, &plan.experiment.fabric) {
                    let name = kind.name();
                    tell(format_args!(
                        "warning: series.record: \"{name}\" will have no rows: {needs}"
                    ));
                }
            }
            Ok(Some(files))
        }
        (Some(_), None) => {
            tell(format_args!(
                "warning: [series] is not recorded: --out DIR says where to"
            ));
            Ok(None)
        }
        (None, _) => Ok(None),
    }
}

fn session(args: &RunArgs) -> Result<Session, CliError> {
    let session = Session::new(threads(args.threads));
    let Some(dir) = &args.records else {
        return Ok(session);
    };
    session
        .with_records(dir)
        .map_err(|e| CliError::BadInput(format!("--records: {}", unusable(dir, e))))
}
