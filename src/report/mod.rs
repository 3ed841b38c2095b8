//! Reports: figures and a page from the directories of runs and studies (`docs/report.md`).
//!
//! `source` reads what a run or a study left in its directory, and nothing else: no simulation happens here. `charts` makes
//! [figures](crate::figure) of it, one file per kind. `page` puts all
//! into one HTML document.

mod charts;
mod page;
mod source;

pub use charts::Kind;
pub use page::page;
pub use source::{Source, open};

use crate::figure::Figure;
use thiserror::Error;

/// Why there is no report or figure: a directory that holds no result, or nothing of the kind that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
#[non_exhaustive]
pub struct ReportError(pub String);

/// The figures of a kind, at least one: several where each run has one of its own.
///
/// # Errors
/// If the sources lack what it shows; the error says which command leaves it.
pub fn figures(kind: Kind, sources: &[Source]) -> Result<Vec<Figure>, ReportError> {
    let figures = charts::figures(kind, sources);
    if figures.is_empty() {
        Err(ReportError(charts::missing(kind, sources)))
    } else {
        Ok(figures)
    }
}

#[cfg(test)]
mod tests;
