//! The description of a kind of figures, which stands in the file that draws it.

use super::choice::Choice;
use crate::figure::Figure;
use crate::report::ReportError;
use crate::report::source::{RunSource, Source};

/// The description of a kind of figures.
pub(in crate::report) struct Subject {
    /// Its name on the command line.
    pub name: &'static str,
    pub heading: Heading,
    /// The input that is missing where there is no figure, in words, and the part of a command that writes it.
    pub needs: (&'static str, &'static str),
    /// Whether its figures show the axes of a study.
    pub has_axes: bool,
    /// The figures, in the order of the sources.
    pub draw: fn(&[Source], &Choice) -> Result<Vec<Figure>, ReportError>,
}

/// The heading of a section of the page, which kinds that follow each other may share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::report) struct Heading {
    pub anchor: &'static str,
    pub title: &'static str,
    /// The section is about static analyses, else about runs and studies.
    pub of_analyses: bool,
}

impl Heading {
    pub(super) const fn of_runs(anchor: &'static str, title: &'static str) -> Self {
        Self {
            anchor,
            title,
            of_analyses: false,
        }
    }

    pub(super) const fn of_analyses(anchor: &'static str, title: &'static str) -> Self {
        Self {
            anchor,
            title,
            of_analyses: true,
        }
    }
}

/// The figures of each run with details.
pub(super) fn each(sources: &[Source], of: impl Fn(&RunSource) -> Vec<Figure>) -> Vec<Figure> {
    details(sources).into_iter().flat_map(of).collect()
}

/// The runs with details: those given, and the slowest of each study.
pub(in crate::report) fn details<'a>(sources: &'a [Source]) -> Vec<&'a RunSource> {
    let one = |source: &'a Source| match source {
        Source::Run(run) => Some(&**run),
        Source::Study(study) => study.detail.as_ref(),
        Source::Congestion(_) => None,
    };
    sources.iter().filter_map(one).collect()
}
