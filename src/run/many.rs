//! The tasks of many plans, one by one: what a study runs.

use super::session::{Session, combined};
use super::simulate::Watched;
use super::task::{Task, TaskId, tasks};
use super::traces::TraceDigest;
use super::{Control, Run, RunError, RunResult, Silent, Simulation};
use crate::config::{Hasher, Plan, experiment_hash_with};
use std::time::Duration;

/// A task of a plan: the unit of simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanTask {
    /// Its place in the plan.
    pub run: Run,
    /// Identifies everything that its result depends on: tasks with the same id have the same result.
    pub id: TaskId,
}

impl Session {
    /// Reads, checks and hashes the traces of `plan` that are not known yet.
    ///
    /// # Errors
    /// If one of them is broken, or the user stops it.
    pub fn prepare(&mut self, plan: &Plan, control: &Control<'_>) -> Result<(), RunError> {
        self.traces.check(plan.experiments(), control.stop)
    }

    /// The digests of the traces of a [prepared](Self::prepare) plan, each once.
    #[must_use]
    pub fn digests(&self, plan: &Plan) -> Vec<TraceDigest> {
        self.traces.digests_in(plan.experiments())
    }

    /// The `experiment_hash` in the result of a [prepared](Self::prepare) plan.
    #[must_use]
    pub fn experiment_hash(&self, plan: &Plan) -> String {
        let experiment = &plan.experiment;
        experiment_hash_with(experiment, &self.traces.digests_of(experiment))
    }

    /// The tasks of a plan whose traces are [prepared](Self::prepare), the experiment or its loads first.
    #[must_use]
    pub fn tasks(&self, plan: &Plan) -> Vec<PlanTask> {
        let tasks = tasks(plan);
        let ids = self.ids_of(&tasks).into_iter().zip(&tasks);
        ids.map(|(id, &(run, _))| PlanTask { run, id }).collect()
    }

    /// The ids of the tasks of a plan.
    pub(super) fn ids_of(&self, tasks: &[(Run, Task)]) -> Vec<TaskId> {
        let mut hasher = Hasher::default();
        tasks
            .iter()
            .map(|(_, task)| task.id(&self.traces.digests_of(&task.experiment), &mut hasher))
            .collect()
    }

    /// The result of a task, if there is a record of it.
    #[must_use]
    pub fn recorded(&self, id: TaskId) -> Option<Simulation> {
        let record = self.records.as_ref()?.read(id)?;
        Some(record.simulation)
    }

    /// Whether there is a file for the record of a task.
    #[must_use]
    pub fn has_record(&self, id: TaskId) -> bool {
        let records = self.records.as_ref();
        records.is_some_and(|records| records.has(id))
    }

    /// Notes beside the records why a task has none.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note_failure(&self, id: TaskId, reason: &str) -> anyhow::Result<()> {
        let records = self.records.as_ref();
        records.map_or(Ok(()), |records| records.note_failure(id, reason))
    }

    /// Why a task has no record, as noted.
    #[must_use]
    pub fn failure(&self, id: TaskId) -> Option<String> {
        self.records.as_ref()?.failure(id)
    }

    /// Forgets why a task had no record, since it is tried again.
    pub fn forget_failure(&self, id: TaskId) {
        if let Some(records) = &self.records {
            records.forget_failure(id);
        }
    }

    /// Simulates a task of a plan whose traces are [prepared](Self::prepare), and keeps its record. No
    /// time series are recorded.
    ///
    /// # Errors
    /// If a job does not fit, or the run fails.
    pub fn simulate_task(
        &self,
        plan: &Plan,
        task: PlanTask,
        control: &Control<'_>,
    ) -> Result<Simulation, RunError> {
        let found = tasks(plan).into_iter().find(|(run, _)| *run == task.run);
        let Some((run, found)) = found else {
            return Err(RunError::Failed(anyhow::anyhow!(
                "the plan has no such task"
            )));
        };
        let watched = Watched {
            progress: &Silent,
            report_every: Duration::MAX,
            stop: control.stop,
            stop_when_saturated: control.stop_when_saturated,
            timeline: None,
            explain: false,
        };
        self.simulate(&found, task.id, run, &|_| {}, watched, None)
    }

    /// The result of a plan, combined from the results of its tasks in the order of [`tasks`](Self::tasks).
    ///
    /// # Errors
    /// If there are none.
    pub fn result_of(
        &self,
        plan: &Plan,
        results: Vec<(Run, Simulation)>,
    ) -> Result<RunResult, RunError> {
        combined(plan, results, self.traces.digests_in(plan.experiments()))
    }
}
