//! `flitwise run`.

use super::progress::{Bar, terminal};
use super::{CliError, print, signal};
use crate::config;
use crate::results::{result_json, summary};
use crate::runner::{Control, Progress, RunError, Silent, Status, run_plan};
use clap::Args;
use std::fs::File;
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
    /// Directory for result.json and summary.txt; created if need be.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed, instead of that of the file.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads: with 2 the baseline runs beside the experiment.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
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
    let mut sets = args.sets.clone();
    sets.extend(args.seed.map(|seed| format!("seed={seed}")));
    let plan =
        config::load(&args.experiment, &sets).map_err(|e| CliError::BadInput(e.to_string()))?;
    // Opened before the run: a long run must not fail at its end.
    let mut outputs = args.out.as_deref().map(Outputs::open).transpose()?;
    let stop = signal::stop_on_interrupt();
    let bar = (!args.quiet && terminal()).then(Bar::new);
    let progress: &dyn Progress = bar.as_ref().map_or(&Silent, |bar| bar);
    let outcome = run_plan(&plan, &Control { stop, progress }, args.threads.into());
    if let Some(bar) = &bar {
        bar.finish();
    }
    let result = outcome.map_err(|e| match e {
        RunError::Config(_) | RunError::Trace(_) => CliError::BadInput(e.to_string()),
        RunError::Failed(_) => CliError::Failed(e.to_string()),
    })?;

    let json = format!("{:#}\n", result_json(&plan, &result));
    let text = summary(&plan, &result, args.explain);
    if let Some(outputs) = &mut outputs {
        outputs.write(&json, &text)?;
    }
    if args.json {
        print(&json)?;
    } else if !args.quiet {
        print(&text)?;
    }
    match result.main.status {
        Status::Complete => Ok(()),
        Status::Interrupted => Err(CliError::Failed(
            "interrupted; the results hold what was simulated so far".into(),
        )),
        Status::Stalled(why) => Err(CliError::Failed(format!("the run stalled: {why}"))),
    }
}

/// The files of `--out`.
struct Outputs {
    result: File,
    summary: File,
}

impl Outputs {
    fn open(dir: &Path) -> Result<Self, CliError> {
        let bad = |path: &Path, e: std::io::Error| {
            CliError::BadInput(format!("--out: cannot write `{}`: {e}", path.display()))
        };
        std::fs::create_dir_all(dir).map_err(|e| bad(dir, e))?;
        let create = |name: &str| {
            let path = dir.join(name);
            File::create(&path).map_err(|e| bad(&path, e))
        };
        Ok(Self {
            result: create("result.json")?,
            summary: create("summary.txt")?,
        })
    }

    fn write(&mut self, json: &str, text: &str) -> Result<(), CliError> {
        let failed = |e: std::io::Error| CliError::Failed(format!("cannot write the results: {e}"));
        self.result.write_all(json.as_bytes()).map_err(failed)?;
        self.summary.write_all(text.as_bytes()).map_err(failed)
    }
}
