//! The communication matrix of a trace or job: the bytes that each rank, or NIC of a job, sends to each other one,
//! collectives included.

use super::reference::replay_on_ideal_network;
use super::traces::Traces;
use super::{RunError, Status, TraceDigest};
use crate::config::experiment::Job;
use crate::config::{ConfigError, Experiment, Plan, resolve_text};
use crate::fabric::ids::NicId;
use crate::oblivious::{Given, Pair};
use crate::replay::Repeat;
use crate::stop::Stop;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Most ranks of a matrix.
const MOST_RANKS: u32 = 1 << 16;

/// The messages of a traced program, as pairs for a static analysis.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CommunicationMatrix {
    /// One level of pairs with their bytes.
    pub given: Given,
    /// Of a job, the NIC of each rank of the pairs; a trace alone has none.
    pub nics: Vec<NicId>,
    /// Identifies the content of the trace.
    pub digest: Option<TraceDigest>,
}

/// Returns the messages that the ranks of a trace send to each other when it is replayed. Each rank has a NIC of its
/// own, and collectives become the messages of their usual algorithms.
///
/// # Errors
/// If the trace cannot be replayed to its end, or the user stops it.
pub fn communication_matrix(trace: &Path, stop: Stop<'_>) -> Result<CommunicationMatrix, RunError> {
    let shown = trace.display().to_string();
    let mut traces = Traces::none();
    let small = plan(&shown, 2)?;
    traces.check([&small.experiment], stop)?;
    let ranks = match small.experiment.jobs.first() {
        Some(job) => traces.of(job)?.ranks(),
        None => 0,
    };
    check_size("--trace", &shown, u64::from(ranks))?;
    // Only the number of NICs matters: the network is ideal.
    let levels = (2..5).find(|&levels| 8u32.pow(levels) >= ranks);
    let plan = plan(&shown, levels.unwrap_or(6))?;
    let sent = sent(&plan.experiment, &traces, &shown, stop)?;
    let pair = |([from, to], bytes): ([NicId; 2], u64)| {
        let pair = Pair {
            from: from.get(),
            to: to.get(),
        };
        (pair, bytes)
    };
    Ok(CommunicationMatrix {
        given: Given::matrix(&shown, ranks, sent.into_iter().map(pair)),
        nics: Vec::new(),
        digest: traces.digests_in([&plan.experiment]).pop(),
    })
}

/// Returns the messages that a run of job number `number` of an experiment gives to the fabric, by all its keys. The
/// ranks of the pairs are NICs: first the ones of the job's ranks, then others over which its nodes send.
///
/// # Errors
/// If there is no such job, a run has another fabric than a static analysis, a trace cannot be read or replayed to
/// its end, a job does not fit, or the user stops it.
pub fn job_matrix(
    plan: &Plan,
    number: usize,
    stop: Stop<'_>,
) -> Result<CommunicationMatrix, RunError> {
    let experiment = &plan.experiment;
    let Some(job) = experiment.jobs.get(number) else {
        let problem = format!(
            "there is no job {number}; there are {}, counted from 0",
            experiment.jobs.len()
        );
        return Err(ConfigError::new("--job", problem).into());
    };
    refuse_other_fabrics(experiment, job)?;
    let mut traces = Traces::none();
    traces.check([experiment], stop)?;
    let mut ranks = Vec::new();
    for job in &experiment.jobs {
        ranks.push(traces.of(job)?.ranks());
    }
    let placed = experiment.place(&ranks)?;
    let mut nics: Vec<NicId> = Vec::new();
    let mut numbers: HashMap<NicId, u32> = HashMap::new();
    let mut number_of = |nic: NicId| {
        *numbers.entry(nic).or_insert_with(|| {
            nics.push(nic);
            nics.len() as u32 - 1
        })
    };
    for &nic in placed.get(number).into_iter().flatten() {
        number_of(nic);
    }
    let sent = sent(&alone(experiment, number), &traces, &job.trace, stop)?;
    let by_number = sent.into_iter().map(|(nics, bytes)| {
        let [from, to] = nics.map(&mut number_of);
        (Pair { from, to }, bytes)
    });
    let mut pairs: Vec<(Pair, u64)> = by_number.collect();
    pairs.sort_unstable_by_key(|(pair, _)| (pair.from, pair.to));
    check_size("--job", &job.trace, nics.len() as u64)?;
    let only = Experiment {
        jobs: vec![job.clone()],
        ..experiment.clone()
    };
    Ok(CommunicationMatrix {
        given: Given::matrix(&job.trace, nics.len() as u32, pairs),
        nics,
        digest: traces.digests_in([&only]).pop(),
    })
}

/// Refuses jobs that run on another fabric than `[fabric]` describes, which is the one that is analysed.
fn refuse_other_fabrics(experiment: &Experiment, job: &Job) -> Result<(), ConfigError> {
    let planes = experiment.node.planes;
    if planes > 1 {
        let problem = format!(
            "a run has {planes} copies of the fabric, and a static analysis has one; analyse the job with \
             --set node.rails=1"
        );
        return Err(ConfigError::new("node.rails", problem));
    }
    if job.collectives.in_network() {
        let problem = "switches combine the data of \"in-network\" collectives, and in a static analysis they only pass \
                       messages on; take another algorithm";
        return Err(ConfigError::new("collectives", problem));
    }
    Ok(())
}

/// The experiment in which only one job runs; the others keep their NICs.
fn alone(experiment: &Experiment, number: usize) -> Experiment {
    let mut alone = experiment.clone();
    for (at, job) in alone.jobs.iter_mut().enumerate() {
        job.enabled = at == number;
        if job.repeat == Repeat::UntilOthersEnd {
            job.repeat = Repeat::Times(1);
        }
    }
    alone
}

/// The bytes that NICs send to each other in a replay of the jobs of an experiment.
fn sent(
    experiment: &Experiment,
    traces: &Traces,
    shown: &str,
    stop: Stop<'_>,
) -> Result<BTreeMap<[NicId; 2], u64>, RunError> {
    let mut sent: BTreeMap<[NicId; 2], u64> = BTreeMap::new();
    let status = replay_on_ideal_network(experiment, traces, stop, &mut |message| {
        let bytes = sent.entry([message.src, message.dst]).or_default();
        *bytes = bytes.saturating_add(message.bytes);
    })?;
    match status {
        Status::Complete => Ok(sent),
        Status::Interrupted => Err(RunError::Interrupted(format!(
            "trace `{shown}` was replayed"
        ))),
        other => {
            let why = anyhow::anyhow!("the replay of `{shown}` does not end: {other:?}");
            Err(RunError::Failed(why))
        }
    }
}

fn check_size(key: &str, shown: &str, ranks: u64) -> Result<(), ConfigError> {
    if ranks > u64::from(MOST_RANKS) {
        let problem = format!("{shown} has {ranks} ranks; matrices have at most {MOST_RANKS}");
        return Err(ConfigError::new(key, problem));
    }
    Ok(())
}

/// The trace on a fabric of 8^`levels` NICs.
fn plan(trace: &str, levels: u32) -> Result<Plan, RunError> {
    let trace = serde_json::Value::from(trace);
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 8, n = {levels} }}\n[[job]]\ntrace = {trace}\n"
    );
    Ok(resolve_text("the trace", &text, Path::new(""), &[])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_of_hpl_has_all_its_bytes_and_those_of_its_collectives() {
        let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/hpl-16.vef.gz");
        let given = communication_matrix(&trace, Stop::never()).unwrap().given;
        assert_eq!((given.ranks, given.levels.len()), (16, 1));
        let bytes: u64 = given.levels[0].weights.iter().sum();
        // 40,881,332 bytes from point to point; 21 small collectives.
        assert!((40_881_332..41_000_000).contains(&bytes), "{bytes}");
    }
}
