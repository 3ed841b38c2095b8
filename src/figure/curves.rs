//! Curves: measures over loads, distributions, time series.

use super::axis::Axis;
use super::canvas::{COLOURS, DASHES, Paint, Part, Stroke};
use super::frame::{self, Frame, room_beyond, room_for};
use super::scale::Scale;
use flitwise_base::units::number;

/// Curves in panels that share their axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    /// The horizontal axis.
    pub x: Axis,
    /// The end of the horizontal axis; `None`: the last point.
    pub x_end: Option<f64>,
    /// It is logarithmic.
    pub log_x: bool,
    /// The vertical axis.
    pub y: Axis,
    /// It is logarithmic.
    pub log_y: bool,
    /// Points have marks.
    pub marks: bool,
    /// The surfaces between the lines are filled; each line is above the one before.
    pub stacked: bool,
    /// Names of the series, over all panels.
    pub series: Vec<String>,
    /// The style of each series; if empty, a series has the style of its number.
    pub styles: Vec<SeriesStyle>,
    /// The panels.
    pub panels: Vec<CurvePanel>,
}

/// The style of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesStyle {
    /// The colour, dashes and mark of this number, which are the same in all figures.
    Number(usize),
    /// Grey, for what has no name of its own.
    Rest,
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
    /// Crossed out, as the note says.
    pub crossed: bool,
}

const HEIGHT: f64 = 220.0;

impl CurvePoint {
    /// A point that is certain.
    #[must_use]
    pub fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            ..Self::default()
        }
    }
}

/// Half the width of a cross.
const CROSS: f64 = 5.5;

impl SeriesStyle {
    /// The line; without marks, series that share a colour differ in dashes.
    fn stroke(self, marks: bool) -> Stroke {
        let (paint, turn) = match self {
            Self::Number(at) if marks => (Paint::Series(at), at),
            Self::Number(at) => (Paint::Series(at), at + at / COLOURS),
            Self::Rest => (Paint::Grid, 0),
        };
        let dashes = DASHES[turn % DASHES.len()];
        Stroke {
            dashes,
            ..Stroke::new(paint, 1.8)
        }
    }

    /// The surface below the line.
    fn fill(self) -> Paint {
        match self {
            Self::Number(at) if at < COLOURS => Paint::Series(at),
            Self::Number(at) => Paint::Pale(at),
            Self::Rest => Paint::Grid,
        }
    }

    /// The number that says which mark it has.
    fn mark(self) -> usize {
        match self {
            Self::Number(at) => at,
            Self::Rest => COLOURS - 1,
        }
    }
}

impl Curves {
    pub(super) fn draw(&self, frame: &mut Frame) {
        self.legend(frame);
        let [x_range, y_range] = self.ranges();
        let upright = |pixels| {
            if self.log_y {
                Scale::logarithmic(y_range, pixels)
            } else {
                Scale::linear(y_range, pixels)
            }
        };
        let left = room_for(&upright([HEIGHT, 0.0]));
        let lying = |pixels| {
            if self.log_x {
                Scale::logarithmic(x_range, pixels)
            } else {
                Scale::exact(x_range, pixels)
            }
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
            frame.canvas.begin(self.part(*area, x_range));
            if self.stacked {
                frame.canvas.begin(vec![("plot", String::new())]);
                self.areas(frame, panel, &lying, &scale);
                frame.canvas.end();
            }
            frame.foot(*area, &lying, &self.x);
            if !self.stacked {
                frame.canvas.begin(vec![("plot", String::new())]);
                for line in &panel.lines {
                    self.line(frame, line, &lying, &scale);
                }
                frame.canvas.end();
            }
            frame.canvas.end();
        }
    }

    /// A panel at `area`. Time series and distributions can be zoomed; loads are few.
    fn part(&self, area: [f64; 4], x_range: [f64; 2]) -> Part {
        let mut part = if self.log_x || self.marks {
            frame::panel(area, &self.x)
        } else {
            frame::zooming(area, x_range, &self.x)
        };
        part.push(("y", self.y.name.clone()));
        part.push(("y-unit", self.y.unit.clone()));
        part
    }

    /// A line of `path`, whose points stand for `points`. Points of areas have the height of their area.
    fn values(series: usize, points: &[CurvePoint], below: Option<&[CurvePoint]>) -> Part {
        let value = |(at, point): (usize, &CurvePoint)| {
            let base = below.and_then(|below| below.get(at)).map_or(0.0, |p| p.y);
            let mut text = format!("{} {}", number(point.x), number(point.y - base));
            if let Some(half) = point.half {
                text += &format!(" {}", number(half));
            }
            text
        };
        let values: Vec<String> = points.iter().enumerate().map(value).collect();
        vec![("series", series.to_string()), ("values", values.join(";"))]
    }

    fn style(&self, series: usize) -> SeriesStyle {
        let style = self.styles.get(series);
        style.copied().unwrap_or(SeriesStyle::Number(series))
    }

    /// The names of the series; of areas in the order in which they lie on each other.
    fn legend(&self, frame: &mut Frame) {
        let mut series: Vec<usize> = (0..self.series.len()).collect();
        if self.stacked {
            series.reverse();
        }
        let names = series.into_iter().map(|at| (at, self.series[at].as_str()));
        let names: Vec<(usize, &str)> = names.collect();
        frame.keys(&names, |frame, series, [x, y]| {
            let style = self.style(series);
            if self.stacked {
                let area = [x + 4.0, y - 6.0, 16.0, 12.0];
                frame.canvas.rect(area, style.fill(), None);
                return;
            }
            let stroke = style.stroke(self.marks);
            frame.canvas.line([x, y], [x + 22.0, y], stroke);
            if self.marks {
                frame.mark(style.mark(), [x + 11.0, y], false);
            }
        });
    }

    fn line(&self, frame: &mut Frame, line: &Line, x: &Scale, y: &Scale) {
        let style = self.style(line.series);
        let points = line.points.iter();
        let path: Vec<[f64; 2]> = points.map(|p| [x.at(p.x), y.at(p.y)]).collect();
        let stroke = style.stroke(self.marks);
        frame
            .canvas
            .begin(Self::values(line.series, &line.points, None));
        frame.canvas.path(&path, stroke);
        // A line needs two ends.
        let marks = self.marks || path.len() == 1;
        for (point, [px, py]) in line.points.iter().zip(path) {
            if let Some(half) = point.half.filter(|half| *half > 0.0) {
                let ends = [point.y - half, point.y + half].map(|value| y.at(value));
                let stroke = Stroke::new(stroke.paint, 1.2);
                frame.canvas.line([px, ends[0]], [px, ends[1]], stroke);
                for end in ends {
                    frame.canvas.line([px - 3.0, end], [px + 3.0, end], stroke);
                }
            }
            if marks {
                frame.mark(style.mark(), [px, py], point.hollow);
            }
            if point.crossed {
                let stroke = Stroke::new(Paint::Ink, 1.2);
                for side in [-CROSS, CROSS] {
                    let ends = [[px - CROSS, py - side], [px + CROSS, py + side]];
                    frame.canvas.line(ends[0], ends[1], stroke);
                }
            }
        }
        frame.canvas.end();
    }

    /// The surface between each line and the one below it, which is the axis for the first.
    fn areas(&self, frame: &mut Frame, panel: &CurvePanel, x: &Scale, y: &Scale) {
        let mut below: Option<Vec<[f64; 2]>> = None;
        let mut points_below: Option<&[CurvePoint]> = None;
        for line in &panel.lines {
            let point = |p: &CurvePoint| [x.at(p.x), y.at(p.y)];
            let mut path: Vec<[f64; 2]> = line.points.iter().map(point).collect();
            if let [[_, at]] = path[..] {
                // A surface needs a width.
                let ends = [0.0, self.x_end.unwrap_or(0.0)];
                path = ends.map(|end| [x.at(end), at]).to_vec();
            }
            let base =
                below.unwrap_or_else(|| path.iter().map(|[px, _]| [*px, y.at(0.0)]).collect());
            frame
                .canvas
                .begin(Self::values(line.series, &line.points, points_below));
            let outline: Vec<[f64; 2]> = path.iter().chain(base.iter().rev()).copied().collect();
            frame.canvas.area(&outline, self.style(line.series).fill());
            // A pale line between them, for those that do not see the colours.
            frame.canvas.path(&base, Stroke::new(Paint::Surface, 0.8));
            frame.canvas.end();
            below = Some(path);
            points_below = Some(&line.points);
        }
    }

    /// Of the horizontal and the vertical axis.
    fn ranges(&self) -> [[f64; 2]; 2] {
        let lines = || self.panels.iter().flat_map(|panel| &panel.lines);
        let points = || lines().flat_map(|line| &line.points);
        let xs = || points().map(|p| p.x);
        let high_x = xs().fold(0.0, f64::max);
        let x = if self.log_x {
            let low = xs().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
            [if low.is_finite() { low } else { 1.0 }, high_x]
        } else {
            let end = if self.marks { high_x * 1.03 } else { high_x };
            [0.0, self.x_end.unwrap_or(end)]
        };
        let low = |p: &CurvePoint| p.y - p.half.unwrap_or(0.0);
        let high = points()
            .map(|p| p.y + p.half.unwrap_or(0.0))
            .fold(0.0, f64::max);
        let y = if self.log_y {
            let above = points().map(low).filter(|y| *y > 0.0);
            let low = above.fold(f64::INFINITY, f64::min);
            let low = if low.is_finite() { low } else { 1.0 };
            [low / 1.3, high * 1.3]
        } else {
            [points().map(low).fold(0.0, f64::min), high]
        };
        [x, y]
    }
}
