//! 95 % confidence intervals: of the mean of independent values, and, by batch means, of a mean
//! over time.

use schemars::JsonSchema;
use serde::Serialize;

/// Mean of independent values with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
#[non_exhaustive]
pub struct Interval {
    /// Mean of the values.
    // It is a result of its own, beside its interval.
    #[serde(skip)]
    pub mean: f64,
    /// Half the width of the interval, by Student's t.
    pub half_width: f64,
    /// The number of values: in a window 8, 16 or 32 batches.
    #[serde(rename = "batches")]
    #[schemars(extend("unit" = "batches"))]
    pub values: usize,
}

/// 97.5 % quantiles of Student's t with 1, 2, … 31 degrees of freedom.
const T: [f64; 31] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042, 2.040,
];

/// 95 % quantile of the normal distribution.
const ONE_SIDED: f64 = 1.645;

/// Fewest batches that an interval is made of.
const FEWEST: usize = 8;

/// Mean of `values` and its interval; `None` for fewer than two. Beyond 32 values it uses
/// the quantile for 32, which is larger by less than 4 %.
#[must_use]
pub fn interval_95(values: &[f64]) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let t = T[(values.len() - 2).min(T.len() - 1)];
    Some(Interval {
        mean,
        half_width: t * (squares / (n - 1.0) / n).sqrt(),
        values: values.len(),
    })
}

/// Interval of the mean over a window that was cut into batches with these means.
///
/// As long as the batches are correlated (the coefficient of neighbours is above a bound that
/// one in twenty independent series reaches), neighbours are merged. `None` if that leaves
/// fewer than eight batches, as for a quantity that grows throughout the window.
pub fn batch_means(means: &[f64]) -> Option<Interval> {
    let mut means = means.to_vec();
    while means.len() >= FEWEST {
        if correlation(&means) <= ONE_SIDED / (means.len() as f64).sqrt() {
            return interval_95(&means);
        }
        means = means
            .chunks_exact(2)
            .map(|pair| (pair[0] + pair[1]) / 2.0)
            .collect();
    }
    None
}

/// Correlation coefficient of neighbours; 0 if all values are equal.
fn correlation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    if squares > 0.0 {
        products.sum::<f64>() / squares
    } else {
        0.0
    }
}
