//! `flitwise trace`: summarises, checks, converts, cuts and generates traces.
//! `docs/reference/trace-tools.md` describes the commands.

mod check;
mod convert;
mod generate;
pub(super) mod info;
mod matrix;
mod opened;
mod output;
mod plot;
mod reading;
mod region;
mod slice;

use super::error::CliError;
use clap::{Args, Subcommand};
use flitwise::units::human_count;
use flitwise_formats::source::shown;
use flitwise_formats::vef::Check;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Subcommands of `flitwise trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Prints a summary of a trace: ranks, messages, busiest rank pairs, collectives, computation and dependencies.
    Info(info::InfoArgs),
    /// Reads a whole trace and reports each problem with its line.
    #[command(
        after_help = "Example:\n  flitwise trace check hpl-16.vef.gz\n\nExits with 0 if it finds no error, with 2 otherwise. It reads the whole trace but does not replay it: calls of DUMPI, OTF2 and recordings that a run refuses are warnings, and ranks that wait for each other are found in VEF only. docs/reference/trace-tools.md lists the checks, docs/reference/result.md describes the JSON."
    )]
    Check(CheckArgs),
    /// Converts a trace to another compression, version, unit of time or format.
    Convert(convert::ConvertArgs),
    /// Cuts a window of time or some of the ranks out of a trace.
    Slice(slice::SliceArgs),
    /// Writes the trace of a kernel: ring, halo, all-to-all, FFT, master and workers, HPL,
    /// random access.
    #[command(
        subcommand,
        after_help = "Example:\n  flitwise trace generate ring --ranks 64 --size 8KiB -o ring.vef.gz"
    )]
    Generate(generate::GenerateCommand),
}

/// Arguments of `flitwise trace check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Trace file, plain or compressed; - is standard input.
    file: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &TraceCommand) -> Result<(), CliError> {
    match command {
        TraceCommand::Info(args) => info::run(args),
        TraceCommand::Check(args) => check::run(&args.file, args.json),
        TraceCommand::Convert(args) => convert::run(args),
        TraceCommand::Slice(args) => slice::run(args),
        TraceCommand::Generate(command) => generate::run(command),
    }
}

/// Errors of a broken trace that a refusal quotes.
const QUOTED: usize = 3;

#[cold]
fn broken(file: &Path, check: &Check) -> CliError {
    let name = shown(file).display();
    let mut text = format!("{name}: the trace is broken");
    // Writing to a String does not fail.
    for problem in check.errors.first.iter().take(QUOTED) {
        let _ = write!(text, "\n{problem}");
    }
    let more = check.errors.total.saturating_sub(QUOTED as u64);
    if more > 0 {
        let _ = write!(
            text,
            "\nand {} more: see `flitwise trace check`",
            human_count(more)
        );
    }
    CliError::BadInput(text)
}
