//! Time series as figures, for the files beside a result and for reports: the largest lines of a series, with no more
//! points than are visible.

use super::colours::{Colours, PALETTE};
use super::labels::{Labels, name};
use crate::config::experiment::SeriesKind;
use crate::figure::tables::Key;
use crate::figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line, SeriesStyle};
use crate::units::{number, time_unit};
use std::collections::BTreeMap;
use std::io;

/// Most points of a line.
const POINTS: u64 = 400;

/// When samples were taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampling {
    pub interval_ps: f64,
    pub samples: u64,
}

impl Sampling {
    /// Samples in a point.
    fn per_point(self) -> u64 {
        self.samples.div_ceil(POINTS).max(1)
    }

    /// The number of points.
    fn points(self) -> usize {
        self.samples.div_ceil(self.per_point()) as usize
    }

    /// The middle of a point in picoseconds, and its samples, of which the last point may have fewer.
    fn span(self, point: usize) -> (f64, u64) {
        let first = point as u64 * self.per_point();
        let samples = self.per_point().min(self.samples - first);
        let middle = first as f64 + samples as f64 / 2.0;
        (middle * self.interval_ps, samples)
    }

    fn end_ps(self) -> f64 {
        self.interval_ps * self.samples as f64
    }
}

/// The samples of a series.
pub(crate) trait Samples {
    /// Passes on each sample: its key, its number from 0, and its value as in tables.
    fn each(&mut self, see: &mut dyn FnMut(Key, u64, f64)) -> io::Result<()>;
}

/// A series to draw.
pub(crate) struct SeriesFigure<'a> {
    pub kind: SeriesKind,
    pub sampling: Sampling,
    /// Most lines.
    pub lines: usize,
    pub labels: &'a dyn Labels,
}

/// Sums over the samples of a point.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub value: f64,
    rows: u64,
}

/// The sum of each line over all samples.
pub(super) fn totals(samples: &mut dyn Samples) -> io::Result<BTreeMap<Key, f64>> {
    let mut totals: BTreeMap<Key, f64> = BTreeMap::new();
    samples.each(&mut |key, _, value| *totals.entry(key).or_default() += value)?;
    Ok(totals)
}

/// The lines with the largest sums, at most `most`, the largest first.
pub(super) fn largest<'t>(
    totals: impl Iterator<Item = (&'t Key, &'t f64)>,
    most: usize,
) -> Vec<Key> {
    let mut all: Vec<(&Key, &f64)> = totals.collect();
    all.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    all.into_iter().map(|(key, _)| *key).take(most).collect()
}

impl SeriesFigure<'_> {
    /// Draws the largest lines. The figure's title names no run.
    pub fn figure(&self, samples: &mut dyn Samples, colours: &mut Colours) -> io::Result<Figure> {
        let totals = totals(samples)?;
        // The colour of a line does not depend on how many are drawn.
        let mut shown = largest(totals.iter(), PALETTE);
        let places = colours.of(self.kind, &shown);
        shown.truncate(self.lines);
        let sums = self.sums(samples, shown.len(), |key| {
            shown.iter().position(|shown| *shown == key)
        })?;
        let points = sums.iter().map(|sums| self.means(sums)).collect();
        let named = shown.iter().map(|key| name(self.kind, self.labels, *key));
        let styles = places
            .into_iter()
            .take(shown.len())
            .map(SeriesStyle::Number);
        let (what, most) = match self.kind {
            SeriesKind::Flows => ("flows", "most bytes"),
            SeriesKind::PortVls => ("Port VLs", "most data waiting"),
            SeriesKind::Sources => ("sources", "largest sum of control levels"),
            SeriesKind::Power => ("states", "most links"),
        };
        let seen = match (shown.len(), totals.len()) {
            (_, 0) => "nothing was recorded".to_owned(),
            (shown, all) if shown == all => format!("all {all} {what} seen"),
            (shown, all) => format!("{shown} of {all} {what}: those with the {most}"),
        };
        let title = match self.kind {
            SeriesKind::Flows => "Bandwidth of flows",
            SeriesKind::PortVls => "Data that wait for a port VL",
            SeriesKind::Sources => "Control levels of sources",
            SeriesKind::Power => "Power states of links",
        };
        let lines = Lines {
            names: named.collect(),
            styles: styles.collect(),
            points,
        };
        let high = lines.points.iter().flatten().map(|point| point.y);
        let (axis, factor) = self.value(high.fold(0.0, f64::max));
        Ok(self.drawn(title, &seen, lines, axis, factor, false))
    }

    /// The sums of `lines` lines; `line` says which one a sample counts for.
    pub(super) fn sums(
        &self,
        samples: &mut dyn Samples,
        lines: usize,
        line: impl Fn(Key) -> Option<usize>,
    ) -> io::Result<Vec<Vec<Sum>>> {
        let per_point = self.sampling.per_point();
        let mut sums = vec![vec![Sum::default(); self.sampling.points()]; lines];
        samples.each(&mut |key, sample, value| {
            let sums = line(key).and_then(|line| sums.get_mut(line));
            let point = (sample / per_point) as usize;
            if let Some(sum) = sums.and_then(|sums| sums.get_mut(point)) {
                sum.value += value;
                sum.rows += 1;
            }
        })?;
        Ok(sums)
    }

    /// The mean of each point, at its middle. A sample without a row was 0; a source without a row has not sent yet.
    fn means(&self, sums: &[Sum]) -> Vec<CurvePoint> {
        let mean = |(point, sum): (usize, &Sum)| {
            let (x, samples) = self.sampling.span(point);
            let of = match self.kind {
                SeriesKind::Sources => sum.rows,
                SeriesKind::Flows | SeriesKind::PortVls | SeriesKind::Power => samples,
            };
            let y = sum.value / of as f64;
            (of > 0).then(|| CurvePoint::at(x, y))
        };
        sums.iter().enumerate().filter_map(mean).collect()
    }

    /// The quantity of the lines in a unit that fits values of up to `high`, and the factor from the unit of tables to
    /// it.
    fn value(&self, high: f64) -> (Axis, f64) {
        let (name, unit, factor) = match self.kind {
            SeriesKind::Flows => match high {
                1000.0.. => ("bandwidth", "Tb/s", 1e-3),
                1.0.. => ("bandwidth", "Gb/s", 1.0),
                1e-3.. => ("bandwidth", "Mb/s", 1e3),
                1e-9.. => ("bandwidth", "kb/s", 1e6),
                _ => ("bandwidth", "Gb/s", 1.0),
            },
            SeriesKind::PortVls => match high / 1024.0 {
                10_240.0.. => ("waiting", "MiB", 1.0 / 1024.0 / 1024.0),
                2.0.. => ("waiting", "KiB", 1.0 / 1024.0),
                _ => ("waiting", "B", 1.0),
            },
            SeriesKind::Sources => ("control level", "", 1.0),
            SeriesKind::Power => ("links", "", 1.0),
        };
        (Axis::new(name, unit), factor)
    }

    pub(super) fn drawn(
        &self,
        title: &str,
        seen: &str,
        lines: Lines,
        y: Axis,
        factor: f64,
        stacked: bool,
    ) -> Figure {
        let end_ps = self.sampling.end_ps();
        let (from_ps, unit) = time_unit(end_ps);
        let line = |(series, mut points): (usize, Vec<CurvePoint>)| {
            for point in &mut points {
                point.x *= from_ps;
                point.y *= factor;
            }
            Line { series, points }
        };
        let panel = CurvePanel {
            name: String::new(),
            lines: lines.points.into_iter().enumerate().map(line).collect(),
        };
        let per_point = self.sampling.per_point();
        let point_ps = self.sampling.interval_ps * per_point as f64;
        let (factor, point_unit) = time_unit(10.0 * point_ps);
        let time = format!("{} {point_unit}", number(point_ps * factor));
        Figure {
            title: title.to_owned(),
            note: match per_point {
                1 => format!("{seen}; a point per {time}"),
                n => format!("{seen}; a point is the mean over {time}, {n} samples"),
            },
            chart: Chart::Curves(Curves {
                x: Axis::new("time", unit),
                x_end: Some(end_ps * from_ps),
                y,
                stacked,
                series: lines.names,
                styles: lines.styles,
                panels: vec![panel],
                ..Curves::default()
            }),
        }
    }

    /// The middle of a point in picoseconds.
    pub(super) fn middle_ps(&self, point: usize) -> f64 {
        self.sampling.span(point).0
    }
}

/// The names, styles and points of lines.
pub(super) struct Lines {
    pub names: Vec<String>,
    pub styles: Vec<SeriesStyle>,
    /// Points at times in picoseconds.
    pub points: Vec<Vec<CurvePoint>>,
}
