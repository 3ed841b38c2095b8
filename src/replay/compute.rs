//! The durations of the computations of a trace: capped, scaled, by factors of ranks, with noise.

use super::program::{RankId, StreamId};
use flitwise_base::random::{Purpose, Stream};
use flitwise_base::units::Ratio;
use hashbrown::HashMap;

/// The changes to computations besides the scale of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeModel {
    /// Longer ones take this long, before anything else, in picoseconds.
    pub cap_ps: Option<u64>,
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
    /// By rank and stream.
    noise: HashMap<(RankId, StreamId), Stream>,
}

impl Computing {
    /// Of job number `job` under the experiment's `seed`.
    pub fn new(scale: Ratio, model: ComputeModel, seed: u64, job: u32) -> Self {
        Self {
            scale,
            model,
            seed,
            job,
            noise: HashMap::new(),
        }
    }

    /// Returns the duration of the next computation of a stream, which takes `recorded_ps` in the trace; `None` beyond 64 bits.
    pub fn ps(&mut self, rank: RankId, stream: StreamId, recorded_ps: u64) -> Option<u64> {
        let model = &self.model;
        let capped = model.cap_ps.map_or(recorded_ps, |cap| recorded_ps.min(cap));
        let mut ps = self.scale.mul_round(capped)?;
        if let Some(factor) =
            (rank.index().checked_rem(model.factors.len())).and_then(|at| model.factors.get(at))
        {
            ps = factor.mul_round(ps)?;
        }
        if model.noise.is_zero() || ps == 0 {
            return Some(ps);
        }
        let most = model.noise.mul_round(ps)?;
        let (seed, component) = (
            self.seed,
            [
                u64::from(self.job),
                u64::from(rank.get()) << 32 | u64::from(stream.get()),
            ],
        );
        let draws = self.noise.entry((rank, stream));
        let draws = draws.or_insert_with(|| Stream::new(seed, Purpose::Noise, component));
        let drawn = draws.below_wide(2 * u128::from(most) + 1);
        u64::try_from(u128::from(ps - most.min(ps)) + drawn).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computing(model: ComputeModel) -> Computing {
        Computing::new(Ratio::whole(3), model, 7, 0)
    }

    #[test]
    fn a_cap_comes_before_the_scale_and_factors_go_round() {
        let model = ComputeModel {
            cap_ps: Some(100),
            factors: [1, 2].map(Ratio::whole).to_vec(),
            ..ComputeModel::default()
        };
        let mut computing = computing(model);
        let mut ps = |rank, recorded| computing.ps(RankId::new(rank), StreamId::new(0), recorded);
        assert_eq!(
            [ps(0, 50), ps(1, 50), ps(2, 50)],
            [Some(150), Some(300), Some(150)]
        );
        assert_eq!([ps(0, 101), ps(3, u64::MAX)], [Some(300), Some(600)]);
    }

    #[test]
    fn noise_stays_in_its_bounds_around_the_same_mean() {
        let noise = Ratio::new(1, 10).unwrap();
        let model = ComputeModel {
            noise,
            ..ComputeModel::default()
        };
        let mut one = computing(model.clone());
        let mut same = computing(model);
        let (rank, stream) = (RankId::new(1), StreamId::new(0));
        let drawn: Vec<u64> = (0..4000)
            .filter_map(|_| one.ps(rank, stream, 1000))
            .collect();
        let again: Vec<u64> = (0..4000)
            .filter_map(|_| {
                // Other ranks draw from streams of their own.
                same.ps(RankId::new(2), stream, 1000);
                same.ps(rank, stream, 1000)
            })
            .collect();
        assert_eq!(drawn, again);
        let ends = [drawn.iter().min(), drawn.iter().max()];
        assert_eq!(ends, [Some(&2700), Some(&3300)]);
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        assert!((mean - 3000.0).abs() < 12.0, "{mean}");
        assert_eq!(one.ps(rank, stream, 0), Some(0));
    }
}
