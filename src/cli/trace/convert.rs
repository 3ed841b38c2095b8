//! `flitwise trace convert`.

use super::broken;
use super::opened::{Opened, checked, open};
use super::output::{Output, Written, failed_conversion, or_gone, warn_of};
use super::reading::ReadingArgs;
use crate::cli::error::{CliError, bad_trace};
use clap::{Args, ValueEnum};
use flitwise::convert;
use flitwise::replay::generate::Counts;
use flitwise::replay::trace::TraceFormat;
use flitwise::replay::trace::vef::VEF;
use flitwise::units::Picoseconds;
use flitwise_formats::Source;
use flitwise_formats::source::{Input, shown};
use flitwise_formats::vef::{ConvertError, Reader, Target, Version};
use std::path::PathBuf;

/// Arguments of `flitwise trace convert`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  flitwise trace convert hpl-16.vef.gz hpl-16.vef.zst --unit 100ps\n\n  flitwise trace convert alltoall-linear-32-4k.goal.gz alltoall.vef.gz\n  flitwise trace convert hpl-16.vef.gz hpl-16.goal --format goal\n  flitwise trace convert recording app.tar.zst --format dumpi\n\nA conversion from VEF to VEF refuses what the target can't hold exactly, with its line. Between formats, standard error lists what changes; docs/reference/traces.md has a table."
)]
pub struct ConvertArgs {
    /// Trace, plain or compressed, which the conversion checks; - is standard input.
    input: PathBuf,
    /// File to write: .gz is gzip, .zst zstd, everything else plain; - is standard output.
    output: PathBuf,
    /// Format of the new trace.
    #[arg(long, value_name = "FORMAT", default_value = "vef3")]
    format: Format,
    /// Unit of time, for conversions from VEF to VEF: 1ns [default: the unit of the input].
    #[arg(long, value_name = "TIME")]
    unit: Option<Picoseconds>,
    #[command(flatten)]
    reading: ReadingArgs,
    /// Prints the summary of the new trace as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// VEF, with times in nanoseconds and no traffic bit.
    Vef,
    /// VEF3, with a unit of time and a traffic bit.
    Vef3,
    /// A GOAL schedule, text.
    Goal,
    /// A GOAL schedule, binary.
    GoalBinary,
    /// A TI trace of SimGrid, in one file.
    Ti,
    /// A DUMPI trace of MPI calls, as a tar archive.
    Dumpi,
}

pub(super) fn run(args: &ConvertArgs) -> Result<(), CliError> {
    let version = match args.format {
        Format::Vef => Some(Version::Vef),
        Format::Vef3 => Some(Version::Vef3),
        Format::Goal | Format::GoalBinary | Format::Ti | Format::Dumpi => None,
    };
    let trace = open(&args.input)?;
    let (format, is_vef) = (trace.format, trace.is_vef());
    match (version, trace.source) {
        (Some(version), Some(source)) if is_vef => of_vef(args, source, version),
        (_, source) => {
            let input = Opened { source, ..trace }.repeatable()?;
            to_another(args, &input, format)
        }
    }
}

/// Between formats.
fn to_another(args: &ConvertArgs, input: &Input, of: &TraceFormat) -> Result<(), CliError> {
    let bad = |why: &str| Err(CliError::BadInput(why.into()));
    let (form, format) = match args.format {
        Format::Vef => {
            return bad("--format vef takes VEF traces only: convert to vef3 first");
        }
        Format::Vef3 => (Some(convert::Form::Vef3), "VEF3"),
        Format::Goal => (Some(convert::Form::Goal), "GOAL, text"),
        Format::GoalBinary => (Some(convert::Form::GoalBinary), "GOAL, binary"),
        Format::Ti => (Some(convert::Form::Ti), "TI"),
        Format::Dumpi => (None, "DUMPI"),
    };
    if args.unit.is_some() {
        return bad("--unit applies to conversions from VEF to VEF only: leave it out");
    }
    let reading = args.reading.reading();
    let file = checked(input)?;
    let becomes_ti = form == Some(convert::Form::Ti);
    let input = &args.input;
    args.reading.warn_of_speed(input, &*file);
    args.reading.warn_of_unused(input, of, becomes_ti);
    let mut output = Output::beside(input, &file.parts(), &args.output, args.json)?;
    let name = shown(input);
    let written = match form {
        Some(form) => convert::convert(&*file, name, &reading, form, &mut output),
        None => convert::to_dumpi(&*file, name, &reading, &mut output),
    };
    let written = match written {
        Ok(written) => written,
        Err(e) => return failed_conversion(e, &args.output).map_or(Ok(()), Err),
    };
    let what = format!("becomes {format}");
    warn_of(input, &what, &written.losses);
    let written = Written {
        format,
        contents: written,
    };
    output.finish(&written, args.json)
}

/// From VEF to VEF, line by line.
fn of_vef(args: &ConvertArgs, source: Source, version: Version) -> Result<(), CliError> {
    let input = &args.input;
    let bad = |why: String| CliError::BadInput(why);
    let mut reader = Reader::of(source).map_err(|e| bad_trace(&e))?;
    let unit = match args.unit {
        Some(Picoseconds(0)) => return Err(bad("--unit 0 is no unit of time".into())),
        Some(Picoseconds(ps)) => ps,
        None => reader.header().ps_per_unit,
    };
    let target = Target {
        version,
        ps_per_unit: unit,
    };
    args.reading.warn_of_unused(input, &VEF, false);
    let output = Output::beside(input, &[], &args.output, args.json)?;
    let (check, output) = match flitwise_formats::vef::convert(&mut reader, target, output) {
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
    let counts = Counts {
        messages: check.messages,
        bytes: check.bytes,
        markers: check.markers,
        collectives: check.collectives,
        members: check.members,
    };
    let written = Written::vef(version, unit, check.header.tasks, counts);
    output.finish(&written, args.json)
}
