//! Repeats the runs of OpaSim (004) and Hiperion (001), and judges each published sentence by them,
//! for `docs/evidence/validation.md`.
//!
//! ```text
//! cargo run --release --example validation -- run --seeds 30 --threads 2
//! cargo run --release --example validation -- judge
//! ```

mod data;
mod fabric;
mod grid;
mod judge;
mod latencies;
mod rows;
mod runs;

use anyhow::Result;
use clap::Parser;
use fabric::Fabric;
use grid::{Allocator, Part};
use std::path::PathBuf;

/// Published sentences of OpaSim and Hiperion, judged by runs of their fabrics.
#[derive(Debug, Parser)]
enum Command {
    /// Runs what is missing in the results: one CSV file per fabric, one row per run.
    Run {
        /// Folder of the results.
        #[arg(long, default_value = "docs/evidence/validation")]
        results: PathBuf,
        /// Part of the runs; all of them without it.
        #[arg(long, value_enum)]
        part: Vec<Part>,
        /// Fabrics to run; all of them without it.
        #[arg(long, value_enum)]
        fabric: Vec<Fabric>,
        /// Allocators to run; all of them without it.
        #[arg(long, value_enum)]
        allocator: Vec<Allocator>,
        /// Seeds 1 to N.
        #[arg(long, value_name = "N", default_value_t = 30)]
        seeds: u64,
        /// Runs at a time.
        #[arg(long, default_value_t = 1)]
        threads: usize,
    },
    /// Prints the verdicts as Markdown.
    Judge {
        /// Folder of the results.
        #[arg(long, default_value = "docs/evidence/validation")]
        results: PathBuf,
    },
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Run {
            results,
            part,
            fabric,
            allocator,
            seeds,
            threads,
        } => {
            let chosen = |point: &grid::Point| {
                (part.is_empty() || part.contains(&point.part))
                    && (fabric.is_empty() || fabric.contains(&point.setting.fabric))
                    && (allocator.is_empty() || allocator.contains(&point.setting.allocator))
            };
            let points: Vec<_> = grid::all().into_iter().filter(chosen).collect();
            runs::run(&results, &points, seeds, threads)
        }
        Command::Judge { results } => {
            print!("{}", judge::page(&data::Data::read(&results)?));
            Ok(())
        }
    }
}
