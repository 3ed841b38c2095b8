//! Time series: bandwidth of flows, data that wait, control levels of sources.

use super::{time_unit, titled};
use crate::config::experiment::SeriesKind;
use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};
use crate::report::source::{RunSource, Sample, Series};

/// Most lines of a figure: more cannot be told apart.
const LINES: usize = 6;
/// Most points of a line; each is the mean over its part of the time.
const POINTS: u64 = 200;

/// The samples of a run: all its series have the same.
#[derive(Clone, Copy)]
struct Sampling {
    interval_ps: f64,
    samples: u64,
}

impl Sampling {
    fn of(run: &RunSource) -> Self {
        let end_ps = run.series.iter().map(|series| series.end_ps).max();
        let end_ps = end_ps.unwrap_or(0) as f64;
        let samples = (end_ps / run.interval_ps.max(1) as f64).round().max(1.0);
        Self {
            // Not the whole picoseconds of the run: rounding would add up.
            interval_ps: (end_ps / samples).max(1.0),
            samples: samples as u64,
        }
    }

    /// The number of a sample, from its end.
    fn number(self, end_ps: u64) -> u64 {
        ((end_ps as f64 / self.interval_ps).round() as u64).saturating_sub(1)
    }
}

pub(super) fn figures(run: &RunSource) -> Vec<Figure> {
    let filled = run
        .series
        .iter()
        .filter(|series| !series.samples.is_empty());
    filled.map(|series| figure(run, series)).collect()
}

fn figure(run: &RunSource, series: &Series) -> Figure {
    let mut all: Vec<(&String, &Vec<Sample>, f64)> = series
        .samples
        .iter()
        .map(|(name, samples)| (name, samples, samples.iter().map(|s| s.value).sum()))
        .collect();
    // Stable, so that equal ones stay in the order of their names.
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    let count = all.len();
    all.truncate(LINES);
    let (what, axis, divisor) = match series.kind {
        SeriesKind::Flows => ("Bandwidth of flows", Axis::new("bandwidth", "Gb/s"), 1.0),
        SeriesKind::PortVls => (
            "Data that wait for a port VL",
            Axis::new("waiting", "KiB"),
            1024.0,
        ),
        SeriesKind::Sources => (
            "Control levels of sources",
            Axis::new("control level", ""),
            1.0,
        ),
        SeriesKind::Power => ("Power states of links", Axis::new("links", ""), 1.0),
    };
    let sampling = Sampling::of(run);
    let (factor, unit) = time_unit(sampling.interval_ps * sampling.samples as f64);
    let line = |(at, (_, samples, _)): (usize, &(&String, &Vec<Sample>, f64))| Line {
        series: at,
        points: points(series.kind, samples, sampling, [factor, 1.0 / divisor]),
    };
    let lines = all.iter().enumerate().map(line).collect();
    let mut note = String::new();
    if count > LINES {
        note = format!("The {LINES} of {count} with the largest sums.");
    }
    Figure {
        title: titled(what, &run.label),
        note,
        chart: Chart::Curves(Curves {
            x: Axis::new("time", unit),
            y: axis,
            series: all.iter().map(|(name, ..)| (*name).clone()).collect(),
            panels: vec![CurvePanel {
                name: String::new(),
                lines,
            }],
            ..Curves::default()
        }),
    }
}

/// Sums over the samples of a point.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    rows: u64,
}

/// The mean of each point, at its middle. What has no row was at 0; a source without one has not sent yet.
fn points(
    kind: SeriesKind,
    samples: &[Sample],
    sampling: Sampling,
    [x_factor, y_factor]: [f64; 2],
) -> Vec<CurvePoint> {
    let per = sampling.samples.div_ceil(POINTS).max(1);
    let mut sums = vec![Sum::default(); sampling.samples.div_ceil(per) as usize];
    for sample in samples {
        if let Some(sum) = sums.get_mut((sampling.number(sample.ps) / per) as usize) {
            sum.value += sample.value;
            sum.rows += 1;
        }
    }
    let point = |(at, sum): (u64, Sum)| {
        let first = at * per;
        // The last point may have fewer.
        let in_point = per.min(sampling.samples - first);
        let of = match kind {
            SeriesKind::Sources => sum.rows,
            SeriesKind::Flows | SeriesKind::PortVls | SeriesKind::Power => in_point,
        };
        (of > 0).then(|| CurvePoint {
            x: (first as f64 + in_point as f64 / 2.0) * sampling.interval_ps * x_factor,
            y: sum.value / of as f64 * y_factor,
            ..CurvePoint::default()
        })
    };
    (0..).zip(sums).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: u64 = 1000;

    /// The points of a series with samples that end at these nanoseconds, of `samples` of 10 ns.
    fn of(kind: SeriesKind, ends: &[(u64, f64)], samples: u64) -> Vec<(f64, f64)> {
        let sample = |&(ns, value): &(u64, f64)| Sample { ps: ns * NS, value };
        let run = RunSource {
            series: vec![Series {
                kind,
                samples: [("a".to_owned(), ends.iter().map(sample).collect())].into(),
                end_ps: samples * 10 * NS,
            }],
            interval_ps: 10 * NS,
            ..RunSource::default()
        };
        let Chart::Curves(curves) = &figures(&run)[0].chart else {
            panic!("no curves");
        };
        let points = curves.panels[0].lines[0].points.iter();
        points.map(|point| (point.x, point.y)).collect()
    }

    #[test]
    fn a_sample_is_drawn_in_the_middle_of_its_interval() {
        let points = of(SeriesKind::Flows, &[(10, 3.0), (30, 2.0)], 3);
        assert_eq!(points, [(5.0, 3.0), (15.0, 0.0), (25.0, 2.0)]);
    }

    /// 401 samples are 133 points of three and one of two. A flow of one sample in three has a third of its bandwidth.
    #[test]
    fn points_are_means_over_all_their_samples() {
        let ends: Vec<(u64, f64)> = (0..134).map(|at| (30 * at + 10, 6.0)).collect();
        let points = of(SeriesKind::Flows, &ends, 401);
        assert_eq!(points.len(), 134);
        assert!(points[..133].iter().all(|(_, y)| *y == 2.0), "{points:?}");
        assert_eq!(points[133].1, 3.0);
    }

    #[test]
    fn a_source_begins_where_it_first_sent() {
        let points = of(SeriesKind::Sources, &[(20, 0.0), (30, 4.0)], 3);
        assert_eq!(points, [(15.0, 0.0), (25.0, 4.0)]);
    }
}
