//! Reports: figures and a page from the directories of runs and studies (`docs/reference/report.md`).
//!
//! `source` reads the files that a run or a study left in its directory, and nothing else: no simulation happens here.
//! `charts` makes [figures](crate::figure) of them, one file per kind. `page` combines everything in one HTML document.

mod charts;
mod error;
mod page;
mod source;

pub use charts::{Choice, FigureKind, METRICS};
pub use error::ReportError;
pub use page::page;
pub use source::{Source, open};

use crate::figure::Figure;

/// The figures of a kind, at least one: several where each run has one of its own.
///
/// # Errors
/// If the sources lack the data for it; the error names the command that writes them.
pub fn figures(kind: FigureKind, sources: &[Source]) -> Result<Vec<Figure>, ReportError> {
    figures_with(kind, sources, &Choice::default())
}

/// The kind of a name.
///
/// # Errors
/// If no kind has this name; the error names the kinds that fit the sources.
pub fn kind(name: &str, sources: &[Source]) -> Result<FigureKind, ReportError> {
    let found = FigureKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| ReportError(charts::unknown(name, sources)))
}

/// The figures of a kind with the choices of a user, at least one.
///
/// # Errors
/// As [`figures`], and if there is no axis or metric that was chosen.
pub fn figures_with(
    kind: FigureKind,
    sources: &[Source],
    choice: &Choice,
) -> Result<Vec<Figure>, ReportError> {
    let figures = charts::figures_with(kind, sources, choice)?;
    if figures.is_empty() {
        Err(ReportError(charts::missing(kind, sources)))
    } else {
        Ok(figures)
    }
}

/// Messages about the sources, of several, that have no part in the figures of a kind.
#[must_use]
pub fn left_out(kind: FigureKind, sources: &[Source], choice: &Choice) -> Vec<String> {
    charts::left_out(kind, sources, choice)
}
