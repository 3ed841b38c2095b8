//! A task, which is the unit of simulation, and its id.

use super::Run;
use crate::config::experiment::{Job, Measure};
use crate::config::{Experiment, Hasher, Plan};
use crate::replay::Repeat;
use serde::{Deserialize, Serialize};
use std::fmt;
use twox_hash::XxHash3_128;

/// The network that carries the messages of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Network {
    /// The fabric of the experiment.
    Fabric,
    /// The fabric of the experiment, in which every message is alone. There is no background traffic, and
    /// no job that repeats until the others end.
    Unloaded,
    /// No network: messages between NICs arrive when they are sent. There is no background traffic, and no job that
    /// repeats until the others end.
    Ideal,
}

/// One experiment with one seed and, if it is measured, one load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    /// The experiment that is simulated.
    pub experiment: Experiment,
    /// The network that carries its messages.
    pub network: Network,
}

/// Identifies a task by what its record depends on: the experiment, the network, the contents of
/// the traces, and the version of this program. Prints as 32 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u128);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl TaskId {
    /// The id that prints as `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let id = digits.then(|| u128::from_str_radix(text, 16).ok());
        id.flatten().map(Self)
    }
}

impl Task {
    /// Its id, if the traces of its jobs have these digests, in the order of the jobs. `hasher` has hashed the tasks
    /// before it.
    pub fn id<'a>(&'a self, traces: &[u128], hasher: &mut Hasher<'a>) -> TaskId {
        let experiment = hasher.hash(&self.experiment, traces);
        let text = format!("flitwise task {:?} {experiment}", self.network);
        TaskId(XxHash3_128::oneshot(text.as_bytes()))
    }
}

/// The tasks of a plan, each with its place in the plan: the experiment, or its loads, first.
pub(super) fn tasks(plan: &Plan) -> Vec<(Run, Task)> {
    let on = |network, experiment: &Experiment| {
        let mut experiment = experiment.clone();
        // Watts are counted later. Where links are always up, experiments that differ in them share a task.
        if experiment.fabric.link_power.is_none() {
            experiment.power = None;
        }
        Task {
            experiment,
            network,
        }
    };
    let experiment = &plan.experiment;
    if let Some(measure) = &experiment.measure {
        let at = |&load| {
            let measure = Measure {
                loads: vec![load],
                ..measure.clone()
            };
            let experiment = Experiment {
                measure: Some(measure),
                ..experiment.clone()
            };
            on(Network::Fabric, &experiment)
        };
        let loads = measure.loads.iter().map(at).enumerate();
        return loads.map(|(i, task)| (Run::Load(i), task)).collect();
    }
    let mut tasks = vec![(Run::Experiment, on(Network::Fabric, experiment))];
    let baselines = plan.baselines.iter().enumerate();
    tasks.extend(baselines.map(|(i, baseline)| {
        let mut task = on(Network::Fabric, &baseline.experiment);
        drop_last_jobs(&mut task.experiment, |job| !job.enabled);
        (Run::Baseline(i), task)
    }));
    if plan.split {
        if !experiment.fabric.is_always_up() {
            let fabric = experiment.fabric.always_up();
            let experiment = Experiment {
                fabric,
                ..experiment.clone()
            };
            tasks.push((Run::AlwaysUp, on(Network::Fabric, &experiment)));
        }
        for (run, network) in [
            (Run::Unloaded, Network::Unloaded),
            (Run::Ideal, Network::Ideal),
        ] {
            let mut task = on(network, experiment);
            // Dropping what these networks ignore lets more experiments share a task.
            task.experiment.background.clear();
            drop_last_jobs(&mut task.experiment, |job| {
                !job.enabled || job.repeat == Repeat::UntilOthersEnd
            });
            tasks.push((run, task));
        }
    }
    tasks
}

/// Removes the last jobs that are not replayed. Their NICs are chosen after the NICs of all others, so nothing depends
/// on them.
fn drop_last_jobs(experiment: &mut Experiment, not_replayed: impl Fn(&Job) -> bool) {
    while experiment.jobs.last().is_some_and(&not_replayed) {
        experiment.jobs.pop();
    }
}
