//! `flitwise qos`: calculates and prints arbitration tables.

use super::console::print;
use super::error::CliError;
use super::instead::{Wanted, instead};
use super::out::{not_an_input, unwritten};
use clap::{Args, Subcommand};
use flitwise::config::{ConfigError, DTableInput, dtable_preset, load_dtable};
use flitwise::results::DTableReport;
use flitwise_formats::sink;
use std::path::{Path, PathBuf};

/// Subcommands of `flitwise qos`.
#[derive(Debug, Subcommand)]
pub enum QosCommand {
    /// Prints the DTable of a specification or an experiment: every column of its method, the corrected arbitration
    /// table, and settings that reach shares that are out of range.
    #[command(
        after_help = "Example:\n  flitwise qos dtable dtable.toml\n  flitwise qos dtable --preset opa-5sl --set qos.dtable.k=1\n\ndocs/reference/qos-dtable.md describes the file, the columns and the JSON."
    )]
    Dtable(DtableArgs),
}

/// Arguments of `flitwise qos dtable`.
#[derive(Debug, Args)]
pub struct DtableArgs {
    /// A file with [dtable], or an experiment whose scheduler is dtable.
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    spec: Option<PathBuf>,
    /// Uses a QoS preset instead of a file.
    #[arg(long, value_name = "NAME", value_parser = ["opa-5sl"])]
    preset: Option<String>,
    /// Overrides a value of the file; lists are indexed: dtable.service_levels.0.distance=4.
    #[arg(long = "set", value_name = "a.b=c")]
    sets: Vec<String>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Writes to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(command: &QosCommand) -> Result<(), CliError> {
    match command {
        QosCommand::Dtable(args) => dtable(args),
    }
}

fn dtable(args: &DtableArgs) -> Result<(), CliError> {
    let input = input(args).map_err(|e| bad_input(args, &e))?;
    let source = input.clone();
    let report = DTableReport::new(input)
        .map_err(|e| bad_input(args, &ConfigError::new(source.key_of(&e), e.to_string())))?;
    let text = if args.json {
        format!("{:#}\n", report.json())
    } else {
        report.text()
    };
    match &args.out {
        Some(path) => {
            not_an_input("--out", path, args.spec.as_deref())?;
            write(path, &text)
        }
        None => print(&text),
    }
}

fn input(args: &DtableArgs) -> Result<DTableInput, ConfigError> {
    match (&args.spec, &args.preset) {
        (Some(path), _) => load_dtable(path, &args.sets),
        (None, preset) => dtable_preset(preset.as_deref().unwrap_or_default(), &args.sets),
    }
}

/// Adds the file to an error that names no line.
fn bad_input(args: &DtableArgs, e: &ConfigError) -> CliError {
    let other = args.spec.as_deref();
    let other = other.and_then(|path| instead("qos dtable", Wanted::Table, path));
    if let Some(other) = other {
        return other;
    }
    let place = match (&e.location, &args.spec) {
        (None, Some(path)) if !e.key.is_empty() && e.key != "--set" => {
            format!("{}: ", path.display())
        }
        _ => String::new(),
    };
    CliError::BadInput(format!("{place}{e}"))
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    sink::write(path, text.as_bytes()).map_err(|e| unwritten("--out", &e))
}
