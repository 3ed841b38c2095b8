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

/// 97.5 % quantile of Student's t with `freedom` degrees of freedom, at least 1.
fn quantile(freedom: usize) -> f64 {
    if let Some(&t) = T.get(freedom - 1) {
        return t;
    }
    // Cornish-Fisher expansion (Abramowitz and Stegun, 26.7.5) about the normal quantile: six digits here.
    let (z, n) = (1.959_963_985_f64, freedom as f64);
    let first = z.powi(3) + z;
    let second = 5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z;
    let third = 3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z;
    z + first / (4.0 * n) + second / (96.0 * n.powi(2)) + third / (384.0 * n.powi(3))
}

/// Mean of `values` and its interval; `None` for fewer than two.
#[must_use]
pub fn interval_95(values: &[f64]) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let t = quantile(values.len() - 1);
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
