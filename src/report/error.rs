//! The error of reports.

use thiserror::Error;

/// The reason why there is no report or figure: a directory holds no result, or nothing of the kind that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
#[non_exhaustive]
pub struct ReportError(pub String);
