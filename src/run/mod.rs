//! Runs a plan: the one place where configuration, replay and fabric meet.
//!
//! A plan is made of tasks: the experiment or each of its loads, its baselines, and its runs on better networks: with links that
//! are always up, unloaded, and ideal. The result of each is a [`Record`]. A [`Session`] runs the tasks side by side and combines the
//! records; tasks that are equal run once. With a directory of records it runs only the tasks without a record.

use crate::config::Plan;

mod analyse;
mod control;
mod error;
mod explain;
mod fits;
mod many;
mod matrix;
mod measure;
mod outcome;
mod record;
mod recorder;
mod reference;
mod saturation;
mod session;
mod simulate;
mod simulation;
mod static_check;
mod task;
mod timeline;
mod traces;
mod workload;

pub use control::{Control, LoadsDone, Progress, Silent, Snapshot};
pub use error::RunError;
pub use many::PlanTask;
pub use matrix::{CommunicationMatrix, communication_matrix, job_matrix};
pub use measure::{LevelBatch, Measured, WINDOW_BATCHES, WindowBatch};
pub use outcome::RunResult;
pub use record::Record;
pub use recorder::{Recorder, Recording, Run};
pub use saturation::{SaturatedRun, Saturation};
pub use session::{Session, can_use_threads};
pub use simulation::{Reached, Simulation, Status};
pub use static_check::{
    CHECK_SCHEMA, Check, CheckError, Completion, ConnectionCheck, Errors, Lengths, LevelCheck,
    OverRuns, Prediction, check_figure, static_check, write_check_table,
};
pub use task::{Network, TaskId};
pub use timeline::Timeline;
pub use traces::TraceDigest;
pub use workload::workload;

/// Simulates the experiment and its baselines, or its loads, side by side if `threads`
/// allows. Equal configurations are simulated only once.
///
/// # Errors
/// If a trace is broken, a job does not fit, or a run fails. An error of the experiment
/// takes precedence over errors of the baselines.
///
/// # Examples
/// ```
/// use flitwise::config::resolve_text;
/// use flitwise::run::{Control, Status, run_plan};
/// use std::path::Path;
///
/// let text = r#"
///     fabric.topology = { kind = "single", nics = 16 }
///     [[job]]
///     trace = "traces/randomaccess-16.vef.gz"
/// "#;
/// let plan = resolve_text("example.toml", text, Path::new(""), &[])?;
/// let result = run_plan(&plan, &Control::default(), 1)?;
/// assert_eq!(result.main.status, Status::Complete);
/// let stats = &result.main.stats;
/// assert_eq!(stats.messages_delivered, stats.messages);
/// assert!(result.main.jobs[0].is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_plan(plan: &Plan, control: &Control<'_>, threads: usize) -> Result<RunResult, RunError> {
    Session::new(threads).run(plan, control)
}
