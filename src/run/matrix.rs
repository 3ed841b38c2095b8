//! The communication matrix of a trace: the bytes that each rank sends to each other one, collectives included.

use super::reference::replay_on_ideal_network;
use super::traces::Traces;
use super::{RunError, Status, TraceDigest};
use crate::config::{ConfigError, Plan, resolve_text};
use crate::fabric::ids::NicId;
use crate::oblivious::{Given, Pair};
use crate::stop::Stop;
use std::collections::BTreeMap;
use std::path::Path;

/// Most ranks of a matrix.
const MOST_RANKS: u32 = 1 << 16;

/// Returns the messages that the ranks of a trace send to each other when it is replayed, as one level of pairs with
/// their bytes. Each rank has a NIC of its own, and collectives become the messages of their usual algorithms.
///
/// The digest identifies the content of the trace.
///
/// # Errors
/// If the trace cannot be replayed to its end, or the user stops it.
pub fn communication_matrix(
    trace: &Path,
    stop: Stop<'_>,
) -> Result<(Given, Option<TraceDigest>), RunError> {
    let shown = trace.display().to_string();
    let mut traces = Traces::none();
    let small = plan(&shown, 2)?;
    traces.check([&small.experiment], stop)?;
    let ranks = match small.experiment.jobs.first() {
        Some(job) => traces.of(job)?.ranks(),
        None => 0,
    };
    if ranks > MOST_RANKS {
        let problem = format!("{shown} has {ranks} ranks; matrices have at most {MOST_RANKS}");
        return Err(ConfigError::new("--trace", problem).into());
    }
    // Only the number of NICs matters: the network is ideal.
    let levels = (2..5).find(|&levels| 8u32.pow(levels) >= ranks);
    let plan = plan(&shown, levels.unwrap_or(6))?;
    let mut sent: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let status = replay_on_ideal_network(&plan.experiment, &traces, stop, &mut |message| {
        let pair = (message.src.get(), message.dst.get());
        let bytes = sent.entry(pair).or_default();
        *bytes = bytes.saturating_add(message.bytes);
    })?;
    match status {
        Status::Complete => {}
        Status::Interrupted => {
            return Err(RunError::Interrupted(format!(
                "trace `{shown}` was replayed"
            )));
        }
        other => {
            let why = anyhow::anyhow!("the replay of `{shown}` does not end: {other:?}");
            return Err(RunError::Failed(why));
        }
    }
    let pair = |((from, to), bytes)| (Pair { from, to }, bytes);
    let digest = traces.digests_in([&plan.experiment]).pop();
    Ok((
        Given::matrix(&shown, ranks, sent.into_iter().map(pair)),
        digest,
    ))
}

/// The NIC of every rank of job number `job` of an experiment.
///
/// # Errors
/// If there is no such job, a trace cannot be read, or a job does not fit.
pub fn job_nics(plan: &Plan, job: usize, stop: Stop<'_>) -> Result<Vec<NicId>, RunError> {
    let experiment = &plan.experiment;
    let mut traces = Traces::none();
    traces.check([experiment], stop)?;
    let mut ranks = Vec::new();
    for job in &experiment.jobs {
        ranks.push(traces.of(job)?.ranks());
    }
    let placed = experiment.place(&ranks)?;
    placed.into_iter().nth(job).ok_or_else(|| {
        let problem = format!(
            "there is no job {job}; there are {}, counted from 0",
            ranks.len()
        );
        ConfigError::new("--job", problem).into()
    })
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
        let (given, _) = communication_matrix(&trace, Stop::never()).unwrap();
        assert_eq!((given.ranks, given.levels.len()), (16, 1));
        let bytes: u64 = given.levels[0].weights.iter().sum();
        // 40,881,332 bytes from point to point; 21 small collectives.
        assert!((40_881_332..41_000_000).contains(&bytes), "{bytes}");
    }
}
