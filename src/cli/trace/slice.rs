//! `flitwise trace slice`.

use super::broken;
use super::opened::{checked, open};
use super::output::{Output, Written, failed_conversion, or_gone, warn_of};
use super::reading::ReadingArgs;
use super::region;
use crate::cli::error::{CliError, bad_trace};
use clap::{ArgGroup, Args};
use flitwise::convert::{self, Edges, Form, Part, convert, convert_region, slice};
use flitwise::replay::generate::Counts;
use flitwise::replay::program::RegionId;
use flitwise::replay::trace::{Reading, TraceFile};
use flitwise::units::{Picoseconds, human_time};
use flitwise_base::quote::quoted;
use flitwise_formats::limits::MAX_TASKS;
use flitwise_formats::source::{Input, shown};
use flitwise_formats::vef::{Check, Cut, Plan, SliceError};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Arguments of `flitwise trace slice`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("part").args(["from", "to", "mark", "ranks"]).required(true).multiple(true),
    after_help = "Example:\n  flitwise trace slice hpl-16.vef.gz middle.vef.gz --from 40ms --to 80ms\n  flitwise trace slice hpl-16.vef.gz half.vef.gz --ranks 0-3,8-11\n  flitwise trace slice recording solve.tar.zst --mark solve\n\nTimes are on the ideal clock, on which messages take no time; `trace info` prints its range. docs/reference/trace-tools.md describes which records remain."
)]
pub struct SliceArgs {
    /// Trace file, plain or compressed; - is standard input.
    input: PathBuf,
    /// File to write: .gz is gzip, .zst zstd, everything else plain; - is standard output.
    output: PathBuf,
    /// Start of the window [default: the start of the trace].
    #[arg(long, value_name = "TIME")]
    from: Option<Picoseconds>,
    /// End of the window, exclusive [default: the end of the trace].
    #[arg(long, value_name = "TIME")]
    to: Option<Picoseconds>,
    /// Region of the program that remains, as a recording or an OTF2 archive has it: from the first entry of a rank to the last exit.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "to"])]
    mark: Option<String>,
    /// Ranks that remain, renumbered in ascending order, for example 0-15,20.
    #[arg(long, value_name = "LIST")]
    ranks: Option<Ranks>,
    #[command(flatten)]
    reading: ReadingArgs,
    /// Prints the summary of the new trace as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Ranks(Vec<u32>);

impl FromStr for Ranks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut ranks = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
                return Err(format!(
                    "{} is no rank; write a list such as 0-15,20",
                    quoted(part)
                ));
            };
            if first > last {
                return Err(format!(
                    "{} is an empty range; write {last}-{first}",
                    quoted(part)
                ));
            }
            if last >= MAX_TASKS {
                return Err(format!(
                    "there is no rank {last}: a trace has at most {MAX_TASKS}"
                ));
            }
            ranks.extend(first..=last);
        }
        ranks.sort_unstable();
        ranks.dedup();
        Ok(Self(ranks))
    }
}

pub(super) fn run(args: &SliceArgs) -> Result<(), CliError> {
    let (path, reading) = (&args.input, &args.reading);
    let [from, to] = [&args.from, &args.to].map(|time| time.as_ref().map(|time| time.0));
    if to.is_some_and(|to| from > Some(to)) {
        return Err(CliError::BadInput(
            "--from is after --to; exchange the two".into(),
        ));
    }
    let trace = open(path)?;
    let (format, is_vef) = (trace.format, trace.is_vef());
    if is_vef && args.mark.is_some() {
        return Err(region::none(path));
    }
    let input = trace.repeatable()?;
    if is_vef {
        reading.warn_of_unused(path, format, false);
        return of_vef(args, Sliced::of_vef(input));
    }
    let file = checked(&input)?;
    reading.warn_of_speed(path, &*file);
    reading.warn_of_unused(path, format, false);
    let region = region::of(path, &*file, args.mark.as_deref())?;
    if file.recording().is_some() {
        return of_recording(args, &*file, region);
    }
    let (input, written) = as_vef(path, &*file, &reading.reading(), region)?;
    let sliced = Sliced {
        input,
        parts: file.parts(),
        hidden: true,
        losses: written.losses,
        edges: written.edges,
    };
    of_vef(args, sliced)
}

/// Cuts a recording.
fn of_recording(
    args: &SliceArgs,
    file: &dyn TraceFile,
    region: Option<RegionId>,
) -> Result<(), CliError> {
    let path = &args.input;
    let mut output = Output::beside(path, &file.parts(), &args.output, args.json)?;
    let part = Part {
        from_ps: args.from.map_or(0, |time| time.0),
        to_ps: args.to.map(|time| time.0),
        region,
        ranks: args.ranks.as_ref().map(|ranks| ranks.0.clone()),
    };
    let name = shown(path);
    let sliced = match slice(file, name, &args.reading.reading(), &part, &mut output) {
        Ok(sliced) => sliced,
        Err(convert::SliceError::Nothing { span_ps }) => {
            let window = (part.from_ps, part.to_ps);
            return Err(nothing(path, window, part.ranks.is_some(), span_ps));
        }
        Err(convert::SliceError::Failed(e)) => {
            return failed_conversion(e, &args.output).map_or(Ok(()), Err);
        }
        Err(e) => return Err(CliError::BadInput(e.to_string())),
    };
    if let Some(name) = &args.mark {
        region::tell_window(name, sliced.window_ps);
    }
    let written = Written {
        format: "FLITREC, a tar archive",
        contents: sliced.written,
    };
    warn_of(path, "is cut as FLITREC", &written.contents.losses);
    output.finish(&written, args.json)
}

/// Cuts a trace that is VEF, or has become VEF.
fn of_vef(args: &SliceArgs, sliced: Sliced) -> Result<(), CliError> {
    let name = shown(&args.input).display();
    let Sliced {
        input,
        parts,
        hidden,
        losses,
        edges,
    } = sliced;
    let output = Output::beside(&args.input, &parts, &args.output, args.json)?;
    let mut part = Cut {
        from_ps: args.from.map_or(0, |t| t.0),
        to_ps: args.to.map(|t| t.0),
        ranks: args.ranks.as_ref().map(|r| r.0.clone()),
        ..Cut::default()
    };
    let cut = || {
        if let Some(region) = &args.mark {
            region::window(region, (&input, &edges), &mut part)?;
        }
        let plan = Plan::of(input, &part)?;
        let output = plan.write(output)?;
        Ok((plan, output))
    };
    let result = cut();
    let refused = |e: SliceError| match e {
        SliceError::Write(e) => or_gone(Err(e), &args.output).err(),
        SliceError::Broken(check) if hidden => Some(uncut(&args.input, &check)),
        SliceError::Broken(check) => Some(broken(&args.input, &check)),
        SliceError::Nothing { span_ps } => {
            let window = (part.from_ps, part.to_ps);
            Some(nothing(&args.input, window, part.ranks.is_some(), span_ps))
        }
        SliceError::Refused(why) => Some(CliError::BadInput(format!("{name}: {why}"))),
        SliceError::Read(e) => Some(bad_trace(&e)),
        e => Some(CliError::BadInput(e.to_string())),
    };
    let (plan, output) = match result {
        Ok(done) => done,
        Err(e) => return refused(e).map_or(Ok(()), Err),
    };
    let header = plan.header();
    let counts = Counts {
        messages: plan.messages(),
        bytes: plan.bytes(),
        markers: header.messages - plan.messages(),
        collectives: header.collectives,
        members: header.members,
    };
    let unit = header.ps_per_unit;
    let mut written = Written::vef(header.version, unit, header.tasks, counts);
    written.contents.losses = losses;
    output.finish(&written, args.json)
}

/// The trace to cut.
struct Sliced {
    /// The trace as VEF.
    input: Input,
    /// The files of the trace besides the one by which it is given.
    parts: Vec<PathBuf>,
    /// The VEF is in a file without a name, whose lines can't be looked up.
    hidden: bool,
    /// The losses of the conversion to VEF.
    losses: Vec<String>,
    /// The ends of the region that remains.
    edges: Edges,
}

impl Sliced {
    /// A trace that is VEF.
    fn of_vef(input: Input) -> Self {
        Self {
            input,
            parts: Vec::new(),
            hidden: false,
            losses: Vec::new(),
            edges: Edges::default(),
        }
    }
}

/// The trace as VEF, and its differences from the original.
fn as_vef(
    path: &Path,
    file: &dyn TraceFile,
    reading: &Reading,
    region: Option<RegionId>,
) -> Result<(Input, convert::Written), CliError> {
    let dir = std::env::temp_dir();
    let failed =
        |e: std::io::Error| CliError::Failed(format!("cannot write to {}: {e}", dir.display()));
    let temporary = tempfile::tempfile().map_err(failed)?;
    let mut out = BufWriter::new(temporary.try_clone().map_err(failed)?);
    let name = shown(path);
    let written = match region {
        Some(region) => convert_region(file, name, reading, region, &mut out),
        None => convert(file, name, reading, Form::Vef3, &mut out),
    };
    let written = match written {
        Ok(written) => written,
        Err(e) => {
            let gone = || CliError::Failed(format!("cannot write to {}", dir.display()));
            return Err(failed_conversion(e, &dir).unwrap_or_else(gone));
        }
    };
    warn_of(path, "is cut as VEF3", &written.losses);
    drop(out);
    Ok((Input::of_file(path, temporary), written))
}

/// The error about a trace that is not cut because its VEF3 does not check clean. The lines of the VEF3 are left out.
#[cold]
fn uncut(path: &Path, check: &Check) -> CliError {
    let name = shown(path).display();
    let why = check
        .errors
        .first
        .first()
        .map_or("", |e| e.message.as_str());
    CliError::BadInput(format!(
        "{name}: can't be cut, because its VEF3 is broken: {why}; write that with `flitwise trace convert`, and correct \
         what `flitwise trace check` says of it"
    ))
}

/// Explains why an empty slice is refused.
#[cold]
fn nothing(
    path: &Path,
    (from_ps, to_ps): (u64, Option<u64>),
    of_ranks: bool,
    span_ps: u64,
) -> CliError {
    let name = shown(path).display();
    let (whose, cure) = if of_ranks {
        (" of these ranks", "choose another window or other ranks")
    } else {
        ("", "choose another window")
    };
    let from = human_time(from_ps);
    let to = to_ps.map_or_else(|| "the end".to_owned(), human_time);
    let span = human_time(span_ps);
    CliError::BadInput(format!(
        "{name}: nothing remains: no message, marker or complete collective{whose} starts from {from} to {to}; the records of \
         the trace start from 0 ps to {span} of its ideal clock: {cure}"
    ))
}

#[cfg(test)]
mod tests {
    use super::Ranks;

    #[test]
    fn lists_of_ranks() {
        let ranks = |text: &str| text.parse::<Ranks>().map(|r| r.0);
        assert_eq!(ranks("3"), Ok(vec![3]));
        assert_eq!(ranks("4-6,1,5"), Ok(vec![1, 4, 5, 6]));
        for bad in ["", "1,", "a", "3-1", "0-4294967295", "-1", "1-2-3"] {
            assert!(ranks(bad).is_err(), "{bad}");
        }
        let long = ranks(&"x".repeat(1 << 20)).unwrap_err();
        assert!(long.len() < 400 && long.contains("(1048576 characters)"));
    }
}
