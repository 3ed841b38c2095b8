//! Measures an experiment under several settings and seeds, and prints the means over the
//! seeds with their 95 % intervals, for `docs/validation.md`.
//!
//! ```text
//! cargo run --release --example validation -- run configs/validation-001-tree-24.toml out.csv \
//!     --vary qos.scheduler=dtable,sbt,rr --vary 'fabric.allocation_gap=0 ticks,4 ticks' --seeds 30
//! cargo run --release --example validation -- summary out.csv --of share
//! ```

mod runs;
mod summary;

use anyhow::Result;
use clap::Parser;
use std::path::PathBuf;

/// Means over seeds of experiments without a job.
#[derive(Debug, Parser)]
enum Command {
    /// Measures all combinations of the settings for seeds 1 to N: CSV, a row per setting,
    /// seed, load and service level. A file that is already there is continued.
    Run {
        /// Experiment to start from.
        base: PathBuf,
        /// Results.
        csv: PathBuf,
        /// Runs at a time.
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// Setting for all runs, as in `flitwise run --set`.
        #[arg(long = "set", value_name = "a.b=c")]
        sets: Vec<String>,
        /// Values to go through, separated by commas.
        #[arg(long = "vary", value_name = "a.b=c,d")]
        varied: Vec<String>,
        /// Seeds 1 to N.
        #[arg(long, value_name = "N", default_value_t = 3)]
        seeds: u64,
    },
    /// Prints means over the seeds as Markdown.
    Summary {
        /// Results.
        csv: Vec<PathBuf>,
        /// What to print of each service level.
        #[arg(long, value_enum, default_value = "share")]
        of: summary::Quantity,
    },
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Run {
            base,
            csv,
            threads,
            sets,
            varied,
            seeds,
        } => {
            let settings = runs::combinations(&sets, &varied)?;
            runs::run(&base, &csv, &settings, seeds, threads)
        }
        Command::Summary { csv, of } => {
            let mut rows = Vec::new();
            for file in csv {
                rows.append(&mut runs::read(&file)?);
            }
            print!("{}", summary::table(&rows, of));
            Ok(())
        }
    }
}
