//! The trace that a command is given, whatever its format.

use crate::cli::{CliError, bad_trace};
use flitwise::replay::trace::{TraceFile, check_input, format_of};
use flitwise_formats::dumpi::Set;
use flitwise_formats::source::{Input, is_stdin, stream_id};
use flitwise_formats::{Source, goal, ti};
use std::path::Path;

/// A trace, before its records.
pub(super) enum Opened {
    /// VEF, or of no known format: its reader says why.
    Vef(Source),
    Goal(Input),
    Ti(Input),
    Dumpi(Input),
}

/// Opens the trace at `path`, which may be a pipe or `-`, and recognises its format.
pub(super) fn open(path: &Path) -> Result<Opened, CliError> {
    if ti::is_folder(path) {
        return Ok(Opened::Ti(Input::new(path)));
    }
    if Set::is_directory(path) {
        return Ok(Opened::Dumpi(Input::new(path)));
    }
    let mut source = Source::open(path).map_err(|e| bad_trace(&e))?;
    let head = source.head().map_err(|e| bad_trace(&e))?;
    let (is_goal, is_ti) = (goal::probe(head).is_some(), ti::probe(path, head).is_some());
    let is_dumpi = !is_ti && Set::probe(head);
    if !is_goal && !is_ti && !is_dumpi {
        return Ok(Opened::Vef(source));
    }
    let input = from_start(path, source)?;
    Ok(match (is_goal, is_dumpi) {
        (true, _) => Opened::Goal(input),
        (_, true) => Opened::Dumpi(input),
        _ => Opened::Ti(input),
    })
}

/// What `source` was opened from, to be read from its start, and several times. A stream can't be opened again;
/// nor can standard input, even where it is a file: it goes on where it was read last.
pub(super) fn from_start(path: &Path, source: Source) -> Result<Input, CliError> {
    match is_stdin(path) || stream_id(path).is_some() {
        true => Input::rest_of(source).map_err(|e| bad_trace(&e)),
        false => Ok(Input::new(path)),
    }
}

/// Checks a trace that is to be replayed or converted.
pub(super) fn checked(input: &Input) -> Result<Box<dyn TraceFile>, CliError> {
    loop {
        // It never stops.
        if let Some(file) = check_input(input, &mut || true).map_err(|e| refused(&e))? {
            // What becomes of it would be refused.
            return match file.doubts() {
                Some(doubts) => Err(CliError::BadInput(doubts)),
                None => Ok(file),
            };
        }
    }
}

/// The trace, whether or not its ranks agree, with the error as its format says it.
pub(super) fn judged(input: &Input) -> anyhow::Result<Box<dyn TraceFile>> {
    let format = format_of(input)?;
    loop {
        // It never stops.
        if let Some(file) = format.check(input, &mut || true)? {
            return Ok(file);
        }
    }
}

/// What a command says of a trace that is refused.
pub(super) fn refused(error: &anyhow::Error) -> CliError {
    match error.downcast_ref() {
        Some(e) => bad_trace(e),
        None => CliError::BadInput(format!("{error:#}")),
    }
}
