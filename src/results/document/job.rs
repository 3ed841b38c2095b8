//! `jobs` of `result.json`.

use crate::config::Plan;
use crate::config::experiment::Job as JobSpec;
use crate::fabric::ids::NicId;
use crate::replay::PairCount;
use crate::replay::outcome::JobOutcome;
use crate::results::energy::Energy;
use crate::results::latency::{Latency, latency};
use crate::results::measures::{job_baseline, quotient};
use crate::results::split::{TimeSplit, time_split};
use crate::results::waits::longest;
use crate::run::RunResult;
use schemars::JsonSchema;
use serde::Serialize;

/// Waits listed for a job.
const WAITS: usize = 20;

/// How long a rank waited for another; of a job with more than 64 ranks, how long a group of consecutive ranks waited for
/// another group.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct RankWait {
    /// The rank that waited, or the first of its group.
    pub rank: u32,
    /// The last rank of its group.
    pub last_rank: u32,
    /// The rank that it waited for, or the first of its group.
    pub waited_for_rank: u32,
    /// The last rank of its group.
    pub waited_for_last_rank: u32,
    /// Waits.
    #[schemars(extend("unit" = "waits"))]
    pub waits: u64,
    /// Their length in all.
    pub waited_ps: u64,
}

impl RankWait {
    fn of(pair: &PairCount) -> Self {
        Self {
            rank: pair.from[0],
            last_rank: pair.from[1],
            waited_for_rank: pair.to[0],
            waited_for_last_rank: pair.to[1],
            waits: pair.count,
            waited_ps: pair.amount,
        }
    }
}

/// A job and how long it took.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its service level.
    pub sl: String,
    /// Its ranks.
    pub ranks: u32,
    /// The NIC of rank 0, 1, …: the placement that was used or drawn.
    ///
    /// `placement = { list = … }` with this list repeats it.
    #[schemars(with = "Vec<u32>")]
    pub nics: Vec<NicId>,
    /// XXH3-128 of the trace file, not unpacked (`xxhsum -H2`).
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"), extend("unit" = "32 hex digits"))]
    pub trace_xxh3: Option<String>,
    /// `"VEF"` (VEF3 as well), `"GOAL"`, `"Chakra"`, `"NCCL Inspector"`, `"TI"`, `"DUMPI"`, `"OTF2"` or `"FLITREC"` (a recording).
    ///
    /// The format of the trace.
    pub format: Option<String>,
    /// Calls of the trace that the job left out, and missing or doubtful communication; null without any.
    ///
    /// First the calls that cannot be replayed, with their number, which the job left out, as `skip_unsupported` asks
    /// for; then the communication that the trace lacks, or that is doubtful, as in the warnings of the run.
    pub left_out: Option<String>,
    /// Whether all operations, messages and collectives completed.
    ///
    /// In all repetitions; with `repeat = "until-others-end"` in at least one.
    pub complete: bool,
    /// The start of the job; null if the run ended before it ([`after`](experiment.md#job)).
    pub start_ps: Option<u64>,
    /// Complete repetitions.
    pub repetitions: usize,
    /// The time from start to last event of each complete repetition.
    pub repetition_times_ps: Vec<u64>,
    /// The mean of `repetition_times_ps`, rounded down.
    ///
    /// With one run the time from its start to its last event; if not complete, the time to the end of the run, or of
    /// a stalled one to its last event.
    pub execution_time_ps: u64,
    /// The same in its baseline.
    pub baseline_time_ps: Option<u64>,
    /// `execution_time_ps` / `baseline_time_ps` of the job.
    pub slowdown: Option<f64>,
    /// Computation of a rank, reductions included, in the stream that computed longest; mean over ranks and repetitions.
    ///
    /// All ranks and complete repetitions count. It does not depend on the network.
    pub compute_ps: u64,
    /// The rest of `execution_time_ps`: network and waiting for partners.
    pub network_ps: u64,
    /// Point-to-point messages replayed; this and the next five count all repetitions.
    ///
    /// Also a repetition that was cut off.
    #[schemars(extend("unit" = "messages"))]
    pub point_to_point: u64,
    /// Their payload.
    pub point_to_point_bytes: u64,
    /// Collective operations completed.
    pub collectives: u64,
    /// All messages, with collectives and the RTS and CTS of rendezvous.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
    /// Messages between ranks of one NIC, which skip the fabric.
    pub intra_node_messages: u64,
    /// From creation to delivery of the job's messages in the fabric; null without any.
    pub latency_ns: Option<Latency>,
    /// The same in its baseline.
    pub baseline_latency_ns: Option<Latency>,
    /// The 20 longest waits of ranks for each other; [`waits.csv`](#files-of-tables) has all.
    pub longest_waits: Vec<RankWait>,
    /// The names of `nics`, where the topology has [names of
    /// operators](../reference/fabric-command.md#names-of-operators).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// With `[power]`: mean power of the whole fabric in the run times `execution_time_ps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// Parts that add up to `execution_time_ps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_split: Option<TimeSplit>,
}

/// The enabled jobs.
pub(super) fn jobs(plan: &Plan, result: &RunResult) -> Vec<Job> {
    let jobs = plan.experiment.jobs.iter().zip(&result.main.jobs);
    let one = |(at, (spec, outcome)): (usize, (&JobSpec, &Option<JobOutcome>))| {
        Some(job(plan, result, at, spec, outcome.as_ref()?))
    };
    jobs.enumerate().filter_map(one).collect()
}

fn job(plan: &Plan, result: &RunResult, at: usize, spec: &JobSpec, outcome: &JobOutcome) -> Job {
    let JobOutcome {
        name,
        ranks,
        nics,
        complete,
        // It follows from the experiment.
        endless: _,
        repetitions_ps,
        // For the time of the whole run.
        end_ps: _,
        start_ps,
        execution_ps,
        compute_ps,
        network_ps,
        point_to_point,
        point_to_point_bytes,
        collectives,
        messages,
        bytes,
        intra_node_messages,
        latency: in_fabric,
        // In `matrix.csv` and `waits.csv`.
        pairs: _,
        waits: _,
    } = outcome;
    let fabric = &plan.experiment.fabric;
    let (tick, names) = (fabric.units.tick, fabric.topology.names());
    let mut traces = result.traces.iter();
    let trace = traces.find(|digest| digest.trace == spec.trace);
    let baseline = job_baseline(plan, result, at);
    let baseline_ps = baseline.map(|baseline| baseline.execution_ps);
    let energy = Energy::of(&plan.experiment, &result.main);
    Job {
        name: name.clone(),
        sl: fabric.qos.service_levels[usize::from(spec.sl)].name.clone(),
        ranks: *ranks,
        nics: nics.clone(),
        trace_xxh3: trace.map(|trace| format!("{:032x}", trace.xxh3)),
        format: trace.map(|trace| trace.format.clone()),
        left_out: trace.and_then(|trace| trace.lacks()),
        complete: *complete,
        start_ps: *start_ps,
        repetitions: repetitions_ps.len(),
        repetition_times_ps: repetitions_ps.clone(),
        execution_time_ps: *execution_ps,
        baseline_time_ps: baseline_ps,
        slowdown: quotient(*execution_ps, *complete, baseline_ps),
        compute_ps: *compute_ps,
        network_ps: *network_ps,
        point_to_point: *point_to_point,
        point_to_point_bytes: *point_to_point_bytes,
        collectives: *collectives,
        messages: *messages,
        bytes: *bytes,
        intra_node_messages: *intra_node_messages,
        latency_ns: latency(in_fabric, tick),
        baseline_latency_ns: baseline.and_then(|baseline| latency(&baseline.latency, tick)),
        longest_waits: longest(outcome, WAITS).iter().map(RankWait::of).collect(),
        hosts: names.map(|names| {
            let labels = nics.iter().map(|&nic| names.nic_label(nic));
            labels.map(str::to_owned).collect()
        }),
        energy_j: energy.map(|energy| energy.of_job_j(*execution_ps)),
        time_split: time_split(plan, result, at),
    }
}
