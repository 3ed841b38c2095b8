//! `result.json` as types, from which its schema and the tables of `docs/reference/result.md` are derived. Everything but `engine` is a
//! pure function of the experiment.
//!
//! The counters are destructured, so that a new one does not compile until it is here or is left
//! out. They do not derive this form: half of its values are computed, and what they derive, with the
//! names of their fields, is the form of records.

mod analysis;
mod comparison;
mod curve;
mod energy;
mod experiment;
mod explanation;
mod job;
mod link;
mod runs;
mod schema;
pub(super) mod status;
pub(super) mod traffic;

pub use self::analysis::{
    AnalysedNetwork, Congested, CongestionDocument, Delayed, Failed, Flow, RankedCable,
    VirtualLanes, WorstPermutation,
};
pub use self::comparison::{
    COMPARISON_SCHEMA, ComparedExperiment, ComparedJob, ComparisonDocument, comparison_json,
    comparison_schema,
};
pub(super) use self::curve::curve;
pub use self::curve::{LevelPoint, LoadPoint, Loads};
pub use self::energy::{EnergyUse, LinkEnergyUse};
pub use self::experiment::InterpretedExperiment;
pub use self::explanation::{
    CollectiveParts, Culprit, Difference, Explanation, LinkWait, Parts, Phase, RankParts,
    RegionParts,
};
pub use self::job::{Job, RankWait};
pub use self::link::{ByState, Link};
pub use self::runs::{Baseline, Engine, Reference, ReferenceJob};
pub use self::schema::{Named, schema_of};
pub use self::status::Status;
pub use self::traffic::{
    Background, Congestion, CongestionTable, GapsSkipped, LevelLatency, Saturation, ServiceLevel,
    Traffic,
};

use self::schema::{Nullable, by_sl};
use super::links::{busiest, culprits};
use super::measures::{baseline_time_ps, execution_time_ps, quotient, saturated, throughput};
use super::nic_rate::NicRate;
use crate::config::{About, Baseline as BaselinePlan, Experiment, Plan};
use crate::fabric::topology::Topology;
use crate::run::{self, RunResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Version of the layout.
pub const SCHEMA: &str = "flitwise-result-1";

/// Links listed under `links`, and under `busiest_links`.
const LINKS: usize = 20;

/// `result.json`: what `flitwise run` finds out about an experiment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Document {
    /// `flitwise-result-1`; fields may be added under the same name.
    ///
    /// Another layout would have another name.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// `complete`, `interrupted`, `stalled` (nothing can move) or `saturated`.
    ///
    /// `interrupted`: a signal such as Ctrl-C ended the run, and results cover the simulated part of the run or of a
    /// baseline. `stalled`: in the run, at one of its loads or in a baseline. `saturated`: the [limit](../evidence/reliability.md#saturation) or
    /// `--stop-when-saturated` ended the run or a baseline; runs that come later in the plan have no result.
    pub status: Status,
    /// The parts that wait for each other, when stalled; of several loads, the first that stalled.
    pub stall: Option<String>,
    /// Name, description and tags of the file; null if it has none.
    pub about: Option<About>,
    /// The configuration [as interpreted](#the-experiment-as-interpreted).
    pub experiment: InterpretedExperiment,
    /// XXH3 (128 bits) of `experiment`, the version of Flitwise and the `trace_xxh3` of all jobs.
    ///
    /// It tells runs apart. Disabled jobs count.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"), extend("unit" = "32 hex digits"))]
    pub experiment_hash: String,
    /// The seed of the run.
    pub seed: u64,
    /// The time of the job that ended last, from its start; null without a job.
    ///
    /// Jobs that repeat until the others end do not count. If the run is not complete: the time so far, never more than
    /// was simulated, without jobs that had not started.
    pub execution_time_ps: Option<u64>,
    /// The time of the same job in its baseline; null if it is not complete there.
    ///
    /// Null without a baseline.
    pub baseline_time_ps: Option<u64>,
    /// `execution_time_ps` / `baseline_time_ps`; null if either is missing or the run is not complete.
    pub slowdown: Option<f64>,
    /// Whether the fabric failed to keep up with the [background traffic](../evidence/reliability.md#saturation).
    ///
    /// Beside jobs: more than 1 % of its messages, and more than 10 per NIC, were not delivered when the run ended. In
    /// a window: what was created exceeds what was delivered by more than 1 % of it, and by more than the longest
    /// message per NIC; counted in flits, on InfiniBand in bytes with headers.
    pub saturated: bool,
    /// The first background flow that fell ever further behind in a run with jobs; null if none did.
    ///
    /// It was seen while the run was in progress ([reliability](../evidence/reliability.md#saturation)).
    pub saturation: Option<Saturation>,
    /// The enabled [jobs](#jobs).
    pub jobs: Vec<Job>,
    /// The background flows, in the order of the file.
    ///
    /// A preset or a list of flows gives several.
    pub background: Vec<Background>,
    /// Without a job: an entry for [each load](#the-curve).
    ///
    /// Loads are in the order of the file.
    pub curve: Vec<LoadPoint>,
    /// The size of the fabric.
    pub fabric: FabricSize,
    /// Totals of the run, background included.
    pub traffic: Traffic,
    /// Delivered flits over the whole run and all NICs.
    pub throughput_flits_per_cycle_per_nic: f64,
    /// The same as a rate on the link, with packet headers and padding of flits.
    ///
    /// A flit per cycle is the rate of the fastest link.
    pub throughput_gbit_per_s_per_nic: f64,
    /// The same as a rate on the link, with packet headers and padding of flits.
    ///
    /// An eighth of the rate in Gb/s.
    pub throughput_gbyte_per_s_per_nic: f64,
    /// Latencies by service level.
    #[schemars(transform = by_sl)]
    pub latency_ns: Named<LevelLatency>,
    /// The service levels, in their order.
    pub service_levels: Vec<ServiceLevel>,
    /// The counters of congestion control; null without it.
    pub congestion: Option<Congestion>,
    /// The [energy](../model/energy.md) of the run, with `[power]`; null without it.
    pub energy: Option<EnergyUse>,
    /// The 20 directed links that hold up packets longest, worst first ([Links](#links)).
    ///
    /// Of links that hold up packets equally long, the link with the longest credit wait comes first. Links that hold
    /// up none are left out.
    pub links: Vec<Link>,
    /// The 20 directed links with the highest utilisation, highest first.
    pub busiest_links: Vec<Link>,
    /// The runs that the slowdown is measured against.
    pub baselines: Vec<Baseline>,
    /// The only field that differs from run to run.
    pub engine: Engine,
    /// With `--explain`: an [entry](#explanation) per job that the run waits for; null if not complete.
    ///
    /// `flitwise explain --json` prints it on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Nullable<Vec<Explanation>>")]
    pub explanation: Option<Option<Vec<Explanation>>>,
    /// Without `--no-split`: the jobs on the fabric in which every message is alone.
    ///
    /// The fabric is the fabric of the experiment, without background traffic and without jobs that repeat until the
    /// others end. Computation, dependencies and messages inside nodes are as in the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unloaded: Option<Reference>,
    /// As `unloaded`, on a network where messages arrive when they are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal: Option<Reference>,
    /// The gaps that `background_gap_skip` [left out](../model/gap-skip.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps_skipped: Option<GapsSkipped>,
}

/// The size of a fabric.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct FabricSize {
    /// NICs.
    pub nics: u32,
    /// Switches.
    pub switches: u32,
    /// Cables between switches.
    ///
    /// Both directions count as one; NIC links are not counted.
    pub links: u64,
}

impl FabricSize {
    fn of(topology: &Topology) -> Self {
        Self {
            nics: topology.nics(),
            switches: topology.switches(),
            links: topology.directed_switch_links() / 2,
        }
    }
}

/// Returns `result.json`.
#[must_use]
pub fn result_json(plan: &Plan, result: &RunResult) -> Document {
    let RunResult {
        main,
        baselines,
        // `curve` and `trace_digests` read them.
        curve: _,
        traces: _,
        // The split of the time reads it.
        always_up: _,
        unloaded,
        ideal,
    } = result;
    let (experiment, stats) = (&plan.experiment, &main.stats);
    let nic = NicRate::of(experiment);
    let time = execution_time_ps(experiment, main);
    let complete = main.status == run::Status::Complete;
    let baseline = baseline_time_ps(plan, result);
    let status = result.status(plan);
    let hash = |experiment: &Experiment| runs::hash_of(experiment, result);
    let baselines = plan.baselines.iter().zip(baselines);
    let baselines = baselines.map(|(BaselinePlan { experiment, .. }, run)| {
        Baseline::of(experiment, run, hash(experiment))
    });
    let accepted = throughput(experiment, stats);
    let explained = plan.explain && experiment.measure.is_none();
    let reference = |run| Reference::of(experiment, (main, run), complete.then_some(time));
    Document {
        schema: SCHEMA,
        status: (&status).into(),
        about: (!plan.about.is_empty()).then(|| plan.about.clone()),
        experiment: experiment.into(),
        experiment_hash: hash(experiment),
        seed: experiment.seed,
        execution_time_ps: (!experiment.jobs.is_empty()).then_some(time),
        baseline_time_ps: baseline,
        slowdown: quotient(time, complete, baseline),
        saturated: saturated(experiment, main),
        saturation: main.saturation.map(Saturation::from),
        jobs: job::jobs(plan, result),
        background: traffic::background(plan, result),
        curve: curve(plan, result),
        fabric: FabricSize::of(&experiment.fabric.topology),
        traffic: Traffic::of(plan, main),
        throughput_flits_per_cycle_per_nic: accepted,
        throughput_gbit_per_s_per_nic: nic.gbit_per_s(accepted),
        throughput_gbyte_per_s_per_nic: nic.gbyte_per_s(accepted),
        latency_ns: traffic::latencies(plan, stats),
        service_levels: traffic::service_levels(plan, stats),
        congestion: stats.congestion.as_ref().map(Congestion::of),
        energy: EnergyUse::of(experiment, main),
        links: link::links(plan, stats, &culprits(stats, LINKS)),
        busiest_links: link::links(plan, stats, &busiest(plan, stats, LINKS)),
        baselines: baselines.collect(),
        engine: Engine::of(result),
        explanation: explained.then(|| explanation::explanations(plan, result)),
        unloaded: unloaded.as_ref().map(reference),
        ideal: ideal.as_ref().map(reference),
        // Only where gaps are skipped.
        gaps_skipped: main
            .skipped
            .map(|skipped| GapsSkipped::of(experiment, skipped)),
        stall: match status {
            run::Status::Stalled(why) => Some(why),
            _ => None,
        },
    }
}

/// Returns the JSON Schema of `result.json`.
#[must_use]
pub fn result_schema() -> Value {
    schema_of::<Document>(SCHEMA, "result.json of Flitwise")
}
