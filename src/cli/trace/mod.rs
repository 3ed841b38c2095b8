//! `flitwise trace`: what is in a trace, and is it sound?

mod check;
mod info;

use super::CliError;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Subcommands of `flitwise trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Ranks, messages, bytes, collectives and communicators of a trace.
    #[command(after_help = "Example:\n  flitwise trace info traces/hpl-16.vef.gz")]
    Info(TraceArgs),
    /// Reads a trace completely and reports what is wrong with it, by line.
    #[command(
        after_help = "Example:\n  flitwise trace check traces/hpl-16.vef.gz\n\nExits 0 if the trace can be replayed, else 2. docs/result.md describes the JSON."
    )]
    Check(TraceArgs),
}

/// Arguments of both.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Trace file, plain or compressed.
    file: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &TraceCommand) -> Result<(), CliError> {
    match command {
        TraceCommand::Info(args) => info::run(&args.file, args.json),
        TraceCommand::Check(args) => check::run(&args.file, args.json),
    }
}
