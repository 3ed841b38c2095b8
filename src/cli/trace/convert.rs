//! `flitwise trace convert`.

use super::output::{Output, Written, or_gone};
use super::{broken, info::format_name};
use crate::cli::{CliError, bad_trace};
use clap::{Args, ValueEnum};
use flitwise::units::Picoseconds;
use flitwise_formats::source::shown;
use flitwise_formats::vef::{ConvertError, Reader, Target, Version, convert};
use std::path::PathBuf;

/// Arguments of `flitwise trace convert`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  flitwise trace convert traces/hpl-16.vef.gz hpl-16.vef.zst --unit 100ps\n\nWhat the target can't hold exactly is refused, by line."
)]
pub struct ConvertArgs {
    /// Trace file, plain or compressed; it is checked on the way. - is standard input.
    input: PathBuf,
    /// File to write: .gz is gzip, .zst zstd, everything else plain; - is standard output.
    output: PathBuf,
    /// Version of the format.
    #[arg(long, value_name = "FORMAT", default_value = "vef3")]
    format: Format,
    /// Unit of time, for example 1ns [default: the input's].
    #[arg(long, value_name = "TIME")]
    unit: Option<Picoseconds>,
    /// Prints what was written as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Times in nanoseconds, no traffic bit.
    Vef,
    /// With unit of time and traffic bit.
    Vef3,
}

pub(super) fn run(args: &ConvertArgs) -> Result<(), CliError> {
    let input = &args.input;
    let bad = |why: String| CliError::BadInput(why);
    let mut reader = Reader::open(input).map_err(|e| bad_trace(&e))?;
    let version = match args.format {
        Format::Vef => Version::Vef,
        Format::Vef3 => Version::Vef3,
    };
    let unit = match args.unit {
        Some(Picoseconds(0)) => return Err(bad("--unit 0 is no unit of time".into())),
        Some(Picoseconds(ps)) => ps,
        None => reader.header().ps_per_unit,
    };
    let target = Target {
        version,
        ps_per_unit: unit,
    };
    let output = Output::open(&args.output)?;
    let (check, output) = match convert(&mut reader, target, output) {
        Ok(done) => done,
        Err(ConvertError::Write(e)) => return or_gone(Err(e), &args.output),
        Err(ConvertError::Broken(check)) => return Err(broken(input, &check)),
        Err(ConvertError::Inexpressible { line, what }) => {
            let name = shown(input).display();
            return Err(bad(match line {
                0 => format!("{name}: {what}"),
                line => format!("{name}:{line}: {what}"),
            }));
        }
        Err(ConvertError::Read(e)) => return Err(bad_trace(&e)),
        Err(e) => return Err(bad(e.to_string())),
    };
    let written = Written {
        format: format_name(version),
        ps_per_unit: unit,
        ranks: check.header.tasks,
        messages: check.messages,
        bytes: check.bytes,
        markers: check.markers,
        collectives: check.collectives,
        members: check.members,
    };
    output.finish(&written, args.json)
}
