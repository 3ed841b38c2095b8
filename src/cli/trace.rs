//! `flitwise trace`: what is in a trace, and is it sound?

use super::CliError;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

/// Subcommands of `flitwise trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Ranks, messages, bytes, collectives and communicators of a trace.
    #[command(after_help = "Example:\n  flitwise trace info traces/hpl-16.vef.gz")]
    Info(TraceArgs),
    /// Reads a trace completely and reports what is wrong with it, by line.
    #[command(after_help = "Example:\n  flitwise trace check traces/hpl-16.vef.gz --json")]
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
    let (TraceCommand::Info(args) | TraceCommand::Check(args)) = command;
    std::fs::File::open(&args.file)
        .map_err(|e| CliError::BadInput(format!("cannot read `{}`: {e}", args.file.display())))?;
    let text = match command {
        TraceCommand::Info(args) => info(&args.file, args.json)?,
        TraceCommand::Check(args) => check(&args.file, args.json)?,
    };
    super::print(&text)
}

/// The report of `trace info`.
fn info(file: &Path, json: bool) -> Result<String, CliError> {
    let _ = (file, json);
    Err(CliError::Failed("this build has no trace readers".into()))
}

/// The report of `trace check`; a trace that is not sound is bad input.
fn check(file: &Path, json: bool) -> Result<String, CliError> {
    let _ = (file, json);
    Err(CliError::Failed("this build has no trace readers".into()))
}
