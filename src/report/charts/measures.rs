//! The quantities that bars show.

use crate::report::source::StudySource;

/// The quantity that bars show.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub title: &'static str,
    pub axis: &'static str,
    /// Column of a study's runs, and field of a run and its jobs.
    pub column: &'static str,
    pub field: &'static str,
    pub base: f64,
    /// It is a difference.
    pub signed: bool,
    pub unit: Unit,
    pub of: Of,
}

/// The studies that have it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    All,
    /// Studies of synthetic traffic.
    Loads,
    /// Studies of synthetic traffic at one load: of several loads there are curves.
    OneLoad,
    /// Studies of jobs.
    Jobs,
    /// Studies of jobs, and of synthetic traffic at one load.
    JobsOrOneLoad,
}

impl Of {
    pub fn has(self, study: &StudySource) -> bool {
        match self {
            Self::All => true,
            Self::Loads => study.has_loads(),
            Self::OneLoad => study.has_one_load(),
            Self::Jobs => study.rows.iter().any(|row| row.load.is_none()),
            Self::JobsOrOneLoad => Self::OneLoad.has(study) || Self::Jobs.has(study),
        }
    }
}

/// The unit of values and of figures.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Factor,
    Picoseconds,
    Nanoseconds,
    /// As it is, in this unit.
    As(&'static str),
    /// Shares of 1, which figures have in percent.
    Share,
}
