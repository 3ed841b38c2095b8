//! Resolves how a job computes and how its MPI calls send.

use super::error::ConfigError;
use super::experiment::{Calls, Compute};
use super::raw::RawJob;
use crate::replay::mpi::Protocol;
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
