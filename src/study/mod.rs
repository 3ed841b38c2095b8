//! Studies: many runs of one experiment, side by side, and their tables (`docs/reference/study.md`).
//!
//! A [`Study`](crate::config::Study) says what varies; a [`Grid`] has its points. [`Studied::run`] runs them through a
//! [`Session`](crate::run::Session), whose records let a study continue where it stopped. [`write_tables`] writes the
//! results.

mod aggregate;
mod base;
mod compare;
mod document;
mod draw;
mod estimate;
mod execute;
mod grid;
mod hidden;
mod interaction;
mod job_tables;
mod metrics;
mod row;
mod slowest;
mod tables;
mod tasks;
mod until;
mod write;
mod written;

#[cfg(feature = "report")]
pub(crate) use aggregate::Mean;
pub use base::base_experiments;
pub use compare::compare;
pub use document::{SCHEMA, study_schema};
#[cfg(feature = "report")]
pub(crate) use draw::Pairing;
pub use estimate::{Estimate, estimate, open_runs};
pub use execute::{Engine, Here, Prepared, StudyProgress, StudySnapshot, Unwatched};
pub use grid::{Grid, Point};
#[cfg(feature = "report")]
pub(crate) use metrics::change_columns;
pub use metrics::metrics;
pub use row::{BackgroundRow, JobRow, RowStatus, RunRow, Value};
pub use tables::summary_text;
pub use tasks::{StudyTask, TaskEnd, distinct_tasks, run_tasks};
pub use until::Studied;
pub use write::{
    SLOWEST_RUN, STUDY_FILE, STUDY_RESULT_FILE, TABLE_FILES, json_lines, write_tables,
};
pub use written::{input_files, study_toml, trace_digests};
