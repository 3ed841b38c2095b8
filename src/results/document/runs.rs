//! The runs that a result compares with, and what the program needed.

use super::energy::EnergyUse;
use super::experiment::InterpretedExperiment;
use super::status::Status;
use crate::config::experiment::Job;
use crate::config::{Experiment, experiment_hash_with};
use crate::replay::outcome::JobOutcome;
use crate::results::measures::{execution_time_ps, quotient, reference_ps};
use crate::run::{RunResult, Simulation};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// A run that the slowdown is measured against.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Baseline {
    /// As `status`.
    pub status: Status,
    /// As `experiment_hash`.
    #[schemars(extend("unit" = "32 hex digits"))]
    pub experiment_hash: String,
    /// As `experiment`.
    pub experiment: InterpretedExperiment,
    /// As `execution_time_ps`.
    pub execution_time_ps: u64,
    /// As `traffic.flit_hops`.
    pub flit_hops: u64,
    /// As `energy`.
    pub energy: Option<EnergyUse>,
}

impl Baseline {
    pub(super) fn of(experiment: &Experiment, run: &Simulation, experiment_hash: String) -> Self {
        Self {
            status: (&run.status).into(),
            experiment_hash,
            experiment: experiment.into(),
            execution_time_ps: execution_time_ps(experiment, run),
            flit_hops: run.stats.flit_hops,
            energy: EnergyUse::of(experiment, run),
        }
    }
}

/// The jobs on a better network.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Reference {
    /// As `status`.
    pub status: Status,
    /// As `execution_time_ps`.
    pub execution_time_ps: u64,
    /// `execution_time_ps` of the experiment over this one; null if a run is not complete.
    #[schemars(extend("unit" = "factor"))]
    pub slowdown: Option<f64>,
    /// The enabled jobs, except jobs that repeat until the others end.
    pub jobs: Vec<ReferenceJob>,
}

/// A job on a better network.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReferenceJob {
    /// The name of the job.
    pub name: String,
    /// As `jobs[].execution_time_ps`.
    pub execution_time_ps: u64,
}

impl Reference {
    /// The run on a better network than `main`. `time_ps`: the execution time of the experiment.
    pub(super) fn of(
        experiment: &Experiment,
        (main, run): (&Simulation, &Simulation),
        time_ps: Option<u64>,
    ) -> Self {
        let jobs = experiment.jobs.iter().zip(&run.jobs);
        let one = |(job, outcome): (&Job, &Option<JobOutcome>)| {
            Some(ReferenceJob {
                name: job.name.clone(),
                execution_time_ps: outcome.as_ref()?.execution_ps,
            })
        };
        let reference_ps = reference_ps(main, Some(run));
        Self {
            status: (&run.status).into(),
            execution_time_ps: execution_time_ps(experiment, run),
            slowdown: time_ps.and_then(|time| quotient(time, true, reference_ps)),
            jobs: jobs.filter_map(one).collect(),
        }
    }
}

/// The program and what it needed. The slowest run of a study has only the first two fields.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Engine {
    /// The version of Flitwise.
    pub version: &'static str,
    /// Events of the run, without baselines.
    pub events: u64,
    /// The wall-clock time of the run, without baselines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// The wall-clock time of the baselines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_wall_s: Option<f64>,
    /// The peak resident memory of the process; 0 where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// `traffic.flit_hops` per second of `engine.wall_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "flits/s"))]
    pub flit_hops_per_s: Option<f64>,
}

impl Engine {
    pub(super) fn of(result: &RunResult) -> Self {
        let main = &result.main;
        let wall = main.wall.as_secs_f64();
        // Events of the warm-up are not counted.
        let part = main.stats.ticks() as f64 / (main.stats.end_tick + 1) as f64;
        let hops = main.stats.flit_hops as f64;
        let baselines = result.baselines.iter().map(|baseline| baseline.wall);
        let per_s = if wall * part > 0.0 {
            hops / (wall * part)
        } else {
            0.0
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            events: main.stats.events,
            wall_s: Some(wall),
            baseline_wall_s: Some(baselines.sum::<Duration>().as_secs_f64()),
            peak_rss_bytes: Some(peak_rss_bytes()),
            flit_hops_per_s: Some(per_s),
        }
    }

    /// The keys in which two results of one experiment may differ: how fast the program was, and the number of events, to
    /// which `--messages` adds.
    pub const KEYS_THAT_VARY: [&str; 5] = [
        "events",
        "wall_s",
        "baseline_wall_s",
        "peak_rss_bytes",
        "flit_hops_per_s",
    ];

    /// Leaves out what differs from run to run: how fast the program was.
    pub fn without_speed(&mut self) {
        self.wall_s = None;
        self.baseline_wall_s = None;
        self.peak_rss_bytes = None;
        self.flit_hops_per_s = None;
    }
}

/// Peak resident memory of this process in bytes; 0 where it is unknown.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) * 1024
}

/// The `experiment_hash` of an experiment that was run for `result`.
pub(super) fn hash_of(experiment: &Experiment, result: &RunResult) -> String {
    experiment_hash_with(experiment, &trace_digests(experiment, result))
}

/// XXH3 of the trace of each job that was read.
fn trace_digests(experiment: &Experiment, result: &RunResult) -> Vec<u128> {
    let digest = |job: &Job| {
        let mut traces = result.traces.iter();
        let found = traces.find(|digest| digest.trace == job.trace);
        found.map(|digest| digest.xxh3)
    };
    experiment.jobs.iter().filter_map(digest).collect()
}
