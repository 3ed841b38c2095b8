//! How well predictions of bandwidths agree with the simulation.

use serde::{Deserialize, Serialize};

/// One kind of prediction over connections.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prediction {
    /// Mean predicted bandwidth, as a share of the fastest link.
    pub predicted: f64,
    /// Mean simulated bandwidth.
    pub simulated: f64,
    /// Correlation of both over connections (Pearson); `None` if one of them is the same for all.
    pub correlation: Option<f64>,
    /// Relative errors of connections.
    pub errors: Errors,
}

/// Relative errors: simulated over predicted, less 1. Below 0, the prediction promises too much.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Errors {
    /// Mean.
    pub mean: f64,
    /// Mean without signs.
    pub mean_absolute: f64,
    /// Median without signs.
    pub median_absolute: f64,
    /// Largest without signs.
    pub largest_absolute: f64,
}

impl Prediction {
    /// The headings of the cells of a row.
    pub const HEADER: [&'static str; 8] = [
        "prediction",
        "predicted",
        "simulated",
        "mean relative error",
        "mean absolute",
        "median",
        "largest",
        "correlation",
    ];

    /// A row about it; `none` is printed if there is no correlation.
    #[must_use]
    pub fn row(&self, name: &str, none: &str) -> Vec<String> {
        let percent = |value: f64| format!("{:.2} %", 100.0 * value);
        let values = [
            self.predicted,
            self.simulated,
            self.errors.mean,
            self.errors.mean_absolute,
            self.errors.median_absolute,
            self.errors.largest_absolute,
        ];
        let mut cells = vec![name.to_owned()];
        cells.extend(values.map(percent));
        let correlation = self.correlation.map(|c| format!("{c:.3}"));
        cells.push(correlation.unwrap_or_else(|| none.to_owned()));
        cells
    }

    /// Compares predicted bandwidths, above 0, with simulated ones.
    pub(super) fn of(pairs: impl Iterator<Item = [f64; 2]>) -> Self {
        let pairs: Vec<[f64; 2]> = pairs.collect();
        let mean = |of: &dyn Fn(&[f64; 2]) -> f64| mean_of(pairs.iter().map(of));
        let [predicted, simulated] = [mean(&|p| p[0]), mean(&|p| p[1])];
        let moment = |a: usize, b: usize| {
            let means = [predicted, simulated];
            mean(&|p| (p[a] - means[a]) * (p[b] - means[b]))
        };
        // Differences from rounding alone do not count.
        let differ = |at: usize| moment(at, at) > 1e-18;
        let correlation =
            (differ(0) && differ(1)).then(|| moment(0, 1) / (moment(0, 0) * moment(1, 1)).sqrt());
        let errors: Vec<f64> = pairs.iter().map(|p| p[1] / p[0] - 1.0).collect();
        Self {
            predicted,
            simulated,
            correlation,
            errors: Errors::of(&errors),
        }
    }
}

impl Errors {
    fn of(errors: &[f64]) -> Self {
        let mut sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let middle = sizes.len() / 2;
        let median = match (sizes.len() % 2, sizes.get(middle)) {
            (_, None) => 0.0,
            (1, Some(&size)) => size,
            (_, Some(&size)) => (size + sizes[middle - 1]) / 2.0,
        };
        Self {
            mean: mean_of(errors.iter().copied()),
            mean_absolute: mean_of(sizes.iter().copied()),
            median_absolute: median,
            largest_absolute: sizes.last().copied().unwrap_or(0.0),
        }
    }
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u64);
    for value in values {
        sum += value;
        count += 1;
    }
    sum / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_correlation() {
        let all = Prediction::of([[0.5, 0.25], [1.0, 1.0], [0.5, 0.5], [0.25, 0.5]].into_iter());
        assert_eq!((all.predicted, all.simulated), (0.5625, 0.5625));
        let e = all.errors;
        assert_eq!([e.mean, e.mean_absolute], [0.125, 0.375]);
        assert_eq!([e.median_absolute, e.largest_absolute], [0.25, 1.0]);
        let correlation = all.correlation.unwrap();
        // Sums of products: 15/64 together, 19/64 of either alone.
        assert!((correlation - 15.0 / 19.0).abs() < 1e-12, "{correlation}");
        let same = Prediction::of([[0.5, 0.4], [0.5, 0.6]].into_iter());
        assert_eq!(same.correlation, None);
        assert!((same.errors.median_absolute - 0.2).abs() < 1e-12);
    }
}
