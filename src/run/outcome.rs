//! The results of a plan.

use super::measure::Measured;
use super::simulation::{Simulation, Status};
use super::traces::TraceDigest;
use crate::config::Plan;

/// The experiment and its baselines, in the order of the plan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// The experiment; with several loads, the last one begun.
    pub main: Simulation,
    /// The baselines; fewer than planned if the user stopped the run.
    pub baselines: Vec<Simulation>,
    /// Without a job: the experiment at each load; fewer if the user stopped the run.
    pub curve: Vec<Simulation>,
    /// The experiment on its fabric with links that are always up, at full speed and free of errors, if the plan asks
    /// where the time goes and links are not so in the experiment.
    pub always_up: Option<Simulation>,
    /// The jobs of the experiment on an unloaded fabric, if the plan asks where the time goes and the
    /// user did not stop the run.
    pub unloaded: Option<Simulation>,
    /// The same on an ideal network.
    pub ideal: Option<Simulation>,
    /// The traces of the experiment and its baselines, each once.
    pub traces: Vec<TraceDigest>,
}

impl RunResult {
    /// The status of all runs together: stalled if the experiment stalled at one of its loads, or a baseline did; else
    /// saturated if a run was stopped because it was saturated; else interrupted if the user stopped a run.
    #[must_use]
    pub fn status(&self, plan: &Plan) -> Status {
        let mut runs: Vec<(String, &Simulation)> = match &self.curve[..] {
            [] | [_] => vec![(String::new(), &self.main)],
            curve => curve.iter().map(|run| (place(run), run)).collect(),
        };
        runs.extend(
            self.baselines
                .iter()
                .map(|run| ("in a baseline: ".into(), run)),
        );
        let stall = runs.iter().find_map(|(place, run)| match &run.status {
            Status::Stalled(why) => Some(format!("{place}{why}")),
            Status::Complete | Status::Interrupted | Status::Saturated => None,
        });
        if let Some(why) = stall {
            return Status::Stalled(why);
        }
        if runs.iter().any(|(_, run)| run.status == Status::Saturated) {
            return Status::Saturated;
        }
        let measure = plan.experiment.measure.as_ref();
        let cut_off = |run: &Option<Simulation>| match run {
            Some(run) => run.status == Status::Interrupted,
            None => true,
        };
        let always_up = (!plan.experiment.fabric.is_always_up()).then_some(&self.always_up);
        let references = [&self.unloaded, &self.ideal];
        let mut references = references.into_iter().chain(always_up);
        let missing = self.baselines.len() < plan.baselines.len()
            || plan.split && measure.is_none() && references.any(cut_off)
            || self.curve.len() < measure.map_or(0, |m| m.loads.len());
        let interrupted = |(_, run): &(_, &Simulation)| run.status == Status::Interrupted;
        if missing || runs.iter().any(interrupted) {
            Status::Interrupted
        } else {
            Status::Complete
        }
    }
}

/// The load of a run, if there are several, as the beginning of a message.
fn place(run: &Simulation) -> String {
    let load = |measured: &Measured| format!("at load {}: ", measured.load);
    run.measured.as_ref().map_or_else(String::new, load)
}
