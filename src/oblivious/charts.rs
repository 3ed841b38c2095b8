//! Figures of analyses: how a figure spreads over runs, and how congestions spread over connections. Histograms are
//! drawn as outlines, so that those of several analyses can be compared in one figure (ORCS, Figures 3 and 4).

use super::analysis::Analysis;
use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};

/// An analysis and what legends call it.
pub type Named<'a> = (&'a str, &'a Analysis);

/// Distribution over runs of the mean bandwidth of a connection, in `bins` equal bins from 0 to 100 % (Figure 3;
/// ORCS has 20). `None` without a run.
#[must_use]
pub fn bandwidth_figure(analyses: &[Named<'_>], bins: u32) -> Option<Figure> {
    let values = |analysis: &Analysis| -> Vec<f64> {
        let runs = analysis.runs.iter();
        runs.map(|run| 100.0 * run.bandwidth).collect()
    };
    let width = 100.0 / f64::from(bins.max(1));
    let bins = Bins {
        first: 0.0,
        width,
        count: bins.max(1) as usize,
    };
    let lines = |analysis: &Analysis| bins.outline(&values(analysis));
    figure(
        "Bandwidth of connections over runs",
        format!("Mean of 1/congestion in each run, in bins of {width:.3} %."),
        Axis::new("mean bandwidth of a connection", "% of the link"),
        "runs",
        analyses,
        lines,
    )
}

/// Distribution over runs of the longest path through the levels (Figure 4). `None` if no analysis has such paths.
#[must_use]
pub fn delay_figure(analyses: &[Named<'_>]) -> Option<Figure> {
    let values = |analysis: &Analysis| -> Vec<f64> {
        let delays = analysis.runs.iter().filter_map(|run| run.delay);
        delays.map(|delay| delay as f64).collect()
    };
    let all = analyses.iter().flat_map(|(_, analysis)| values(analysis));
    let bins = Bins::of_whole_numbers(all.fold(0.0, f64::max));
    figure(
        "Longest path through the levels over runs",
        "Each message counts as many times as its congestion.".to_owned(),
        Axis::new("delay", "messages"),
        "runs",
        analyses,
        |analysis| bins.outline(&values(analysis)),
    )
}

/// Distribution of congestions over connections. `None` without a connection.
#[must_use]
pub fn congestion_figure(analyses: &[Named<'_>]) -> Option<Figure> {
    let counts = |analysis: &Analysis| -> Vec<(f64, u64)> {
        let histogram = analysis.histogram();
        let used = histogram.iter().filter(|&(value, _)| value > 0);
        used.map(|(value, count)| (value as f64, count)).collect()
    };
    let all = analyses.iter().flat_map(|(_, analysis)| counts(analysis));
    let bins = Bins::of_whole_numbers(all.map(|(value, _)| value).fold(0.0, f64::max));
    figure(
        "Congestion of connections",
        "Most connections on a cable of the route, over all levels and runs.".to_owned(),
        Axis::new("congestion", "connections"),
        "connections",
        analyses,
        |analysis| bins.outline_of(counts(analysis)),
    )
}

fn figure(
    title: &str,
    note: String,
    x: Axis,
    counted: &str,
    analyses: &[Named<'_>],
    outline: impl Fn(&Analysis) -> Vec<CurvePoint>,
) -> Option<Figure> {
    let lines: Vec<Line> = (analyses.iter().enumerate())
        .map(|(series, (_, analysis))| Line {
            series,
            points: outline(analysis),
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
            series: analyses
                .iter()
                .map(|(name, _)| (*name).to_owned())
                .collect(),
            panels: vec![CurvePanel {
                name: String::new(),
                lines,
            }],
            ..Curves::default()
        }),
    })
}

/// Most bins where every whole number could have one.
const MOST_BINS: f64 = 100.0;

/// Equal bins.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bins {
    first: f64,
    width: f64,
    count: usize,
}

impl Bins {
    /// One for every whole number up to `most`, or for several in a row; the number is in the middle.
    fn of_whole_numbers(most: f64) -> Self {
        let width = ((most + 1.0) / MOST_BINS).ceil().max(1.0);
        Self {
            first: -0.5,
            width,
            count: ((most + 1.0) / width).ceil() as usize,
        }
    }

    fn outline(&self, values: &[f64]) -> Vec<CurvePoint> {
        self.outline_of(values.iter().map(|&value| (value, 1)))
    }

    /// The outline of the bins, as a part of all values; the last bin includes its end. Empty without a value.
    fn outline_of(&self, values: impl IntoIterator<Item = (f64, u64)>) -> Vec<CurvePoint> {
        let mut counts = vec![0_u64; self.count];
        for (value, count) in values {
            let bin = ((value - self.first) / self.width).max(0.0) as usize;
            if let Some(own) = counts.get_mut(bin.min(self.count.saturating_sub(1))) {
                *own += count;
            }
        }
        let all: u64 = counts.iter().sum();
        if all == 0 {
            return Vec::new();
        }
        let point = |x: f64, y: f64| CurvePoint {
            x: x.max(0.0),
            y,
            ..CurvePoint::default()
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oblivious::RunFigures;

    fn analysis(bandwidths: &[f64], delay: Option<u64>) -> Analysis {
        let run = |&bandwidth: &f64| {
            let mut run = RunFigures {
                bandwidth,
                delay,
                ..RunFigures::default()
            };
            run.histogram.add(3);
            run
        };
        Analysis {
            runs: bandwidths.iter().map(run).collect(),
            ..Analysis::default()
        }
    }

    fn points(figure: &Figure) -> Vec<(f64, f64)> {
        let Chart::Curves(curves) = &figure.chart else {
            panic!("no curves")
        };
        let points = &curves.panels[0].lines[0].points;
        points.iter().map(|p| (p.x, p.y)).collect()
    }

    #[test]
    fn runs_are_in_the_bin_of_their_bandwidth() {
        let runs = analysis(&[0.1, 0.5, 0.6, 1.0], Some(7));
        let points = points(&bandwidth_figure(&[("a", &runs)], 2).unwrap());
        let expected = [
            (0.0, 0.0),
            (0.0, 25.0),
            (50.0, 25.0),
            (50.0, 75.0),
            (100.0, 75.0),
        ];
        assert_eq!(points[..5], expected);
    }

    #[test]
    fn whole_numbers_are_in_the_middle_of_their_bins() {
        let runs = analysis(&[0.5, 0.5], Some(7));
        for (figure, at) in [
            (delay_figure(&[("a", &runs)]), 7.0),
            (congestion_figure(&[("a", &runs)]), 3.0),
        ] {
            let full: Vec<f64> = (points(&figure.unwrap()).iter())
                .filter(|point| point.1 == 100.0)
                .map(|point| point.0)
                .collect();
            assert_eq!(full, [at - 0.5, at + 0.5]);
        }
        let wide = Bins::of_whole_numbers(12_000.0);
        assert!(wide.count <= 100 && wide.width * wide.count as f64 >= 12_000.0);
    }

    #[test]
    fn nothing_is_no_figure() {
        let none = Analysis::default();
        assert_eq!(bandwidth_figure(&[("a", &none)], 20), None);
        assert_eq!(congestion_figure(&[]), None);
        let runs = analysis(&[0.5], None);
        assert_eq!(delay_figure(&[("a", &runs)]), None);
    }
}
