//! A figure over many runs: mean with its interval, extremes and quantiles.

use super::analysis::{Analysis, RunFigures};
use flitwise_figure::tables::interval_95;
use serde::{Deserialize, Serialize};

/// The distribution of a figure over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean; `None` with one run.
    pub half_width: Option<f64>,
    /// Smallest value.
    pub least: f64,
    /// 5 % quantile.
    pub p05: f64,
    /// Median.
    pub median: f64,
    /// 95 % quantile.
    pub p95: f64,
    /// Largest value.
    pub most: f64,
}

impl Spread {
    /// The spread of these values; `None` if there are none. A quantile is the smallest value that its share of the
    /// values does not exceed.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&least, &most) = (sorted.first()?, sorted.last()?);
        let quantile = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted[rank - 1]
        };
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            half_width: interval_95(values).map(|interval| interval.half_width),
            least,
            p05: quantile(5),
            median: quantile(50),
            p95: quantile(95),
            most,
        })
    }

    /// Half width of the interval as a share of the mean; `None` with one run or a mean of 0.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let half = self.half_width?;
        (self.mean != 0.0).then(|| half / self.mean.abs())
    }
}

/// The figures of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spreads {
    /// Mean share of the bandwidth of a connection, 1/congestion.
    pub bandwidth: Spread,
    /// Mean max-min fair bandwidth of a connection, as a share of the fastest link.
    pub fair_bandwidth: Option<Spread>,
    /// Fair bandwidth of the slowest connection.
    pub slowest_fair_bandwidth: Option<Spread>,
    /// Sum over levels of the largest congestion.
    pub sum_max_congestion: Spread,
    /// That sum relative to the sum of the largest loads of a host link: 1 if no cable between switches holds the
    /// pattern up.
    pub over_host_links: Option<Spread>,
    /// Longest path through the levels.
    pub delay: Option<Spread>,
}

/// A figure as tables show it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SpreadRow {
    /// Its name, with its unit.
    pub name: &'static str,
    /// Its distribution.
    pub spread: Spread,
    /// Factor to the unit.
    pub scale: f64,
    /// Digits behind the point.
    pub digits: usize,
}

impl SpreadRow {
    /// A value in the unit.
    #[must_use]
    pub fn text(&self, value: f64) -> String {
        let Self { scale, digits, .. } = *self;
        format!("{:.digits$}", value * scale)
    }

    /// `82.31 ± 0.22`.
    #[must_use]
    pub fn mean_text(&self) -> String {
        let half = self.spread.half_width;
        let half = half.map_or(String::new(), |half| format!(" ± {}", self.text(half)));
        format!("{}{half}", self.text(self.spread.mean))
    }
}

impl Spreads {
    /// The figures that exist; `bytes`: the loads of cables are bytes.
    #[must_use]
    pub fn rows(&self, bytes: bool) -> Vec<SpreadRow> {
        let sum = if bytes {
            "sum of largest loads, bytes"
        } else {
            "sum of largest congestions"
        };
        let row = |name, scale, digits, spread: Option<Spread>| {
            spread.map(|spread| SpreadRow {
                name,
                spread,
                scale,
                digits,
            })
        };
        let percent = |name, spread| row(name, 100.0, 2, spread);
        let rows = [
            percent("bandwidth of a connection, %", Some(self.bandwidth)),
            percent("max-min fair bandwidth, %", self.fair_bandwidth),
            percent(
                "fair bandwidth of the slowest, %",
                self.slowest_fair_bandwidth,
            ),
            row(
                sum,
                1.0,
                if bytes { 0 } else { 2 },
                Some(self.sum_max_congestion),
            ),
            row("relative to host links alone", 1.0, 3, self.over_host_links),
            row("longest path through the levels", 1.0, 2, self.delay),
        ];
        rows.into_iter().flatten().collect()
    }
}

impl Analysis {
    /// The spreads of the figures over the runs; `None` without a run.
    #[must_use]
    pub fn spreads(&self) -> Option<Spreads> {
        let all = |of: &dyn Fn(&RunFigures) -> Option<f64>| {
            let values: Option<Vec<f64>> = self.runs.iter().map(of).collect();
            values.and_then(|values| Spread::of(&values))
        };
        Some(Spreads {
            bandwidth: all(&|run| Some(run.bandwidth))?,
            fair_bandwidth: all(&|run| Some(run.fair?.mean)),
            slowest_fair_bandwidth: all(&|run| Some(run.fair?.least)),
            sum_max_congestion: all(&|run| Some(run.sum_max_cong as f64))?,
            over_host_links: all(&|run| {
                (run.sum_max_hosts > 0).then(|| run.sum_max_cong as f64 / run.sum_max_hosts as f64)
            }),
            delay: all(&|run| Some(run.delay? as f64)),
        })
    }
}
