//! The output of commands, and their lines for people on standard error.

use super::error::{CliError, unwritable};
use super::progress::working;
use super::style;
use anstream::AutoStream;
use flitwise_base::quote;
use serde::Serialize;
use std::fmt;
use std::io::{self, ErrorKind, Write};

/// Writes a line for people to standard error, and ignores failures.
pub fn tell(line: fmt::Arguments<'_>) {
    working::clear();
    let line = line.to_string();
    let line = quote::message(&line);
    let _ = match style::message(&line, &io::stderr()) {
        Some(styled) => writeln!(AutoStream::auto(io::stderr().lock()), "{styled}"),
        None => writeln!(io::stderr().lock(), "{line}"),
    };
}

/// A document as JSON with indentation, and a newline.
pub fn json_text(document: &impl Serialize) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(document).map_err(unwritable)?;
    Ok(text + "\n")
}

/// Writes results to standard output; a closed pipe is no error.
pub fn print(text: &str) -> Result<(), CliError> {
    print_to(io::stdout().lock(), &quote::printed(text))
}

/// Writes a summary to standard output, with headings that stand out on a terminal.
pub fn print_summary(text: &str) -> Result<(), CliError> {
    let text = quote::printed(text);
    match style::summary(&text, &io::stdout()) {
        Some(styled) => print_to(AutoStream::auto(io::stdout().lock()), &styled),
        None => print_to(io::stdout().lock(), &text),
    }
}

fn print_to(mut out: impl Write, text: &str) -> Result<(), CliError> {
    working::clear();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::Failed(format!("cannot write the results: {e}")))
        }
        _ => Ok(()),
    }
}
