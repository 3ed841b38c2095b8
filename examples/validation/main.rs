//! Repeats the runs of OpaSim (004) and Hiperion (001), and judges each published sentence by them,
//! for `docs/evidence/validation.md`.
//!
//! ```text
//! cargo run --release --example validation -- run --seeds 30 --jobs 2
//! cargo run --release --example validation -- judge --write
//! ```

mod data;
mod fabric;
mod grid;
mod interference;
mod judge;
mod latencies;
mod loads;
mod opasim;
mod row;
mod rows;
mod runs;

use anyhow::Result;
use clap::Parser;
use fabric::Fabric;
use flitwise::huge_pages::HugePages;
use grid::{Allocator, Part};
use std::path::{Path, PathBuf};

/// At full load the packets of a run fill tens of megabytes.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

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
        /// Seeds 1 to N; fewer of a setting that comes to a deadlock, which decides.
        #[arg(long, value_name = "N", default_value_t = 30)]
        seeds: u64,
        /// Runs at once, which share the cores.
        #[arg(long, default_value_t = 1)]
        jobs: usize,
    },
    /// Prints the verdicts as Markdown.
    Judge {
        /// Folder of the results.
        #[arg(long, default_value = "docs/evidence/validation")]
        results: PathBuf,
        /// Folder of the studies of Hiperion's section 4.3.
        #[arg(long, default_value = "docs/evidence/interference")]
        studies: PathBuf,
        /// Writes the verdicts into the pages instead.
        #[arg(long)]
        write: bool,
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
            jobs,
        } => {
            let chosen = |point: &grid::Point| {
                (part.is_empty() || part.contains(&point.part))
                    && (fabric.is_empty() || fabric.contains(&point.setting.fabric))
                    && (allocator.is_empty() || allocator.contains(&point.setting.allocator))
            };
            let points: Vec<_> = grid::all().into_iter().filter(chosen).collect();
            runs::run(&results, &points, seeds, jobs)
        }
        Command::Judge {
            results,
            studies,
            write,
        } => {
            let studies = interference::Studies::read(&studies)?;
            for table in judge::tables(&data::Data::read(&results)?, &studies) {
                if write {
                    table.write(Path::new("docs"))?;
                } else {
                    println!("{}: {}\n\n{}", table.page, table.name, table.text);
                }
            }
            Ok(())
        }
    }
}
