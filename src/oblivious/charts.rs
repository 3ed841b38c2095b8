//! Figures of analyses: the distribution of a figure over runs, and of congestions over connections. Histograms are
//! drawn as outlines, so that one figure can compare several analyses (ORCS, Figures 3 and 4).

use super::analysis::Analysis;
use super::outcome::Outcome;
use flitwise_figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};
use std::collections::BTreeMap;

/// Bins of bandwidths, as many as ORCS has.
pub const BANDWIDTH_BINS: usize = 20;

/// The distributions of the figures of an analysis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distributions<'a> {
    /// Its name in legends.
    pub label: &'a str,
    /// The number of runs whose mean bandwidth of a connection is in each of [`BANDWIDTH_BINS`] equal bins from 0 to
    /// the whole link; the last bin includes its end.
    pub bandwidth_bins: Vec<u64>,
    /// Connections by congestion.
    pub congestions: Vec<(u64, u64)>,
    /// Runs by the longest path through the levels.
    pub delays: Vec<(u64, u64)>,
}

impl Outcome<'_> {
    /// The distributions that its figures show.
    #[must_use]
    pub fn distributions(&self) -> Distributions<'_> {
        Distributions {
            label: self.label,
            bandwidth_bins: self.analysis.bandwidth_bins(),
            congestions: self.analysis.histogram().of_connections().collect(),
            delays: self.analysis.delays(),
        }
    }
}

impl Analysis {
    /// [`Distributions::bandwidth_bins`].
    #[must_use]
    pub fn bandwidth_bins(&self) -> Vec<u64> {
        let mut bins = vec![0; BANDWIDTH_BINS];
        for run in &self.runs {
            let bin = (run.bandwidth * BANDWIDTH_BINS as f64).max(0.0) as usize;
            bins[bin.min(BANDWIDTH_BINS - 1)] += 1;
        }
        bins
    }

    /// [`Distributions::delays`]; empty if they were not computed.
    #[must_use]
    pub fn delays(&self) -> Vec<(u64, u64)> {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for delay in self.runs.iter().filter_map(|run| run.delay) {
            *counts.entry(delay).or_default() += 1;
        }
        counts.into_iter().collect()
    }
}

/// Distribution over runs of the mean bandwidth of a connection (Figure 3). `None` without a run.
#[must_use]
pub fn bandwidth_figure(of: &[Distributions<'_>]) -> Option<Figure> {
    let outline = |one: &Distributions<'_>| {
        let bins = Bins {
            first: 0.0,
            width: 100.0 / one.bandwidth_bins.len().max(1) as f64,
            count: one.bandwidth_bins.len(),
        };
        let middle = |bin: usize| bins.width * (bin as f64 + 0.5);
        let counts = one.bandwidth_bins.iter().enumerate();
        bins.outline(counts.map(|(bin, &runs)| (middle(bin), runs)))
    };
    let width = 100.0 / BANDWIDTH_BINS as f64;
    figure(
        "Bandwidth of connections over runs",
        format!("Mean of 1/congestion in each run, in bins of {width:.3} %."),
        Axis::new("mean bandwidth of a connection", "% of the link"),
        "runs",
        of,
        outline,
    )
}

/// Distribution over runs of the longest path through the levels (Figure 4). `None` if no analysis has such paths.
#[must_use]
pub fn delay_figure(of: &[Distributions<'_>]) -> Option<Figure> {
    let delays = |one: &Distributions<'_>| real(&one.delays);
    figure(
        "Longest path through the levels over runs",
        "Each message counts as many times as its congestion.".to_owned(),
        Axis::new("delay", "messages"),
        "runs",
        of,
        |one| Bins::of_whole_numbers(of.iter().flat_map(delays)).outline(delays(one)),
    )
}

/// Distribution of congestions over connections. `None` without a connection.
#[must_use]
pub fn congestion_figure(of: &[Distributions<'_>]) -> Option<Figure> {
    let counts = |one: &Distributions<'_>| {
        let mut counts = real(&one.congestions);
        counts.retain(|&(value, _)| value > 0.0);
        counts
    };
    figure(
        "Congestion of connections",
        "Most connections on a cable of the route, over all levels and runs.".to_owned(),
        Axis::new("congestion", "connections"),
        "connections",
        of,
        |one| Bins::of_whole_numbers(of.iter().flat_map(counts)).outline(counts(one)),
    )
}

fn real(counts: &[(u64, u64)]) -> Vec<(f64, u64)> {
    let counts = counts.iter();
    counts
        .map(|&(value, count)| (value as f64, count))
        .collect()
}

fn figure(
    title: &str,
    note: String,
    x: Axis,
    counted: &str,
    of: &[Distributions<'_>],
    outline: impl Fn(&Distributions<'_>) -> Vec<CurvePoint>,
) -> Option<Figure> {
    let lines: Vec<Line> = (of.iter().enumerate())
        .map(|(series, one)| Line {
            series,
            points: outline(one),
        })
        .collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return None;
    }
    Some(Figure {
        title: title.to_owned(),
        note,
        chart: Chart::Curves(Curves {
            x,
            y: Axis::new(&format!("part of the {counted}"), "%"),
            series: of.iter().map(|one| one.label.to_owned()).collect(),
            panels: vec![CurvePanel {
                name: String::new(),
                lines,
            }],
            ..Curves::default()
        }),
    })
}

/// Most bins of a chart with a bin for every whole number.
const MOST_BINS: f64 = 100.0;

/// Equal bins.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bins {
    first: f64,
    width: f64,
    count: usize,
}

impl Bins {
    /// A bin for every whole number up to the largest value, or for several in a row; the number is in the middle.
    fn of_whole_numbers(values: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let most = values
            .into_iter()
            .fold(0.0, |most: f64, (value, _)| most.max(value));
        let width = ((most + 1.0) / MOST_BINS).ceil().max(1.0);
        Self {
            first: -0.5,
            width,
            count: ((most + 1.0) / width).ceil() as usize,
        }
    }

    /// The outline of the bins, as a part of all values; the last bin includes its end. Empty without a value.
    fn outline(&self, values: impl IntoIterator<Item = (f64, u64)>) -> Vec<CurvePoint> {
        let mut counts = vec![0_u64; self.count];
        for (value, count) in values {
            let bin = ((value - self.first) / self.width).max(0.0) as usize;
            if let Some(own) = counts.get_mut(bin.min(self.count.saturating_sub(1))) {
                *own = own.saturating_add(count);
            }
        }
        let all: u64 = counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count));
        if all == 0 {
            return Vec::new();
        }
        let point = |x: f64, y: f64| CurvePoint::at(x.max(0.0), y);
        let mut points = vec![point(self.first, 0.0)];
        for (bin, count) in counts.iter().enumerate() {
            let part = 100.0 * *count as f64 / all as f64;
            let begin = self.first + self.width * bin as f64;
            points.push(point(begin, part));
            points.push(point(begin + self.width, part));
        }
        points.push(point(self.first + self.width * self.count as f64, 0.0));
        points
    }
}
