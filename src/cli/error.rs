//! Why a command failed, and the exit codes.

use super::clock::Clock;
use flitwise::config::{ConfigError, unread};
use flitwise::run::RunError;
use std::path::Path;
use thiserror::Error;

/// The reason why a command failed; `main` turns it into an exit code.
#[derive(Debug, Error)]
pub enum CliError {
    /// The user's input is at fault: exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// The run failed: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// A signal ended the run: the process ends itself with the same signal.
    #[error("{0}")]
    Interrupted(String),
}

impl CliError {
    /// The exit code of the process. If a signal ended the run, it is the code that shells report.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::Interrupted(_) => 1,
            Self::BadInput(_) => 2,
        }
    }
}

/// A trace that cannot be read or written: the trace is at fault, unless a disk is full.
pub fn bad_trace(e: &flitwise_formats::Error) -> CliError {
    if e.is_full_disk() {
        CliError::Failed(e.to_string())
    } else {
        CliError::BadInput(unread(e))
    }
}

/// The error of a run without a result; `bad_config` places an error of its experiment.
pub fn no_result(e: &RunError, bad_config: impl FnOnce(&ConfigError) -> CliError) -> CliError {
    match e {
        RunError::Config(e) => bad_config(e),
        RunError::Trace(trace) => match trace.downcast_ref() {
            Some(e) => bad_trace(e),
            None => CliError::BadInput(e.to_string()),
        },
        RunError::Interrupted(_) => CliError::Interrupted(e.to_string()),
        _ => CliError::Failed(e.to_string()),
    }
}

/// Adds the file, if there is one, to an error that names no line.
pub fn bad_config(file: Option<&Path>, e: &ConfigError) -> CliError {
    if let Some(option) = Clock::named_in(e) {
        return CliError::BadInput(format!("{option}: {}", e.problem));
    }
    let place = match (e.location.is_some(), file) {
        (false, Some(file)) if !e.key.is_empty() && e.key != "--set" => {
            format!("{}: ", file.display())
        }
        _ => String::new(),
    };
    CliError::BadInput(format!("{place}{e}"))
}

/// The error of a document that JSON cannot express.
pub fn unwritable(error: serde_json::Error) -> CliError {
    CliError::Failed(format!("cannot write the results: {error}"))
}
