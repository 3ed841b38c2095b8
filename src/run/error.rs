//! Why there is no result.

use crate::config::ConfigError;
use crate::stop::Stopped;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The input is at fault: exit code 2.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A trace is at fault: exit code 2.
    #[error("{0:#}")]
    Trace(anyhow::Error),
    /// The run failed: exit code 1.
    #[error("{0:#}")]
    Failed(anyhow::Error),
    /// The record of a task cannot be kept: exit code 1.
    #[error("{0:#}")]
    Unkept(anyhow::Error),
    /// The user stopped the run before it began to simulate; the text names the step that was interrupted.
    #[error("interrupted while {0}: nothing was simulated")]
    Interrupted(String),
}

/// Whether the error says that the user stopped the run.
pub(super) fn is_stopped(error: &anyhow::Error) -> bool {
    let of_trace = error.downcast_ref::<flitwise_formats::Error>();
    error.is::<Stopped>() || of_trace.is_some_and(flitwise_formats::Error::is_stopped)
}
