//! `flitwise run`: runs an experiment and its baselines.

use super::progress::{Bar, terminal};
use super::{CliError, bad_config, fabric, print, signal, tell};
use clap::Args;
use flitwise::config;
use flitwise::results::{MissingFeature, SeriesFiles, curve_csv, curve_svg, result_json, summary};
use flitwise::run::{Control, Progress, RunError, RunResult, Session, Silent, Status};
use flitwise_formats::Sink;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `flitwise run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  flitwise run configs/hpl-16-tree.toml --set background.0.rate=0.2 --out results/hpl"
)]
pub struct RunArgs {
    /// Experiment file (docs/experiment.md describes every key).
    experiment: PathBuf,
    /// Overrides a value of the file; lists are indexed: job.0.sl=BK.
    #[arg(long = "set", value_name = "a.b=c")]
    sets: Vec<String>,
    /// Directory for result.json and summary.txt, without a job also curve.csv and
    /// curve.svg, and for time series and their figures ([series]); created if need be.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed, instead of the file's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads [default: the processors there are]: the baselines run beside the
    /// experiment, the loads of a curve side by side. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Keeps a record of each run in this directory, and takes what is there instead of running it
    /// again: the experiment, its baselines, its loads; created if need be.
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Also replays the jobs on an ideal network: no latency, no limit of bandwidth.
    #[arg(long)]
    ideal: bool,
    /// Prints result.json and nothing else.
    #[arg(long)]
    json: bool,
    /// Prints no summary and no progress.
    #[arg(long)]
    quiet: bool,
    /// Adds details per job and more links to the summary.
    #[arg(long)]
    explain: bool,
}

pub(super) fn run(args: &RunArgs) -> Result<(), CliError> {
    let file = Some(args.experiment.as_path());
    let mut sets = args.sets.clone();
    sets.extend(args.seed.map(|seed| format!("seed={seed}")));
    let mut plan = config::load(&args.experiment, &sets).map_err(|e| bad_config(file, &e))?;
    plan.ideal = args.ideal;
    let mut session = session(args)?;
    // Opens the files before the run: a long run must not fail at its end.
    let curve = plan.experiment.measure.is_some();
    let open = |dir| Outputs::open(dir, curve);
    let outputs = args.out.as_deref().map(open).transpose()?;
    let series = series_files(&plan, args.out.as_deref())?;
    let spec = &plan.experiment.fabric;
    if let Some(warning) = fabric::warning(spec, &args.experiment, &args.sets) {
        tell(format_args!("warning: {warning}"));
    }
    let stop = signal::stop_on_interrupt();
    let bar = (!args.quiet && terminal()).then(Bar::new);
    let progress: &dyn Progress = bar.as_ref().map_or(&Silent, |bar| bar);
    let mut control = Control::default().stopped_by(stop).reporting_to(progress);
    if let Some(files) = &series {
        control = control.recorded_by(files);
    }
    let outcome = session.run(&plan, &control);
    if let Some(bar) = &bar {
        bar.finish();
    }
    let result = outcome.map_err(|e| match e {
        RunError::Config(e) => bad_config(file, &e),
        RunError::Trace(_) => CliError::BadInput(e.to_string()),
        _ => CliError::Failed(e.to_string()),
    })?;

    let json = format!("{:#}\n", result_json(&plan, &result));
    let text = summary(&plan, &result, args.explain);
    if let Some(outputs) = outputs {
        let (csv, svg) = match curve {
            true => (curve_csv(&plan, &result), curve_figure(&plan, &result)?),
            false => (String::new(), String::new()),
        };
        outputs.write(&[&json, &text, &csv, &svg])?;
    }
    let recorded = series.map_or(Ok(()), |series| series.finish(&result));
    if args.json {
        print(&json)?;
    } else if !args.quiet {
        print(&text)?;
    }
    recorded.map_err(|e| CliError::Failed(format!("{e:#}")))?;
    outcome_of(&result.status(&plan))
}

/// What the command comes to, whose results are written.
fn outcome_of(status: &Status) -> Result<(), CliError> {
    match status {
        Status::Complete => Ok(()),
        Status::Stalled(why) => Err(CliError::Failed(format!(
            "the run stalled: {}",
            why.trim_end()
        ))),
        Status::Interrupted => Err(CliError::Failed(
            "interrupted; the results hold what was simulated so far".into(),
        )),
    }
}

/// The figure of a curve. A build without figures says so, and has no file for it.
fn curve_figure(plan: &config::Plan, result: &RunResult) -> Result<String, CliError> {
    match curve_svg(plan, result) {
        Ok(svg) => Ok(svg),
        Err(e) if e.is::<MissingFeature>() => {
            tell(format_args!("warning: {e}"));
            Ok(String::new())
        }
        Err(e) => Err(CliError::Failed(format!("{e:#}"))),
    }
}

/// The files of the time series, if there are any and `--out` says where to.
fn series_files<'a>(
    plan: &'a config::Plan,
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
            Ok(Some(files))
        }
        (Some(_), None) => {
            eprintln!("warning: [series] is not recorded: --out DIR says where to");
            Ok(None)
        }
        (None, _) => Ok(None),
    }
}

fn session(args: &RunArgs) -> Result<Session, CliError> {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let session = Session::new(args.threads.map_or_else(available, usize::from));
    let Some(dir) = &args.records else {
        return Ok(session);
    };
    session.with_records(dir).map_err(|e| {
        let dir = dir.display();
        CliError::BadInput(format!(
            "--records: cannot use `{dir}`: {e}; name a directory that can be written"
        ))
    })
}

/// The files of `--out`. Each appears under its name when it is complete, so that a failing run
/// leaves earlier results alone.
struct Outputs {
    files: Vec<Sink>,
}

impl Outputs {
    /// `curve`: there is a curve.
    fn open(dir: &Path, curve: bool) -> Result<Self, CliError> {
        let bad = |problem: String| {
            CliError::BadInput(format!(
                "--out: cannot write {problem}; name a directory that can be written"
            ))
        };
        std::fs::create_dir_all(dir).map_err(|e| bad(format!("`{}`: {e}", dir.display())))?;
        let create = |name: &str| {
            let sink = Sink::create(&dir.join(name)).map_err(|e| bad(e.to_string()))?;
            if let Some(part) = sink.part() {
                signal::remove_if_aborted(part);
            }
            Ok(sink)
        };
        let names = ["result.json", "summary.txt", "curve.csv", "curve.svg"];
        let wanted = names.iter().take(match curve {
            true if cfg!(feature = "plots") => 4,
            true => 3,
            false => 2,
        });
        Ok(Self {
            files: wanted.map(|name| create(name)).collect::<Result<_, _>>()?,
        })
    }

    /// Writes `contents`, in the order of the files; contents without a file are left out.
    fn write(self, contents: &[&str]) -> Result<(), CliError> {
        for (mut file, content) in self.files.into_iter().zip(contents) {
            let path = file.path().to_owned();
            file.write_all(content.as_bytes()).map_err(|e| {
                let path = path.display();
                CliError::Failed(format!("cannot write `{path}`: {e}"))
            })?;
            file.finish()
                .map_err(|e| CliError::Failed(format!("cannot write {e}")))?;
        }
        Ok(())
    }
}
