//! Figures as data, and how they are drawn; [tables] of data, and how they are written.
//!
//! Nothing here knows of runs or fabrics. A [`Figure`] says what is drawn: bars, stacks, curves, a matrix, spans of
//! time or a network. [`Figure::draw`] makes SVG of it, for a file (fixed colours, on white) or for a page whose style
//! sheet has the colours; [`encoded`] makes the bytes of a file, with the feature `pictures` as PDF and PNG, too. No
//! font of the system is used. Series differ in colour and, because colours are not always printed or seen, in marks,
//! dashes or patterns as well. [`wiring`] draws links with a value each on the topology that they make.
//!
//! ```
//! use flitwise_figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line, Theme};
//!
//! let point = |x, y| CurvePoint { x, y, ..CurvePoint::default() };
//! let line = Line { series: 0, points: vec![point(0.2, 310.0), point(0.8, 950.0)] };
//! let curves = Curves {
//!     x: Axis::new("offered", "Gb/s"),
//!     y: Axis::new("latency", "ns"),
//!     series: vec!["torus".to_owned()],
//!     panels: vec![CurvePanel { lines: vec![line], ..CurvePanel::default() }],
//!     ..Curves::default()
//! };
//! let figure = Figure { title: "Latency".into(), note: String::new(), chart: Chart::Curves(curves) };
//! assert!(figure.draw(600, Theme::File).contains(">latency (ns)</text>"));
//! ```

mod bars;
mod canvas;
mod curves;
mod file;
#[cfg(feature = "pictures")]
mod font;
mod frame;
mod matrix;
mod network;
#[cfg(feature = "pictures")]
mod outline;
#[cfg(feature = "pictures")]
mod pdf;
#[cfg(feature = "pictures")]
mod png;
mod scale;
mod spans;
mod stacks;
mod svg;
pub mod tables;
mod text;
pub mod wiring;

pub use bars::{BarGroup, BarPanel, Bars};
pub use canvas::{PALETTE_CSS, Theme};
pub use curves::{CurvePanel, CurvePoint, Curves, Line, SeriesStyle};
pub use file::{EncodeError, FileFormat, encoded};
pub use matrix::{Cell, Matrix};
pub use network::{Link, Network, Node};
pub use spans::{Row, Span, Spans};
pub use stacks::{Stack, Stacks};

use canvas::Sheet;
use frame::Frame;

/// Narrowest figure that can be drawn, in pixels.
pub const MIN_WIDTH: u32 = 280;
/// Widest figure.
pub const MAX_WIDTH: u32 = 4000;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// A remark that is needed to read it; may be empty.
    pub note: String,
    /// Its content.
    pub chart: Chart,
}

/// The content of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Upright bars with intervals.
    Bars(Bars),
    /// Lying bars made of parts.
    Stacks(Stacks),
    /// Curves, distributions and time series.
    Curves(Curves),
    /// A matrix of shades.
    Matrix(Matrix),
    /// The activities of rows over time.
    Spans(Spans),
    /// Nodes and the links between them.
    Network(Network),
    /// Several charts, one below the other.
    Column(Vec<Self>),
}

/// The quantity of an axis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Axis {
    /// Name of the quantity.
    pub name: String,
    /// Its unit; empty without one.
    pub unit: String,
}

impl Axis {
    /// An axis of `name` in `unit`.
    #[must_use]
    pub fn new(name: &str, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
        }
    }

    /// `latency (ns)`.
    #[must_use]
    pub fn label(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.unit)
        }
    }
}

/// A mean and half its 95 % interval, if there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the interval.
    pub half: Option<f64>,
}

impl Estimate {
    fn high(self) -> f64 {
        self.mean + self.half.unwrap_or(0.0)
    }

    fn low(self) -> f64 {
        self.mean - self.half.unwrap_or(0.0)
    }
}

impl Figure {
    /// Draws the figure, `width` pixels wide, as an `svg` element.
    #[must_use]
    pub fn draw(&self, width: u32, theme: Theme) -> String {
        svg::svg(&self.lay_out(width, theme), theme)
    }

    fn lay_out(&self, width: u32, theme: Theme) -> Sheet {
        let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
        let mut frame = Frame::begin(self, f64::from(width), theme);
        self.chart.draw(&mut frame);
        frame.finish(self)
    }
}

impl Chart {
    fn draw(&self, frame: &mut Frame) {
        match self {
            Self::Bars(bars) => bars.draw(frame),
            Self::Stacks(stacks) => stacks.draw(frame),
            Self::Curves(curves) => curves.draw(frame),
            Self::Matrix(matrix) => matrix.draw(frame),
            Self::Spans(spans) => spans.draw(frame),
            Self::Network(network) => network.draw(frame),
            Self::Column(charts) => {
                for chart in charts {
                    frame.y += 6.0;
                    chart.draw(frame);
                }
            }
        }
    }
}
