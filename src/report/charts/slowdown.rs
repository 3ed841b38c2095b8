//! Slowdowns against the baseline.

use super::bars::{self, Grid, grid};
use super::measures::{Measure, Of, Unit};
use super::subject::{Heading, Subject};
use crate::report::source::StudySource;

/// The section that the interference of jobs is in, too.
pub(super) const HEADING: Heading = Heading::of_runs("slowdown", "Slowdown");

pub(super) const SUBJECT: Subject = Subject {
    name: "slowdown",
    heading: HEADING,
    needs: (
        "slowdowns: no run has a job and a [baseline]",
        "flitwise run EXP.toml --out DIR",
    ),
    has_axes: true,
    draw: |sources, choice| bars::figures(&[MEASURE], sources, choice),
};

const MEASURE: Measure = Measure {
    title: "Slowdown against the baseline",
    axis: "slowdown",
    column: "slowdown_ratio",
    field: "slowdown",
    base: 1.0,
    signed: false,
    unit: Unit::Factor,
    of: Of::All,
};

/// The slowdowns of a study by its axes.
pub(super) fn slowdowns(study: &StudySource) -> Grid {
    grid(&[study], MEASURE, false)
}
