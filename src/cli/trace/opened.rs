//! The trace given to a command, whatever its format.

use crate::cli::error::{CliError, bad_trace};
use flitwise::replay::trace::vef::VEF;
use flitwise::replay::trace::{
    TraceFile, TraceFormat, check_input, format_of_directory, format_of_file,
};
use flitwise::stop::Stop;
use flitwise_formats::Source;
use flitwise_formats::source::{Input, is_stdin, stream_id};
use std::path::Path;

/// A trace, before its records.
pub(super) struct Opened<'a> {
    pub format: &'static TraceFormat,
    pub path: &'a Path,
    /// Its bytes; `None` if it is a directory.
    pub source: Option<Source>,
}

/// Opens the trace at `path`, which may be a pipe or `-`, and recognises its format.
pub(super) fn open(path: &Path) -> Result<Opened<'_>, CliError> {
    let (format, source) = match format_of_directory(path) {
        Some(format) => (format, None),
        None => {
            let mut source = Source::open(path).map_err(|e| bad_trace(&e))?;
            let head = source.head().map_err(|e| bad_trace(&e))?;
            if path.extension().is_some_and(|ending| ending == "toml") && !head.starts_with(b"V") {
                return Err(CliError::BadInput(format!(
                    "`{}` is not a trace but an experiment or a study; name the trace itself, as its key `trace` does",
                    path.display()
                )));
            }
            (format_of_file(path, head), Some(source))
        }
    };
    Ok(Opened {
        format,
        path,
        source,
    })
}

impl Opened<'_> {
    /// Whether the trace is VEF, or of no known format: the reader of VEF says why.
    pub fn is_vef(&self) -> bool {
        self.format.name == VEF.name
    }

    /// The trace for its summary or its verdict.
    pub fn for_report(self) -> Result<Input, CliError> {
        match self.source {
            Some(source) if self.format.reads_once => Ok(Input::once(source)),
            _ => self.repeatable(),
        }
    }

    /// The trace, to be read from its start, and several times. A stream can't be opened again; nor can standard input,
    /// even where it is a file: it continues where it was read last.
    pub fn repeatable(self) -> Result<Input, CliError> {
        match self.source {
            Some(source) if is_stdin(self.path) || stream_id(self.path).is_some() => {
                Input::rest_of(source).map_err(|e| bad_trace(&e))
            }
            _ => Ok(Input::new(self.path)),
        }
    }
}

/// Checks a trace that is to be replayed or converted.
pub(super) fn checked(input: &Input) -> Result<Box<dyn TraceFile>, CliError> {
    let file = check_input(input, Stop::never()).map_err(|e| refused(&e))?;
    // Its replay would not come to an end, so the conversion would be refused.
    match file.doubts() {
        Some(doubts) => Err(CliError::BadInput(doubts)),
        None => Ok(file),
    }
}

/// The error of a command whose trace is refused.
pub(super) fn refused(error: &anyhow::Error) -> CliError {
    match error.downcast_ref() {
        Some(e) => bad_trace(e),
        None => CliError::BadInput(format!("{error:#}")),
    }
}
