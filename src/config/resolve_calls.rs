//! Resolves how a job computes and how its MPI calls send.

use super::error::ConfigError;
use super::experiment::{Calls, Compute, FormatKey};
use super::raw::{RawJob, RawSendCompletion};
use crate::replay::collectives::Choices;
use crate::replay::mpi::Protocol;
use crate::replay::trace::POLL_GAP_PS;
use crate::units::Ratio;

/// How the job computes.
pub(super) fn compute(job: &RawJob, key: &impl Fn(&str) -> String) -> Result<Compute, ConfigError> {
    let factors = job.compute_factors.clone();
    if factors.as_ref().is_some_and(Vec::is_empty) {
        return Err(ConfigError::new(
            key("compute_factors"),
            "is empty; list a factor for each rank, or leave it out",
        ));
    }
    let noise = job.compute_noise.unwrap_or(Ratio::ZERO);
    if noise > Ratio::ONE {
        return Err(ConfigError::new(
            key("compute_noise"),
            "is more than 1; a computation would take less than no time",
        ));
    }
    Ok(Compute {
        time: job.compute_time,
        poll_gap_ps: job.poll_gap.map_or(POLL_GAP_PS, |gap| gap.0),
        cap_ps: job.compute_cap.map(|cap| cap.0),
        factors: factors.unwrap_or_default(),
        noise,
    })
}

/// How MPI calls send.
pub(super) fn calls(job: &RawJob) -> Calls {
    let default = Protocol::default();
    Calls {
        eager_threshold_bytes: (job.eager_threshold)
            .map_or(default.eager_threshold_bytes, |bytes| bytes.0),
        send_overhead_ps: job.send_overhead.map_or(0, |time| time.0),
        receive_overhead_ps: job.receive_overhead.map_or(0, |time| time.0),
    }
}

/// The keys that are given and that not every format uses. The format of the trace is not known yet.
pub(super) fn format_keys(job: &RawJob) -> Vec<FormatKey> {
    const CALLS: &[&str] = &["GOAL", "TI", "DUMPI"];
    const COLLECTIVES: &[&str] = &["VEF", "TI", "DUMPI"];
    let rendezvous = matches!(job.send_completion, Some(RawSendCompletion::Rendezvous));
    let keys: [(bool, &'static str, &'static [&'static str]); 8] = [
        (
            job.eager_threshold.is_some() && !rendezvous,
            "eager_threshold",
            CALLS,
        ),
        (job.send_overhead.is_some(), "send_overhead", CALLS),
        (job.receive_overhead.is_some(), "receive_overhead", CALLS),
        (job.host_speed.is_some(), "host_speed", &["TI"]),
        (job.compute_time.is_some(), "compute_time", &["DUMPI"]),
        (job.poll_gap.is_some(), "poll_gap", &["DUMPI"]),
        (
            job.skip_unsupported == Some(true),
            "skip_unsupported",
            &["DUMPI"],
        ),
        (
            job.collectives != Choices::default(),
            "collectives",
            COLLECTIVES,
        ),
    ];
    let given = keys.into_iter().filter(|&(given, ..)| given);
    given
        .map(|(_, name, formats)| FormatKey { name, formats })
        .collect()
}
