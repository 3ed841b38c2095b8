//! How much do applications suffer from background traffic, and how much does a service
//! level help? Runs the grid of `docs/interference.md` and prints its tables.
//!
//! ```text
//! cargo run --release --example interference -- run configs/interference/tree.toml tree.csv
//! cargo run --release --example interference -- run configs/interference/tree.toml \
//!     tree-512.csv --application HPL-512 --application RandomAccess-512 --tasks-per-node 8
//! cargo run --release --example interference -- table tree.csv
//! cargo run --release --example interference -- chart tree.csv > tree.svg
//! ```

mod application;
mod chart;
mod grid;
mod summary;

use anyhow::Result;
use clap::Parser;
use grid::Grid;
use std::path::PathBuf;

/// Slowdown of applications under background traffic.
#[derive(Debug, Parser)]
enum Command {
    /// Runs the grid: one CSV row per run, as they end. A file that is already there is
    /// continued.
    Run {
        /// Experiment to start from.
        base: PathBuf,
        /// Results.
        csv: PathBuf,
        /// Experiments run at a time.
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// What to run, once per application: HPL, GROMACS, LAMMPS, RandomAccess,
        /// HPL-512, RandomAccess-512 [default: the first four].
        #[arg(long = "application", value_name = "NAME")]
        applications: Vec<String>,
        /// Ranks of the application per NIC.
        #[arg(long, value_name = "N", default_value_t = 1)]
        tasks_per_node: u32,
        /// Seeds 1 to N.
        #[arg(long, default_value_t = 5)]
        seeds: u64,
        /// Factor on recorded computation: for all applications, or APPLICATION=FACTOR.
        #[arg(long = "scale", value_name = "FACTOR")]
        scales: Vec<String>,
        /// Size of background messages [default: 1024B in BK, 512B in CL].
        #[arg(long)]
        message: Option<String>,
    },
    /// Prints the slowdowns and the differences between them as Markdown.
    Table {
        /// Results.
        csv: PathBuf,
    },
    /// Prints a chart of the slowdowns as SVG.
    Chart {
        /// Results.
        csv: PathBuf,
        /// Line above the chart.
        #[arg(long, default_value = "")]
        title: String,
    },
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Run {
            base,
            csv,
            threads,
            applications,
            tasks_per_node,
            seeds,
            scales,
            message,
        } => {
            let grid = Grid {
                base,
                threads,
                applications: application::select(&applications)?,
                tasks_per_node,
                seeds,
                message,
                scales: grid::scales(&scales)?,
            };
            grid::run(&grid, &csv)?;
            print!("{}", summary::table(&grid::read(&csv)?));
        }
        Command::Table { csv } => print!("{}", summary::table(&grid::read(&csv)?)),
        Command::Chart { csv, title } => {
            print!("{}", chart::svg(&grid::read(&csv)?, &title)?);
        }
    }
    Ok(())
}
