//! Rows: what tables say of a run.

use super::metrics::Metrics;
use crate::config::Plan;
use crate::fabric::stats::Latency;
use crate::oblivious::MeanFigures;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use crate::results::energy::{Energy, idle_share};
use crate::results::nic_rate::NicRate;
use crate::results::split::{last_job, reference_ps};
use crate::results::{
    baseline_time_ps, execution_time_ps, job_baseline, latency, per_slot, quotient, saturated,
    slowdown, throughput, time_split,
};
use crate::run::{Run, RunResult, Simulation, Status};
use crate::units::Ratio;

/// A number in a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Not known, or there is none.
    Empty,
    /// A count or a time.
    Integer(u64),
    /// A mean or a ratio.
    Real(f64),
}

impl Value {
    /// The nearest floating-point number, if there is one.
    #[must_use]
    pub fn real(self) -> Option<f64> {
        match self {
            Self::Empty => None,
            Self::Integer(value) => Some(value as f64),
            Self::Real(value) => Some(value),
        }
    }
}

impl From<Option<u64>> for Value {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::Empty, Self::Integer)
    }
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Real)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowStatus {
    /// All that it consists of is complete.
    Complete,
    /// No progress was possible.
    Stalled,
    /// Stopped because a background flow fell ever further behind.
    Saturated,
    /// There is no result.
    Failed,
}

impl RowStatus {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stalled => "stalled",
            Self::Saturated => "saturated",
            Self::Failed => "failed",
        }
    }
}

/// Columns of [`JobRow::values`].
pub(super) const JOB_COLUMNS: [(&str, bool); 9] = [
    ("ranks_count", true),
    ("execution_time_ps", true),
    ("baseline_time_ps", true),
    ("slowdown_ratio", false),
    ("computing_ps", true),
    ("messages_count", true),
    ("bytes_count", true),
    ("latency_mean_ns", false),
    ("latency_p99_ns", false),
];

/// Columns of [`BackgroundRow::values`].
pub(super) const BACKGROUND_COLUMNS: [(&str, bool); 4] = [
    ("created_messages_count", true),
    ("delivered_messages_count", true),
    ("offered_gbit_per_s", false),
    ("accepted_gbit_per_s", false),
];

/// A run, or one of its loads.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunRow {
    /// Index of its point.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// Its load, without a job.
    pub load: Option<String>,
    /// How it ended.
    pub status: RowStatus,
    /// Why it did not complete; empty if it did.
    pub reason: String,
    /// A number per column.
    pub values: Vec<Value>,
    /// What the columns are.
    pub(super) metrics: &'static Metrics,
    /// Id of the record of the experiment.
    pub record: String,
    /// Its jobs.
    pub jobs: Vec<JobRow>,
    /// Its background flows, in the order of the experiment.
    pub background: Vec<BackgroundRow>,
}

/// A background flow of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BackgroundRow {
    /// Its service level.
    pub sl: String,
    /// A number per column.
    pub values: Vec<Value>,
}

/// A job of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobRow {
    /// Its name.
    pub job: String,
    /// A number per column.
    pub values: Vec<Value>,
}

impl RunRow {
    /// A run without a result.
    pub(super) fn failed(
        (point, seed): (usize, u64),
        metrics: &'static Metrics,
        record: String,
        reason: String,
    ) -> Self {
        Self {
            point,
            seed,
            load: None,
            status: RowStatus::Failed,
            reason,
            values: vec![Value::Empty; metrics.columns.len()],
            metrics,
            record,
            jobs: Vec::new(),
            background: Vec::new(),
        }
    }

    /// The number in the column of this name.
    #[must_use]
    pub fn value(&self, column: &str) -> Option<f64> {
        self.values.get(self.metrics.column(column)?)?.real()
    }
}

/// The rows of a run: one, or one per load. `records` has the ids of the tasks in the order of the plan.
pub(super) fn rows(
    (point, seed): (usize, u64),
    plan: &Plan,
    result: &RunResult,
    records: &[(Run, String)],
) -> Vec<RunRow> {
    let record = |run: Run| {
        let found = records.iter().find(|(other, _)| *other == run);
        found.map_or_else(String::new, |(_, id)| id.clone())
    };
    let metrics = Metrics::of(plan);
    if let Some(measure) = &plan.experiment.measure {
        let loads = measure.loads.iter().zip(&result.curve).enumerate();
        let one = |(at, (load, run)): (usize, (&Ratio, &Simulation))| {
            let (status, reason) = ended(&run.status);
            RunRow {
                point,
                seed,
                load: Some(load.to_string()),
                values: numbers(status, metrics, || load_values(plan, run)),
                metrics,
                status,
                reason,
                record: record(Run::Load(at)),
                jobs: Vec::new(),
                background: background_rows(plan, run, status),
            }
        };
        return loads.map(one).collect();
    }
    let (status, reason) = ended(&result.status(plan));
    vec![RunRow {
        point,
        seed,
        load: None,
        values: numbers(status, metrics, || match &result.main.congestion {
            Some(figures) => static_values(figures),
            None => job_values(plan, result),
        }),
        metrics,
        status,
        reason,
        record: record(Run::Experiment),
        jobs: match status {
            RowStatus::Complete => job_rows(plan, result),
            _ => Vec::new(),
        },
        background: background_rows(plan, &result.main, status),
    }]
}

fn ended(status: &Status) -> (RowStatus, String) {
    match status {
        Status::Complete => (RowStatus::Complete, String::new()),
        Status::Stalled(why) => (RowStatus::Stalled, why.trim_end().replace('\n', "; ")),
        Status::Saturated => {
            let why = "a background flow falls ever further behind";
            (RowStatus::Saturated, why.to_owned())
        }
        Status::Interrupted => (RowStatus::Failed, "interrupted".to_owned()),
    }
}

/// Nothing of a run that is not complete can be compared.
fn numbers(
    status: RowStatus,
    metrics: &Metrics,
    values: impl FnOnce() -> Vec<Value>,
) -> Vec<Value> {
    match status {
        RowStatus::Complete => values(),
        _ => vec![Value::Empty; metrics.columns.len()],
    }
}

/// In the order of [`STATIC`](super::metrics::STATIC).
fn static_values(figures: &MeanFigures) -> Vec<Value> {
    let whole = |value: Option<u32>| Value::from(value.map(u64::from));
    vec![
        Value::Real(figures.bandwidth),
        figures.fair_bandwidth.into(),
        figures.slowest_fair_bandwidth.into(),
        Value::Real(figures.sum_max_congestion),
        Value::Real(figures.sum_max_host_links),
        figures.delay.into(),
        Value::Real(figures.connections),
        Value::Real(figures.lost),
        whole(figures.worst_congestion),
        whole(figures.worst_bound),
        Value::Integer(figures.runs),
    ]
}

/// In the order of [`SIMULATED`](super::metrics::SIMULATED).
fn job_values(plan: &Plan, result: &RunResult) -> Vec<Value> {
    let (experiment, run) = (&plan.experiment, &result.main);
    let split = last_job(plan, run).and_then(|job| time_split(plan, result, job));
    let part = |part: fn(&crate::results::TimeSplit) -> u64| Value::from(split.as_ref().map(part));
    let outcomes = run.jobs.iter().flatten();
    let mut values = vec![
        Value::Integer(execution_time_ps(experiment, run)),
        baseline_time_ps(plan, result).into(),
        slowdown(plan, result).into(),
        reference_ps(experiment, result.unloaded.as_ref()).into(),
        reference_ps(experiment, result.ideal.as_ref()).into(),
        part(|split| split.computing_ps),
        part(|split| split.partners_ps),
        part(|split| split.latency_and_serialisation_ps),
        part(|split| split.queueing_ps),
        part(|split| split.credit_stalls_ps),
    ];
    values.extend(traffic(plan, run, None));
    values.extend(latencies(plan, outcomes.map(|outcome| &outcome.latency)));
    values.push(Value::Integer(saturated(experiment, run).into()));
    values.extend(links_and_energy(plan, run));
    values
}

/// In the order of [`SIMULATED`](super::metrics::SIMULATED).
fn load_values(plan: &Plan, run: &Simulation) -> Vec<Value> {
    let experiment = &plan.experiment;
    let offered = run.background.iter().map(|flow| flow.units).sum();
    let offered = per_slot(experiment, &run.stats, offered);
    let mut values = vec![Value::Empty; 10];
    values.extend(traffic(plan, run, Some(offered)));
    let levels = run.stats.service_levels.iter();
    values.extend(latencies(plan, levels.map(|level| &level.end_to_end)));
    values.push(Value::Integer(saturated(experiment, run).into()));
    values.extend(links_and_energy(plan, run));
    values
}

/// Latency of packets, idle share of links, and energy.
fn links_and_energy(plan: &Plan, run: &Simulation) -> [Value; 5] {
    let experiment = &plan.experiment;
    let levels = run.stats.service_levels.iter();
    let [packets, ..] = latencies(plan, levels.map(|level| &level.network));
    let energy = Energy::of(experiment, run);
    [
        packets,
        Value::Real(idle_share(experiment, &run.stats)),
        energy.map(|energy| energy.total_j()).into(),
        energy.and_then(|energy| energy.pj_per_bit()).into(),
        energy.map(|energy| energy.links_saved()).into(),
    ]
}

/// Messages, flit-hops, offered and accepted load.
fn traffic(plan: &Plan, run: &Simulation, offered: Option<f64>) -> [Value; 4] {
    let nic = NicRate::of(&plan.experiment);
    [
        Value::Integer(run.messages),
        Value::Integer(run.stats.flit_hops),
        offered.map(|load| nic.gbit_per_s(load)).into(),
        Value::Real(nic.gbit_per_s(throughput(&plan.experiment, &run.stats))),
    ]
}

/// Mean, 99th percentile and maximum of several distributions together.
fn latencies<'a>(plan: &Plan, all: impl IntoIterator<Item = &'a Latency>) -> [Value; 3] {
    let mut together = Latency::default();
    for one in all {
        together.merge(one);
    }
    let found = latency(&together, plan.experiment.fabric.units.tick);
    [
        found.map(|l| l.mean).into(),
        found.map(|l| l.p99).into(),
        found.map(|l| l.max).into(),
    ]
}

fn job_rows(plan: &Plan, result: &RunResult) -> Vec<JobRow> {
    let jobs = result.main.jobs.iter().enumerate();
    let one = |(at, outcome): (usize, &JobOutcome)| {
        let baseline = job_baseline(plan, result, at).map(|other| other.execution_ps);
        let slowdown = quotient(outcome.execution_ps, outcome.complete, baseline);
        let [mean, p99, _] = latencies(plan, [&outcome.latency]);
        JobRow {
            job: outcome.name.clone(),
            values: vec![
                Value::Integer(outcome.ranks.into()),
                Value::Integer(outcome.execution_ps),
                baseline.into(),
                slowdown.into(),
                Value::Integer(outcome.compute_ps),
                Value::Integer(outcome.messages),
                Value::Integer(outcome.bytes),
                mean,
                p99,
            ],
        }
    };
    jobs.filter_map(|(at, outcome)| Some(one((at, outcome.as_ref()?))))
        .collect()
}

/// In the order of the experiment; rates are of all NICs together.
fn background_rows(plan: &Plan, run: &Simulation, status: RowStatus) -> Vec<BackgroundRow> {
    if status != RowStatus::Complete {
        return Vec::new();
    }
    let experiment = &plan.experiment;
    let fabric = &experiment.fabric;
    let nics = f64::from(fabric.topology.nics());
    let rate = |units| {
        let load = per_slot(experiment, &run.stats, units);
        Value::Real(NicRate::of(experiment).gbit_per_s(load) * nics)
    };
    let one = |flow: &BackgroundOutcome| BackgroundRow {
        sl: fabric.qos.service_levels[usize::from(flow.sl)].name.clone(),
        values: vec![
            Value::Integer(flow.messages),
            Value::Integer(flow.messages_delivered),
            rate(flow.units),
            rate(flow.units_delivered),
        ],
    };
    run.background.iter().map(one).collect()
}
