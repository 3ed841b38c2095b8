//! Curves: measures over loads, distributions, time series.

use super::Axis;
use super::frame::{Frame, Swatch, room_beyond, room_for, series_stroke};
use super::scale::Scale;
use super::svg::{Paint, Stroke};

/// Curves in panels that share their axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    /// The horizontal axis.
    pub x: Axis,
    /// It is logarithmic.
    pub log_x: bool,
    /// The vertical axis.
    pub y: Axis,
    /// It is logarithmic.
    pub log_y: bool,
    /// Points have marks.
    pub marks: bool,
    /// Names of the series, over all panels.
    pub series: Vec<String>,
    /// The panels.
    pub panels: Vec<CurvePanel>,
}

/// A panel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CurvePanel {
    /// Its name; may be empty.
    pub name: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Index of its series.
    pub series: usize,
    /// Its points, by `x`.
    pub points: Vec<CurvePoint>,
}

/// A point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CurvePoint {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// Half the 95 % interval of `y`, if it is known.
    pub half: Option<f64>,
    /// Drawn hollow: it is less certain than others, as the note says.
    pub hollow: bool,
}

const HEIGHT: f64 = 220.0;

impl Curves {
    pub(super) fn draw(&self, frame: &mut Frame) {
        let swatch = if self.marks {
            Swatch::LineWithMark
        } else {
            Swatch::Line
        };
        frame.legend(&self.series, swatch);
        let [x_range, y_range] = self.ranges();
        let upright = |pixels| match self.log_y {
            true => Scale::logarithmic(y_range, pixels),
            false => Scale::linear(y_range, pixels),
        };
        let left = room_for(&upright([HEIGHT, 0.0]));
        let lying = |pixels| match self.log_x {
            true => Scale::logarithmic(x_range, pixels),
            false => Scale::exact(x_range, pixels),
        };
        let right = room_beyond(&lying([0.0, frame.width - left]));
        let names: Vec<String> = self.panels.iter().map(|panel| panel.name.clone()).collect();
        let panels = frame.panels(&names, [210.0, HEIGHT], [left, right, 44.0]);
        for (at, (panel, area)) in self.panels.iter().zip(&panels.areas).enumerate() {
            let [x, y, w, h] = *area;
            let lying = lying([x, x + w]);
            let scale = upright([y + h, y]);
            let first = at % panels.columns == 0;
            frame.level_lines(*area, &scale, first);
            if first {
                frame.side(*area, &self.y.label());
            }
            frame.foot(*area, &lying, &self.x);
            for line in &panel.lines {
                self.line(frame, line, &lying, &scale);
            }
        }
    }

    fn line(&self, frame: &mut Frame, line: &Line, x: &Scale, y: &Scale) {
        let points = line.points.iter();
        let path: Vec<[f64; 2]> = points.map(|p| [x.at(p.x), y.at(p.y)]).collect();
        frame.svg.path(&path, series_stroke(line.series));
        for (point, [px, py]) in line.points.iter().zip(path) {
            if let Some(half) = point.half.filter(|half| *half > 0.0) {
                let ends = [point.y - half, point.y + half].map(|value| y.at(value));
                let stroke = Stroke::new(Paint::Series(line.series), 1.2);
                frame.svg.line([px, ends[0]], [px, ends[1]], stroke);
                for end in ends {
                    frame.svg.line([px - 3.0, end], [px + 3.0, end], stroke);
                }
            }
            if self.marks {
                frame.mark(line.series, [px, py], point.hollow);
            }
        }
    }

    /// Of the horizontal and the vertical axis.
    fn ranges(&self) -> [[f64; 2]; 2] {
        let lines = || self.panels.iter().flat_map(|panel| &panel.lines);
        let points = || lines().flat_map(|line| &line.points);
        let xs = || points().map(|p| p.x);
        let high_x = xs().fold(0.0, f64::max);
        let x = match self.log_x {
            true => {
                let low = xs().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
                [if low.is_finite() { low } else { 1.0 }, high_x]
            }
            false => [0.0, if self.marks { high_x * 1.03 } else { high_x }],
        };
        let low = |p: &CurvePoint| p.y - p.half.unwrap_or(0.0);
        let high = points()
            .map(|p| p.y + p.half.unwrap_or(0.0))
            .fold(0.0, f64::max);
        let y = match self.log_y {
            true => {
                let above = points().map(low).filter(|y| *y > 0.0);
                let low = above.fold(f64::INFINITY, f64::min);
                let low = if low.is_finite() { low } else { 1.0 };
                [low / 1.3, high * 1.3]
            }
            false => [points().map(low).fold(0.0, f64::min), high],
        };
        [x, y]
    }
}
