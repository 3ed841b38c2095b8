//! The durations of the computations of a trace: capped, scaled, by factors of ranks, with noise.

use super::program::{RankId, RegionId, StreamId};
use flitwise_base::random::{Purpose, Stream};
use flitwise_base::units::Ratio;

/// The changes to computations besides the scale of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeModel {
    /// Longer ones take this long, before anything else, in picoseconds.
    pub cap_ps: Option<u64>,
    /// Factors of regions in place of the scale of the job, by their number.
    pub regions: Vec<Option<Ratio>>,
    /// Factors of the ranks; after the last one the first again. None: 1.
    pub factors: Vec<Ratio>,
    /// The part of itself by which a computation is longer or shorter at most: up to 1.
    pub noise: Ratio,
}

impl Default for ComputeModel {
    /// Nothing.
    fn default() -> Self {
        Self {
            cap_ps: None,
            regions: Vec::new(),
            factors: Vec::new(),
            noise: Ratio::ZERO,
        }
    }
}

/// The computations of one job.
#[derive(Debug)]
pub(super) struct Computing {
    scale: Ratio,
    model: ComputeModel,
    seed: u64,
    job: u32,
}

/// An operation of a job, by which its noise is drawn: the same on every network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub rank: RankId,
    pub stream: StreamId,
    pub repetition: u64,
    /// As [`Program::number`](super::program::Program::number) says.
    pub number: u64,
}

impl Computing {
    /// Of job number `job` of the experiment under its `seed`.
    pub fn new(scale: Ratio, model: ComputeModel, seed: u64, job: u32) -> Self {
        Self {
            scale,
            model,
            seed,
            job,
        }
    }

    /// Returns the duration of the computation before operation `drawn` in these `regions`, the innermost last, which
    /// takes `recorded_ps` in the trace; `None` beyond 64 bits.
    pub fn ps(&self, drawn: Drawn, regions: &[RegionId], recorded_ps: u64) -> Option<u64> {
        let model = &self.model;
        let of_region = |region: &RegionId| model.regions.get(region.index()).copied().flatten();
        let scale = regions.iter().rev().find_map(of_region);
        let capped = model.cap_ps.map_or(recorded_ps, |cap| recorded_ps.min(cap));
        let mut ps = scale.unwrap_or(self.scale).mul_round(capped)?;
        let rank = drawn.rank.index().checked_rem(model.factors.len());
        if let Some(factor) = rank.and_then(|at| model.factors.get(at)) {
            ps = factor.mul_round(ps)?;
        }
        if model.noise.is_zero() || ps == 0 {
            return Some(ps);
        }
        let most = model.noise.mul_round(ps)?;
        let component = [
            self.job.into(),
            drawn.rank.get().into(),
            drawn.stream.get().into(),
            drawn.repetition,
            drawn.number,
        ];
        let mut draws = Stream::new(self.seed, Purpose::Noise, component);
        let change = draws.below_wide(2 * u128::from(most) + 1);
        u64::try_from(u128::from(ps - most.min(ps)) + change).ok()
    }
}
