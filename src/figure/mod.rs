//! Figures: what they show, as data, and how they are drawn, as SVG.
//!
//! Nothing here knows of runs or fabrics. A [`Figure`] says what is drawn; [`Figure::draw`] makes SVG of it, for a
//! file (fixed colours, on white) or for a page, whose style sheet has the colours. Series differ in colour and, as not
//! everybody sees or prints colours, in marks, dashes or patterns too. `file` turns SVG into PDF and PNG.

mod bars;
mod curves;
mod file;
mod frame;
mod matrix;
mod network;
mod scale;
mod spans;
mod stacks;
mod svg;

pub use bars::{BarGroup, BarPanel, Bars};
pub use curves::{CurvePanel, CurvePoint, Curves, Line};
pub use file::{FileFormat, encoded};
pub use matrix::{Cell, Matrix};
pub use network::{Link, Network, Node};
pub use scale::number;
pub use spans::{Row, Span, Spans};
pub use stacks::{Stack, Stacks};
pub use svg::{PALETTE_CSS, Theme};

use frame::Frame;

/// Narrowest figure that can be drawn, in pixels.
pub const MIN_WIDTH: u32 = 280;
/// Widest figure.
pub const MAX_WIDTH: u32 = 4000;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// What else must be known to read it; may be empty.
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
    /// What rows of something do over time.
    Spans(Spans),
    /// Nodes and the links between them.
    Network(Network),
}

/// What an axis counts.
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
        match self.unit.is_empty() {
            true => self.name.clone(),
            false => format!("{} ({})", self.name, self.unit),
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
        let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
        let mut frame = Frame::begin(self, f64::from(width), theme);
        match &self.chart {
            Chart::Bars(bars) => bars.draw(&mut frame),
            Chart::Stacks(stacks) => stacks.draw(&mut frame),
            Chart::Curves(curves) => curves.draw(&mut frame),
            Chart::Matrix(matrix) => matrix.draw(&mut frame),
            Chart::Spans(spans) => spans.draw(&mut frame),
            Chart::Network(network) => network.draw(&mut frame),
        }
        frame.finish(self)
    }
}

#[cfg(test)]
mod tests;
