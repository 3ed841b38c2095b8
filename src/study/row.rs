//! Rows: the contents of the tables about a run.

use super::draw::draw;
use super::metrics::Metrics;
use crate::config::Plan;
use crate::fabric::stats;
use crate::oblivious::MeanFigures;
use crate::replay::background::BackgroundOutcome;
use crate::replay::outcome::JobOutcome;
use crate::results::energy::{Energy, idle_share};
use crate::results::nic_rate::NicRate;
use crate::results::{
    Latency, RunWarning, TimeSplit, baseline_time_ps, execution_time_ps, job_baseline, last_job,
    latency, per_slot, quotient, reference_ps, run_warnings, saturated, slowdown, throughput,
    time_split_of_all,
};
use crate::run::{Run, RunResult, Simulation, Status};
use crate::units::Ratio;

/// A number in a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Not known, or not existing.
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
    /// All its parts are complete.
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

/// Names of columns, and whether their numbers are integers.
pub(super) type Columns = &'static [(&'static str, bool)];

/// A type of numbers in tables.
trait Number {
    const IS_INTEGER: bool;
}

impl Number for u64 {
    const IS_INTEGER: bool = true;
}

impl Number for f64 {
    const IS_INTEGER: bool = false;
}

/// Defines the numbers of a kind of rows. The columns have the names of the fields.
macro_rules! define_columns {
    ($(#[$doc:meta])* $name:ident { $($column:ident: $number:ty,)* }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub(super) struct $name {
            $($column: Option<$number>,)*
        }

        impl $name {
            pub const COLUMNS: Columns =
                &[$((stringify!($column), <$number as Number>::IS_INTEGER)),*];

            fn values(&self) -> Vec<Value> {
                vec![$(self.$column.into()),*]
            }
        }
    };
}

define_columns! {
    /// The numbers of a simulated run, or of one of its loads.
    Simulated {
        execution_time_ps: u64,
        baseline_time_ps: u64,
        slowdown_ratio: f64,
        unloaded_time_ps: u64,
        ideal_time_ps: u64,
        computing_ps: u64,
        partners_ps: u64,
        latency_and_serialisation_ps: u64,
        queueing_ps: u64,
        credit_stalls_ps: u64,
        links_down_ps: u64,
        messages_count: u64,
        flit_hops_count: u64,
        offered_gbit_per_s_per_nic: f64,
        throughput_gbit_per_s_per_nic: f64,
        latency_mean_ns: f64,
        latency_p99_ns: f64,
        latency_max_ns: f64,
        saturated: u64,
        packet_latency_mean_ns: f64,
        link_idle_share: f64,
        energy_j: f64,
        energy_pj_per_bit: f64,
        link_energy_saved: f64,
    }
}

define_columns! {
    /// The numbers of a static analysis.
    Analysed {
        bandwidth: f64,
        fair_bandwidth: f64,
        slowest_fair_bandwidth: f64,
        sum_max_congestion: f64,
        sum_max_host_links: f64,
        delay: f64,
        connections: f64,
        lost: f64,
        worst_congestion: u64,
        worst_bound: u64,
        mappings_count: u64,
    }
}

define_columns! {
    /// The numbers of a job.
    JobNumbers {
        ranks_count: u64,
        execution_time_ps: u64,
        baseline_time_ps: u64,
        slowdown_ratio: f64,
        computing_ps: u64,
        messages_count: u64,
        bytes_count: u64,
        latency_mean_ns: f64,
        latency_p99_ns: f64,
        latency_p99_ratio: f64,
    }
}

define_columns! {
    /// The numbers of a background flow; rates are of all NICs together.
    BackgroundNumbers {
        created_messages_count: u64,
        delivered_messages_count: u64,
        offered_gbit_per_s: f64,
        accepted_gbit_per_s: f64,
    }
}

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
    /// The metrics of the columns.
    pub(super) metrics: &'static Metrics,
    /// Ids of the parts that its seed draws, as `placement=1a2b3c4d traffic=5e6f7a8b`.
    pub draw: String,
    /// Id of the record of the experiment.
    pub record: String,
    /// Its jobs.
    pub jobs: Vec<JobRow>,
    /// Its background flows, in the order of the experiment.
    pub background: Vec<BackgroundRow>,
    /// The warnings about the run, in its first row.
    pub warnings: Vec<RunWarning>,
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
            draw: String::new(),
            record,
            jobs: Vec::new(),
            background: Vec::new(),
            warnings: Vec::new(),
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
    let row = |(part, run): (Run, &Simulation), (status, reason), values: &dyn Fn() -> _| RunRow {
        point,
        seed,
        load: None,
        values: numbers(status, metrics, values),
        metrics,
        status,
        reason,
        draw: draw(plan, &run.jobs),
        record: record(part),
        jobs: Vec::new(),
        background: background_rows(plan, run, status),
        warnings: Vec::new(),
    };
    let mut rows: Vec<RunRow> = if let Some(measure) = &plan.experiment.measure {
        let loads = measure.loads.iter().zip(&result.curve).enumerate();
        let of_load = |(at, (load, run)): (usize, (&Ratio, &Simulation))| RunRow {
            load: Some(load.to_string()),
            ..row((Run::Load(at), run), ended(&run.status), &|| {
                Simulated::of_load(plan, run).values()
            })
        };
        loads.map(of_load).collect()
    } else {
        let end = ended(&result.status(plan));
        let values = || match &result.main.congestion {
            Some(figures) => Analysed::from(figures).values(),
            None => Simulated::of_jobs(plan, result).values(),
        };
        vec![RunRow {
            jobs: job_rows(plan, result, end.0),
            ..row((Run::Experiment, &result.main), end, &values)
        }]
    };
    if let Some(first) = rows.first_mut() {
        first.warnings = run_warnings(plan, result);
    }
    rows
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

/// Numbers of an incomplete run cannot be compared.
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

impl From<&MeanFigures> for Analysed {
    fn from(figures: &MeanFigures) -> Self {
        Self {
            bandwidth: Some(figures.bandwidth),
            fair_bandwidth: figures.fair_bandwidth,
            slowest_fair_bandwidth: figures.slowest_fair_bandwidth,
            sum_max_congestion: Some(figures.sum_max_congestion),
            sum_max_host_links: Some(figures.sum_max_host_links),
            delay: figures.delay,
            connections: Some(figures.connections),
            lost: Some(figures.lost),
            worst_congestion: figures.worst_congestion.map(u64::from),
            worst_bound: figures.worst_bound.map(u64::from),
            mappings_count: Some(figures.runs),
        }
    }
}

impl Simulated {
    /// The numbers of a run with jobs.
    fn of_jobs(plan: &Plan, result: &RunResult) -> Self {
        let (experiment, run) = (&plan.experiment, &result.main);
        let split = last_job(run).and_then(|job| time_split_of_all(plan, result, job));
        let part = |part: fn(&TimeSplit) -> u64| split.as_ref().map(part);
        let latencies = run.jobs.iter().flatten().map(|job| &job.latency);
        Self {
            execution_time_ps: Some(execution_time_ps(experiment, run)),
            baseline_time_ps: baseline_time_ps(plan, result),
            slowdown_ratio: slowdown(plan, result),
            unloaded_time_ps: reference_ps(run, result.unloaded.as_ref()),
            ideal_time_ps: reference_ps(run, result.ideal.as_ref()),
            computing_ps: part(|split| split.computing_ps),
            partners_ps: part(|split| split.partners_ps),
            latency_and_serialisation_ps: part(|split| split.latency_and_serialisation_ps),
            queueing_ps: part(|split| split.queueing_ps),
            credit_stalls_ps: part(|split| split.credit_stalls_ps),
            links_down_ps: split.and_then(|split| split.links_down_ps),
            ..Self::of_run(plan, run, together(plan, latencies))
        }
    }

    /// The numbers of a load.
    fn of_load(plan: &Plan, run: &Simulation) -> Self {
        let experiment = &plan.experiment;
        let offered = run.background.iter().map(|flow| flow.units).sum();
        let offered = per_slot(experiment, &run.stats, offered);
        let levels = run.stats.service_levels.iter();
        Self {
            offered_gbit_per_s_per_nic: Some(NicRate::of(experiment).gbit_per_s(offered)),
            ..Self::of_run(plan, run, together(plan, levels.map(|sl| &sl.end_to_end)))
        }
    }

    /// The numbers that runs with and without jobs have. `messages`: the latency of messages.
    fn of_run(plan: &Plan, run: &Simulation, messages: Option<Latency>) -> Self {
        let experiment = &plan.experiment;
        let accepted = throughput(experiment, &run.stats);
        let levels = run.stats.service_levels.iter();
        let packets = together(plan, levels.map(|sl| &sl.network));
        let energy = Energy::of(experiment, run);
        Self {
            messages_count: Some(run.messages),
            flit_hops_count: Some(run.stats.flit_hops),
            throughput_gbit_per_s_per_nic: Some(NicRate::of(experiment).gbit_per_s(accepted)),
            latency_mean_ns: messages.map(|l| l.mean),
            latency_p99_ns: messages.map(|l| l.p99),
            latency_max_ns: messages.map(|l| l.max),
            saturated: Some(saturated(experiment, run).into()),
            packet_latency_mean_ns: packets.map(|l| l.mean),
            link_idle_share: Some(idle_share(experiment, &run.stats)),
            energy_j: energy.map(|energy| energy.total_j()),
            energy_pj_per_bit: energy.and_then(|energy| energy.pj_per_bit()),
            link_energy_saved: energy.map(|energy| energy.links_saved()),
            ..Self::default()
        }
    }
}

/// Several distributions of latencies as one.
fn together<'a>(plan: &Plan, all: impl IntoIterator<Item = &'a stats::Latency>) -> Option<Latency> {
    let mut together = stats::Latency::default();
    for one in all {
        together.merge(one);
    }
    latency(&together, plan.experiment.fabric.units.tick)
}

fn job_rows(plan: &Plan, result: &RunResult, status: RowStatus) -> Vec<JobRow> {
    if status != RowStatus::Complete {
        return Vec::new();
    }
    let tick = plan.experiment.fabric.units.tick;
    let one = |(at, outcome): (usize, &Option<JobOutcome>)| {
        let outcome = outcome.as_ref()?;
        let other = job_baseline(plan, result, at);
        let baseline = other.map(|other| other.execution_ps);
        let p99 = |of: &JobOutcome| latency(&of.latency, tick).map(|l| l.p99);
        let latency = latency(&outcome.latency, tick);
        let numbers = JobNumbers {
            ranks_count: Some(outcome.ranks.into()),
            // A job that repeats until the others end may not have ended once.
            execution_time_ps: outcome.complete.then_some(outcome.execution_ps),
            baseline_time_ps: baseline,
            slowdown_ratio: quotient(outcome.execution_ps, outcome.complete, baseline),
            computing_ps: outcome.complete.then_some(outcome.compute_ps),
            messages_count: Some(outcome.messages),
            bytes_count: Some(outcome.bytes),
            latency_mean_ns: latency.map(|l| l.mean),
            latency_p99_ns: latency.map(|l| l.p99),
            latency_p99_ratio: p99(outcome)
                .zip(other.and_then(p99))
                .and_then(|(p99, alone)| (alone > 0.0).then(|| p99 / alone)),
        };
        Some(JobRow {
            job: outcome.name.clone(),
            values: numbers.values(),
        })
    };
    result
        .main
        .jobs
        .iter()
        .enumerate()
        .filter_map(one)
        .collect()
}

/// The background flows in the order of the experiment.
fn background_rows(plan: &Plan, run: &Simulation, status: RowStatus) -> Vec<BackgroundRow> {
    if status != RowStatus::Complete {
        return Vec::new();
    }
    let experiment = &plan.experiment;
    let fabric = &experiment.fabric;
    let nics = f64::from(fabric.topology.nics());
    let rate = |units| {
        let load = per_slot(experiment, &run.stats, units);
        Some(NicRate::of(experiment).gbit_per_s(load) * nics)
    };
    let one = |flow: &BackgroundOutcome| {
        let numbers = BackgroundNumbers {
            created_messages_count: Some(flow.messages),
            delivered_messages_count: Some(flow.messages_delivered),
            offered_gbit_per_s: rate(flow.units),
            accepted_gbit_per_s: rate(flow.units_delivered),
        };
        BackgroundRow {
            sl: fabric.qos.service_levels[usize::from(flow.sl)].name.clone(),
            values: numbers.values(),
        }
    };
    run.background.iter().map(one).collect()
}
