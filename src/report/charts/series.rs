//! Time series: bandwidth of flows, data that wait, control levels of sources.

use super::{time_unit, titled};
use crate::config::experiment::SeriesKind;
use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line};
use crate::report::source::{RunSource, Sample, Series};

/// Most lines of a figure: more cannot be told apart.
const LINES: usize = 6;
/// Most points of a line; each is the mean over its part of the time.
const POINTS: u64 = 200;

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
    let (factor, unit) = time_unit(series.end_ps as f64);
    let line = |(at, (_, samples, _)): (usize, &(&String, &Vec<Sample>, f64))| Line {
        series: at,
        points: points(series, samples, factor, divisor),
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

/// Means over equal parts of the time. A sample that is not there is 0.
fn points(series: &Series, samples: &[Sample], factor: f64, divisor: f64) -> Vec<CurvePoint> {
    let interval = series.interval_ps.clamp(1, series.end_ps.max(1));
    let count = (series.end_ps / interval).max(1);
    let per = count.div_ceil(POINTS).max(1);
    let parts = count.div_ceil(per) as usize;
    let mut sums = vec![0.0; parts];
    for sample in samples {
        let at = (sample.ps.saturating_sub(1) / interval / per) as usize;
        if let Some(sum) = sums.get_mut(at) {
            *sum += sample.value;
        }
    }
    let point = |(at, sum): (u64, f64)| CurvePoint {
        x: ((at * per + per / 2) * interval) as f64 * factor,
        y: sum / per as f64 / divisor,
        half: None,
        hollow: false,
    };
    (0..).zip(sums).map(point).collect()
}
